//! The source: reads its settings and its state, then does what its mode says.

use std::fmt;

use picomq_connector_sdk::{Batch, Capabilities, Error, OpenContext, Source, Staged, State, Verdict};
use serde_json::{Value, json};

use crate::backfill;
use crate::cdc::Cdc;
use crate::config::{Mode, PostgresConfig};
use crate::debezium::offset;
use crate::maintain;
use crate::polling::Polling;
use crate::state::{self, Saved};

/// Reads PostgreSQL. `docs/sources/postgres.md` says how.
pub struct PostgresSource {
    reader: Reader,
}

/// The two ways to read.
enum Reader {
    Cdc(Box<Cdc>),
    Polling(Box<Polling>),
}

impl fmt::Debug for PostgresSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("PostgresSource")
    }
}

impl Source for PostgresSource {
    type Config = PostgresConfig;
    const NAME: &'static str = "postgres";
    const CAPABILITIES: Capabilities = Capabilities { pipelined: true, listener: false, own_runtime: false };

    fn check(config: PostgresConfig, context: &OpenContext) -> Result<(), Error> {
        config.check(&context.key, &context.limits).map(drop)
    }

    async fn open(config: PostgresConfig, mut context: OpenContext) -> Result<PostgresSource, Error> {
        let settings = config.check(&context.key, &context.limits)?;
        let given = context.state.as_ref().and_then(offset::of_state).transpose()?;
        if given.is_some() {
            context.state = None;
        }
        let staged = Staged::open(&context, state::VERSION, || given.map_or(Saved::Fresh, Saved::Debezium))?;
        let reader = match (config.mode, staged.committed()) {
            (Mode::Cdc, Saved::Fresh | Saved::Debezium(_) | Saved::Cdc(_)) => {
                Reader::Cdc(Box::new(Cdc::open(settings, staged, context).await?))
            }
            (Mode::Polling, Saved::Fresh | Saved::Polling(_)) => {
                Reader::Polling(Box::new(Polling::open(settings, staged, context).await?))
            }
            (Mode::Cdc, Saved::Polling(_)) => return Err(other_mode("polling", "cdc")),
            (Mode::Polling, Saved::Cdc(_) | Saved::Debezium(_)) => return Err(other_mode("cdc", "polling")),
        };
        Ok(PostgresSource { reader })
    }

    fn describe_state(state: &State) -> Result<Value, Error> {
        match offset::of_state(state) {
            Some(taken) => Ok(json!({ "debezium": taken? })),
            None => state.describe(),
        }
    }

    async fn poll(&self) -> Result<Batch, Error> {
        match &self.reader {
            Reader::Cdc(cdc) => cdc.poll().await,
            Reader::Polling(polling) => polling.poll().await,
        }
    }

    async fn on_batch_result(&self, verdict: Verdict) -> Result<(), Error> {
        match &self.reader {
            Reader::Cdc(cdc) => {
                cdc.resolve(verdict);
                Ok(())
            }
            Reader::Polling(polling) => polling.resolve(verdict).await,
        }
    }

    async fn command(&self, name: &str, arguments: Value) -> Result<Option<Value>, Error> {
        match name {
            maintain::SLOT_DROP => Err(Error::permanent(
                "the slot is being read by this source; stop it first: its state and its slot go together",
            )),
            _ => match &self.reader {
                Reader::Cdc(cdc) => cdc.command(name, arguments).await,
                Reader::Polling(_) if backfill::COMMANDS.contains(&name) => Err(Error::permanent(
                    "mode = \"polling\" has no backfill: a poll begins with the first row, and initial_offset says otherwise",
                )),
                Reader::Polling(_) => Ok(None),
            },
        }
    }

    async fn maintain(
        config: PostgresConfig,
        context: OpenContext,
        name: &str,
        arguments: Value,
    ) -> Result<Option<Value>, Error> {
        maintain::run(config, context, name, arguments).await
    }

    async fn close(&self) {
        match &self.reader {
            Reader::Cdc(cdc) => cdc.close().await,
            Reader::Polling(polling) => polling.close().await,
        }
    }
}

fn other_mode(saved: &str, wanted: &str) -> Error {
    Error::permanent(format!(
        "the saved state is of mode = \"{saved}\", the definition says mode = \"{wanted}\": a position of one means nothing to the \
         other; set it back, or stop this source and delete its state to begin anew"
    ))
}

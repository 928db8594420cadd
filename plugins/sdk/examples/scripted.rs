//! A small source for the tests of the border: each poll does what the next step of its script says.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use picomq_connector_sdk::{
    Batch, Capabilities, Error, OpenContext, Record, Schema, Source, Staged, Verdict, export_source,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// What happens, in order; the last step repeats.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Config {
    #[serde(default)]
    open: Step,
    #[serde(default)]
    poll: VecDeque<Step>,
    #[serde(default)]
    verdict: Step,
    #[serde(default)]
    close: Step,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Step {
    /// Do what is right.
    #[default]
    Good,
    Panic,
    Transient,
    Permanent,
    /// Never ready, but may be dropped.
    Wait,
    /// Ends as soon as it is interrupted.
    Sleep,
    /// Blocks its thread for ever.
    Block,
    /// That many records.
    Records(u32),
    /// One record of that many bytes.
    Bytes(usize),
}

struct Scripted {
    script: Mutex<VecDeque<Step>>,
    verdict: Step,
    close: Step,
    staged: Staged<u64>,
    context: OpenContext,
}

impl Source for Scripted {
    type Config = Config;
    const NAME: &'static str = "scripted";
    const CAPABILITIES: Capabilities = Capabilities { pipelined: true, listener: false, own_runtime: false };

    async fn open(config: Config, context: OpenContext) -> Result<Scripted, Error> {
        act(&config.open).await?;
        let staged = Staged::open(&context, 1, || 0)?;
        tracing::info!(committed = staged.committed(), "open");
        let Config { poll, verdict, close, .. } = config;
        Ok(Scripted { script: Mutex::new(poll), verdict, close, staged, context })
    }

    async fn poll(&self) -> Result<Batch, Error> {
        let step = self.next();
        if matches!(step, Step::Sleep) {
            self.context.interrupt.sleep(Duration::from_secs(3600)).await?;
        }
        act(&step).await?;
        let (records, bytes) = match step {
            Step::Records(records) => (records, 0),
            Step::Bytes(bytes) => (1, bytes),
            _ => (1, 0),
        };
        let first = self.staged.head();
        let mut batch = Batch::new(Schema::Text);
        for number in first..first + u64::from(records) {
            let record = Record::new(format!("{number}{}", " ".repeat(bytes)));
            batch.push(record.with_key(*b"k").with_header("h", *b"v").with_id(number.to_string()));
        }
        self.staged.stage(batch, first + u64::from(records))
    }

    async fn on_batch_result(&self, verdict: Verdict) -> Result<(), Error> {
        act(&self.verdict).await?;
        match verdict {
            Verdict::Ack => drop(self.staged.ack()),
            Verdict::Nack => self.staged.nack(),
        }
        Ok(())
    }

    async fn close(&self) {
        let _ = act(&self.close).await;
        tracing::info!("closed");
    }
}

impl Scripted {
    fn next(&self) -> Step {
        let mut script = self.script.lock().expect("no code panics under it");
        let last = script.front().cloned().unwrap_or_default();
        if script.len() > 1 {
            script.pop_front();
        }
        last
    }
}

async fn act(step: &Step) -> Result<(), Error> {
    match step {
        Step::Panic => panic!("as scripted"),
        Step::Transient => Err(Error::transient("try later")),
        Step::Permanent => Err(Error::permanent("slot lost")),
        Step::Wait => std::future::pending().await,
        Step::Block => loop {
            std::thread::park();
        },
        Step::Good | Step::Sleep | Step::Records(_) | Step::Bytes(_) => Ok(()),
    }
}

export_source!(Scripted);

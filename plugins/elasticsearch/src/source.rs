//! The source: opens, reads, and keeps what was delivered.

use picomq_connector_sdk::doctor::COMMAND;
use picomq_connector_sdk::http::Client;
use picomq_connector_sdk::{
    Batch, Capabilities, CheckStatus, Error, Interrupt, OpenContext, Source, Staged, State, Verdict,
};
use serde_json::Value;
use tracing::info;

use crate::check::Concern;
use crate::client::Server;
use crate::config::ElasticsearchConfig;
use crate::doctor;
use crate::position::{self, Position, STATE_VERSION};
use crate::reader::Reader;
use crate::settings::Settings;

/// Reads documents. `docs/sources/elasticsearch.md` says how.
///
/// Opening asks the server nothing: one that is away, refuses, or has no such index yet is an error of a poll, and heals.
#[derive(Debug)]
pub struct ElasticsearchSource {
    reader: Reader,
    position: Staged<Position>,
    interrupt: Interrupt,
}

impl Source for ElasticsearchSource {
    type Config = ElasticsearchConfig;
    const NAME: &'static str = "elasticsearch";
    const CAPABILITIES: Capabilities = Capabilities { pipelined: true, listener: false, own_runtime: false };

    fn check(config: ElasticsearchConfig, context: &OpenContext) -> Result<(), Error> {
        config.check(&context.limits).map(drop)
    }

    async fn open(config: ElasticsearchConfig, context: OpenContext) -> Result<ElasticsearchSource, Error> {
        let settings = config.check(&context.limits)?;
        let position = Staged::open(&context, STATE_VERSION, Position::default)?;
        let client = Client::open(settings.client.clone()).await?;
        let server = Server::new(client, &settings.index, &settings.keep_alive, &context.key);
        let notes = notes(&settings);
        let reader = Reader::new(server, settings, context.host);
        for (concern, advice) in notes {
            reader.checks().tell(concern, CheckStatus::Warn, advice);
        }
        info!(documents = position.committed().documents, "elasticsearch source opened");
        Ok(ElasticsearchSource { reader, position, interrupt: context.interrupt })
    }

    async fn poll(&self) -> Result<Batch, Error> {
        let head = self.position.head();
        if head.is_done {
            self.interrupt.asked().await;
            return Err(Error::Interrupted);
        }
        let (batch, candidate) = self.interrupt.race(self.reader.read(head)).await??;
        // Nothing new, and that is to be seen.
        if batch.is_empty() && !candidate.is_done {
            return Ok(batch);
        }
        self.position.stage(batch, candidate)
    }

    async fn on_batch_result(&self, verdict: Verdict) -> Result<(), Error> {
        match verdict {
            Verdict::Ack => drop(self.position.ack()),
            Verdict::Nack => self.position.nack(),
        }
        Ok(())
    }

    async fn close(&self) {
        self.reader.close().await;
        info!(documents = self.position.committed().documents, "elasticsearch source closed");
    }

    async fn maintain(
        config: ElasticsearchConfig,
        context: OpenContext,
        name: &str,
        _: Value,
    ) -> Result<Option<Value>, Error> {
        if name != COMMAND {
            return Ok(None);
        }
        let settings = config.check(&context.limits)?;
        let position = Staged::open(&context, STATE_VERSION, Position::default)?.committed();
        let client = Client::open(settings.client.clone()).await?;
        let server = Server::new(client, &settings.index, &settings.keep_alive, &context.key);
        Ok(Some(doctor::looks(&server, &settings, &position).await))
    }

    fn describe_state(state: &State) -> Result<Value, Error> {
        position::describe(state)
    }
}

/// What the definition itself gives cause to say.
fn notes(settings: &Settings) -> Vec<(Concern, String)> {
    let mut notes = Vec::new();
    if settings.has_old_state {
        let advice = "state.* has no effect: the engine keeps the state of every source; remove the table";
        notes.push((Concern::OldState, advice.to_owned()));
    }
    let has_login = settings.client.auth != picomq_connector_sdk::http::Auth::None;
    let is_open = |host: &picomq_connector_sdk::http::BaseUrl| {
        !host.is_tls() && !host.is_loopback() && (has_login || host.login().is_some())
    };
    if let Some(host) = settings.client.hosts.iter().find(|host| is_open(host)) {
        notes.push((Concern::Plaintext, format!("the login goes to {host} in clear text; use https")));
    }
    notes
}

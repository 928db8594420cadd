//! The source: one of the modes.

use picomq_connector_sdk::{Batch, Capabilities, Error, OpenContext, Source, Verdict};

use crate::config::FaultyConfig;
use crate::destructive::Destructive;
use crate::per_key::PerKey;
use crate::script::Script;

/// A source that fails on purpose.
#[derive(Debug)]
pub struct FaultySource {
    mode: Mode,
}

#[derive(Debug)]
enum Mode {
    Script(Script),
    Destructive(Destructive),
    PerKey(PerKey),
}

impl Source for FaultySource {
    type Config = FaultyConfig;
    const NAME: &'static str = "faulty";
    const CAPABILITIES: Capabilities = Capabilities { pipelined: true, listener: false, own_runtime: false };

    async fn open(config: FaultyConfig, context: OpenContext) -> Result<FaultySource, Error> {
        let mode = match config {
            FaultyConfig::Script(config) => Mode::Script(Script::open(config, &context).await?),
            FaultyConfig::Destructive(config) => {
                Mode::Destructive(Destructive::open(config, &context).await?)
            }
            FaultyConfig::PerKey(config) => Mode::PerKey(PerKey::open(config, &context)?),
        };
        Ok(FaultySource { mode })
    }

    async fn poll(&self) -> Result<Batch, Error> {
        match &self.mode {
            Mode::Script(script) => script.poll().await,
            Mode::Destructive(destructive) => destructive.poll().await,
            Mode::PerKey(per_key) => per_key.poll().await,
        }
    }

    async fn on_batch_result(&self, verdict: Verdict) -> Result<(), Error> {
        match &self.mode {
            Mode::Script(script) => script.on_batch_result(verdict).await,
            Mode::Destructive(destructive) => destructive.on_batch_result(verdict).await,
            Mode::PerKey(per_key) => per_key.on_batch_result(verdict),
        }
    }

    async fn close(&self) {
        match &self.mode {
            Mode::Script(script) => script.close().await,
            Mode::Destructive(_) | Mode::PerKey(_) => {}
        }
    }
}

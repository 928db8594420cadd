//! Lines of a growing file, one record each.

use std::io::SeekFrom;
use std::path::PathBuf;
use std::time::Duration;

use picomq_connector_sdk::{
    Batch, Capabilities, Error, Interrupt, Limits, OpenContext, Schema, Source, Staged, Verdict,
    export_source,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tracing::info;

/// Raise it when `Position` changes its meaning; a new field with a default needs no new version.
const STATE_VERSION: u32 = 1;

/// Read at once, and so the longest line.
const CHUNK_BYTES: u64 = 1 << 20;

/// `[plugin_config]`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinesConfig {
    /// The file. It may grow; it must not shrink.
    path: PathBuf,
    /// Sleep before each batch, in milliseconds.
    #[serde(default = "interval_default")]
    interval_ms: u64,
}

/// The state: everything before `offset` was read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Position {
    offset: u64,
}

/// The source.
#[derive(Debug)]
pub struct Lines {
    config: LinesConfig,
    limits: Limits,
    interrupt: Interrupt,
    position: Staged<Position>,
}

impl Source for Lines {
    type Config = LinesConfig;
    const NAME: &'static str = "lines";
    const CAPABILITIES: Capabilities = Capabilities { pipelined: true, listener: false, own_runtime: false };

    async fn open(config: LinesConfig, context: OpenContext) -> Result<Lines, Error> {
        let position = Staged::open(&context, STATE_VERSION, Position::default)?;
        info!(offset = position.committed().offset, "lines source opened");
        Ok(Lines { config, limits: context.limits, interrupt: context.interrupt, position })
    }

    async fn poll(&self) -> Result<Batch, Error> {
        self.interrupt.sleep(Duration::from_millis(self.config.interval_ms)).await?;
        let mut offset = self.position.head().offset;
        let bytes = self.read_from(offset).await?;
        let most = self.limits.batch_records as usize;
        let mut batch = Batch::new(Schema::Text);
        for line in whole_lines(&bytes).take(most) {
            offset += line.len() as u64;
            batch.add().payload(line.trim_ascii_end()).id(&offset.to_string());
        }
        if batch.is_empty() {
            return Ok(batch);
        }
        self.position.stage(batch, Position { offset })
    }

    async fn on_batch_result(&self, verdict: Verdict) -> Result<(), Error> {
        match verdict {
            Verdict::Ack => drop(self.position.ack()),
            Verdict::Nack => self.position.nack(),
        }
        Ok(())
    }

    async fn close(&self) {
        info!(offset = self.position.committed().offset, "lines source closed");
    }
}

impl Lines {
    async fn read_from(&self, offset: u64) -> Result<Vec<u8>, Error> {
        let path = self.config.path.display();
        let passing = |error| Error::transient(format!("cannot read {path}")).with_cause(error);
        let mut file = File::open(&self.config.path).await.map_err(passing)?;
        let length = file.metadata().await.map_err(passing)?.len();
        if length < offset {
            return Err(Error::permanent(format!(
                "{path} has {length} bytes, but {offset} were read already: it was replaced; delete the state of \
                 this source to read it from the start"
            )));
        }
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(offset)).await.map_err(passing)?;
        file.take(CHUNK_BYTES).read_to_end(&mut bytes).await.map_err(passing)?;
        if bytes.len() as u64 == CHUNK_BYTES && whole_lines(&bytes).next().is_none() {
            return Err(Error::permanent(format!(
                "{path} has a line of more than {CHUNK_BYTES} bytes at {offset}"
            )));
        }
        Ok(bytes)
    }
}

/// Without the one that is still being written.
fn whole_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"))
}

fn interval_default() -> u64 {
    1000
}

export_source!(Lines);

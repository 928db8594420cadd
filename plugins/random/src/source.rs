//! The source: counts, draws a batch size, writes records.

use std::sync::{Mutex, PoisonError};

use picomq_connector_sdk::{
    Batch, Capabilities, Error, Interrupt, OpenContext, Schema, Source, Staged, Verdict,
};
use serde::{Deserialize, Serialize};
use tracing::{debug, info};

use crate::config::{RandomConfig, Settings};
use crate::record::{self, Line};

const STATE_VERSION: u32 = 1;

/// Generates JSON records on a timer. `docs/sources/random.md` says what is in them.
#[derive(Debug)]
pub struct RandomSource {
    settings: Settings,
    produced: Staged<Produced>,
    interrupt: Interrupt,
    draws: Mutex<fastrand::Rng>,
}

/// The state: how many records were produced, which is also the sequence of the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Produced {
    count: u64,
}

impl Source for RandomSource {
    type Config = RandomConfig;
    const NAME: &'static str = "random";
    const CAPABILITIES: Capabilities = Capabilities { pipelined: true, listener: false, own_runtime: false };

    fn check(config: RandomConfig, context: &OpenContext) -> Result<(), Error> {
        config.check(&context.limits).map(drop)
    }

    async fn open(config: RandomConfig, context: OpenContext) -> Result<RandomSource, Error> {
        let settings = config.check(&context.limits)?;
        let produced = Staged::open(&context, STATE_VERSION, || Produced { count: 0 })?;
        info!(?settings, count = produced.committed().count, "random source opened");
        let draws = Mutex::new(fastrand::Rng::new());
        Ok(RandomSource { settings, produced, interrupt: context.interrupt, draws })
    }

    async fn poll(&self) -> Result<Batch, Error> {
        self.interrupt.sleep(self.settings.interval).await?;
        let first = self.produced.head().count;
        let left = self.settings.max_count.map_or(u64::MAX, |max| max.saturating_sub(first));
        let (drawn, seed) = self.draw();
        let size = left.min(u64::from(drawn));
        if size == 0 {
            return Ok(Batch::empty());
        }
        let batch = self.generate(first, size, seed);
        debug!(first, size, "batch generated");
        self.produced.stage(batch, Produced { count: first + size })
    }

    async fn on_batch_result(&self, verdict: Verdict) -> Result<(), Error> {
        match verdict {
            Verdict::Ack => drop(self.produced.ack()),
            Verdict::Nack => self.produced.nack(),
        }
        Ok(())
    }

    async fn close(&self) {
        info!(count = self.produced.committed().count, "random source closed");
    }
}

impl RandomSource {
    /// A batch size, and where the ids and texts of the batch come from: fresh ones each time, unless a seed is set.
    fn draw(&self) -> (u32, u64) {
        let mut draws = self.draws.lock().unwrap_or_else(PoisonError::into_inner);
        let size = draws.u32(self.settings.sizes.clone());
        let fresh = draws.u64(..);
        (size, self.settings.seed.unwrap_or(fresh))
    }

    fn generate(&self, first: u64, size: u64, seed: u64) -> Batch {
        let Settings { users, key_by_user, payload_bytes, .. } = self.settings;
        let bytes = size * record::bytes_max(self.settings.payload_bytes);
        // Both fit: the limits of a batch were checked when the source was opened.
        let mut batch = Batch::with_capacity(Schema::Json, size as usize, bytes as usize);
        let mut user = Vec::with_capacity(32);
        for sequence in first..first + size {
            record::user(&mut user, sequence % users);
            let line = Line { sequence, user: &user, text_bytes: payload_bytes, seed };
            let mut record = batch.add();
            if key_by_user {
                record.key(&user);
            }
            record.payload_with(|payload| record::write(payload, &line));
        }
        batch
    }
}

#[cfg(test)]
mod tests;

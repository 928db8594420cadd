//! Mode `per_key`: the keys take turns, and each counts from 0 on its own.

use picomq_connector_sdk::{Batch, Error, Interrupt, OpenContext, Schema, Staged, Verdict};
use serde::Serialize;

use crate::config::{PerKeyConfig, at_least_one};

const STATE_VERSION: u32 = 1;

/// Record number `n` is number `n / keys` of key `n mod keys`, so the count of all is the whole state.
#[derive(Debug)]
pub(crate) struct PerKey {
    config: PerKeyConfig,
    interrupt: Interrupt,
    count: Staged<u64>,
}

#[derive(Serialize)]
struct Record<'a> {
    key: &'a str,
    number: u64,
    sequence: u64,
}

impl PerKey {
    pub(crate) fn open(config: PerKeyConfig, context: &OpenContext) -> Result<PerKey, Error> {
        at_least_one("keys", config.keys)?;
        at_least_one("records", config.records)?;
        let count = Staged::open(context, STATE_VERSION, || 0)?;
        Ok(PerKey { config, interrupt: context.interrupt.clone(), count })
    }

    pub(crate) async fn poll(&self) -> Result<Batch, Error> {
        self.interrupt.sleep(self.config.interval.0).await?;
        let first = self.count.head();
        let end = (first + self.config.records).min(self.config.max_count.unwrap_or(u64::MAX)).max(first);
        if first == end {
            return Ok(Batch::empty());
        }
        let mut batch = Batch::new(Schema::Json);
        for sequence in first..end {
            let key = format!("key-{}", sequence % self.config.keys);
            let record = Record { key: &key, number: sequence / self.config.keys, sequence };
            batch.add().key(key.as_bytes()).json(&record)?;
        }
        self.count.stage(batch, end)
    }

    pub(crate) fn on_batch_result(&self, verdict: Verdict) -> Result<(), Error> {
        match verdict {
            Verdict::Ack => drop(self.count.ack()),
            Verdict::Nack => self.count.nack(),
        }
        Ok(())
    }
}

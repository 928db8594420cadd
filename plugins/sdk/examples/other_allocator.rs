//! A plugin with another global allocator than the engine: whatever the wrong side frees is not a block of its heap.

use std::sync::atomic::{AtomicU64, Ordering};

use mimalloc::MiMalloc;
use picomq_connector_sdk::{
    Batch, Error, OpenContext, Record, Schema, Source, State, Verdict, export_source,
};
use schemars::JsonSchema;
use serde::Deserialize;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[derive(Debug, Deserialize, JsonSchema)]
struct Nothing {}

/// Batches of a hundred records of a hundred bytes, with everything a record can have.
struct Plenty {
    next: AtomicU64,
}

impl Source for Plenty {
    type Config = Nothing;
    const NAME: &'static str = "plenty";

    async fn open(_: Nothing, _: OpenContext) -> Result<Plenty, Error> {
        Ok(Plenty { next: AtomicU64::new(0) })
    }

    async fn poll(&self) -> Result<Batch, Error> {
        let first = self.next.fetch_add(100, Ordering::Relaxed);
        let mut batch = Batch::new(Schema::Text);
        for number in first..first + 100 {
            let record =
                Record::new(format!("{number:0>100}")).with_key(*b"key").with_header("name", *b"value");
            batch.push(record.with_id(number.to_string()).with_timestamp_ms(1).with_event_time_ns(2));
        }
        Ok(batch.with_state(State::encode(&first, 1)?))
    }

    async fn on_batch_result(&self, _: Verdict) -> Result<(), Error> {
        Ok(())
    }

    async fn close(&self) {}
}

export_source!(Plenty);

//! How long a record takes, from the plugin's generator over the border to the engine's eyes. Prints nanoseconds a
//! record; a measurement for people, not a test: `cargo run --release -p picomq-connector-random-source --example speed`.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use picomq_connector_sdk::ffi::host::{
    GuestBatch, Instance, Library, Limits, Mode, OpenRequest, TracingSink,
};
use picomq_connector_sdk::{Batch, Schema, Verdict};

const RECORDS: u32 = 10_000;
const BATCHES: u32 = 500;
const PAYLOAD: [u8; 200] = [b'x'; 200];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    let source = open().await?;
    for _ in 0..20 {
        round(&source).await?;
    }
    let started = Instant::now();
    let (mut bytes, mut checked) = (0, Duration::ZERO);
    for _ in 0..BATCHES {
        let (batch_bytes, looking) = round(&source).await?;
        bytes += batch_bytes;
        checked += looking;
    }
    let total = started.elapsed();
    writeln!(
        out,
        "random over the border: {:.1} ns a record, {} bytes each",
        each(total),
        bytes / records()
    )?;
    writeln!(out, "  of it reading every record: {:.1} ns", each(checked))?;
    writeln!(out, "building, sealing and checking a table alone: {:.1} ns a record", each(table()))?;
    source.close().await;
    Ok(())
}

async fn open() -> Result<Instance, Box<dyn std::error::Error>> {
    let program = std::env::current_exe()?;
    let name = format!(
        "{}picomq_connector_random_source{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    );
    let folder = program.ancestors().nth(2).ok_or("an example lies in PROFILE/examples")?;
    let path: PathBuf = folder.join(name);
    let library = Library::load(&path)?;
    let request = OpenRequest {
        key: "speed".to_owned(),
        config_json: format!(
            r#"{{"interval": "0s", "messages_range": [{RECORDS}, {RECORDS}], "payload_size": 60}}"#
        ),
        state: None,
        mode: Mode::Run,
        limits: Limits { batch_records: RECORDS, batch_bytes: 64 << 20 },
        record_bytes: 1_000_000,
        open_timeout: Duration::from_secs(5),
        verdict_timeout: Duration::from_secs(5),
        host: Arc::new(TracingSink::new("speed")),
    };
    Ok(library.open(request).await?)
}

/// One batch from poll to verdict; answers its bytes and how long looking at every record took.
async fn round(source: &Instance) -> Result<(u64, Duration), Box<dyn std::error::Error>> {
    let batch = source.poll().await?;
    let started = Instant::now();
    let seen = look(&batch);
    let looking = started.elapsed();
    assert_eq!(seen, batch.bytes());
    drop(batch);
    source.resolve(Verdict::Ack).await?;
    Ok((seen, looking))
}

fn look(batch: &GuestBatch) -> u64 {
    let mut bytes = 0;
    for index in 0..batch.len() {
        let record = batch.record(index);
        bytes += record.payload.map_or(0, <[u8]>::len) as u64 + record.key.map_or(0, <[u8]>::len) as u64;
    }
    std::hint::black_box(bytes)
}

/// Ready payloads into a batch, the batch into a checked table, and back to the allocator.
fn table() -> Duration {
    let started = Instant::now();
    for _ in 0..BATCHES {
        let mut batch =
            Batch::with_capacity(Schema::Json, RECORDS as usize, RECORDS as usize * PAYLOAD.len());
        for _ in 0..RECORDS {
            batch.add().payload(std::hint::black_box(&PAYLOAD));
        }
        std::hint::black_box(GuestBatch::from_batch(batch));
    }
    started.elapsed()
}

fn records() -> u64 {
    u64::from(RECORDS) * u64::from(BATCHES)
}

fn each(total: Duration) -> f64 {
    total.as_nanos() as f64 / records() as f64
}

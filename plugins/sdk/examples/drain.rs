//! Drives one source of a plugin library as the engine does, but delivers nothing: every batch is acknowledged at once. What
//! it prints is how fast the plugin alone is, with the border and without a broker.
//!
//! `drain LIBRARY RECORDS < config.json` ends after so many records and prints
//! `records=N bytes=N seconds=S resident_kib=N`. The seconds begin when the source is open; the configuration comes on
//! standard input because it may hold a password.

#![allow(clippy::print_stdout, reason = "printing its figures is what it is for")]

use std::error::Error;
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

use picomq_connector_sdk::Verdict;
use picomq_connector_sdk::ffi::host::{HostSink, Library, Limits, LogEvent, Mode, OpenRequest, Report};

/// `[limits]` of an engine nobody configured.
const LIMITS: Limits = Limits { batch_records: 10_000, batch_bytes: 64 << 20 };
const RECORD_BYTES: u64 = 1_000_000;
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(wanted)) = (arguments.next(), arguments.next()) else {
        return Err("usage: drain LIBRARY RECORDS < config.json".into());
    };
    let wanted: u64 = wanted.parse()?;
    let mut config_json = String::new();
    std::io::stdin().read_to_string(&mut config_json)?;
    let library = Library::load(path.as_ref())?;
    let request = OpenRequest {
        key: "drain".to_owned(),
        config_json,
        state: None,
        mode: Mode::Run,
        limits: LIMITS,
        record_bytes: RECORD_BYTES,
        open_timeout: PATIENCE,
        verdict_timeout: PATIENCE,
        host: Arc::new(Complaints),
    };
    let source = library.open(request).await?;
    let began = Instant::now();
    let (mut records, mut bytes) = (0, 0);
    while records < wanted {
        let batch = source.poll().await?;
        records += batch.len() as u64;
        bytes += batch.bytes();
        drop(batch);
        source.resolve(Verdict::Ack).await?;
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("records={records} bytes={bytes} seconds={seconds:.3} resident_kib={}", resident_kib());
    source.close().await;
    Ok(())
}

/// The most memory this process ever had resident.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    peak.and_then(|kib| kib.parse().ok()).unwrap_or_default()
}

/// Shows warnings and errors of the source.
struct Complaints;

impl HostSink for Complaints {
    fn log(&self, event: &LogEvent<'_>) {
        if event.level <= tracing::Level::WARN {
            eprintln!("{}: {} {:?}", event.level, event.message, event.fields);
        }
    }

    fn report(&self, _: Report) {}
}

//! Polls until enough records were seen, and sees what would become of each.

use std::time::Duration;

use pico_record::{Provenance, RecordFault, RecordPath, Routed};
use picomq_connector_sdk::Verdict;
use picomq_connector_sdk::ffi::host::{GuestBatch, Instance, PollError};
use tokio::time::{Instant, sleep, timeout_at};

/// Pause after a poll that gave no records, or failed for a passing reason.
const PAUSE: Duration = Duration::from_millis(100);

/// How much is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) records: usize,
    pub(super) within: Duration,
}

/// What was seen.
#[derive(Debug)]
pub(super) struct Looked {
    pub(super) records: Vec<Seen>,
    pub(super) end: End,
}

/// Why no more was looked at.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// All that was wanted.
    Enough,
    /// The time is over; with the last passing failure of a poll.
    TimedOut(Option<String>),
    /// The plugin gives one batch, and the next one only after a verdict.
    OneBatch,
    /// The source or its batch failed.
    Failed(String),
}

/// One record, and what would become of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) id: Option<String>,
    pub(super) key: Option<Vec<u8>>,
    pub(super) fate: Fate,
}

/// What would become of a record.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It would go here, block after block.
    Sent(Vec<Destination>),
    /// A rule drops it.
    Filtered,
    /// It fails.
    Failed(RecordFault),
}

/// One topic of a record.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Destination {
    pub(super) block: u16,
    pub(super) topic: String,
    pub(super) bytes: usize,
}

impl Looked {
    /// Whether a record failed, or the source did.
    pub(super) fn has_failed(&self) -> bool {
        let is_failed = |seen: &Seen| matches!(seen.fate, Fate::Failed(_));
        matches!(self.end, End::Failed(_)) || self.records.iter().any(is_failed)
    }
}

/// Polls the instance; never says Ack.
pub(super) async fn look(
    instance: &Instance,
    is_pipelined: bool,
    path: &mut RecordPath,
    wanted: Wanted,
) -> Looked {
    let deadline = Instant::now() + wanted.within;
    let mut records: Vec<Seen> = Vec::new();
    let mut passing = None;
    let end = loop {
        let batch = match timeout_at(deadline, instance.poll()).await {
            Ok(Ok(batch)) => batch,
            Ok(Err(PollError::Transient(text))) => {
                passing = Some(text);
                sleep(PAUSE).await;
                continue;
            }
            Ok(Err(PollError::Interrupted)) => continue,
            Ok(Err(error)) => break End::Failed(error.to_string()),
            Err(_elapsed) => break End::TimedOut(passing),
        };
        let is_empty = batch.is_empty();
        if let Err(reason) = see(path, batch, &mut records) {
            break End::Failed(reason);
        }
        if records.len() >= wanted.records {
            break End::Enough;
        }
        match (is_empty, is_pipelined) {
            (false, true) => {}
            (false, false) => break End::OneBatch,
            (true, true) => sleep(PAUSE).await,
            (true, false) => {
                // It holds nothing that could be lost, and the source goes back to what is saved.
                if let Err(error) = instance.resolve(Verdict::Nack).await {
                    break End::Failed(error.to_string());
                }
                sleep(PAUSE).await;
            }
        }
        if Instant::now() >= deadline {
            break End::TimedOut(passing);
        }
    };
    if matches!(end, End::TimedOut(_)) {
        // Closing waits for the poll; whatever it still gives belongs to nobody.
        instance.interrupt();
    }
    records.truncate(wanted.records);
    Looked { records, end }
}

/// Routes a batch and files what becomes of each of its records. Err: the batch as a whole cannot be sent.
pub(super) fn see(path: &mut RecordPath, batch: GuestBatch, seen: &mut Vec<Seen>) -> Result<(), String> {
    let first = seen.len();
    seen.extend(batch.records().map(|record| Seen {
        id: record.id.map(str::to_owned),
        key: record.key.map(<[u8]>::to_vec),
        fate: Fate::Filtered,
    }));
    let routed = path
        .route(batch, Provenance { life: 0, number: 0 })
        .map_err(|failure| format!("{}: {}", failure.code, failure.message))?;
    file(&routed, &mut seen[first..]);
    Ok(())
}

fn file(routed: &Routed, seen: &mut [Seen]) {
    for fault in routed.faults() {
        seen[fault.index as usize].fate = Fate::Failed(fault.clone());
    }
    for group in routed.groups() {
        for entry in routed.entries(group) {
            let headers: usize = entry.headers().map(|(name, value)| name.len() + value.len()).sum();
            let bytes = entry.payload.map_or(0, <[u8]>::len) + entry.key.map_or(0, <[u8]>::len) + headers;
            let destination = Destination { block: group.block, topic: group.topic.to_string(), bytes };
            let seen = &mut seen[entry.index() as usize];
            if let Some(key) = entry.key {
                seen.key = Some(key.to_vec());
            }
            match &mut seen.fate {
                Fate::Sent(all) => all.push(destination),
                Fate::Filtered | Fate::Failed(_) => seen.fate = Fate::Sent(vec![destination]),
            }
        }
    }
}

#[cfg(test)]
mod tests;

//! K9: what the source destroyed upstream must be delivered and covered by the saved state.
//!
//! For the faulty plugin's destructive mode: a folder of files, one a record, deleted on Ack. What is deleted can
//! never be read again, so every mistake of the engine becomes a visible loss.

use std::collections::BTreeSet;

use super::report::{Law, Violation};

/// What one look at the upstream, the log and the state found. Files are named by numbers in the order of reading.
#[derive(Debug, Clone, Default)]
pub struct SideEffects {
    /// Files that existed at the beginning and do not any more. Looked at *first*.
    pub deleted: BTreeSet<u64>,
    /// The saved position, read after the folder: every file below it is covered. `None`: nothing saved.
    pub saved: Option<u64>,
    /// Files whose records are in the log, read last.
    pub delivered: BTreeSet<u64>,
}

/// Judges one look.
pub fn check_side_effects(look: &SideEffects, incident: &str, replay: &str) -> Vec<Violation> {
    let violation = |text: String| Violation {
        law: Law::K9,
        text,
        incident: incident.to_owned(),
        replay: replay.to_owned(),
    };
    let lost = look.deleted.difference(&look.delivered);
    let lost = lost.map(|file| violation(format!("file {file} is deleted and its record is in no log")));
    let saved = look.saved.unwrap_or(0);
    let early = look.deleted.range(saved..);
    let early = early.map(|file| violation(format!("file {file} is deleted, but only {saved} is saved")));
    lost.chain(early).collect()
}

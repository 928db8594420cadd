//! What the ledger found.

use std::fmt;

/// The laws, by their numbers in `docs/delivery.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Law {
    /// Complete: everything below the saved position is in its topic.
    K1,
    /// Nothing invented: every record is one that the source makes, where it belongs.
    K2,
    /// State never ahead: at every look, everything below the saved position was there.
    K3,
    /// Explained duplicates: nothing that was saved is polled or written again.
    K4,
    /// Bounded duplicates: at most what was in flight, once per incident.
    K5,
    /// Order: first occurrences rise within a topic.
    K6,
    /// Run shape: what a batch leaves in a topic is a prefix of it; late copies only where bytes were held.
    K7,
    /// State history: numbers rise, positions never fall, no life saves after a later one.
    K8,
    /// Side effects: nothing upstream is destroyed that is not delivered and saved.
    K9,
    /// Recovery: after the last fault the source runs again in time.
    K11,
}

/// One thing that must not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The law that it breaks.
    pub law: Law,
    /// What, with offsets and batches.
    pub text: String,
    /// What had happened last.
    pub incident: String,
    /// How to run the same again.
    pub replay: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} {}; after {}; again: {}", self.law, self.text, self.incident, self.replay)
    }
}

/// What there was to judge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    /// Processes started.
    pub starts: u64,
    /// Things broken.
    pub incidents: u64,
    /// Records in all logs.
    pub records: u64,
    /// Different ones.
    pub distinct: u64,
    /// Copies beyond the first, late ones apart.
    pub duplicates: u64,
    /// Copies of a batch older than one already in the topic.
    pub late_copies: u64,
    /// The most copies after one incident.
    pub most_at_one_incident: u64,
    /// The most that may be.
    pub bound: u64,
    /// Batches of which at least one record arrived.
    pub batches: usize,
    /// The saved position at the end.
    pub position: u64,
    /// How long each recovery took.
    pub recoveries_ms: Vec<u64>,
}

/// The verdict on a run.
#[derive(Debug, Clone)]
pub struct Report {
    /// What there was.
    pub figures: Figures,
    /// What was wrong. Empty is a pass.
    pub violations: Vec<Violation>,
    /// How to run the same again.
    pub replay: String,
}

/// So many violations are printed; a broken run has thousands of the same kind.
const PRINTED: usize = 20;

impl Report {
    /// # Panics
    /// When there is a violation, or when the run moved nothing and so shows nothing.
    pub fn assert_clean(&self) {
        assert!(self.violations.is_empty(), "{self}");
        assert!(self.figures.position > 0, "nothing was ever saved, so nothing was shown: {self}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figures = &self.figures;
        let mut recoveries = figures.recoveries_ms.clone();
        recoveries.sort_unstable();
        let at = |percent: usize| recoveries.get(recoveries.len().saturating_sub(1) * percent / 100).copied();
        writeln!(
            formatter,
            "{} starts, {} incidents; {} records in {} batches, {} distinct, {} saved; {} duplicates (at most {} at one \
             incident, bound {}), {} late copies; recovery p50 {:?} p99 {:?} max {:?} ms of {}; {} violations; again: {}",
            figures.starts,
            figures.incidents,
            figures.records,
            figures.batches,
            figures.distinct,
            figures.position,
            figures.duplicates,
            figures.most_at_one_incident,
            figures.bound,
            figures.late_copies,
            at(50).unwrap_or_default(),
            at(99).unwrap_or_default(),
            at(100).unwrap_or_default(),
            recoveries.len(),
            self.violations.len(),
            self.replay,
        )?;
        for violation in self.violations.iter().take(PRINTED) {
            writeln!(formatter, "{violation}")?;
        }
        Ok(())
    }
}

//! What every source must pass, run against the source itself and an upstream of its author's.
//!
//! The author describes the upstream once ([`Subject`]); the kit opens the source again and again, in the order and
//! with the interruptions an engine may come up with, and compares what comes out with what was put in.
//!
//! ```text
//! #[tokio::test]
//! async fn the_source_keeps_the_rules() {
//!     conformance::check(&Folder::new()).await;
//! }
//! ```
//!
//! It does not load a library: the border has tests of its own. What the built one exports, [`check_exports`] looks at. It cannot see effects that the subject does not show,
//! nor what happens when the upstream itself fails.

mod basics;
mod bench;
mod driver;
mod effects;
mod interrupt;
mod library;
mod pipeline;
mod subject;

pub use bench::{Bench, Setting};
pub use library::{check_exports, doctor, exports, library};
pub use subject::Subject;

use std::fmt;

use crate::Source as _;

/// The rules, in the order they are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// After a Nack the next poll begins where the nacked batch began.
    NackReplays,
    /// After an Ack the next poll goes on after the batch, without a gap or a repetition, to the end.
    AckMovesOn,
    /// Opened with the state of a batch it goes on after that batch, whether the Ack was told or not; opened with an
    /// older state it repeats.
    RestartResumes,
    /// A damaged state is refused as [`Error::State`](crate::Error::State), and never read as a fresh start.
    BadStateRefused,
    /// A poll that is asked to end does so within five seconds, and one whose future is dropped at any await loses
    /// nothing.
    InterruptReturns,
    /// An empty batch that moved nothing carries no state.
    EmptyCarriesNoState,
    /// Nothing upstream changes before the Ack; with it, exactly what belongs to the batch.
    EffectsAfterAck,
    /// What was owed when the process died is done by `open`, doing it twice is harmless, and `Inspect` does nothing.
    OwedIsDoneOnOpen,
    /// A pipelined source goes on from the batch before without waiting for its verdict; a Nack of one discards all
    /// after it too; the newest state alone covers all batches up to it.
    PipelinedRewinds,
}

/// A rule the source broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub rule: Rule,
    /// What was seen.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}: {}", self.rule, self.what)
    }
}

/// Runs every rule and answers those that were broken.
pub async fn violations<S: Subject>(subject: &S) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut note = |rule: Rule, outcome: Result<(), String>| {
        found.extend(outcome.err().map(|what| Violation { rule, what }));
    };
    note(Rule::NackReplays, basics::nack_replays(subject).await);
    note(Rule::AckMovesOn, basics::ack_moves_on(subject).await);
    note(Rule::RestartResumes, basics::restart_resumes(subject).await);
    note(Rule::BadStateRefused, basics::bad_state_is_refused(subject).await);
    note(Rule::InterruptReturns, interrupt::returns(subject).await);
    note(Rule::EmptyCarriesNoState, basics::empty_carries_no_state(subject).await);
    note(Rule::EffectsAfterAck, effects::come_after_ack(subject).await);
    note(Rule::OwedIsDoneOnOpen, effects::owed_is_done_on_open(subject).await);
    if S::Source::CAPABILITIES.pipelined {
        note(Rule::PipelinedRewinds, pipeline::rewinds(subject).await);
    }
    found
}

/// Runs every rule.
///
/// # Panics
/// When one was broken; the text names all that were.
pub async fn check<S: Subject>(subject: &S) {
    let found = violations(subject).await;
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert!(found.is_empty(), "the source {} breaks the rules:\n  {}", S::Source::NAME, lines.join("\n  "));
}

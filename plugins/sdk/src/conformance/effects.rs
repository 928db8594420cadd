//! The rules about changes of the upstream.

use std::collections::BTreeSet;

use super::driver::{Driven, Polled};
use super::subject::Subject;
use crate::Mode;

/// Nothing changes by polling, nacking, opening or closing; an Ack changes what belongs to its batch.
pub(super) async fn come_after_ack<S: Subject>(subject: &S) -> Result<(), String> {
    subject.reset().await;
    let nothing = BTreeSet::new();
    let mut source = Driven::open(subject, None).await?;
    is(subject, &nothing, "by opening").await?;
    source.records().await?;
    is(subject, &nothing, "by a poll").await?;
    source.nack().await?;
    is(subject, &nothing, "by a Nack").await?;
    let first = source.records().await?;
    source.ack().await?;
    let done = effects(subject, [&first]);
    is(subject, &done, "by an Ack").await?;
    source.records().await?;
    source.nack().await?;
    is(subject, &done, "by a Nack after an Ack").await?;
    source.records().await?;
    source.close().await?;
    is(subject, &done, "by closing").await
}

/// The process dies between save and Ack; then once more while it does what is owed.
pub(super) async fn owed_is_done_on_open<S: Subject>(subject: &S) -> Result<(), String> {
    subject.reset().await;
    let nothing = BTreeSet::new();
    let mut source = Driven::open(subject, None).await?;
    let first = source.records().await?;
    drop(source);

    let inspected = Driven::try_open(subject, first.state.clone(), Mode::Inspect).await;
    let inspected = inspected.map_err(|error| format!("it does not open to inspect: {}", error.chain()))?;
    is(subject, &nothing, "by opening to inspect").await?;
    drop(inspected);

    let done = effects(subject, [&first]);
    for time in ["the first time", "the second time"] {
        let source =
            Driven::open(subject, first.state.clone()).await.map_err(|what| format!("{time}: {what}"))?;
        is(subject, &done, &format!("by opening with something owed, {time}")).await?;
        drop(source);
    }
    let mut source = Driven::open(subject, first.state.clone()).await?;
    let second = source.records().await?;
    source.ack().await?;
    is(subject, &effects(subject, [&first, &second]), "by the Ack after that").await?;
    source.close().await
}

/// What must be changed when these batches are acknowledged.
pub(super) fn effects<'a, S: Subject>(
    subject: &S,
    acked: impl IntoIterator<Item = &'a Polled>,
) -> BTreeSet<String> {
    if !subject.has_effects() {
        return BTreeSet::new();
    }
    acked.into_iter().flat_map(|polled| polled.identities.iter().cloned()).collect()
}

/// Compares what was changed upstream with what should be.
pub(super) async fn is<S: Subject>(subject: &S, right: &BTreeSet<String>, when: &str) -> Result<(), String> {
    let changed = subject.changed().await;
    if &changed == right {
        return Ok(());
    }
    Err(format!("changed upstream {when}: {changed:?}, right is {right:?}"))
}

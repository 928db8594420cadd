//! The rules for a source with more than one batch in flight.

use super::driver::{Driven, continues};
use super::effects::{effects, is};
use super::subject::Subject;

/// All of it, one after the other, on one upstream each.
pub(super) async fn rewinds<S: Subject>(subject: &S) -> Result<(), String> {
    nack_discards_all_after(subject).await?;
    newest_state_covers_all_before(subject).await?;
    ack_may_come_while_a_poll_runs(subject).await
}

async fn nack_discards_all_after<S: Subject>(subject: &S) -> Result<(), String> {
    subject.reset().await;
    let expected = subject.expected();
    let mut source = Driven::open(subject, None).await?;
    let first = source.records().await?;
    let after_first = continues(&expected, 0, &first.identities)?;
    let second = source.records().await?;
    let after_second = continues(&expected, after_first, &second.identities)
        .map_err(|what| format!("the second batch in flight: {what}"))?;
    let third = source.records().await?;
    continues(&expected, after_second, &third.identities)
        .map_err(|what| format!("the third batch in flight: {what}"))?;

    source.ack().await?;
    is(subject, &effects(subject, [&first]), "by the Ack of the first of three").await?;
    source.nack().await?;
    is(subject, &effects(subject, [&first]), "by the Nack of the second of three").await?;
    let mut position = after_first;
    while position < expected.len() {
        let polled = source.records().await?;
        position = continues(&expected, position, &polled.identities)
            .map_err(|what| format!("after Ack and Nack of three in flight: {what}"))?;
        source.ack().await?;
    }
    source.close().await
}

async fn newest_state_covers_all_before<S: Subject>(subject: &S) -> Result<(), String> {
    subject.reset().await;
    let expected = subject.expected();
    let mut source = Driven::open(subject, None).await?;
    let first = source.records().await?;
    let second = source.records().await?;
    let end = first.identities.len() + second.identities.len();
    drop(source);

    let mut source = Driven::open(subject, second.state.clone()).await?;
    let done = effects(subject, [&first, &second]);
    is(subject, &done, "by opening with the state of the second of two").await?;
    let third = source.records().await?;
    continues(&expected, end, &third.identities)
        .map_err(|what| format!("opened with the state of the second of two: {what}"))?;
    source.close().await
}

async fn ack_may_come_while_a_poll_runs<S: Subject>(subject: &S) -> Result<(), String> {
    subject.reset().await;
    let expected = subject.expected();
    let mut source = Driven::open(subject, None).await?;
    let first = source.records().await?;
    let second = source.poll_around_an_ack().await?;
    let end = continues(&expected, first.identities.len(), &second.identities)
        .map_err(|what| format!("an Ack while a poll runs: {what}"))?;
    is(subject, &effects(subject, [&first]), "by an Ack while a poll runs").await?;
    source.ack().await?;
    let third = source.records().await?;
    continues(&expected, end, &third.identities)
        .map_err(|what| format!("after an Ack while a poll ran: {what}"))?;
    source.close().await
}

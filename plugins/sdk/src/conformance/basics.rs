//! The rules about positions and states.

use super::driver::{Driven, continues};
use super::subject::Subject;
use crate::{Error, Mode, State};

/// A batch, nacked twice, comes again twice.
pub(super) async fn nack_replays<S: Subject>(subject: &S) -> Result<(), String> {
    subject.reset().await;
    let expected = subject.expected();
    let mut source = Driven::open(subject, None).await?;
    for round in ["the first batch", "after a Nack", "after a second Nack"] {
        let polled = source.records().await?;
        continues(&expected, 0, &polled.identities).map_err(|what| format!("{round}: {what}"))?;
        source.nack().await?;
    }
    let polled = source.records().await?;
    let end = continues(&expected, 0, &polled.identities)?;
    source.ack().await?;
    let polled = source.records().await?;
    continues(&expected, end, &polled.identities).map_err(|what| format!("before a Nack: {what}"))?;
    source.nack().await?;
    let polled = source.records().await?;
    continues(&expected, end, &polled.identities)
        .map_err(|what| format!("after an Ack and a Nack: {what}"))?;
    source.close().await
}

/// Every record comes, once, in order.
pub(super) async fn ack_moves_on<S: Subject>(subject: &S) -> Result<(), String> {
    subject.reset().await;
    let expected = subject.expected();
    let mut source = Driven::open(subject, None).await?;
    let mut position = 0;
    while position < expected.len() {
        let polled = source.records().await?;
        position = continues(&expected, position, &polled.identities)?;
        if polled.state.is_none() {
            return Err(format!("the batch {:?} carries no state", polled.identities));
        }
        source.ack().await?;
    }
    source.close().await
}

/// The process dies after a save, before and after the Ack, and before a save.
pub(super) async fn restart_resumes<S: Subject>(subject: &S) -> Result<(), String> {
    subject.reset().await;
    let expected = subject.expected();

    let mut source = Driven::open(subject, None).await?;
    let first = source.records().await?;
    let after_first = continues(&expected, 0, &first.identities)?;
    drop(source);
    let mut source = Driven::open(subject, None).await?;
    let again = source.records().await?;
    continues(&expected, 0, &again.identities).map_err(|what| format!("nothing was saved: {what}"))?;
    drop(source);

    let mut source = Driven::open(subject, first.state).await?;
    let second = source.records().await?;
    let after_second = continues(&expected, after_first, &second.identities)
        .map_err(|what| format!("saved, but died before the Ack: {what}"))?;
    source.ack().await?;
    source.close().await?;

    let mut source = Driven::open(subject, second.state.clone()).await?;
    let third = source.records().await?;
    continues(&expected, after_second, &third.identities).map_err(|what| format!("after an Ack: {what}"))?;
    source.nack().await?;
    drop(source);
    let mut source = Driven::open(subject, second.state).await?;
    let third = source.records().await?;
    continues(&expected, after_second, &third.identities).map_err(|what| format!("after a Nack: {what}"))?;
    source.close().await
}

/// Cut, continued, foreign and empty states.
pub(super) async fn bad_state_is_refused<S: Subject>(subject: &S) -> Result<(), String> {
    subject.reset().await;
    let mut source = Driven::open(subject, None).await?;
    let polled = source.records().await?;
    drop(source);
    let whole = polled.state.ok_or("the first batch carries no state")?.into_bytes();
    let longer = [whole.as_slice(), b"x"].concat();
    let bad = [
        ("an empty state", Vec::new()),
        ("a foreign state", b"this is no state".to_vec()),
        ("half a state", whole[..whole.len() / 2].to_vec()),
        ("a state without its last byte", whole[..whole.len() - 1].to_vec()),
        ("a state with a byte too many", longer),
    ];
    for (name, bytes) in bad {
        match Driven::try_open(subject, Some(State::from_bytes(bytes)), Mode::Run).await {
            Err(Error::State(_)) => {}
            Err(error) => {
                return Err(format!("{name} is refused, but not as Error::State: {}", error.chain()));
            }
            Ok(_) => return Err(format!("{name} is taken")),
        }
    }
    Ok(())
}

/// When everything was read, a poll that returns brings neither a record nor a state that was saved already.
pub(super) async fn empty_carries_no_state<S: Subject>(subject: &S) -> Result<(), String> {
    subject.reset().await;
    let expected = subject.expected();
    let mut source = Driven::open(subject, None).await?;
    let (mut position, mut saved) = (0, None);
    while position < expected.len() {
        let polled = source.records().await?;
        position = continues(&expected, position, &polled.identities)?;
        saved = polled.state.or(saved);
        source.ack().await?;
    }
    for _ in 0..3 {
        let Some(polled) = super::interrupt::poll_briefly(&mut source).await? else { continue };
        continues(&expected, position, &polled.identities)?;
        if polled.state.is_some() && polled.state == saved {
            return Err("it carries the state that is saved already".to_owned());
        }
        saved = polled.state.or(saved);
        source.ack().await?;
    }
    source.close().await
}

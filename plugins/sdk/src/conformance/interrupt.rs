//! Interrupting polls: at every await, by asking and by dropping.

use std::pin::{Pin, pin};
use std::time::Duration;

use tokio::time::timeout;

use super::driver::{Driven, Polled, continues, until};
use super::subject::Subject;
use crate::ffi::GRACE;
use crate::{Batch, Error, Source};

/// More awaits than that in one poll are not all tried.
const AWAITS_MAX: usize = 300;

/// How long a poll without anything new is left alone before it is asked to end.
const BRIEFLY: Duration = Duration::from_millis(50);

/// At its first await, its second, and so on until a poll has no more: dropped there, then asked there.
pub(super) async fn returns<S: Subject>(subject: &S) -> Result<(), String> {
    subject.reset().await;
    let expected = subject.expected();
    let mut source = Driven::open(subject, None).await?;
    for awaits in 1..=AWAITS_MAX {
        let is_whole = drop_at(&mut source, awaits).await?;
        again(&mut source, &expected)
            .await
            .map_err(|what| format!("dropped at its await {awaits}: {what}"))?;
        ask_at(&mut source, awaits, &expected)
            .await
            .map_err(|what| format!("asked at its await {awaits}: {what}"))?;
        again(&mut source, &expected).await.map_err(|what| format!("asked at its await {awaits}: {what}"))?;
        if is_whole {
            break;
        }
    }
    let mut position = 0;
    while position < expected.len() {
        let polled = source.records().await?;
        position = continues(&expected, position, &polled.identities)
            .map_err(|what| format!("in the end: {what}"))?;
        source.ack().await?;
    }
    poll_briefly(&mut source).await?;
    source.close().await
}

/// Begins a poll; when it has nothing for a while it is asked to end, which it must within [`GRACE`].
pub(super) async fn poll_briefly<S: Subject>(source: &mut Driven<'_, S>) -> Result<Option<Polled>, String> {
    let ended = {
        let mut poll = pin!(source.source().poll());
        match timeout(BRIEFLY, poll.as_mut()).await {
            Ok(ended) => ended,
            Err(_) => asked(source, poll).await?,
        }
    };
    source.bench.ask(false);
    match ended.and_then(|batch| source.returned(batch)) {
        Ok(polled) => Ok(Some(polled)),
        Err(Error::Interrupted) => Ok(None),
        Err(error) => Err(format!("with nothing new a poll fails: {}", error.chain())),
    }
}

/// Drops a poll at an await; true when it returned before and there is no such await.
async fn drop_at<S: Subject>(source: &mut Driven<'_, S>, awaits: usize) -> Result<bool, String> {
    let ended = until(pin!(source.source().poll()), awaits).await;
    let Some(ended) = ended else { return Ok(false) };
    take(source, ended).await.map(|_| true)
}

/// Asks a poll to end at an await.
async fn ask_at<S: Subject>(
    source: &mut Driven<'_, S>,
    awaits: usize,
    expected: &[String],
) -> Result<(), String> {
    let ended = {
        let mut poll = pin!(source.source().poll());
        match until(poll.as_mut(), awaits).await {
            Some(ended) => ended,
            None => asked(source, poll).await?,
        }
    };
    source.bench.ask(false);
    if let Some(polled) = take(source, ended).await? {
        continues(expected, 0, &polled.identities)?;
    }
    Ok(())
}

/// A whole poll must begin where nothing was acknowledged yet.
async fn again<S: Subject>(source: &mut Driven<'_, S>, expected: &[String]) -> Result<(), String> {
    let polled = source.records().await?;
    continues(expected, 0, &polled.identities)?;
    source.nack().await
}

/// Nacks what a poll returned; an interrupted one returned nothing.
async fn take<S: Subject>(
    source: &mut Driven<'_, S>,
    ended: Result<Batch, Error>,
) -> Result<Option<Polled>, String> {
    match ended.and_then(|batch| source.returned(batch)) {
        Ok(polled) => {
            source.nack().await?;
            Ok(Some(polled))
        }
        Err(Error::Interrupted) => Ok(None),
        Err(error) => Err(format!("the poll fails: {}", error.chain())),
    }
}

async fn asked<S: Subject, F: Future>(
    source: &Driven<'_, S>,
    poll: Pin<&mut F>,
) -> Result<F::Output, String> {
    source.bench.ask(true);
    timeout(GRACE, poll).await.map_err(|_| format!("a poll that was asked to end goes on for {GRACE:?}"))
}

//! Ending what runs: interrupts, timeouts, close and destroy.

use std::time::{Duration, Instant};

use picomq_connector_sdk::Verdict;
use picomq_connector_sdk::ffi::host::{Closed, OpenError, PollError, ResolveError};

use crate::support::{first, scripted, wait_for_lines};

#[tokio::test]
async fn a_sleeping_poll_ends_at_once_when_interrupted_b141() {
    let source = scripted(r#"{"poll": ["sleep"]}"#).await.unwrap();
    let started = Instant::now();
    // The interrupt comes right after the call, perhaps before the author's code even began: it is sticky.
    let poll = source.poll();
    source.interrupt();
    assert!(matches!(poll.await, Err(PollError::Interrupted)));
    assert!(started.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn an_interrupt_without_a_poll_changes_nothing() {
    let source = scripted(r#"{"poll": ["good", "sleep"]}"#).await.unwrap();
    source.interrupt();
    assert_eq!(source.poll().await.unwrap().len(), 1);
    source.interrupt();
    let poll = source.poll();
    let early = tokio::time::timeout(Duration::from_millis(100), poll).await;
    assert!(early.is_err(), "{early:?}");
}

#[tokio::test]
async fn a_deaf_poll_is_dropped_after_five_seconds_and_loses_nothing_b141() {
    let source = scripted(r#"{"poll": ["good", "wait", "good"]}"#).await.unwrap();
    assert_eq!(first(&source.poll().await.unwrap()), 0);
    let poll = source.poll();
    source.interrupt();
    let started = Instant::now();
    assert!(matches!(poll.await, Err(PollError::Interrupted)));
    assert!(started.elapsed() >= Duration::from_millis(4900) && started.elapsed() < Duration::from_secs(8));
    assert_eq!(first(&source.poll().await.unwrap()), 1);
}

#[tokio::test]
async fn an_opening_past_its_timeout_is_a_passing_failure() {
    let error = scripted(r#"{"open": "wait"}"#).await.unwrap_err();
    assert!(matches!(&error, OpenError::Transient(text) if text.contains("300ms")), "{error:?}");
}

#[tokio::test]
async fn a_verdict_past_its_timeout_is_dropped_and_fatal() {
    let source = scripted(r#"{"verdict": "wait"}"#).await.unwrap();
    source.poll().await.unwrap();
    let error = source.resolve(Verdict::Ack).await.unwrap_err();
    assert!(matches!(error, ResolveError::TimedOut(_)), "{error:?}");
    assert!(matches!(source.poll().await, Err(PollError::Panicked(_))));
    assert_eq!(source.destroy().await, Closed { leaked: false });
}

#[tokio::test]
async fn close_and_destroy_end_a_sleeping_poll_and_wait_for_it() {
    let source = scripted(r#"{"poll": ["sleep"]}"#).await.unwrap();
    let poll = source.poll();
    assert_eq!(source.close().await, Closed { leaked: false });
    assert!(matches!(poll.await, Err(PollError::Interrupted)));

    let source = scripted(r#"{"poll": ["sleep"]}"#).await.unwrap();
    let poll = source.poll();
    assert_eq!(source.destroy().await, Closed { leaked: false });
    assert!(matches!(poll.await, Err(PollError::Interrupted)));
}

#[tokio::test]
async fn a_close_that_does_not_end_is_dropped_after_five_seconds() {
    let source = scripted(r#"{"close": "wait"}"#).await.unwrap();
    let started = Instant::now();
    assert_eq!(source.close().await, Closed { leaked: false });
    assert!(started.elapsed() < Duration::from_secs(8));
}

#[tokio::test]
async fn a_second_poll_beside_the_first_is_refused() {
    let source = scripted(r#"{"poll": ["sleep"]}"#).await.unwrap();
    let forgotten = source.poll();
    drop(forgotten);
    let error = source.poll().await.unwrap_err();
    assert!(matches!(&error, PollError::Panicked(text) if text.contains("outstanding")), "{error:?}");
    assert_eq!(source.destroy().await, Closed { leaked: false });
}

#[tokio::test]
async fn destroying_twice_is_once() {
    let source = scripted("{}").await.unwrap();
    assert_eq!(source.destroy().await, Closed { leaked: false });
    assert_eq!(source.close().await, Closed { leaked: false });
    assert!(matches!(source.poll().await, Err(PollError::Panicked(text)) if text.contains("destroyed")));
}

#[tokio::test]
async fn an_instance_that_nobody_holds_is_destroyed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dropped");
    let config = format!(r#"{{"dropped": {path:?}, "poll": ["sleep"]}}"#);

    let source = scripted(&config).await.unwrap();
    let poll = source.poll();
    drop((source, poll));
    wait_for_lines(&path, 1);

    // Nobody waits for this opening any more when it ends.
    let opening = format!(r#"{{"dropped": {path:?}, "open": {{"block_ms": 100}}}}"#);
    drop(Box::pin(scripted(&opening)));
    let mut opening = Box::pin(scripted(&opening));
    let early = tokio::time::timeout(Duration::from_millis(10), opening.as_mut()).await;
    assert!(early.is_err());
    drop(opening);
    wait_for_lines(&path, 2);
}

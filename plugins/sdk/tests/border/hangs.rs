//! Code that blocks its thread for ever. Each test has a library of its own, since a blocked worker stays blocked, and
//! stops its clock once something hangs: the waits of this side then pass at once.

use std::time::Duration;

use picomq_connector_sdk::Verdict;
use picomq_connector_sdk::ffi::host::{Closed, Instance, OpenError, PollError, ResolveError};

use crate::support::{own_library, request, scripted, wait_for_lines};

async fn open(config: &str) -> Result<Instance, OpenError> {
    own_library("scripted").open(request(config)).await
}

/// Gives the plugin time to begin the call on its own thread, then lets this side's clock jump.
async fn stop_the_clock() {
    tokio::time::sleep(Duration::from_millis(100)).await;
    tokio::time::pause();
}

#[tokio::test]
async fn a_blocked_poll_hangs_once_it_was_asked_to_end_and_the_instance_is_leaked_b125() {
    let source = open(r#"{"poll": ["block"]}"#).await.unwrap();
    let poll = source.poll();
    stop_the_clock().await;
    source.interrupt();
    let error = poll.await.unwrap_err();
    assert!(matches!(&error, PollError::Hung(text) if text.contains("restart the engine")), "{error:?}");
    assert_eq!(source.destroy().await, Closed { leaked: true });
}

#[tokio::test]
async fn a_blocked_poll_without_an_interrupt_is_left_alone() {
    let source = open(r#"{"poll": ["block"]}"#).await.unwrap();
    let poll = source.poll();
    stop_the_clock().await;
    assert!(tokio::time::timeout(Duration::from_secs(86_400), poll).await.is_err());
}

#[tokio::test]
async fn closing_over_a_blocked_poll_ends_within_ten_seconds_b125() {
    let source = open(r#"{"poll": ["block"]}"#).await.unwrap();
    let poll = source.poll();
    stop_the_clock().await;
    let started = tokio::time::Instant::now();
    assert_eq!(source.close().await, Closed { leaked: true });
    assert!(started.elapsed() <= Duration::from_secs(11), "{:?}", started.elapsed());
    assert!(matches!(poll.await, Err(PollError::Hung(_))));
}

#[tokio::test]
async fn a_blocked_opening_hangs() {
    let opening = own_library("scripted").open(request(r#"{"open": "block"}"#));
    stop_the_clock().await;
    assert!(matches!(opening.await, Err(OpenError::Hung(_))));
}

#[tokio::test]
async fn a_blocked_verdict_hangs_and_the_instance_is_leaked() {
    let source = open(r#"{"verdict": "block"}"#).await.unwrap();
    source.poll().await.unwrap();
    let verdict = source.resolve(Verdict::Ack);
    stop_the_clock().await;
    assert!(matches!(verdict.await, Err(ResolveError::Hung(_))));
    assert_eq!(source.destroy().await, Closed { leaked: true });
}

#[tokio::test]
async fn a_blocked_close_and_a_blocked_drop_leak() {
    for config in [r#"{"close": "block"}"#, r#"{"drop": "block"}"#] {
        let source = open(config).await.unwrap();
        let closing = source.close();
        let closing = tokio::spawn(closing);
        // Real time passes until the call is under way, in two steps for close and destroy.
        tokio::time::sleep(Duration::from_millis(200)).await;
        tokio::time::pause();
        assert_eq!(closing.await.unwrap(), Closed { leaked: true }, "{config}");
        tokio::time::resume();
    }
}

#[tokio::test]
async fn a_poll_that_ends_long_after_it_was_given_up_gives_its_batch_back_and_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dropped");
    let source = open(&format!(r#"{{"poll": [{{"block_ms": 700}}], "dropped": {path:?}}}"#)).await.unwrap();
    let poll = source.poll();
    stop_the_clock().await;
    source.interrupt();
    assert!(matches!(poll.await, Err(PollError::Hung(_))));
    assert_eq!(source.destroy().await, Closed { leaked: true });
    wait_for_lines(&path, 1);
}

#[tokio::test]
async fn a_library_that_hangs_leaves_the_others_alone_b125() {
    let hanging = own_library("scripted");
    let mut polls = Vec::new();
    for _ in 0..4 {
        let opening = hanging.open(request(r#"{"poll": ["block"]}"#));
        let Ok(Ok(source)) = tokio::time::timeout(Duration::from_secs(1), opening).await else { break };
        polls.push((source.poll(), source));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(polls.len() >= 2, "both workers are to be blocked");
    let other = scripted("{}").await.unwrap();
    for _ in 0..100 {
        other.poll().await.unwrap();
        other.resolve(Verdict::Ack).await.unwrap();
    }
}

//! A whole life over the border.

use picomq_connector_sdk::ffi::host::{Closed, OpenError, PollError};
use picomq_connector_sdk::{Schema, State, Verdict};

use crate::support::scripted;

#[tokio::test]
async fn records_cross_with_every_field_and_the_state() {
    let source = scripted(r#"{"poll": [{"records": 3}]}"#).await.unwrap();

    let batch = source.poll().await.unwrap();

    assert_eq!((batch.schema(), batch.len()), (Schema::Text, 3));
    let last = batch.record(2);
    assert_eq!(last.payload, Some(&b"2"[..]));
    assert_eq!(last.key, Some(&b"k"[..]));
    assert_eq!(last.id, Some("2"));
    assert_eq!(last.header("h"), Some(&b"v"[..]));
    let state = State::from_bytes(batch.state().unwrap());
    assert_eq!(state.decode::<u64>(1).unwrap(), 3);
}

#[tokio::test]
async fn a_nack_rewinds_and_an_ack_moves_on() {
    let source = scripted("{}").await.unwrap();
    let first = |batch: &picomq_connector_sdk::ffi::host::GuestBatch| {
        String::from_utf8(batch.record(0).payload.unwrap().to_vec()).unwrap()
    };

    let batch = source.poll().await.unwrap();
    source.resolve(Verdict::Ack).await.unwrap();
    let next = source.poll().await.unwrap();
    source.resolve(Verdict::Nack).await.unwrap();
    let again = source.poll().await.unwrap();

    assert_eq!((first(&batch), first(&next), first(&again)), ("0".into(), "1".into(), "1".into()));
    assert_eq!(source.close().await, Closed { leaked: false });
}

#[tokio::test]
async fn a_sleeping_poll_ends_at_once_when_interrupted() {
    let source = scripted(r#"{"poll": ["sleep"]}"#).await.unwrap();
    let poll = source.poll();
    source.interrupt();
    assert!(matches!(poll.await, Err(PollError::Interrupted)));
}

#[tokio::test]
async fn a_panic_in_open_comes_back_as_text_b125() {
    let error = scripted(r#"{"open": "panic"}"#).await.unwrap_err();
    assert!(matches!(&error, OpenError::Panicked(text) if text.contains("as scripted")), "{error}");
}

//! Records, states and verdicts over the border.

use picomq_connector_sdk::ffi::host::{Closed, OpenError, OpenRequest};
use picomq_connector_sdk::{Schema, State, Verdict};

use crate::support::{first, library, request, scripted};

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

    let batch = source.poll().await.unwrap();
    source.resolve(Verdict::Ack).await.unwrap();
    let next = source.poll().await.unwrap();
    source.resolve(Verdict::Nack).await.unwrap();
    let again = source.poll().await.unwrap();

    assert_eq!((first(&batch), first(&next), first(&again)), (0, 1, 1));
    assert_eq!(source.close().await, Closed { leaked: false });
}

#[tokio::test]
async fn several_batches_may_be_in_flight() {
    let source = scripted("{}").await.unwrap();
    let first_batch = source.poll().await.unwrap();
    let second_batch = source.poll().await.unwrap();
    source.resolve(Verdict::Ack).await.unwrap();
    source.resolve(Verdict::Nack).await.unwrap();
    let again = source.poll().await.unwrap();
    assert_eq!((first(&first_batch), first(&second_batch), first(&again)), (0, 1, 1));
}

#[tokio::test]
async fn the_saved_state_comes_back_and_a_damaged_one_is_refused() {
    let state = State::encode(&41_u64, 1).unwrap().into_bytes();
    let open =
        |state: &[u8]| library("scripted").open(OpenRequest { state: Some(state.to_vec()), ..request("{}") });
    let source = open(&state).await.unwrap();
    assert_eq!(first(&source.poll().await.unwrap()), 41);
    assert!(matches!(open(&state[..state.len() - 1]).await, Err(OpenError::State(_))));
    assert!(matches!(open(&[]).await, Err(OpenError::State(_))));
}

#[tokio::test]
async fn a_batch_outlives_its_instance() {
    let source = scripted(r#"{"poll": [{"records": 5000}]}"#).await.unwrap();
    let batch = source.poll().await.unwrap();
    assert_eq!(source.destroy().await, Closed { leaked: false });
    drop(source);
    assert_eq!(batch.records().filter(|record| record.payload.is_some()).count(), 5000);
}

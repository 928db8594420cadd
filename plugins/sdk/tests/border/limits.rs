//! Batches beyond the limits.

use picomq_connector_sdk::Verdict;
use picomq_connector_sdk::ffi::host::{Limits, OpenRequest, PollError};

use crate::support::{first, library, request};

const SMALL: Limits = Limits { batch_records: 10, batch_bytes: 10_000 };

async fn refusal(config: &str) -> String {
    let source =
        library("scripted").open(OpenRequest { limits: SMALL, ..request(config) }).await.expect("it opens");
    match source.poll().await {
        Err(PollError::Limit(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn too_many_records_are_refused_with_both_numbers_and_the_key() {
    let text = refusal(r#"{"poll": [{"records": 11}]}"#).await;
    assert!(
        text.contains("11 records") && text.contains("10 records") && text.contains("batch_records"),
        "{text}"
    );
}

#[tokio::test]
async fn too_many_bytes_are_refused_with_both_numbers_and_the_key() {
    let text = refusal(r#"{"poll": [{"bytes": 20000}]}"#).await;
    assert!(text.contains("10000 bytes") && text.contains("batch_bytes"), "{text}");
}

#[tokio::test]
async fn what_just_fits_is_taken() {
    let opening = OpenRequest { limits: SMALL, ..request(r#"{"poll": [{"records": 10}]}"#) };
    let source = library("scripted").open(opening).await.unwrap();
    assert_eq!(source.poll().await.unwrap().len(), 10);
}

#[tokio::test]
async fn a_refused_batch_moves_the_source_nowhere() {
    let config = r#"{"poll": [{"records": 2}, {"records": 11}, {"records": 3}]}"#;
    let source = library("scripted").open(OpenRequest { limits: SMALL, ..request(config) }).await.unwrap();
    assert_eq!(first(&source.poll().await.unwrap()), 0);
    assert!(matches!(source.poll().await, Err(PollError::Limit(_))));
    assert_eq!(first(&source.poll().await.unwrap()), 2);
    source.resolve(Verdict::Ack).await.unwrap();
    source.resolve(Verdict::Nack).await.unwrap();
    assert_eq!(first(&source.poll().await.unwrap()), 2);
}

#[tokio::test]
async fn the_plugin_knows_the_largest_record() {
    let opening = OpenRequest { record_bytes: 54_321, ..request("{}") };
    let source = library("scripted").open(opening).await.unwrap();
    assert_eq!(source.command("record_bytes", "null").await.unwrap(), "54321");
}

//! An index read once.

use picomq_connector_sdk::State;
use serde_json::json;

use crate::reading::{Reading, config, distinct};
use crate::server::{KINDS, Place, documents};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_reads_everything_once_over_restarts_and_is_then_at_its_end() {
    for kind in KINDS {
        let place = Place::with_index(kind, 3, json!({})).await;
        // Some have no timestamp, which is of no account here.
        place.put(documents("d", 100, "2026-01-01T00:00:00Z")).await;
        place.put((0..5).map(|n| (format!("e{n}"), json!({ "n": n })))).await;
        let config = config(&place, json!({ "mode": "snapshot", "timestamp_field": null, "batch_size": 13 }));
        let mut keys = Vec::new();
        let mut reading = Reading::open(config.clone(), None).await;
        while keys.len() < 105 {
            keys.extend(reading.step().await.unwrap().into_iter().map(|seen| seen.key));
            reading = reading.killed(config.clone()).await;
        }
        assert_eq!((keys.len(), distinct(keys).len()), (105, 105), "{kind:?}");
        assert!(is_done(&mut reading).await, "{kind:?}");
        place.put(documents("later", 1, "2026-01-01T00:00:00Z")).await;
        let mut reading = reading.killed(config).await;
        reading.nothing().await;
    }
}

/// The end is a batch of its own when the last page was full.
async fn is_done(reading: &mut Reading) -> bool {
    let is_done = |state: &Option<State>| {
        use picomq_connector_sdk::Source;
        let state = state.as_ref().expect("something was saved");
        picomq_connector_elasticsearch_source::ElasticsearchSource::describe_state(state).unwrap()["state"]["is_done"]
            == true
    };
    if !is_done(&reading.saved) {
        assert_eq!(reading.step().await.unwrap(), []);
    }
    is_done(&reading.saved)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_changed_before_it_was_read_is_not_missing_from_a_snapshot() {
    for kind in KINDS {
        let place = Place::with_index(kind, 1, json!({})).await;
        place.put(documents("d", 30, "2026-01-01T00:00:00Z")).await;
        let config = config(&place, json!({ "mode": "snapshot", "batch_size": 10 }));
        let mut reading = Reading::open(config.clone(), None).await;
        let mut keys = reading.keys(10).await;
        place.put([("d25".to_owned(), json!({ "n": 1 }))]).await;
        // Without the point in time of the first opening.
        let mut reading = reading.killed(config).await;
        keys.extend(reading.keys(20).await);
        assert_eq!(distinct(keys).len(), 30, "{kind:?}");
        assert!(is_done(&mut reading).await, "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_index_is_a_snapshot_of_nothing() {
    for kind in KINDS {
        let place = Place::with_index(kind, 1, json!({})).await;
        let mut reading = Reading::open(config(&place, json!({ "mode": "snapshot" })), None).await;
        assert_eq!(reading.step().await.unwrap(), []);
        assert!(is_done(&mut reading).await, "{kind:?}");
    }
}

//! Equal timestamps, late documents, restarts: nothing is passed over, nothing repeats.

use std::time::Duration;

use picomq_connector_sdk::Verdict;
use serde_json::{Value, json};

use crate::reading::{Reading, config, distinct, with};
use crate::server::{KINDS, Kind, Place, documents};

const DATE: &str = "date";

fn date() -> Value {
    json!({ "at": { "type": DATE } })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn equal_timestamps_at_the_page_edge_come_once_each_over_restarts_b093() {
    for kind in KINDS {
        for shards in [1, 3] {
            let place = Place::with_index(kind, shards, date()).await;
            place.put(documents("d", 25, "2026-01-01T00:00:00Z")).await;
            let config = config(&place, json!({ "batch_size": 10 }));
            let mut keys = Vec::new();
            let mut reading = Reading::open(config.clone(), None).await;
            while keys.len() < 25 {
                keys.extend(reading.step().await.unwrap().into_iter().map(|seen| seen.key));
                reading = reading.killed(config.clone()).await;
            }
            reading.nothing().await;
            place.put(documents("late", 1, "2026-01-01T00:00:00Z")).await;
            keys.extend(reading.keys(1).await);
            reading.nothing().await;
            assert_eq!((keys.len(), distinct(keys).len()), (26, 26), "{kind:?}, {shards} shards");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_timestamp_for_more_documents_than_are_remembered_ends_and_does_not_repeat_b093() {
    for (kind, overlap) in KINDS.into_iter().flat_map(|kind| [(kind, "0s"), (kind, "10s")]) {
        let place = Place::with_index(kind, 2, date()).await;
        place.put(documents("d", 6_000, "2026-01-01T00:00:00Z")).await;
        let config = config(&place, json!({ "batch_size": 900, "overlap": overlap }));
        let mut reading = Reading::open(config.clone(), None).await;
        let mut keys = reading.keys(4_500).await;
        let mut reading = reading.killed(config).await;
        keys.extend(reading.keys(1_500).await);
        reading.nothing().await;
        assert_eq!(distinct(keys).len(), 6_000, "{kind:?}, {overlap}");
        assert!(reading.check("overlap").is_none(), "{kind:?}, {overlap}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_one_document_move_on_b093() {
    for kind in KINDS {
        let place = Place::with_index(kind, 3, date()).await;
        place.put(documents("d", 12, "2026-01-01T00:00:00Z")).await;
        let mut reading = Reading::open(config(&place, json!({ "batch_size": 1 })), None).await;
        assert_eq!(distinct(reading.keys(12).await).len(), 12, "{kind:?}");
        reading.nothing().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_that_becomes_visible_late_comes_when_overlap_reaches_back_to_it_b094() {
    for (kind, overlap, comes) in
        KINDS.into_iter().flat_map(|kind| [(kind, "10s", true), (kind, "500ms", false)])
    {
        let place = Place::new(kind).await;
        let (slow, quick) = (format!("{}-slow", place.name), format!("{}-quick", place.name));
        for index in [&slow, &quick] {
            place.create(index, 1, date()).await;
        }
        place.write(&slow, documents("slow", 1, "2026-01-01T00:00:01Z")).await;
        for second in [4, 5] {
            place
                .write(
                    &quick,
                    documents(&format!("q{second}-"), 1, &format!("2026-01-01T00:00:0{second}.5Z")),
                )
                .await;
        }
        place.refresh(&quick).await;
        let base = json!({ "index": format!("{}-*", place.name), "timestamp_field": "at" });
        let config = with(&place.url(), base, json!({ "overlap": overlap }));
        let mut reading = Reading::open(config.clone(), None).await;
        assert_eq!(reading.keys(2).await, ["q4-0", "q5-0"]);
        let mut reading = reading.killed(config).await;
        place.refresh(&slow).await;
        if comes {
            assert_eq!(reading.keys(1).await, ["slow0"], "{kind:?}");
        }
        reading.nothing().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_of_one_timestamp_that_come_under_way_are_not_passed_over() {
    // Sequence numbers of another shard may be lower than the one reached.
    for kind in KINDS {
        let place = Place::with_index(kind, 5, date()).await;
        let mut keys = Vec::new();
        let mut reading = Reading::open(config(&place, json!({ "batch_size": 7 })), None).await;
        for round in 0..6 {
            let prefix = format!("r{round}-");
            place.put(documents(&prefix, 20, "2026-01-01T00:00:00Z")).await;
            keys.extend(reading.keys(20).await);
        }
        reading.nothing().await;
        assert_eq!(distinct(keys).len(), 120, "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_document_comes_again_with_another_id() {
    let place = Place::with_index(Kind::OpenSearch, 1, date()).await;
    place.put([("a".to_owned(), json!({ "at": "2026-01-01T00:00:00Z", "n": 1 }))]).await;
    let mut reading = Reading::open(config(&place, json!({})), None).await;
    let first = reading.step().await.unwrap();
    place.put([("a".to_owned(), json!({ "at": "2026-01-01T00:00:00Z", "n": 2 }))]).await;
    let second = reading.step().await.unwrap();
    assert_eq!((&*first[0].key, &*second[0].key), ("a", "a"));
    assert_ne!(first[0].id, second[0].id);
    assert!(second[0].text.contains("\"n\":2"));
    reading.nothing().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_nack_in_the_middle_of_a_chain_reads_the_same_again() {
    for kind in KINDS {
        let place = Place::with_index(kind, 2, date()).await;
        place.put(documents("d", 40, "2026-01-01T00:00:00Z")).await;
        let mut reading = Reading::open(config(&place, json!({ "batch_size": 10 })), None).await;
        let mut keys = reading.keys(10).await;
        // Two in flight, the first of which fails.
        let (first, _) = reading.poll().await.unwrap();
        let (second, _) = reading.poll().await.unwrap();
        assert_eq!((first.len(), second.len()), (10, 10), "{kind:?}");
        reading.bench.resolve(Verdict::Nack).await.unwrap();
        let again = reading.step().await.unwrap();
        assert_eq!(again, first, "{kind:?}");
        keys.extend(again.into_iter().map(|seen| seen.key));
        keys.extend(reading.keys(20).await);
        assert_eq!(distinct(keys).len(), 40, "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_open_at_the_server() {
    for kind in KINDS {
        let place = Place::with_index(kind, 1, date()).await;
        place.put(documents("d", 50, "2026-01-01T00:00:00Z")).await;
        let mut reading = Reading::open(config(&place, json!({ "batch_size": 10 })), None).await;
        reading.keys(20).await;
        assert!(place.open_contexts().await > 0, "{kind:?}");
        reading.close().await;
        drop(reading);
        // A page that was under way ends by itself.
        let gone = async {
            while place.open_contexts().await > 0 {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), gone).await.expect("contexts are let go of");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_initial_offset_begins_behind_it_and_a_query_narrows() {
    // Nanoseconds begin by a query, milliseconds by search_after.
    for (kind, of) in KINDS.into_iter().flat_map(|kind| [(kind, DATE), (kind, "date_nanos")]) {
        let place = Place::with_index(kind, 1, json!({ "at": { "type": of } })).await;
        for second in 0..6 {
            place.put(documents(&format!("s{second}-"), 2, &format!("2026-01-01T00:00:0{second}Z"))).await;
        }
        let more = json!({ "initial_offset": "2026-01-01T00:00:02Z", "query": { "term": { "n": 1 } } });
        let mut reading = Reading::open(config(&place, more), None).await;
        assert_eq!(reading.keys(3).await, ["s3-1", "s4-1", "s5-1"], "{kind:?} {of}");
        reading.nothing().await;
    }
}

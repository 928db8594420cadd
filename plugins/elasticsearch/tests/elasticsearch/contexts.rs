//! A server that holds as many points in time or scrolls as it may: for each shard of an index one counts.

use picomq_connector_sdk::CheckStatus;
use picomq_connector_sdk::http::Method;
use serde_json::json;

use crate::reading::{Reading, config, distinct};
use crate::server::{Kind, Place, documents};

/// OpenSearch 2.19 opens a point in time over as many shards as it can, answers 200, and each page is then a whole answer of
/// those. Elasticsearch 7.10 refuses the scroll.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_context_over_fewer_shards_than_there_are_is_not_taken_b095() {
    for (kind, limit) in [
        (Kind::OpenSearch, "search.max_open_pit_context"),
        (Kind::Elasticsearch7, "search.max_open_scroll_context"),
    ] {
        let place = Place::alone(kind).await;
        place.create(&place.name, 6, json!({ "at": { "type": "date" } })).await;
        place.put(documents("d", 100, "2026-01-01T00:00:00Z")).await;
        let most = |count: Option<u32>| {
            let body = json!({ "transient": { limit: count } });
            place.ask(Method::PUT, &["_cluster", "settings"], Some(body))
        };
        for may in [0, 1, 4] {
            most(Some(may)).await;
            let mut reading = Reading::open(config(&place, json!({ "batch_size": 7 })), None).await;
            assert_eq!(distinct(reading.keys(100).await).len(), 100, "{kind:?}, {may}");
            reading.nothing().await;
            let (status, advice) = reading.check("pagination").unwrap();
            assert_eq!(status, CheckStatus::Warn, "{kind:?}, {may}: {advice}");
            assert!(advice.contains(limit) || advice.contains("too many"), "{advice}");
            reading.close().await;
        }
        most(None).await;
        let mut reading = Reading::open(config(&place, json!({ "batch_size": 7 })), None).await;
        assert_eq!(distinct(reading.keys(100).await).len(), 100, "{kind:?}");
        assert!(reading.check("pagination").is_none_or(|(status, _)| status == CheckStatus::Ok));
        reading.close().await;
    }
}

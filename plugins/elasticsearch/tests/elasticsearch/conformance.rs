//! The SDK's kit on each way to read pages: nacks, kills and interruptions at every await.

use picomq_connector_elasticsearch_source::ElasticsearchSource;
use picomq_connector_sdk::Limits;
use picomq_connector_sdk::conformance::{self, Subject};
use picomq_connector_sdk::ffi::host::RecordView;
use serde_json::{Value, json};

use crate::reading::config;
use crate::server::{Kind, Place};

/// Twenty documents, of which four share a timestamp each.
struct Documents {
    place: Place,
    more: Value,
}

impl Documents {
    async fn new(kind: Kind, more: Value) -> Documents {
        let place = Place::with_index(kind, 1, json!({ "at": { "type": "date" } })).await;
        let documents = (0..20).map(|n| (n.to_string(), json!({ "at": 1_767_225_600_000_i64 + n / 4 })));
        place.put(documents).await;
        Documents { place, more }
    }
}

impl Subject for Documents {
    type Source = ElasticsearchSource;

    /// Reading changes nothing upstream.
    async fn reset(&self) {}

    fn config(&self) -> Value {
        config(&self.place, self.more.clone())
    }

    fn limits(&self) -> Limits {
        Limits { batch_records: 5, batch_bytes: 1 << 20 }
    }

    fn expected(&self) -> Vec<String> {
        (0..20).map(|n| n.to_string()).collect()
    }

    fn identity(&self, record: &RecordView<'_>) -> String {
        String::from_utf8_lossy(record.key.expect("the _id")).into_owned()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reading_in_a_point_in_time_of_opensearch_keeps_the_rules() {
    conformance::check(&Documents::new(Kind::OpenSearch, json!({ "batch_size": 3 })).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reading_in_a_point_in_time_of_elasticsearch_keeps_the_rules() {
    conformance::check(
        &Documents::new(Kind::Elasticsearch8, json!({ "batch_size": 3, "overlap": "1s" })).await,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reading_by_scroll_keeps_the_rules() {
    conformance::check(&Documents::new(Kind::Elasticsearch7, json!({ "batch_size": 3 })).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reading_by_searches_alone_keeps_the_rules() {
    let more = json!({ "batch_size": 3, "pagination": "search_after" });
    conformance::check(&Documents::new(Kind::Elasticsearch7, more).await).await;
}

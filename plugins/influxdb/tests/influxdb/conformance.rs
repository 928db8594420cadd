//! The SDK's kit: nacks, kills and interruptions at every await.

use std::sync::Mutex;

use picomq_connector_influxdb_source::InfluxSource;
use picomq_connector_sdk::Limits;
use picomq_connector_sdk::conformance::{self, Subject};
use picomq_connector_sdk::ffi::host::RecordView;
use serde_json::{Value, json};

use crate::influxql::config;
use crate::server::{Database, Server};
use crate::support::with;

/// Twenty points; the last twelve have one time, so that batches are pages first and pieces of a group then.
struct Points {
    database: Database,
    keys: Value,
    /// In the order in which the source reads them first: within one time that of digests.
    order: Mutex<Vec<String>>,
}

impl Points {
    async fn new(keys: Value) -> Points {
        let database = Database::on(Server::v1());
        let lines: String = (0..20).map(|row| format!("m,t={row:02} v=1i {}\n", (row + 1).min(9))).collect();
        database.write(&lines);
        let points = Points { database, keys, order: Mutex::new(Vec::new()) };
        let bench = crate::support::open(points.config(), None).await.unwrap();
        let ids = crate::support::read(&bench, 20).await.into_iter().map(|record| record.id).collect();
        *points.order.lock().unwrap() = ids;
        points
    }
}

impl Subject for Points {
    type Source = InfluxSource;

    /// Reading changes nothing.
    async fn reset(&self) {}

    fn config(&self) -> Value {
        config(
            &self.database,
            with(self.keys.clone(), json!({ "batch_size": 5, "stuck_batch_cap_factor": 0 })),
        )
    }

    fn limits(&self) -> Limits {
        Limits { batch_records: 5, batch_bytes: 1 << 20 }
    }

    fn expected(&self) -> Vec<String> {
        self.order.lock().unwrap().clone()
    }

    fn identity(&self, record: &RecordView<'_>) -> String {
        record.id.expect("every point has an id").to_owned()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_measurement_keeps_the_rules() {
    conformance::check(&Points::new(json!({})).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_measurement_with_overlap_keeps_the_rules() {
    conformance::check(&Points::new(json!({ "overlap": "10s" })).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_keeps_the_rules() {
    let query = "SELECT v, t FROM m WHERE time > '$cursor' LIMIT $limit";
    conformance::check(&Points::new(json!({ "measurement": null, "query": query, "tags": ["t"] })).await)
        .await;
}

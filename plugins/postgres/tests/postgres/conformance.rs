//! The SDK's kit on the stream: nacks, kills and interruptions at every await.

use picomq_connector_postgres_source::PostgresSource;
use picomq_connector_sdk::Limits;
use picomq_connector_sdk::conformance::{self, Subject};
use picomq_connector_sdk::ffi::host::RecordView;
use serde_json::{Value, json};

use crate::reading::config;
use crate::server::Database;

/// Two transactions, cut into batches of three or four; the first is larger than a batch.
struct Stream {
    database: Database,
}

impl Subject for Stream {
    type Source = PostgresSource;

    async fn reset(&self) {
        let name = &self.database.name;
        // A source that was dropped leaves a connection that the server may not have noticed yet.
        let gone = format!("SELECT count(*) FROM pg_replication_slots WHERE slot_name = '{name}' AND active");
        while self.database.sql(&gone) != "0" {
            self.database.sql(&format!(
                "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '{name}' AND active"
            ));
        }
        self.database.sql(&format!(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '{name}'"
        ));
        self.database.sql("DROP PUBLICATION IF EXISTS picomq_publication; DROP TABLE IF EXISTS t");
        self.database
            .sql("CREATE TABLE t (id int PRIMARY KEY); CREATE PUBLICATION picomq_publication FOR TABLE t");
        self.database.sql(&format!("SELECT pg_create_logical_replication_slot('{name}', 'pgoutput')"));
        self.database.sql("INSERT INTO t SELECT generate_series(0, 9)");
        self.database.sql("INSERT INTO t SELECT generate_series(10, 19)");
    }

    fn config(&self) -> Value {
        config(&self.database, json!({ "adopt_slot": true, "batch_size": 5, "read_linger": "1ms" }))
    }

    fn limits(&self) -> Limits {
        Limits { batch_records: 5, batch_bytes: 1 << 20 }
    }

    fn expected(&self) -> Vec<String> {
        (0..20).map(|id| id.to_string()).collect()
    }

    fn identity(&self, record: &RecordView<'_>) -> String {
        String::from_utf8_lossy(record.key.expect("the table has a key")).into_owned()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_stream_keeps_the_rules() {
    conformance::check(&Stream { database: Database::new(15) }).await;
}

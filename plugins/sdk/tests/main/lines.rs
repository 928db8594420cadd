//! The template of the plugin guide keeps the rules.

use std::io::Write;

use picomq_connector_sdk::conformance::{self, Subject};
use picomq_connector_sdk::ffi::host::RecordView;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::template::Lines;

/// A file with a line still being written.
struct Growing {
    file: NamedTempFile,
}

impl Subject for Growing {
    type Source = Lines;

    async fn reset(&self) {
        let lines = self.expected().join("\n");
        let mut file = self.file.reopen().expect("writable");
        file.set_len(0).expect("writable");
        write!(file, "{lines}\nnot yet").expect("writable");
    }

    fn config(&self) -> Value {
        json!({ "path": self.file.path(), "interval_ms": 1 })
    }

    fn limits(&self) -> picomq_connector_sdk::Limits {
        // Small batches, so that there are several.
        picomq_connector_sdk::Limits { batch_records: 5, batch_bytes: 1 << 20 }
    }

    fn expected(&self) -> Vec<String> {
        (0..20).map(|number| format!("line {number}")).collect()
    }

    fn identity(&self, record: &RecordView<'_>) -> String {
        String::from_utf8_lossy(record.payload.expect("no tombstones")).into_owned()
    }
}

#[tokio::test]
async fn the_source_keeps_the_rules() {
    let file = NamedTempFile::new().expect("a temporary file");
    conformance::check(&Growing { file }).await;
}

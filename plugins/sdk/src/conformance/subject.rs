//! What the author of a source says about it and its upstream.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::ffi::host::RecordView;
use crate::{Limits, Source};

/// A source together with the upstream it reads, as the kit needs them.
pub trait Subject: Sync {
    /// What is checked.
    type Source: Source;

    /// Puts the upstream back: everything in [`expected`](Subject::expected) waits to be read, nothing was changed.
    /// Called before each check.
    fn reset(&self) -> impl Future<Output = ()> + Send;

    /// `[plugin_config]`. With it, or with [`limits`](Subject::limits), a batch should hold a few records only, so that `expected` makes at least four
    /// batches, and a poll should not sleep longer than some milliseconds.
    fn config(&self) -> Value;

    /// Where the source cuts its batches; by default those of an engine nobody configured.
    fn limits(&self) -> Limits {
        Limits { batch_records: 10_000, batch_bytes: 64 << 20 }
    }

    /// The identities of all records there are, in the order the source must return them. After the last one there is
    /// nothing new.
    fn expected(&self) -> Vec<String>;

    /// The identity of a record that the source returned: the same in each copy of it, and of no other.
    fn identity(&self, record: &RecordView<'_>) -> String;

    /// The identities of the records for which the upstream was changed by now: deleted, marked, consumed. Leave it for
    /// a source that changes nothing.
    fn changed(&self) -> impl Future<Output = BTreeSet<String>> + Send {
        async { BTreeSet::new() }
    }

    /// Whether the source changes its upstream on `Ack`, so that [`changed`](Subject::changed) must show it.
    fn has_effects(&self) -> bool {
        false
    }
}

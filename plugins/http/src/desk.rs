//! One source as a request meets it: its settings, its paths, its gate, and what it counted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::endpoints::Endpoints;
use crate::gate::Gate;
use crate::settings::{Settings, Target};

/// Shared by the source and the connections of its listener.
pub(crate) struct Desk {
    pub(crate) settings: Settings,
    pub(crate) gate: Arc<Gate>,
    pub(crate) endpoints: Endpoints,
    pub(crate) counts: Counts,
}

impl Desk {
    /// The target of a path, if it is this source's and not expired.
    pub(crate) fn target(&self, path: &str, now_s: i64) -> Option<Arc<Target>> {
        let target = self.endpoints.target(path)?;
        target.expires_at.is_none_or(|at| now_s < at).then_some(target)
    }

    /// What a person may want to know.
    pub(crate) fn status(&self) -> Value {
        json!({
            "instance": self.settings.name,
            "posts_waiting": self.gate.posts(),
            "bytes_waiting": self.gate.bytes(),
            "answers": self.counts.all(),
        })
    }
}

/// How many requests were answered with each status.
#[derive(Default)]
pub(crate) struct Counts([AtomicU64; COUNTED.len()]);

const COUNTED: [u16; 13] = [200, 400, 401, 403, 404, 405, 408, 413, 415, 429, 500, 503, 0];

impl Counts {
    /// One more. A status that is not on the list counts as 0.
    pub(crate) fn add(&self, status: u16) {
        let place = COUNTED.iter().position(|known| *known == status).unwrap_or(COUNTED.len() - 1);
        self.0[place].fetch_add(1, Ordering::Relaxed);
    }

    fn all(&self) -> BTreeMap<String, u64> {
        let counted =
            COUNTED.iter().zip(&self.0).map(|(status, count)| (*status, count.load(Ordering::Relaxed)));
        counted.filter(|(_, count)| *count > 0).map(|(status, count)| (status.to_string(), count)).collect()
    }
}

//! What happens to the sources, told to whoever listens: changes of status, and nacks.

use serde::Serialize;
use tokio::sync::broadcast;

use crate::status::{LastError, Status};

/// News that a listener may leave unread; past it the oldest are lost to it, and it is told how many.
const UNREAD_MAX: usize = 1_024;

/// One thing that happened to one source.
#[derive(Debug, Clone, Serialize)]
pub struct News {
    /// The source's key.
    pub source: String,
    /// When, Unix milliseconds.
    pub timestamp: u64,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum What {
    /// The status changed.
    Status {
        /// What it is now.
        status: Status,
        /// What it was before.
        before: Status,
        /// The error that stands, if one does.
        last_error: Option<LastError>,
    },
    /// A batch was nacked.
    Nack {
        /// Nacks in a row, this one counted.
        nacks: u32,
        /// At so many polling stops.
        limit: u32,
        /// Why.
        cause: Option<String>,
        /// Stable and dotted.
        code: Option<&'static str>,
    },
}

/// Where news are told.
#[derive(Debug, Clone)]
pub(crate) struct Newsroom {
    sender: broadcast::Sender<News>,
}

impl Newsroom {
    /// Nobody listens yet.
    pub(crate) fn new() -> Newsroom {
        Newsroom { sender: broadcast::Sender::new(UNREAD_MAX) }
    }

    /// Everything from now on.
    pub(crate) fn listen(&self) -> broadcast::Receiver<News> {
        self.sender.subscribe()
    }

    /// Tells those who listen; nobody may, which is no error.
    pub(crate) fn tell(&self, source: &str, timestamp: u64, what: What) {
        if self.sender.receiver_count() > 0 {
            self.sender.send(News { source: source.to_owned(), timestamp, what }).ok();
        }
    }
}

//! What a person should know about the upstream, told once for each change.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use picomq_connector_sdk::{Check, CheckStatus, Host};

/// Something that can be in order or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Concern {
    /// Documents that lack the timestamp.
    MissingTimestamps,
    /// More documents in the overlap window than can be remembered.
    Overlap,
    /// Documents dated ahead of the server's clock.
    Future,
    /// A login in clear text.
    Plaintext,
    /// Neither point in time nor leave to open one.
    Pagination,
    /// A snapshot that is at its end.
    Snapshot,
    /// Keys of the existing runtimes that have no effect.
    OldState,
}

impl Concern {
    fn name(self) -> &'static str {
        match self {
            Concern::MissingTimestamps => "missing_timestamps",
            Concern::Overlap => "overlap",
            Concern::Future => "future_timestamps",
            Concern::Plaintext => "plaintext_login",
            Concern::Pagination => "pagination",
            Concern::Snapshot => "snapshot",
            Concern::OldState => "state_keys",
        }
    }
}

/// Tells the engine how things stand.
#[derive(Debug)]
pub(crate) struct Checks {
    host: Host,
    told: Mutex<HashMap<Concern, (CheckStatus, String)>>,
}

impl Checks {
    pub(crate) fn new(host: Host) -> Checks {
        Checks { host, told: Mutex::new(HashMap::new()) }
    }

    /// All is well with `concern`; said only when it was not before.
    pub(crate) fn well(&self, concern: Concern) {
        let was_told = self.told.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&concern);
        if was_told {
            self.tell(concern, CheckStatus::Ok, String::new());
        }
    }

    /// `concern` needs a look.
    pub(crate) fn warn(&self, concern: Concern, advice: String) {
        self.tell(concern, CheckStatus::Warn, advice);
    }

    /// `concern` stands so; said only when it stood otherwise.
    pub(crate) fn tell(&self, concern: Concern, status: CheckStatus, advice: String) {
        let news = (status, advice);
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.get(&concern) == Some(&news) {
            return;
        }
        told.insert(concern, news.clone());
        let (status, advice) = news;
        self.host.check(Check { name: concern.name().to_owned(), status, since_ms: None, advice });
    }
}

//! How a call ended, and telling it exactly once.

use crate::ffi::abi::{HostTable, RawBytes, RawOutcome, RawToken, outcome};
use crate::{Batch, Error};

/// How a started call ended.
#[derive(Debug)]
pub(super) enum Outcome {
    /// As asked, with nothing to hand over.
    Done,
    /// The instance is open under this number.
    Opened(u64),
    /// The poll returned.
    Batch(Batch),
    /// The command answered this JSON.
    Json(String),
    /// It failed: one of [`outcome`] and the text.
    Failed(u32, String),
}

impl Outcome {
    /// The author's code panicked with this text.
    pub(super) fn panicked(text: String) -> Outcome {
        Outcome::Failed(outcome::PANICKED, text)
    }
}

impl From<Error> for Outcome {
    fn from(error: Error) -> Outcome {
        let kind = match &error {
            Error::Config(_) => outcome::CONFIG,
            Error::State(_) => outcome::STATE,
            Error::Permanent(_) | Error::Serialization(_) => outcome::PERMANENT,
            Error::Transient(_) => outcome::TRANSIENT,
            Error::Interrupted => outcome::INTERRUPTED,
        };
        Outcome::Failed(kind, error.chain())
    }
}

/// The duty to complete one call. Dropped without, because its task was dropped or our own code panicked, it says
/// so: there is always exactly one completion.
pub(super) struct Completion {
    host: &'static HostTable,
    token: RawToken,
    is_owed: bool,
}

impl Completion {
    pub(super) fn new(host: &'static HostTable, token: RawToken) -> Completion {
        Completion { host, token, is_owed: true }
    }

    pub(super) fn complete(mut self, outcome: Outcome) {
        self.is_owed = false;
        send(self.host, self.token, outcome);
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        if self.is_owed {
            send(self.host, self.token, Outcome::panicked("the call ended without an answer".to_owned()));
        }
    }
}

fn send(host: &HostTable, token: RawToken, outcome: Outcome) {
    let mut raw = RawOutcome {
        size: size_of::<RawOutcome>() as u32,
        kind: outcome::DONE,
        text: RawBytes::NONE,
        instance: 0,
        batch: std::ptr::null_mut(),
    };
    let mut text = String::new();
    match outcome {
        Outcome::Done => {}
        Outcome::Opened(instance) => raw.instance = instance,
        Outcome::Batch(batch) => raw.batch = super::seal::seal(batch),
        Outcome::Json(json) => text = json,
        Outcome::Failed(kind, message) => (raw.kind, text) = (kind, message),
    }
    raw.text = RawBytes::of(text.as_bytes());
    // SAFETY: the host's table is static and its `complete` takes any token; `text` outlives the call.
    unsafe { (host.complete)(token, &raw) };
}

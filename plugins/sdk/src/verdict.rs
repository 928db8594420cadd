//! What became of a batch.

use std::fmt;

/// What the engine tells the plugin about the oldest batch it has not told about yet.
///
/// Verdicts come strictly in the order the batches were returned, one a batch, with one exception: a `Nack`
/// covers its batch *and every later one*.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Every record was delivered (or filtered by a rule the user wrote) and the candidate state is saved.
    /// Side effects on the upstream belong here.
    Ack,
    /// Delivery or saving could not be confirmed, which is not the same as "nothing was sent". Drop every
    /// candidate and read again from the committed state.
    Nack,
}

impl Verdict {
    /// The word used in logs and metric labels.
    pub const fn as_str(self) -> &'static str {
        match self {
            Verdict::Ack => "ack",
            Verdict::Nack => "nack",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

//! The name of a batch.

/// Names a batch so that order survives failure: a stage takes first the number its epoch began with, then n only
/// after n − 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BatchId {
    /// Rises at each opening and each rewind.
    pub epoch: u64,
    /// The number this epoch began with.
    pub first: u64,
    /// Never used twice in a life by a batch that was sent down the line.
    pub number: u64,
}

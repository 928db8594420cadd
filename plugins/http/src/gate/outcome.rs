//! What becomes of a post.

use std::sync::Arc;

use tokio::sync::SetOnce;

/// What became of a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is in its topics, or in the spool.
    Safe,
    /// It is not.
    Lost,
}

/// What everybody who waits for one post looks at; told once.
pub(super) type Told = Arc<SetOnce<Outcome>>;

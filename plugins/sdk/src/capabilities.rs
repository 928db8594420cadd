//! What a plugin declares about itself.

/// What a source can do beyond the minimum, declared in `Source::CAPABILITIES`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// It may be polled again before the verdict on an earlier batch: it keeps its candidates in a queue (as
    /// [`Staged`](crate::Staged) does) and rewinds on a Nack. Needed for `max_in_flight` above 1.
    pub pipelined: bool,
    /// It waits for others to call, instead of asking.
    pub listener: bool,
    /// It brings an async runtime of its own instead of the two workers of the SDK.
    pub own_runtime: bool,
}

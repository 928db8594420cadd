//! Named points where a chaos run kills the process; nothing of it is in a release.

/// Kills the process here when the run's `FAILPOINTS` say `return` for this name; other actions are those of the
/// `fail` crate. Without the feature `failpoints` this is nothing.
macro_rules! fault {
    ($name:literal) => {{
        // The point returns from a function of its own, not from the one it stands in.
        fn point() {
            fail::fail_point!($name, |_| $crate::fault::die());
        }
        point();
    }};
}
pub(crate) use fault;

/// Ends the process at once: no destructor, no flush, no other thread goes on.
#[cfg(feature = "failpoints")]
pub(crate) fn die() {
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).ok();
}

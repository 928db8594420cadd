//! Named points where a chaos run kills the process, for every room; nothing of it is in a release.

/// Passes the point `name`. With the feature `failpoints` the action `return` of the `fail` crate kills the process right
/// here; its other actions (`panic`, `sleep`, `pause`) work as they do there. Without the feature this is nothing.
#[inline]
pub fn point(name: &'static str) {
    fail::fail_point!(name, |_| die());
    // The macro is empty without the feature.
    let _ = name;
}

/// Ends the process at once, before the call returns: no destructor, no flush, no other thread goes on.
#[allow(
    dead_code,
    reason = "what the macro calls is decided by the feature of the crate `fail`, whoever set it"
)]
fn die() {
    #[cfg(feature = "failpoints")]
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).ok();
}

//! Named points where a chaos run ends this process. They cost nothing and do nothing without the feature
//! `failpoints`.

/// Passes the point `name`. With the feature on, the action `return` of the `fail` crate kills the process by
/// SIGKILL right here; its other actions (`panic`, `sleep`, `pause`) work as they do there.
pub(crate) fn point(name: &'static str) {
    fail::fail_point!(name, |_| die());
    // The macro is empty without the feature.
    let _ = name;
}

#[allow(
    dead_code,
    reason = "what the macro calls is decided by the feature of the crate `fail`, whoever set it"
)]
fn die() {
    // SIGKILL to oneself is delivered before the call returns: no destructor and no buffer is run after this line.
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
}

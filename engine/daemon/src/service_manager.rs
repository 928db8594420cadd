//! What systemd is told (`Type=notify`, sd_notify(3)): ready, reloading, stopping, and that the engine still answers.
//!
//! Without a service manager, that is without `NOTIFY_SOCKET`, all of this does nothing.

use std::time::Duration;

use pico_actors::handle::Engine;
use sd_notify::NotifyState;

/// The definitions are loaded and the API listens.
pub(crate) fn ready(sources: usize) {
    tell(&[NotifyState::Ready, NotifyState::Status(&format!("{sources} sources"))]);
}

/// The definitions are being taken up again; `ready` says when that is done.
pub(crate) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(error) => tracing::debug!(%error, "the service manager was not told"),
    }
}

/// No new polls; what is in flight runs to its verdict.
pub(crate) fn stopping() {
    tell(&[NotifyState::Stopping, NotifyState::Status("draining")]);
}

/// Feeds the watchdog at half its time for as long as the engine answers. Ends at once where no watchdog is set.
pub(crate) async fn feed_watchdog(engine: Engine) {
    let Some(limit) = sd_notify::watchdog_enabled() else { return };
    let mut ticks = tokio::time::interval((limit / 2).max(Duration::from_millis(10)));
    loop {
        ticks.tick().await;
        if engine.responds().await {
            tell(&[NotifyState::Watchdog]);
        }
    }
}

fn tell(state: &[NotifyState<'_>]) {
    // It listens or it does not: nothing here depends on it, and its own timeout says so if it missed something.
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!(%error, "the service manager was not told");
    }
}

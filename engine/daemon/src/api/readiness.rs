//! Whether the process may be sent work: definitions are loaded, the broker was reached once, and it is not on its
//! way out.

use std::sync::Arc;

use tokio::sync::watch;

/// Shared by the start, the probe of the broker, the shutdown and `/ready`.
#[derive(Debug, Clone)]
pub(crate) struct Readiness {
    state: Arc<watch::Sender<State>>,
}

#[derive(Debug, Clone, Default)]
struct State {
    are_definitions_loaded: bool,
    was_broker_reached: bool,
    broker_error: Option<String>,
    is_draining: bool,
}

impl Readiness {
    /// Nothing is ready.
    pub(crate) fn new() -> Readiness {
        Readiness { state: Arc::new(watch::Sender::new(State::default())) }
    }

    /// All sources are known to the engine.
    pub(crate) fn definitions_loaded(&self) {
        self.state.send_modify(|state| state.are_definitions_loaded = true);
    }

    /// The broker answered. Stays so: what comes later is the sources' to show.
    pub(crate) fn broker_reached(&self) {
        self.state.send_modify(|state| {
            state.was_broker_reached = true;
            state.broker_error = None;
        });
    }

    /// The broker has not answered yet, for this reason.
    pub(crate) fn broker_failed(&self, reason: String) {
        self.state.send_modify(|state| state.broker_error = Some(reason));
    }

    /// The process ends.
    pub(crate) fn draining(&self) {
        self.state.send_modify(|state| state.is_draining = true);
    }

    /// Resolves once the process ends.
    pub(crate) async fn until_draining(&self) {
        // The sender lives as long as this does.
        self.state.subscribe().wait_for(|state| state.is_draining).await.ok();
    }

    /// What stands in the way; empty when it is ready.
    pub(crate) fn reasons(&self) -> Vec<String> {
        let state = self.state.borrow().clone();
        let mut reasons = Vec::new();
        if state.is_draining {
            reasons.push("the daemon is shutting down".to_owned());
        }
        if !state.are_definitions_loaded {
            reasons.push("definitions are not loaded yet".to_owned());
        }
        if !state.was_broker_reached {
            let why = state.broker_error.map(|error| format!(": {error}")).unwrap_or_default();
            reasons.push(format!("the broker was not reached yet{why}"));
        }
        reasons
    }
}

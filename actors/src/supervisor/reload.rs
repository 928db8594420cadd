//! Which definition is in force: the lifecycle says when it changes, this keeps the definitions themselves.

use std::sync::Arc;

use super::{SupervisorState, limits_of};
use crate::checks::Checks;
use crate::lifecycle::{Input, Order};
use crate::source::SourceSpec;
use crate::telemetry::ReloadOutcome;

impl SupervisorState {
    pub(super) fn reload(&mut self, spec: SourceSpec) {
        if spec.definition == self.spec.definition {
            self.next = None;
            self.step(Input::Order(Order::Keep));
            return;
        }
        tracing::info!(version = spec.definition.version, "the definition changed; it is reloaded");
        let limits = limits_of(&spec.definition, &self.limits);
        self.next = Some(Arc::new(spec));
        self.step(Input::Order(Order::Reload(limits)));
    }

    /// Nothing is open. What the former definition reported about itself is not true of this one.
    pub(super) fn adopt(&mut self, keeps_former: bool) {
        let Some(next) = self.next.take() else { return };
        let former = std::mem::replace(&mut self.spec, next);
        if keeps_former {
            self.former = Some(former);
        }
        self.checks = Checks::new();
        tracing::info!(version = self.spec.definition.version, "the changed definition is in force");
    }

    pub(super) fn revert(&mut self) {
        let Some(former) = &mut self.former else { return };
        std::mem::swap(former, &mut self.spec);
        self.checks = Checks::new();
        ReloadOutcome::Reverted.counter().increment(1);
        let cause = self.lifecycle.last_error().map(ToString::to_string);
        let version = self.spec.definition.version;
        tracing::error!(version, cause, "a definition did not open; the one before it is opened again");
    }
}

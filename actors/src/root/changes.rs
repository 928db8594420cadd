//! How a slot takes part in a reload.

use std::time::Duration;

use super::slot::{Kind, Slot};
use crate::cause::Cause;
use crate::clock::now_ms;
use crate::difference::Item;
use crate::source::{Entry, RunningSource, SourceSpec};
use crate::status::LastError;
use crate::supervisor_handle::SupervisorMsg;

impl Slot {
    /// What the difference compares: the definition that was told last.
    pub(super) fn item(&self, retries_failed: bool) -> Item<'_> {
        match &self.kind {
            Kind::Good { spec, report, .. } => {
                let has_failed = retries_failed && report.borrow().has_reload_failed;
                Item { key: self.key(), definition: Some(&spec.definition), has_failed }
            }
            Kind::Bad(bad) => Item { key: &bad.key, definition: None, has_failed: false },
        }
    }

    /// What a plan compares: the definition in force, or the one on its way. None when it will be forgotten.
    pub(super) fn running(&self) -> Option<RunningSource> {
        if let Some(successor) = &self.leaving {
            return successor.as_ref().map(RunningSource::of_entry);
        }
        let mut running = match &self.kind {
            Kind::Bad(bad) => RunningSource::of_bad(bad),
            Kind::Good { spec, report, .. } => {
                let report = report.borrow();
                let has_failed = report.has_reload_failed;
                let definition = if has_failed { &report.definition } else { &spec.definition };
                RunningSource {
                    key: self.key().to_owned(),
                    definition: Some(definition.clone()),
                    refused: has_failed.then(|| spec.definition.clone()),
                    is_reloading: report.is_reloading,
                    has_reload_failed: has_failed,
                }
            }
        };
        running.has_reload_failed |= self.refused.is_some();
        Some(running)
    }

    /// The supervisor takes the changed definition over when it can; one that is being started again takes it then.
    pub(super) fn reload(&mut self, changed: Box<SourceSpec>) {
        self.refused = None;
        if let Kind::Good { spec, supervisor, .. } = &mut self.kind {
            if let Some(supervisor) = supervisor {
                supervisor.cast(SupervisorMsg::Reload(changed.clone())).ok();
            }
            *spec = changed;
        }
    }

    /// Its file is no definition now; what runs, runs on.
    pub(super) fn refuse(&mut self, cause: Cause) {
        tracing::error!(source = self.key(), code = cause.code, %cause, "not reloaded; the running definition stays");
        self.refused = Some(LastError {
            message: format!("not reloaded, the running definition stays: {cause}"),
            timestamp: now_ms(),
            code: cause.code.to_owned(),
        });
    }

    /// The file says again what runs.
    pub(super) fn accept(&mut self) {
        self.refused = None;
    }

    /// Drains and ends, and then becomes `successor`.
    pub(super) fn leave(&mut self, successor: Option<Entry>, grace: Duration) {
        self.refused = None;
        self.leaving = Some(successor);
        self.shut_down(grace);
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.leaving.is_some()
    }

    /// Nothing of it runs and nothing takes its place.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self.leaving, Some(None)) && !self.is_alive()
    }

    pub(super) fn become_later(&mut self, successor: Option<Entry>) {
        self.leaving = Some(successor);
    }

    pub(super) fn take_successor(&mut self) -> Option<Entry> {
        self.leaving.take().flatten()
    }
}

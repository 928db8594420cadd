//! A changed definition: when it takes the place of the one in force, and the way back when it does not open.
//!
//! The change itself happens only while nothing is open (I4), in [`Lifecycle::adopt`].

use super::opening::HUNG;
use super::{Effect, Latch, Lifecycle, Limits, Pending, Phase, Then, Trial};
use crate::cause::{Cause, OpenFailure, OpenKind};

impl Lifecycle {
    /// Waiting, Paused, Halted and Opening: at once; while batches are in flight: after their verdicts.
    pub(super) fn reload(&mut self, limits: Limits, effects: &mut Vec<Effect>) {
        self.next = Some(limits);
        self.reload_error = None;
        match self.phase {
            Phase::Stopped => self.adopt(effects),
            // A stop wins; the definition is taken over when it is done.
            Phase::Closing { then: Then::Stopped } => {}
            Phase::Active | Phase::Rewinding { .. } if self.pending == Some(Pending::Stop) => {}
            Phase::Halted { .. } if self.latched == Some(Latch::Hung) => self.refuse_next(),
            Phase::Opening | Phase::Waiting { .. } | Phase::Active | Phase::Rewinding { .. } => {
                self.restart(effects);
            }
            Phase::Paused | Phase::Halted { .. } | Phase::Closing { .. } => self.restart(effects),
        }
    }

    /// A close that is due or under way goes on, and opens what was open.
    pub(super) fn keep(&mut self) {
        self.reload_error = None;
        self.next = None;
    }

    /// The waiting definition takes the place of the one in force; called only when nothing is open.
    pub(super) fn adopt(&mut self, effects: &mut Vec<Effect>) {
        let Some(next) = self.next.take() else { return };
        let may_go_back = self.has_opened && self.phase != Phase::Stopped;
        let keeps_former = match self.trial {
            // Of two changes in a row the first never ran.
            Trial::New { .. } => false,
            Trial::Back { .. } => true,
            Trial::None => may_go_back,
        };
        if keeps_former {
            self.trial = Trial::New { former: self.limits };
        }
        if self.phase == Phase::Stopped {
            self.trial = Trial::None;
        }
        self.has_opened = false;
        self.limits = next;
        effects.push(Effect::Adopt { keeps_former });
    }

    /// The definition in force opened.
    pub(super) fn settle_trial(&mut self) {
        self.has_opened = true;
        self.trial = Trial::None;
    }

    /// The definition in force did not open. `None` when another one is opened instead; else what is left to deal with.
    pub(super) fn try_other(
        &mut self,
        failure: OpenFailure,
        effects: &mut Vec<Effect>,
    ) -> Option<OpenFailure> {
        let trial = std::mem::replace(&mut self.trial, Trial::None);
        self.has_opened = false;
        if failure.kind == OpenKind::Hung {
            // I4: the instance may still live, so nothing else is opened.
            return Some(failure);
        }
        match trial {
            Trial::None => Some(failure),
            Trial::New { former } => {
                let passing = (failure.kind == OpenKind::Passing).then_some(self.limits);
                self.reload_error = Some(not_opened(failure.cause));
                self.limits = former;
                self.trial = Trial::Back { passing };
                effects.push(Effect::Revert);
                self.open(effects);
                None
            }
            Trial::Back { passing: None } => Some(failure),
            Trial::Back { passing: Some(changed) } => Some(self.prefer_changed(changed, failure, effects)),
        }
    }

    /// Neither opens, and the changed one may once its cause has passed: it is the one that is wanted. A password
    /// rotated while the database is down must not be answered with the old one for ever.
    fn prefer_changed(
        &mut self,
        changed: Limits,
        failure: OpenFailure,
        effects: &mut Vec<Effect>,
    ) -> OpenFailure {
        self.limits = changed;
        effects.push(Effect::Revert);
        let cause = self.reload_error.take().unwrap_or(failure.cause);
        OpenFailure { kind: OpenKind::Passing, cause }
    }

    /// Nothing is opened in this process any more, so the waiting definition is not either.
    pub(super) fn refuse_next(&mut self) {
        if self.next.take().is_some() {
            self.reload_error = Some(Cause::new("plugin.hung", HUNG));
        }
    }
}

fn not_opened(cause: Cause) -> Cause {
    let message = format!("the changed definition did not open: {}", cause.message);
    Cause { message, ..cause }
}

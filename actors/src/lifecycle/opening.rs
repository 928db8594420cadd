//! Opening, losing and closing the tree of a source.

use super::{
    Asked, Blame, Effect, Ended, Event, Latch, Lifecycle, Phase, Probe, Then, Wait,
};
use crate::ports::{Cause, OpenFailure, OpenKind};

impl Lifecycle {
    pub(super) fn open(&mut self, effects: &mut Vec<Effect>) {
        self.forget_flights();
        self.epoch += 1;
        self.phase = Phase::Opening;
        effects.push(Effect::Open { epoch: self.epoch, is_paused: self.asked == Asked::Paused });
    }

    pub(super) fn opened(&mut self, number: u64, window: usize) {
        if self.phase != Phase::Opening {
            return;
        }
        self.limits.window = window.max(1);
        self.next_number = number + 1;
        self.next_epoch();
        self.open_failures = 0;
        self.forgive(Blame::Open);
        self.phase = match self.asked {
            Asked::Paused => Phase::Paused,
            Asked::Running | Asked::Stopped => Phase::Active,
        };
    }

    pub(super) fn open_failed(&mut self, failure: OpenFailure, effects: &mut Vec<Effect>) {
        if self.phase != Phase::Opening {
            return;
        }
        self.blame(Blame::Open, failure.cause);
        match failure.kind {
            OpenKind::Passing => {
                self.open_failures = self.open_failures.saturating_add(1);
                let token = self.wait(Wait::Open(self.open_failures), effects);
                self.phase = Phase::Waiting { token };
            }
            OpenKind::Panicked => {
                self.count_loss(effects);
                self.reopen_or_halt(effects);
            }
            OpenKind::Config | OpenKind::State | OpenKind::Permanent => {
                self.latched = Some(Latch::Open);
                self.phase = Phase::Halted { restart: None };
            }
            OpenKind::Hung => {
                self.latched = Some(Latch::Hung);
                self.phase = Phase::Halted { restart: None };
            }
        }
    }

    /// A child died, the plugin panicked, or a verdict was not taken: one nack, and the tree is rebuilt.
    pub(super) fn lose_tree(&mut self, cause: Cause, effects: &mut Vec<Effect>) {
        match self.phase {
            Phase::Active | Phase::Rewinding { .. } | Phase::Paused => {}
            Phase::Opening => {}
            Phase::Stopped | Phase::Waiting { .. } | Phase::Halted { .. } | Phase::Closing { .. } => return,
        }
        self.blame(Blame::Nack, cause);
        self.count_loss(effects);
        let then = match self.pending {
            Some(super::Pending::Stop) => Then::Stopped,
            Some(super::Pending::Restart) => Then::Open,
            Some(super::Pending::Pause) | None if self.is_limit_reached() => Then::Halted,
            Some(super::Pending::Pause) | None => Then::OpenAfterBackoff,
        };
        if then == Then::Halted {
            self.latch_limit();
        }
        self.tear_down(then, effects);
    }

    fn count_loss(&mut self, effects: &mut Vec<Effect>) {
        self.nacks = self.nacks.saturating_add(1);
        effects.push(Effect::Nacked);
    }

    /// Kills the tree; the instance is only dropped, the author's `close` is not called.
    pub(super) fn tear_down(&mut self, then: Then, effects: &mut Vec<Effect>) {
        self.close(then, false, effects);
    }

    pub(super) fn close_orderly(&mut self, then: Then, effects: &mut Vec<Effect>) {
        self.close(then, true, effects);
    }

    fn close(&mut self, then: Then, is_orderly: bool, effects: &mut Vec<Effect>) {
        self.forget_flights();
        // I6: whatever the old tree still says is of an older epoch.
        self.epoch += 1;
        self.phase = Phase::Closing { then };
        effects.push(Effect::Close { is_orderly, keeps_lease: then == Then::Halted });
    }

    fn forget_flights(&mut self) {
        self.window.clear();
        self.polling = None;
        self.resolving = None;
        self.hold = None;
        self.pending = None;
        self.stop_deadline = None;
        // The load of the next opening replaces what a probe would have written.
        self.probe = Probe::None;
        self.refuse_watermarks = false;
        self.is_idle = false;
    }

    pub(super) fn ended(&mut self, ended: Ended, effects: &mut Vec<Effect>) {
        let Phase::Closing { then } = self.phase else { return };
        if ended.is_leaked {
            self.latched = Some(Latch::Hung);
            let cause = Cause::new("plugin.hung", "a call into the plugin never came back; restart the process to run this source again");
            self.blame(Blame::Nack, cause);
            self.phase = if then == Then::Stopped { Phase::Stopped } else { Phase::Halted { restart: None } };
            return;
        }
        match then {
            Then::Stopped => self.stopped(effects),
            Then::Open => self.open(effects),
            Then::OpenAfterBackoff => self.reopen_or_halt(effects),
            Then::Halted => self.halt(effects),
        }
    }

    fn stopped(&mut self, effects: &mut Vec<Effect>) {
        self.phase = Phase::Stopped;
        if self.asked != Asked::Stopped && !self.is_shutting_down {
            self.open(effects);
        }
    }

    fn reopen_or_halt(&mut self, effects: &mut Vec<Effect>) {
        if self.is_limit_reached() {
            self.latch_limit();
            self.halt(effects);
        } else {
            let token = self.wait(Wait::Nack(self.nacks), effects);
            self.phase = Phase::Waiting { token };
        }
    }

    fn halt(&mut self, effects: &mut Vec<Effect>) {
        let needs_human = self.latched.is_none_or(Latch::needs_human);
        let restart = if self.limits.restarts && !needs_human {
            Some(self.wait(Wait::Restart(self.reopen_tries + 1), effects))
        } else {
            None
        };
        self.phase = Phase::Halted { restart };
    }
}

impl Event {
    /// Whether it answers `Effect::Open`.
    pub fn is_opening(&self) -> bool {
        matches!(self, Event::Opened { .. } | Event::OpenFailed(_))
    }
}

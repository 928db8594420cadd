//! Opening, losing and closing the tree of a source.

use super::{Asked, Blame, Effect, Ended, Latch, Lifecycle, Pending, Phase, Probe, Refusal, Then, Wait};
use crate::cause::{Cause, OpenFailure, OpenKind};

pub(super) const HUNG: &str =
    "a call into the plugin never came back; restart the process to run this source again";

impl Lifecycle {
    pub(super) fn open(&mut self, effects: &mut Vec<Effect>) {
        self.adopt(effects);
        self.forget_flights();
        self.epoch += 1;
        self.tree_epoch = self.epoch;
        self.phase = Phase::Opening;
        effects.push(Effect::Open { epoch: self.epoch, is_paused: self.asked == Asked::Paused });
    }

    pub(super) fn opened(&mut self, number: u64, window: usize) {
        if self.phase != Phase::Opening {
            return;
        }
        self.limits.window = window.max(1);
        self.next_number = number.saturating_add(1);
        self.next_epoch();
        self.open_failures = 0;
        self.settle_trial();
        self.refusal = match self.refusal {
            Refusal::MayBeOurs | Refusal::Settled => Refusal::MayBeOurs,
            Refusal::Reopen | Refusal::Reopened => Refusal::Reopened,
        };
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
        let Some(failure) = self.try_other(failure, effects) else { return };
        self.blame(Blame::Open, failure.cause);
        match failure.kind {
            OpenKind::Passing => {
                self.open_failures = self.open_failures.saturating_add(1);
                let token = self.wait(Wait::Open(self.open_failures), effects);
                self.phase = Phase::Waiting { token };
            }
            OpenKind::Panicked => {
                self.count_loss(effects);
                if self.is_limit_reached() {
                    self.latch_limit();
                    self.halt(effects);
                } else {
                    self.wait_to_open(effects);
                }
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
            Phase::Active | Phase::Rewinding { .. } | Phase::Paused | Phase::Opening => {}
            Phase::Stopped | Phase::Waiting { .. } | Phase::Halted { .. } | Phase::Closing { .. } => return,
        }
        self.blame(Blame::Nack, cause);
        self.count_loss(effects);
        let then = match self.pending {
            Some(Pending::Stop | Pending::Restart) => self.then_after_refusal(),
            Some(Pending::Pause) | None if self.is_refused() => self.then_after_refusal(),
            // A pause wins over the limit, and the next nack halts.
            Some(Pending::Pause) => Then::OpenAfterBackoff,
            None if self.is_limit_reached() => {
                self.latch_limit();
                Then::Halted
            }
            None => Then::OpenAfterBackoff,
        };
        self.tear_down(then, effects);
    }

    fn count_loss(&mut self, effects: &mut Vec<Effect>) {
        self.nack_needs_human = false;
        self.nacks = self.nacks.saturating_add(1);
        effects.push(Effect::Nacked);
    }

    /// Where a tree goes that may not poll again, whatever its count is: first what a person wants, then what the
    /// store's refusal means.
    pub(super) fn then_after_refusal(&mut self) -> Then {
        match self.pending {
            Some(Pending::Stop) => Then::Stopped,
            Some(Pending::Restart) => {
                self.reset();
                Then::Open
            }
            Some(Pending::Pause) | None if self.latched == Some(Latch::Fenced) => Then::Halted,
            Some(Pending::Pause) | None => Then::Open,
        }
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
        self.is_lease_kept = then == Then::Halted;
        effects.push(Effect::Close { is_orderly, keeps_lease: self.is_lease_kept });
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
            self.blame(Blame::Nack, Cause::new("plugin.hung", HUNG));
            self.refuse_next();
            self.phase = if then == Then::Stopped { Phase::Stopped } else { Phase::Halted { restart: None } };
            return;
        }
        match then {
            // A stop that came while it closed to Halted: stopped holds nothing.
            Then::Stopped if self.is_lease_kept => self.close_orderly(Then::Stopped, effects),
            Then::Stopped => self.stopped(effects),
            Then::Open => self.open(effects),
            Then::OpenAfterBackoff => self.wait_to_open(effects),
            Then::Halted => self.halt(effects),
        }
    }

    fn stopped(&mut self, effects: &mut Vec<Effect>) {
        self.phase = Phase::Stopped;
        self.adopt(effects);
        // Something else was asked while it closed.
        if self.asked != Asked::Stopped && !self.is_shutting_down {
            self.reset();
            self.open(effects);
        }
    }

    fn wait_to_open(&mut self, effects: &mut Vec<Effect>) {
        let token = self.wait(Wait::Nack(self.nacks), effects);
        self.phase = Phase::Waiting { token };
    }

    fn halt(&mut self, effects: &mut Vec<Effect>) {
        let needs_human = self.latched.is_none_or(Latch::needs_human);
        let restart = if self.limits.restarts && !needs_human {
            Some(self.wait(Wait::Restart(self.reopen_tries.saturating_add(1)), effects))
        } else {
            None
        };
        self.phase = Phase::Halted { restart };
    }
}

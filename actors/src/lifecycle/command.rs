//! What a person, the root or the shutdown may ask, and when it acts.
//!
//! Pause, restart and stop interrupt an outstanding poll; what it still returns runs to its verdict, and the command
//! acts when the window is empty.

use super::{Asked, Effect, Latch, Lifecycle, Order, Pending, Phase, Then, Wait};

impl Lifecycle {
    pub(super) fn take_order(&mut self, order: Order, effects: &mut Vec<Effect>) {
        match order {
            Order::Start => self.start(effects),
            Order::Pause => self.pause(effects),
            Order::Resume => self.resume(),
            Order::Restart => self.restart(effects),
            Order::Stop => {
                self.asked = Asked::Stopped;
                self.stop(effects);
            }
            Order::Shutdown => {
                self.is_shutting_down = true;
                self.stop(effects);
            }
        }
    }

    fn start(&mut self, effects: &mut Vec<Effect>) {
        self.asked = Asked::Running;
        match self.phase {
            Phase::Stopped => {
                self.reset();
                self.open(effects);
            }
            Phase::Halted { .. } if self.latched != Some(Latch::Hung) => {
                self.reset();
                self.open(effects);
            }
            Phase::Halted { .. } | Phase::Opening | Phase::Waiting { .. } | Phase::Active => {}
            Phase::Rewinding { .. } | Phase::Paused | Phase::Closing { .. } => {}
        }
    }

    fn pause(&mut self, effects: &mut Vec<Effect>) {
        self.asked = Asked::Paused;
        match self.phase {
            Phase::Active | Phase::Rewinding { .. } => self.set_pending(Pending::Pause, effects),
            Phase::Stopped | Phase::Opening | Phase::Waiting { .. } | Phase::Paused => {}
            Phase::Halted { .. } | Phase::Closing { .. } => {}
        }
    }

    fn resume(&mut self) {
        self.asked = Asked::Running;
        if self.pending == Some(Pending::Pause) {
            self.pending = None;
        }
        if self.phase == Phase::Paused {
            self.phase = Phase::Active;
        }
    }

    fn restart(&mut self, effects: &mut Vec<Effect>) {
        if self.asked == Asked::Stopped {
            self.asked = Asked::Running;
        }
        match self.phase {
            Phase::Active | Phase::Rewinding { .. } => {
                self.reset();
                self.set_pending(Pending::Restart, effects);
            }
            Phase::Paused => {
                self.reset();
                self.close_orderly(Then::Open, effects);
            }
            Phase::Opening => {
                self.reset();
                self.close_orderly(Then::Open, effects);
            }
            Phase::Stopped | Phase::Waiting { .. } => {
                self.reset();
                self.open(effects);
            }
            Phase::Halted { .. } if self.latched != Some(Latch::Hung) => {
                self.reset();
                self.open(effects);
            }
            Phase::Halted { .. } => {}
            Phase::Closing { .. } => {
                self.reset();
                self.phase = Phase::Closing { then: Then::Open };
            }
        }
    }

    fn stop(&mut self, effects: &mut Vec<Effect>) {
        match self.phase {
            Phase::Stopped => {}
            Phase::Active | Phase::Rewinding { .. } => {
                if self.stop_deadline.is_none() {
                    self.stop_deadline = Some(self.wait(Wait::Stop, effects));
                }
                self.set_pending(Pending::Stop, effects);
            }
            Phase::Opening | Phase::Waiting { .. } | Phase::Paused | Phase::Halted { .. } => {
                self.close_orderly(Then::Stopped, effects);
            }
            Phase::Closing { .. } => self.phase = Phase::Closing { then: Then::Stopped },
        }
    }

    fn set_pending(&mut self, pending: Pending, effects: &mut Vec<Effect>) {
        if self.is_shutting_down && self.pending == Some(Pending::Stop) {
            return;
        }
        if self.phase == Phase::Active && self.polling.is_some() && self.pending.is_none() {
            effects.push(Effect::Interrupt);
        }
        if pending != Pending::Stop {
            self.stop_deadline = None;
        }
        self.pending = Some(pending);
    }

    /// A person acted: counters and latch start anew.
    fn reset(&mut self) {
        self.nacks = 0;
        self.nack_needs_human = false;
        self.open_failures = 0;
        self.reopen_tries = 0;
        if self.latched != Some(Latch::Hung) {
            self.latched = None;
        }
    }

    /// A pending command acts when nothing is in flight any more.
    pub(super) fn act_on_pending(&mut self, effects: &mut Vec<Effect>) {
        let is_settled = self.phase == Phase::Active
            && self.polling.is_none()
            && self.window.is_empty()
            && self.resolving.is_none();
        let Some(pending) = self.pending else { return };
        if !is_settled {
            return;
        }
        self.pending = None;
        self.hold = None;
        match pending {
            Pending::Pause => self.phase = Phase::Paused,
            Pending::Restart => self.close_orderly(Then::Open, effects),
            Pending::Stop => self.close_orderly(Then::Stopped, effects),
        }
    }
}

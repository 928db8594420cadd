//! What a person, the root or the shutdown may ask, and when it acts.
//!
//! Pause, restart and stop interrupt an outstanding poll; what it still returns runs to its verdict, and the command
//! acts when the window is empty.

use super::{Asked, Effect, Latch, Lifecycle, Order, Pending, Phase, Refusal, Then, Wait};

impl Lifecycle {
    pub(super) fn take_order(&mut self, order: Order, effects: &mut Vec<Effect>) {
        if self.is_shutting_down && !matches!(order, Order::Stop | Order::Shutdown) {
            // The process ends: only the wish is kept, for the next one.
            self.wish(order);
            return;
        }
        self.wish(order);
        match order {
            Order::Launch => self.launch(effects),
            Order::Start => self.start(effects),
            Order::Pause => self.pause(effects),
            Order::Resume => self.resume(),
            Order::Restart => self.restart(effects),
            Order::Reload(limits) => self.reload(limits, effects),
            Order::Keep => self.keep(),
            Order::Stop => self.stop(effects),
            Order::Shutdown => {
                self.is_shutting_down = true;
                self.stop(effects);
            }
        }
    }

    fn wish(&mut self, order: Order) {
        self.asked = match order {
            Order::Launch | Order::Shutdown | Order::Reload(_) | Order::Keep => self.asked,
            Order::Start | Order::Resume => Asked::Running,
            Order::Pause => Asked::Paused,
            // A paused source restarts to its pause.
            Order::Restart if self.asked == Asked::Paused => Asked::Paused,
            Order::Restart => Asked::Running,
            Order::Stop => Asked::Stopped,
        };
    }

    fn launch(&mut self, effects: &mut Vec<Effect>) {
        if self.phase == Phase::Stopped && self.asked != Asked::Stopped {
            self.open(effects);
        }
    }

    fn start(&mut self, effects: &mut Vec<Effect>) {
        match self.phase {
            Phase::Stopped => {
                self.reset();
                self.open(effects);
            }
            Phase::Halted { .. } if self.latched != Some(Latch::Hung) => {
                self.reset();
                self.open(effects);
            }
            Phase::Closing { then: Then::Halted } => {
                self.reset();
                self.phase = Phase::Closing { then: Then::Open };
            }
            Phase::Halted { .. } | Phase::Opening | Phase::Waiting { .. } | Phase::Active => {}
            Phase::Rewinding { .. } | Phase::Paused | Phase::Closing { .. } => {}
        }
    }

    fn pause(&mut self, effects: &mut Vec<Effect>) {
        match self.phase {
            Phase::Active | Phase::Rewinding { .. } => self.set_pending(Pending::Pause, effects),
            Phase::Stopped | Phase::Opening | Phase::Waiting { .. } | Phase::Paused => {}
            Phase::Halted { .. } | Phase::Closing { .. } => {}
        }
    }

    fn resume(&mut self) {
        if self.pending == Some(Pending::Pause) {
            self.pending = None;
        }
        if self.phase == Phase::Paused {
            self.phase = Phase::Active;
        }
    }

    pub(super) fn restart(&mut self, effects: &mut Vec<Effect>) {
        match self.phase {
            Phase::Active | Phase::Rewinding { .. } => {
                self.reset();
                self.set_pending(Pending::Restart, effects);
            }
            Phase::Paused | Phase::Opening => {
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
        if pending == Pending::Pause && self.pending == Some(Pending::Restart) {
            // It restarts to the pause that was asked for.
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
    pub(super) fn reset(&mut self) {
        self.nacks = 0;
        self.nack_needs_human = false;
        self.open_failures = 0;
        self.reopen_tries = 0;
        self.refusal = Refusal::MayBeOurs;
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
            Pending::Restart => {
                self.reset();
                self.close_orderly(Then::Open, effects);
            }
            Pending::Stop => self.close_orderly(Then::Stopped, effects),
        }
    }
}

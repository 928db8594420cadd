//! What happens next to one source: a pure function from an input to effects.
//!
//! [`Lifecycle::step`] has no clock, no I/O and no randomness; the supervisor carries out the effects it returns
//! and feeds back what came of them. Waits are named ([`Wait`]), their lengths are [`crate::backoff`]'s affair.
//!
//! Invariants kept here: I2 (Ack only after the save), I3 (at most W in flight, resolved in order), I5 (every
//! polled batch gets exactly one verdict), I6 (nothing from an older epoch changes anything), I7 (status is
//! computed).

mod command;
mod effect;
mod flight;
mod input;
mod opening;
mod phase;
mod reload;
mod rewind;
mod status;
#[cfg(test)]
mod tests;

pub use effect::{Effect, Token, Wait};
use input::Failure;
pub use input::{Asked, Ended, Event, Input, Limits, Order, PolledKind, Stage};
use phase::{Blame, Pending, Probe, Refusal, Trial};
pub use phase::{Flight, FlightKind, Latch, Phase, QuietSet, Then};
pub use status::{Condition, Conditions, Status};

use std::collections::VecDeque;

pub use crate::batch_id::BatchId;
use crate::cause::Cause;

/// The state of one source. Cloned only by the model.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lifecycle {
    limits: Limits,
    phase: Phase,
    epoch: u64,
    tree_epoch: u64,
    epoch_first: u64,
    next_number: u64,
    window: VecDeque<Flight>,
    polling: Option<u64>,
    resolving: Option<picomq_connector_sdk::Verdict>,
    hold: Option<Token>,
    nacks: u32,
    open_failures: u32,
    poll_failures: u32,
    reopen_tries: u32,
    refuse_watermarks: bool,
    is_idle: bool,
    is_total_over: bool,
    latched: Option<Latch>,
    has_poll_error: bool,
    is_lease_kept: bool,
    nack_needs_human: bool,
    last_error: Option<(Blame, Cause)>,
    asked: Asked,
    is_shutting_down: bool,
    pending: Option<Pending>,
    stop_deadline: Option<Token>,
    probe: Probe,
    refusal: Refusal,
    next_token: u64,
    /// Limits of a changed definition that waits until nothing is open.
    next: Option<Limits>,
    trial: Trial,
    /// Whether the definition in force opened when that was last tried.
    has_opened: bool,
    reload_error: Option<Cause>,
}

impl Lifecycle {
    /// A stopped source; [`Order::Launch`] opens it as `asked`.
    pub fn new(limits: Limits, asked: Asked) -> Lifecycle {
        Lifecycle {
            limits,
            phase: Phase::Stopped,
            epoch: 0,
            tree_epoch: 0,
            epoch_first: 1,
            next_number: 1,
            window: VecDeque::new(),
            polling: None,
            resolving: None,
            hold: None,
            nacks: 0,
            open_failures: 0,
            poll_failures: 0,
            reopen_tries: 0,
            refuse_watermarks: false,
            is_idle: false,
            is_total_over: false,
            latched: None,
            has_poll_error: false,
            is_lease_kept: false,
            nack_needs_human: false,
            last_error: None,
            asked,
            is_shutting_down: false,
            pending: None,
            stop_deadline: None,
            probe: Probe::None,
            refusal: Refusal::MayBeOurs,
            next_token: 1,
            next: None,
            trial: Trial::None,
            has_opened: false,
            reload_error: None,
        }
    }

    /// Takes one input and says what to do. Called by the supervisor alone, one input at a time.
    pub fn step(&mut self, input: Input) -> Vec<Effect> {
        let mut effects = Vec::new();
        match input {
            Input::Order(order) => self.take_order(order, &mut effects),
            Input::Wake(token) => self.wake(token, &mut effects),
            Input::Total { is_over } => self.is_total_over = is_over,
            Input::ChildLost { epoch, cause } => {
                // I6: the death of an older tree changes nothing.
                if epoch >= self.tree_epoch {
                    self.lose_tree(cause, &mut effects);
                }
            }
            Input::Ended(ended) => self.ended(ended, &mut effects),
            Input::Event { epoch, event } => {
                // I6: what an older epoch still has to say changes nothing.
                if epoch == self.epoch {
                    self.take_event(event, &mut effects);
                }
            }
        }
        self.advance(&mut effects);
        effects
    }

    fn take_event(&mut self, event: Event, effects: &mut Vec<Effect>) {
        match event {
            Event::Opened { number, window } => self.opened(number, window),
            Event::OpenFailed(failure) => self.open_failed(failure, effects),
            Event::Polled { number, kind, bytes, .. } => self.polled(number, kind, bytes, effects),
            Event::PollEnded => self.polling = None,
            Event::PollFailed { is_permanent, cause } => self.poll_failed(is_permanent, cause, effects),
            Event::Broken(cause) => self.lose_tree(cause, effects),
            Event::Failed { number, cause, is_client_lost, needs_human, .. } => {
                self.failed(Failure { number, is_client_lost, needs_human }, cause, effects);
            }
            Event::Quiet { stage, from } => self.quiet(stage, from),
            Event::Saved { number, delivered } => self.saved(number, delivered),
            Event::SaveFailed { number, cause } => self.save_failed(number, cause, effects),
            Event::Fenced { number, cause } => self.refused(number, cause, effects),
            Event::Probed { has_landed } => self.probed(has_landed, effects),
            Event::Resolved => self.resolved(effects),
            Event::ResolveFailed(cause) => self.lose_tree(cause, effects),
        }
    }

    /// Whatever may go on now: tell the next verdict, act on a pending command, start a poll.
    fn advance(&mut self, effects: &mut Vec<Effect>) {
        self.tell_ack(effects);
        self.tell_nack(effects);
        self.act_on_pending(effects);
        self.start_poll(effects);
    }

    fn wake(&mut self, token: Token, effects: &mut Vec<Effect>) {
        if self.hold == Some(token) {
            self.hold = None;
        } else if self.stop_deadline == Some(token) {
            self.stop_deadline = None;
            self.tear_down(Then::Stopped, effects);
        } else if self.probe == (Probe::Owed { token: Some(token) }) {
            self.probe = Probe::Running;
            effects.push(Effect::Probe);
        } else if self.phase == (Phase::Waiting { token }) {
            self.open(effects);
        } else if self.phase == (Phase::Halted { restart: Some(token) }) {
            self.reopen_tries = self.reopen_tries.saturating_add(1);
            self.open(effects);
        }
    }

    fn wait(&mut self, wait: Wait, effects: &mut Vec<Effect>) -> Token {
        let token = Token(self.next_token);
        self.next_token += 1;
        effects.push(Effect::Wake { token, wait });
        token
    }

    /// The batch that the present epoch would call `number`.
    fn batch(&self, number: u64) -> BatchId {
        BatchId { epoch: self.epoch, first: self.epoch_first, number }
    }

    fn blame(&mut self, blame: Blame, cause: Cause) {
        self.last_error = Some((blame, cause));
    }

    fn forgive(&mut self, blame: Blame) {
        if self.last_error.as_ref().is_some_and(|(of, _)| *of == blame) {
            self.last_error = None;
        }
    }
}

//! The lifecycle and the batch-number rule, tested as the pure values they are.
//!
//! `table` holds every phase × every input, `random` throws any sequence of inputs at it, `model` searches every
//! interleaving of the real stages, `traps` are the traces that a careless reading of the protocol allows.

mod model;
mod nacks;
mod random;
mod reload;
mod table;
mod traps;

use picomq_connector_sdk::Verdict;

use super::{
    Asked, Effect, Ended, Event, Input, Lifecycle, Limits, Order, Phase, PolledKind, Stage, Token, Wait,
};
use crate::ports::{Cause, OpenFailure, OpenKind};

pub(super) fn limits(window: usize) -> Limits {
    Limits { window, in_flight_bytes: 1000, nack_limit: 30, restarts: true }
}

/// Limits of a changed definition, told apart by what is in flight at most.
pub(super) fn changed() -> Limits {
    Limits { in_flight_bytes: 2000, ..limits(1) }
}

pub(super) fn cause() -> Cause {
    Cause::new("test.failed", "it failed")
}

/// A lifecycle with what it last said, and one-word ways to answer.
#[derive(Debug, Clone)]
pub(super) struct Rig {
    pub(super) life: Lifecycle,
    pub(super) said: Vec<Effect>,
}

impl Rig {
    /// Opened on the saved number `stored`; the first poll is running.
    pub(super) fn running(limits: Limits, stored: u64) -> Rig {
        let window = limits.window;
        let mut rig = Rig { life: Lifecycle::new(limits, Asked::Running), said: Vec::new() };
        rig.order(Order::Launch);
        rig.event(Event::Opened { number: stored, window });
        rig
    }

    pub(super) fn step(&mut self, input: Input) -> &mut Rig {
        self.said = self.life.step(input);
        self
    }

    pub(super) fn order(&mut self, order: Order) -> &mut Rig {
        self.step(Input::Order(order))
    }

    /// An event of the present epoch.
    pub(super) fn event(&mut self, event: Event) -> &mut Rig {
        let epoch = self.life.epoch();
        self.step(Input::Event { epoch, event })
    }

    pub(super) fn polled(&mut self, number: u64, kind: PolledKind) -> &mut Rig {
        let size = if kind == PolledKind::Records { 10 } else { 0 };
        self.event(Event::Polled { number, kind, records: size, bytes: u64::from(size) })
    }

    pub(super) fn failed(&mut self, number: u64) -> &mut Rig {
        self.fail(number, Stage::Router, false)
    }

    pub(super) fn client_lost(&mut self, number: u64) -> &mut Rig {
        self.fail(number, Stage::Producer, true)
    }

    fn fail(&mut self, number: u64, stage: Stage, is_client_lost: bool) -> &mut Rig {
        self.event(Event::Failed { number, stage, cause: cause(), is_client_lost, needs_human: false })
    }

    pub(super) fn save_failed(&mut self, number: u64) -> &mut Rig {
        self.event(Event::SaveFailed { number, cause: cause() })
    }

    pub(super) fn saved(&mut self, number: u64) -> &mut Rig {
        self.event(Event::Saved { number, delivered: 10 })
    }

    pub(super) fn resolved(&mut self) -> &mut Rig {
        self.event(Event::Resolved)
    }

    /// All three stages say quiet.
    pub(super) fn quiet(&mut self, from: u64) -> &mut Rig {
        for stage in [Stage::Poller, Stage::Producer, Stage::Checkpointer] {
            self.event(Event::Quiet { stage, from });
        }
        self
    }

    /// Batch `number` goes the whole way and is acked.
    pub(super) fn deliver(&mut self, number: u64) -> &mut Rig {
        self.polled(number, PolledKind::Records).saved(number).resolved()
    }

    /// Batch `number` fails and is nacked.
    pub(super) fn nack(&mut self, number: u64) -> &mut Rig {
        self.polled(number, PolledKind::Records).failed(number).quiet(number).resolved()
    }

    /// Opens again on `number` after the tree came down.
    pub(super) fn reopen(&mut self, number: u64) -> &mut Rig {
        self.step(Input::Ended(Ended { is_leaked: false }));
        self.event(Event::Opened { number, window: 3 })
    }

    /// Ends the wait that was asked for last.
    pub(super) fn wake(&mut self) -> &mut Rig {
        let token = self.token().expect("a wait was asked for");
        self.step(Input::Wake(token))
    }

    pub(super) fn token(&self) -> Option<Token> {
        self.said.iter().rev().find_map(|effect| match effect {
            Effect::Wake { token, .. } => Some(*token),
            _ => None,
        })
    }

    pub(super) fn wait(&self) -> Option<Wait> {
        self.said.iter().rev().find_map(|effect| match effect {
            Effect::Wake { wait, .. } => Some(*wait),
            _ => None,
        })
    }

    /// Number and watermark rule of the poll that was just started.
    pub(super) fn poll(&self) -> Option<(u64, bool)> {
        self.said.iter().find_map(|effect| match effect {
            Effect::Poll { batch, refuse_watermark } => Some((batch.number, *refuse_watermark)),
            _ => None,
        })
    }

    pub(super) fn verdict(&self) -> Option<Verdict> {
        self.said.iter().find_map(|effect| match effect {
            Effect::Resolve { verdict } => Some(*verdict),
            _ => None,
        })
    }

    pub(super) fn says(&self, effect: &Effect) -> bool {
        self.said.contains(effect)
    }
}

/// Answers everything as a healthy tree would until the lifecycle asks for nothing more; waits are not ended.
pub(super) fn settle(life: &mut Lifecycle) {
    for _ in 0..100 {
        let Some(input) = healthy_answer(life) else { return };
        life.step(input);
    }
    panic!("never settles: {life:?}");
}

fn healthy_answer(life: &Lifecycle) -> Option<Input> {
    let epoch = life.epoch();
    let event = |event| Some(Input::Event { epoch, event });
    if life.resolving.is_some() {
        return event(Event::Resolved);
    }
    if life.polling.is_some() {
        return event(Event::PollEnded);
    }
    match life.phase() {
        Phase::Closing { .. } => Some(Input::Ended(Ended { is_leaked: false })),
        Phase::Opening => event(Event::Opened { number: 0, window: 1 }),
        Phase::Rewinding { from, quiet, .. } => {
            let stages = [(quiet.poller, Stage::Poller), (quiet.producer, Stage::Producer)];
            let missing = stages.iter().find(|(is_quiet, _)| !is_quiet).map(|(_, stage)| *stage);
            match life.window.front() {
                Some(head) if !life.is_head_failed() => {
                    event(Event::Saved { number: head.number, delivered: 1 })
                }
                _ => event(Event::Quiet { stage: missing.unwrap_or(Stage::Checkpointer), from }),
            }
        }
        Phase::Active => {
            let head = life.window.front()?;
            event(Event::Saved { number: head.number, delivered: 1 })
        }
        Phase::Stopped | Phase::Waiting { .. } | Phase::Paused | Phase::Halted { .. } => None,
    }
}

pub(super) fn open_failure(kind: OpenKind) -> Event {
    Event::OpenFailed(OpenFailure { kind, cause: cause() })
}

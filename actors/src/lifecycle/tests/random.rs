//! Any sequence of inputs, stale and nonsensical ones among them: nothing panics, and what must never happen does not.

use picomq_connector_sdk::Verdict;
use proptest::prelude::*;
use proptest::sample::select;

use super::{cause, changed, open_failure, settle};
use crate::lifecycle::{
    Asked, Effect, Ended, Event, FlightKind, Input, Latch, Lifecycle, Limits, Order, Phase, PolledKind,
    Probe, Stage, Status, Then, Token,
};
use crate::ports::OpenKind;

/// An input before it knows the state it meets: numbers and epochs are taken relative to it.
#[derive(Debug, Clone)]
enum Throw {
    Order(Order),
    /// The token issued so many waits ago.
    Wake(u64),
    Total(bool),
    ChildLost {
        age: u64,
    },
    Ended {
        is_leaked: bool,
    },
    /// What the state waits for, as a healthy tree would answer.
    Healthy,
    Event {
        age: u64,
        number: i64,
        event: Event,
    },
}

fn throws() -> impl Strategy<Value = Throw> {
    use Order::{Keep, Launch, Pause, Reload, Restart, Resume, Shutdown, Start, Stop};
    let age = prop_oneof![8 => Just(0u64), 1 => Just(1), 1 => Just(u64::MAX)];
    prop_oneof![
        2 => select(vec![Launch, Start, Pause, Resume, Restart, Stop]).prop_map(Throw::Order),
        1 => prop_oneof![20 => Just(Resume), 1 => Just(Shutdown)].prop_map(Throw::Order),
        2 => prop_oneof![3 => Just(Reload(changed())), 1 => Just(Keep)].prop_map(Throw::Order),
        4 => (0u64..3).prop_map(Throw::Wake),
        1 => any::<bool>().prop_map(Throw::Total),
        1 => (0u64..4).prop_map(|age| Throw::ChildLost { age }),
        2 => prop_oneof![9 => Just(false), 1 => Just(true)].prop_map(|is_leaked| Throw::Ended { is_leaked }),
        8 => Just(Throw::Healthy),
        12 => (age, -2i64..3, events()).prop_map(|(age, number, event)| Throw::Event { age, number, event }),
    ]
}

fn events() -> impl Strategy<Value = Event> {
    use OpenKind::{Config, Hung, Panicked, Passing, Permanent, State};
    use PolledKind::{Empty, Records, Refused, Watermark};
    let kinds = select(vec![Empty, Watermark, Refused, Records, Records]);
    let stages = select(vec![Stage::Poller, Stage::Router, Stage::Producer, Stage::Checkpointer]);
    let flags = (any::<bool>(), any::<bool>());
    prop_oneof![
        1 => (select(vec![0, 7, u64::MAX]), 0usize..4).prop_map(|(number, window)| Event::Opened { number, window }),
        1 => select(vec![Config, State, Permanent, Passing, Panicked, Hung]).prop_map(open_failure),
        4 => (kinds, 0u64..600).prop_map(|(kind, bytes)| Event::Polled { number: 0, kind, records: 1, bytes }),
        1 => Just(Event::PollEnded),
        1 => any::<bool>().prop_map(|is_permanent| Event::PollFailed { is_permanent, cause: cause() }),
        1 => Just(Event::Broken(cause())),
        2 => (stages.clone(), flags).prop_map(|(stage, (is_client_lost, needs_human))| {
            Event::Failed { number: 0, stage, cause: cause(), is_client_lost, needs_human }
        }),
        4 => stages.prop_map(|stage| Event::Quiet { stage, from: 0 }),
        4 => (0u32..2).prop_map(|delivered| Event::Saved { number: 0, delivered }),
        1 => Just(Event::SaveFailed { number: 0, cause: cause() }),
        1 => Just(Event::Fenced { number: 0, cause: cause() }),
        1 => any::<bool>().prop_map(|has_landed| Event::Probed { has_landed }),
        4 => Just(Event::Resolved),
        1 => Just(Event::ResolveFailed(cause())),
    ]
}

/// Aims `event` at the batch that lies `offset` from the oldest in flight, or from the poll.
fn aim(event: Event, life: &Lifecycle, offset: i64) -> Event {
    let oldest = life.window.front().map_or(life.next_number, |flight| flight.number);
    let at = |base: u64| base.saturating_add_signed(offset);
    match event {
        Event::Polled { kind, records, bytes, .. } => {
            Event::Polled { number: at(life.polling.unwrap_or(life.next_number)), kind, records, bytes }
        }
        Event::Failed { stage, cause, is_client_lost, needs_human, .. } => {
            Event::Failed { number: at(oldest), stage, cause, is_client_lost, needs_human }
        }
        Event::Quiet { stage, .. } => {
            let from = if let Phase::Rewinding { from, .. } = life.phase { from } else { oldest };
            Event::Quiet { stage, from: at(from) }
        }
        Event::Saved { delivered, .. } => Event::Saved { number: at(oldest), delivered },
        Event::SaveFailed { cause, .. } => Event::SaveFailed { number: at(oldest), cause },
        Event::Fenced { cause, .. } => Event::Fenced { number: at(oldest), cause },
        Event::Opened { .. } | Event::OpenFailed(_) | Event::PollEnded | Event::PollFailed { .. } => event,
        Event::Broken(_) | Event::Probed { .. } | Event::Resolved | Event::ResolveFailed(_) => event,
    }
}

fn input(throw: Throw, life: &Lifecycle) -> Input {
    let epoch = |age: u64| life.epoch().saturating_sub(age);
    match throw {
        Throw::Order(order) => Input::Order(order),
        Throw::Wake(ago) => Input::Wake(Token(life.next_token.saturating_sub(1 + ago))),
        Throw::Total(is_over) => Input::Total { is_over },
        Throw::ChildLost { age } => Input::ChildLost { epoch: epoch(age), cause: cause() },
        Throw::Ended { is_leaked } => Input::Ended(Ended { is_leaked }),
        Throw::Healthy => super::healthy_answer(life).unwrap_or(Input::Total { is_over: false }),
        Throw::Event { age, number, event } => {
            Input::Event { epoch: epoch(age), event: aim(event, life, number) }
        }
    }
}

/// What no sequence of inputs may break.
#[derive(Default)]
struct Watch {
    last_sent: Option<u64>,
}

impl Watch {
    fn check(&mut self, before: &Lifecycle, input: &Input, after: &Lifecycle, effects: &[Effect]) {
        assert!(after.epoch >= before.epoch, "the epoch fell");
        let polls = effects.iter().filter(|effect| matches!(effect, Effect::Poll { .. })).count();
        let verdicts = effects.iter().filter(|effect| matches!(effect, Effect::Resolve { .. })).count();
        assert!(polls <= 1 && verdicts <= 1, "two at once: {effects:?}");
        for effect in effects {
            match effect {
                Effect::Poll { batch, .. } => check_poll(before, input, after, batch.number),
                Effect::Resolve { verdict } => check_verdict(before, input, after, *verdict),
                Effect::Probe => assert!(before.probe != Probe::Running, "two probes"),
                Effect::Close { .. } => assert!(after.window.is_empty() && after.polling.is_none()),
                Effect::Adopt { .. } | Effect::Revert => check_change(before, after, effects),
                Effect::Open { .. }
                | Effect::Interrupt
                | Effect::Quiesce { .. }
                | Effect::DropClient { .. } => {}
                Effect::Wake { .. } | Effect::Acked { .. } | Effect::Nacked => {}
            }
        }
        self.check_number(before, input, after);
        check_status(after);
    }

    /// A number that was sent down the line is never used again in its life.
    fn check_number(&mut self, before: &Lifecycle, input: &Input, after: &Lifecycle) {
        if before.phase == Phase::Opening && after.phase != Phase::Opening {
            self.last_sent = None;
        }
        let Input::Event { epoch, event: Event::Polled { number, kind, .. } } = input else { return };
        let is_sent = matches!(kind, PolledKind::Records | PolledKind::Watermark);
        if is_sent && *epoch == before.epoch && before.polling == Some(*number) {
            // The end of the number range is out of reach: a poll a nanosecond would take six hundred years.
            assert!(
                self.last_sent.is_none_or(|last| *number > last || last == u64::MAX),
                "number used twice"
            );
            self.last_sent = Some(*number);
        }
    }
}

/// I4: a definition changes only where nothing is open, and what changes there is what opens next.
fn check_change(before: &Lifecycle, after: &Lifecycle, effects: &[Effect]) {
    let is_open = matches!(before.phase, Phase::Active | Phase::Rewinding { .. } | Phase::Paused);
    assert!(!is_open, "changed beside a live instance, in {:?}", before.phase);
    match after.phase {
        Phase::Opening => {
            assert!(
                matches!(effects.last(), Some(Effect::Open { .. })),
                "changed after the opening: {effects:?}"
            );
        }
        Phase::Waiting { .. } | Phase::Stopped => {}
        Phase::Active
        | Phase::Rewinding { .. }
        | Phase::Paused
        | Phase::Halted { .. }
        | Phase::Closing { .. } => {
            panic!("changed into {:?}", after.phase)
        }
    }
}

fn check_poll(before: &Lifecycle, input: &Input, after: &Lifecycle, number: u64) {
    let is_answer = matches!(input, Input::Event { event, .. }
        if matches!(event, Event::Polled { .. } | Event::PollEnded | Event::PollFailed { .. }));
    assert!(before.polling.is_none() || is_answer || after.epoch > before.epoch, "two polls");
    assert_eq!((after.phase, after.polling), (Phase::Active, Some(number)));
    assert!(after.window.len() < after.limits.window, "the window is full");
    assert!(after.pending.is_none() && after.hold.is_none() && after.probe == Probe::None);
    assert!(after.bytes_in_flight() < after.limits.in_flight_bytes && !after.is_total_over);
    assert!(after.resolving != Some(Verdict::Nack), "a poll beside a Nack");
    assert!(number >= after.epoch_first);
}

fn check_verdict(before: &Lifecycle, input: &Input, after: &Lifecycle, verdict: Verdict) {
    let is_answer = matches!(input, Input::Event { event: Event::Resolved, .. });
    assert!(before.resolving.is_none() || is_answer, "two verdicts");
    match verdict {
        Verdict::Ack => {
            let head = after.window.front().map(|flight| flight.kind);
            // I2: an Ack only for what was saved, or has nothing to save.
            assert!(matches!(head, Some(FlightKind::Empty | FlightKind::Saved { .. })), "{head:?}");
        }
        Verdict::Nack => {
            assert!(after.polling.is_none(), "a Nack while a poll runs");
            let Phase::Rewinding { from, quiet, .. } = after.phase else {
                panic!("a Nack in {:?}", after.phase)
            };
            assert!(quiet.poller && quiet.producer && quiet.checkpointer);
            assert!(after.window.iter().all(|flight| flight.number >= from), "a predecessor is unresolved");
        }
    }
}

/// I7, said a second time in other words.
fn check_status(life: &Lifecycle) {
    let has_error = life.latched.is_some() || life.has_poll_error;
    let expected = match life.phase {
        Phase::Stopped => Status::Stopped,
        Phase::Closing { then: Then::Stopped } => Status::Stopping,
        Phase::Paused => Status::Paused,
        Phase::Halted { .. } | Phase::Closing { then: Then::Halted } => Status::Error,
        Phase::Opening | Phase::Waiting { .. } | Phase::Closing { .. } if !has_error => Status::Starting,
        Phase::Active | Phase::Rewinding { .. } if !has_error => Status::Running,
        Phase::Opening | Phase::Waiting { .. } | Phase::Closing { .. } => Status::Error,
        Phase::Active | Phase::Rewinding { .. } => Status::Error,
    };
    assert_eq!(life.status(), expected);
    let halts = matches!(life.phase, Phase::Halted { .. } | Phase::Closing { then: Then::Halted });
    assert!(!halts || life.latched.is_some(), "halted for no reason");
    assert!(life.latched != Some(Latch::Limit) || life.nacks > 0, "at the limit without a nack");
}

/// L7: from wherever it is, a shutdown whose calls are answered ends in Stopped, without the deadline.
fn check_way_to_stopped(life: &Lifecycle) {
    let mut life = life.clone();
    life.step(Input::Order(Order::Shutdown));
    settle(&mut life);
    assert_eq!(life.phase, Phase::Stopped, "{life:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_inputs_breaks_an_invariant(
        window in 1usize..4,
        nack_limit in 1u32..5,
        restarts: bool,
        asked in select(vec![Asked::Running, Asked::Paused, Asked::Stopped]),
        throws in prop::collection::vec(throws(), 1..120),
    ) {
        let limits = Limits { window, in_flight_bytes: 1000, nack_limit, restarts };
        let mut life = Lifecycle::new(limits, asked);
        let mut watch = Watch::default();
        life.step(Input::Order(Order::Launch));
        for throw in throws {
            let before = life.clone();
            let input = input(throw, &before);
            let effects = life.step(input.clone());
            watch.check(&before, &input, &life, &effects);
            check_way_to_stopped(&life);
        }
    }
}

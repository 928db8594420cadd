//! Every phase × every input: what the phase becomes and what is done.
//!
//! `table.txt` holds the expected rows. A row is `phase · input => what changed; effects`; inputs that change
//! nothing in a phase share one row. A new variant of an enum does not compile here until it is named, and fails
//! until it has a sample and its rows.

use std::fmt::Write as _;

use super::{Rig, cause, changed, limits, open_failure};
use crate::lifecycle::{
    Asked, Effect, Ended, Event, Input, Latch, Lifecycle, Order, Phase, PolledKind, Stage, Then, Token,
    Trial, Wait,
};
use crate::ports::OpenKind;

const EXPECTED: &str = include_str!("table.txt");

fn opened() -> Lifecycle {
    Rig::running(limits(1), 4).life
}

fn after(change: impl Fn(&mut Rig)) -> Lifecycle {
    let mut rig = Rig { life: opened(), said: Vec::new() };
    change(&mut rig);
    rig.life
}

fn ended(rig: &mut Rig) {
    rig.step(Input::Ended(Ended { is_leaked: false }));
}

fn unsaved(rig: &mut Rig) {
    rig.polled(5, PolledKind::Records).save_failed(5).quiet(5).resolved();
}

fn fenced(rig: &mut Rig) {
    rig.deliver(5).polled(6, PolledKind::Records);
    rig.event(Event::Fenced { number: 6, cause: cause() }).quiet(6).resolved();
}

fn at_the_limit(rig: &mut Rig) {
    rig.life.nacks = 29;
    rig.nack(5);
}

/// The changed definition is being opened, and the former one is kept.
fn changing(rig: &mut Rig) {
    rig.order(Order::Reload(changed())).event(Event::PollEnded);
    ended(rig);
}

fn lost(rig: &mut Rig) {
    rig.event(Event::Broken(cause()));
}

/// Every phase, some of them in more than one situation.
fn situations() -> Vec<(&'static str, Lifecycle)> {
    let new = || Rig { life: Lifecycle::new(limits(1), Asked::Running), said: Vec::new() };
    let mut opening = new();
    opening.order(Order::Launch);
    let mut waiting = opening.clone();
    waiting.event(open_failure(OpenKind::Passing));
    let mut refused = opening.clone();
    refused.event(open_failure(OpenKind::Config));
    vec![
        ("stopped", new().life),
        ("opening", opening.life),
        ("waiting", waiting.life),
        ("polling", opened()),
        ("holding", after(|rig| _ = rig.nack(5))),
        ("over the total", after(|rig| _ = rig.step(Input::Total { is_over: true }).deliver(5))),
        ("in flight", after(|rig| _ = rig.polled(5, PolledKind::Records))),
        ("acking", after(|rig| _ = rig.polled(5, PolledKind::Records).saved(5))),
        ("pausing", after(|rig| _ = rig.order(Order::Pause))),
        ("stopping", after(|rig| _ = rig.polled(5, PolledKind::Records).order(Order::Stop))),
        ("reloading", after(|rig| _ = rig.polled(5, PolledKind::Records).order(Order::Reload(changed())))),
        ("opening the changed", after(changing)),
        (
            "going back",
            after(|rig| {
                changing(rig);
                rig.event(open_failure(OpenKind::Config));
            }),
        ),
        (
            "going back for now",
            after(|rig| {
                changing(rig);
                rig.event(open_failure(OpenKind::Passing));
            }),
        ),
        ("probe owed", after(unsaved)),
        (
            "probing",
            after(|rig| {
                _ = {
                    unsaved(rig);
                    rig.wake()
                }
            }),
        ),
        ("rewinding", after(|rig| _ = rig.polled(5, PolledKind::Records).failed(5))),
        ("nacking", after(|rig| _ = rig.polled(5, PolledKind::Records).failed(5).quiet(5))),
        ("paused", after(|rig| _ = rig.order(Order::Pause).event(Event::PollEnded))),
        (
            "paused, probing",
            after(|rig| {
                unsaved(rig);
                rig.wake().order(Order::Pause);
            }),
        ),
        (
            "halted",
            after(|rig| {
                at_the_limit(rig);
                ended(rig)
            }),
        ),
        ("halted for good", refused.life),
        ("closing to stopped", after(|rig| _ = rig.order(Order::Stop).event(Event::PollEnded))),
        ("closing to open", after(|rig| _ = rig.order(Order::Restart).event(Event::PollEnded))),
        ("closing to wait", after(lost)),
        ("closing to halted", after(fenced)),
    ]
}

/// One name per phase: a new one does not compile until it is here, and fails until it has a situation.
fn phase_name(phase: Phase) -> (usize, &'static str) {
    match phase {
        Phase::Stopped => (0, "Stopped"),
        Phase::Opening => (1, "Opening"),
        Phase::Waiting { .. } => (2, "Waiting"),
        Phase::Active => (3, "Active"),
        Phase::Rewinding { .. } => (4, "Rewinding"),
        Phase::Paused => (5, "Paused"),
        Phase::Halted { restart: Some(_) } => (6, "Halted, reopens"),
        Phase::Halted { restart: None } => (7, "Halted"),
        Phase::Closing { then: Then::Stopped } => (8, "Closing to stopped"),
        Phase::Closing { then: Then::Open } => (9, "Closing to open"),
        Phase::Closing { then: Then::OpenAfterBackoff } => (10, "Closing to wait"),
        Phase::Closing { then: Then::Halted } => (11, "Closing to halted"),
    }
}

const PHASES: usize = 12;
const INPUTS: usize = 41;

/// One name per input, as [`phase_name`].
fn input_name(input: &Input) -> (usize, &'static str) {
    match input {
        Input::Order(Order::Launch) => (0, "launch"),
        Input::Order(Order::Start) => (1, "start"),
        Input::Order(Order::Pause) => (2, "pause"),
        Input::Order(Order::Resume) => (3, "resume"),
        Input::Order(Order::Restart) => (4, "restart"),
        Input::Order(Order::Stop) => (5, "stop"),
        Input::Order(Order::Shutdown) => (6, "shutdown"),
        Input::Order(Order::Reload(_)) => (39, "reload"),
        Input::Order(Order::Keep) => (40, "keep"),
        Input::Wake(_) => (7, "wake"),
        Input::Total { is_over: true } => (8, "total over"),
        Input::Total { is_over: false } => (9, "total under"),
        Input::ChildLost { .. } => (10, "child lost"),
        Input::Ended(Ended { is_leaked: false }) => (11, "ended"),
        Input::Ended(Ended { is_leaked: true }) => (12, "leaked"),
        Input::Event { event, .. } => event_name(event),
    }
}

fn event_name(event: &Event) -> (usize, &'static str) {
    match event {
        Event::Opened { .. } => (13, "opened"),
        Event::OpenFailed(failure) => open_failure_name(failure.kind),
        Event::Polled { kind: PolledKind::Empty, .. } => (20, "polled empty"),
        Event::Polled { kind: PolledKind::Watermark, .. } => (21, "polled watermark"),
        Event::Polled { kind: PolledKind::Refused, .. } => (22, "polled refused"),
        Event::Polled { kind: PolledKind::Records, .. } => (23, "polled records"),
        Event::PollEnded => (24, "poll ended"),
        Event::PollFailed { is_permanent: false, .. } => (25, "poll failed"),
        Event::PollFailed { is_permanent: true, .. } => (26, "poll failed for good"),
        Event::Broken(_) => (27, "broken"),
        Event::Failed { is_client_lost: false, .. } => (28, "failed"),
        Event::Failed { is_client_lost: true, .. } => (29, "client lost"),
        Event::Quiet { stage: Stage::Poller | Stage::Router, .. } => (30, "poller quiet"),
        Event::Quiet { stage: Stage::Producer | Stage::Checkpointer, .. } => (31, "last quiet"),
        Event::Saved { .. } => (32, "saved"),
        Event::SaveFailed { .. } => (33, "save failed"),
        Event::Fenced { .. } => (34, "fenced"),
        Event::Probed { has_landed: false } => (35, "probe failed"),
        Event::Probed { has_landed: true } => (36, "probed"),
        Event::Resolved => (37, "resolved"),
        Event::ResolveFailed(_) => (38, "resolve failed"),
    }
}

fn open_failure_name(kind: OpenKind) -> (usize, &'static str) {
    match kind {
        OpenKind::Config => (14, "open failed: config"),
        OpenKind::State => (15, "open failed: state"),
        OpenKind::Permanent => (16, "open failed: permanent"),
        OpenKind::Passing => (17, "open failed: passing"),
        OpenKind::Panicked => (18, "open failed: panicked"),
        OpenKind::Hung => (19, "open failed: hung"),
    }
}

fn orders() -> [Order; 9] {
    use Order::{Keep, Launch, Pause, Reload, Restart, Resume, Shutdown, Start, Stop};
    [Launch, Start, Pause, Resume, Restart, Stop, Shutdown, Reload(changed()), Keep]
}

/// One sample of every input, aimed at batch 5 and at the newest wait.
fn inputs(life: &Lifecycle) -> Vec<Input> {
    let mut inputs: Vec<Input> = orders().into_iter().map(Input::Order).collect();
    inputs.push(Input::Wake(Token(life.next_token - 1)));
    inputs.extend([true, false].map(|is_over| Input::Total { is_over }));
    inputs.push(Input::ChildLost { epoch: life.epoch(), cause: cause() });
    inputs.extend([false, true].map(|is_leaked| Input::Ended(Ended { is_leaked })));
    inputs.extend(events().into_iter().map(|event| Input::Event { epoch: life.epoch(), event }));
    inputs
}

fn events() -> Vec<Event> {
    use OpenKind::{Config, Hung, Panicked, Passing, Permanent, State};
    let number = 5;
    let failed = |is_client_lost| {
        let stage = if is_client_lost { Stage::Producer } else { Stage::Router };
        Event::Failed { number, stage, cause: cause(), is_client_lost, needs_human: false }
    };
    let mut events = vec![Event::Opened { number: 7, window: 1 }];
    events.extend([Config, State, Permanent, Passing, Panicked, Hung].map(open_failure));
    for kind in [PolledKind::Empty, PolledKind::Watermark, PolledKind::Refused, PolledKind::Records] {
        events.push(Event::Polled { number, kind, records: 1, bytes: 1 });
    }
    events.push(Event::PollEnded);
    events.extend([false, true].map(|is_permanent| Event::PollFailed { is_permanent, cause: cause() }));
    events.push(Event::Broken(cause()));
    events.extend([failed(false), failed(true)]);
    events.extend([Stage::Poller, Stage::Checkpointer].map(|stage| Event::Quiet { stage, from: number }));
    events.push(Event::Saved { number, delivered: 1 });
    events.push(Event::SaveFailed { number, cause: cause() });
    events.push(Event::Fenced { number, cause: cause() });
    events.extend([false, true].map(|has_landed| Event::Probed { has_landed }));
    events.extend([Event::Resolved, Event::ResolveFailed(cause())]);
    events
}

/// What a person sees, and what decides the next step.
fn facts(life: &Lifecycle) -> Vec<String> {
    let flights: Vec<String> =
        life.window.iter().map(|flight| format!("{} {:?}", flight.number, flight.kind)).collect();
    let mut facts = vec![
        phase_name(life.phase).1.to_owned(),
        life.status().as_str().to_owned(),
        format!("asked {:?}", life.asked),
        format!("pending {:?}", life.pending),
        format!(
            "probe {}",
            if life.probe == super::super::Probe::Running { "running" } else { "not running" }
        ),
        format!("nacks {}", life.nacks),
        format!("latched {}", life.latched.map_or("nothing", latch_name)),
        format!("window [{}]", flights.join(", ")),
        format!("{} error", if life.last_error.is_some() { "an" } else { "no" }),
        format!("refusal {:?}", life.refusal),
        format!("total {}", if life.is_total_over { "over" } else { "under" }),
        format!("definition {}", if life.limits.in_flight_bytes == 2000 { "changed" } else { "former" }),
        format!("reload {}", reload_name(life)),
        format!("reload {}", if life.has_reload_failed() { "failed" } else { "fine" }),
    ];
    if let Phase::Rewinding { quiet, .. } = life.phase {
        facts.push(format!(
            "quiet {}",
            u8::from(quiet.poller) + u8::from(quiet.producer) + u8::from(quiet.checkpointer)
        ));
    }
    facts
}

fn reload_name(life: &Lifecycle) -> &'static str {
    match (life.next.is_some(), life.trial) {
        (true, _) => "waits",
        (false, Trial::None) => "done",
        (false, Trial::New { .. }) => "tries",
        (false, Trial::Back { passing: None }) => "goes back",
        (false, Trial::Back { passing: Some(_) }) => "goes back for now",
    }
}

fn latch_name(latch: Latch) -> &'static str {
    match latch {
        Latch::Save => "save",
        Latch::Limit => "limit",
        Latch::LimitForHuman => "limit for a human",
        Latch::Open => "open",
        Latch::Fenced => "fenced",
        Latch::Hung => "hung",
    }
}

fn effect_name(effect: &Effect) -> String {
    match effect {
        Effect::Open { is_paused: false, .. } => "Open".to_owned(),
        Effect::Open { is_paused: true, .. } => "Open to a pause".to_owned(),
        Effect::Adopt { keeps_former } => {
            format!("Adopt{}", if *keeps_former { ", former kept" } else { "" })
        }
        Effect::Revert => "Revert".to_owned(),
        Effect::Poll { batch, refuse_watermark } => {
            format!("Poll {}{}", batch.number, if *refuse_watermark { " refusing" } else { "" })
        }
        Effect::Interrupt => "Interrupt".to_owned(),
        Effect::Resolve { verdict } => format!("{verdict:?}"),
        Effect::Quiesce { from, .. } => format!("Quiesce {from}"),
        Effect::DropClient { .. } => "DropClient".to_owned(),
        Effect::Probe => "Probe".to_owned(),
        Effect::Close { is_orderly, keeps_lease } => {
            let way = if *is_orderly { "Close" } else { "Kill" };
            format!("{way}{}", if *keeps_lease { ", lease kept" } else { "" })
        }
        Effect::Wake { wait, .. } => format!("Wake {}", wait_name(*wait)),
        Effect::Acked { delivered } => format!("Acked {delivered}"),
        Effect::Nacked => "Nacked".to_owned(),
    }
}

fn wait_name(wait: Wait) -> String {
    format!("{wait:?}").to_lowercase()
}

fn row(before: &Lifecycle, input: &Input) -> Option<String> {
    let mut after = before.clone();
    let effects: Vec<String> = after.step(input.clone()).iter().map(effect_name).collect();
    let old = facts(before);
    let new: Vec<String> = facts(&after).into_iter().filter(|fact| !old.contains(fact)).collect();
    let is_unchanged = new.is_empty() && effects.is_empty();
    (!is_unchanged).then(|| format!("{}; {}", new.join(", "), effects.join(", ")))
}

fn table() -> String {
    let mut table = String::new();
    for (name, life) in situations() {
        writeln!(table, "# {name}: {}", facts(&life).join(", ")).expect("a string takes all");
        let mut idle = Vec::new();
        for input in inputs(&life) {
            let (_, what) = input_name(&input);
            match row(&life, &input) {
                Some(row) => writeln!(table, "{what} => {row}").expect("a string takes all"),
                None => idle.push(what),
            }
        }
        writeln!(table, "nothing: {}\n", idle.join(", ")).expect("a string takes all");
    }
    table
}

#[test]
fn every_phase_answers_every_input_as_the_table_says() {
    let table = table();
    let differences: Vec<String> = table
        .lines()
        .zip(EXPECTED.lines().chain(std::iter::repeat("(no row)")))
        .filter(|(is, expected)| is != expected)
        .map(|(is, expected)| format!("is       {is}\nexpected {expected}"))
        .collect();
    assert!(
        table.trim() == EXPECTED.trim(),
        "{} rows differ:\n{}\n{table}",
        differences.len(),
        differences.join("\n")
    );
}

#[test]
fn every_phase_and_every_input_has_a_sample() {
    let mut phases = [false; PHASES];
    let mut samples = [false; INPUTS];
    for (_, life) in situations() {
        phases[phase_name(life.phase).0] = true;
        for input in inputs(&life) {
            samples[input_name(&input).0] = true;
        }
    }
    assert_eq!((phases, samples), ([true; PHASES], [true; INPUTS]));
}

#[test]
fn an_event_of_another_epoch_changes_nothing_in_any_phase() {
    for (name, life) in situations() {
        for event in events() {
            for epoch in [life.epoch().wrapping_sub(1), life.epoch() + 1] {
                let mut after = life.clone();
                let said = after.step(Input::Event { epoch, event: event.clone() });
                assert_eq!((said, &after), (Vec::new(), &life), "{name}: {event:?} of epoch {epoch}");
            }
        }
    }
}

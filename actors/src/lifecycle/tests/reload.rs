//! A changed definition: after the verdicts, at once where nothing is in flight, and the way back.

use super::{Rig, cause, changed, limits, open_failure};
use crate::lifecycle::{
    Asked, Condition, Effect, Ended, Event, Latch, Lifecycle, Limits, Order, Phase, PolledKind, Status,
};
use crate::ports::OpenKind;

fn is_changed(rig: &Rig) -> bool {
    rig.life.limits.in_flight_bytes == changed().in_flight_bytes
}

fn ended(rig: &mut Rig) {
    rig.step(super::Input::Ended(Ended { is_leaked: false }));
}

/// The changed definition is being opened after a batch in flight was acked.
fn opening_changed() -> Rig {
    let mut rig = Rig::running(limits(1), 4);
    rig.order(Order::Reload(changed())).event(Event::PollEnded);
    ended(&mut rig);
    assert_eq!(rig.life.phase(), Phase::Opening);
    assert!(is_changed(&rig));
    rig
}

fn opens(rig: &Rig) -> usize {
    rig.said.iter().filter(|effect| matches!(effect, Effect::Open { .. })).count()
}

#[test]
fn a_reload_waits_for_the_verdicts_of_what_is_in_flight() {
    let mut rig = Rig::running(limits(1), 4);
    rig.polled(5, PolledKind::Records).order(Order::Reload(changed()));
    assert!(rig.life.conditions().contains(&Condition::Draining));
    rig.saved(5);
    assert!(!is_changed(&rig), "the former one is in force until its last verdict was taken");
    rig.resolved();
    assert!(rig.says(&Effect::Close { is_orderly: true, keeps_lease: false }));
    assert!(!is_changed(&rig));
    ended(&mut rig);
    assert_eq!(rig.said.first(), Some(&Effect::Adopt { keeps_former: true }));
    assert!(is_changed(&rig) && opens(&rig) == 1);
}

#[test]
fn a_reload_in_a_rewind_comes_after_its_nack_and_the_batch_is_read_by_the_changed_one() {
    let mut rig = Rig::running(limits(1), 4);
    rig.polled(5, PolledKind::Records).failed(5).order(Order::Reload(changed())).quiet(5).resolved();
    assert!(rig.says(&Effect::Close { is_orderly: true, keeps_lease: false }));
    ended(&mut rig);
    assert!(is_changed(&rig));
    assert_eq!(rig.life.consecutive_nacks(), 0, "a reload sets the counter back");
}

#[test]
fn where_nothing_is_in_flight_a_reload_acts_at_once() {
    let waiting = |rig: &mut Rig| {
        rig.event(Event::Broken(cause()));
        ended(rig);
        assert!(matches!(rig.life.phase(), Phase::Waiting { .. }));
    };
    let mut rig = Rig::running(limits(1), 4);
    waiting(&mut rig);
    rig.order(Order::Reload(changed()));
    assert!(is_changed(&rig) && rig.life.phase() == Phase::Opening);

    let mut rig = Rig::running(limits(1), 4);
    rig.order(Order::Pause).event(Event::PollEnded).order(Order::Reload(changed()));
    assert!(rig.says(&Effect::Close { is_orderly: true, keeps_lease: false }));
    ended(&mut rig);
    assert!(rig.says(&Effect::Open { epoch: rig.life.epoch(), is_paused: true }), "it reloads to its pause");
    rig.event(Event::Opened { number: 4, window: 1 });
    assert_eq!(rig.life.phase(), Phase::Paused);
}

#[test]
fn a_reload_ends_what_only_a_person_could() {
    let mut rig = Rig { life: Lifecycle::new(limits(1), Asked::Running), said: Vec::new() };
    rig.order(Order::Launch).event(open_failure(OpenKind::Config));
    assert_eq!((rig.life.latched, rig.life.status()), (Some(Latch::Open), Status::Error));
    rig.order(Order::Reload(changed()));
    assert_eq!((rig.life.latched, rig.life.phase()), (None, Phase::Opening));
    assert_eq!(rig.said[0], Effect::Adopt { keeps_former: false }, "what never opened is not gone back to");
    rig.event(open_failure(OpenKind::Config));
    assert!(matches!(rig.life.phase(), Phase::Halted { .. }) && is_changed(&rig));
    assert!(!rig.life.has_reload_failed());
}

#[test]
fn a_changed_definition_that_does_not_open_gives_way_to_the_former_one() {
    for kind in
        [OpenKind::Config, OpenKind::State, OpenKind::Permanent, OpenKind::Passing, OpenKind::Panicked]
    {
        let mut rig = opening_changed();
        rig.event(open_failure(kind));
        assert!(rig.says(&Effect::Revert) && opens(&rig) == 1, "{kind:?}");
        assert!(!is_changed(&rig));
        rig.event(Event::Opened { number: 4, window: 1 });
        assert_eq!((rig.life.status(), rig.poll()), (Status::Running, Some((5, false))));
        assert_eq!(rig.life.conditions(), [Condition::ReloadFailed]);
        assert!(rig.life.last_error().is_some_and(|cause| cause.message.contains("did not open")));
        rig.deliver(5);
        assert!(rig.life.has_reload_failed(), "a delivered batch of the former one does not end it");
    }
}

#[test]
fn a_changed_definition_that_hangs_is_the_end_of_both() {
    let mut rig = opening_changed();
    rig.event(open_failure(OpenKind::Hung));
    assert_eq!((opens(&rig), rig.life.latched), (0, Some(Latch::Hung)));
    rig.order(Order::Reload(limits(1)));
    assert_eq!(opens(&rig), 0, "the leaked instance may still live");
    assert!(rig.life.has_reload_failed());
}

#[test]
fn when_neither_opens_the_one_whose_cause_may_pass_is_waited_for() {
    let mut rig = opening_changed();
    rig.event(open_failure(OpenKind::Passing)).event(open_failure(OpenKind::Permanent));
    assert!(is_changed(&rig) && matches!(rig.life.phase(), Phase::Waiting { .. }));
    assert!(!rig.life.has_reload_failed());

    let mut rig = opening_changed();
    rig.event(open_failure(OpenKind::Config)).event(open_failure(OpenKind::Passing));
    assert!(!is_changed(&rig) && matches!(rig.life.phase(), Phase::Waiting { .. }));
    assert!(rig.life.has_reload_failed());
}

#[test]
fn of_two_changes_in_a_row_only_the_last_counts_and_the_one_that_ran_is_kept() {
    let last = Limits { in_flight_bytes: 3000, ..limits(1) };
    let mut rig = opening_changed();
    rig.order(Order::Reload(last));
    assert!(rig.says(&Effect::Close { is_orderly: true, keeps_lease: false }));
    ended(&mut rig);
    assert_eq!(rig.said[0], Effect::Adopt { keeps_former: false });
    rig.event(open_failure(OpenKind::Config));
    assert_eq!(rig.life.limits.in_flight_bytes, limits(1).in_flight_bytes, "back to the one that ran");
}

#[test]
fn taking_a_change_back_forgets_its_failure_and_reloads_nothing() {
    let mut rig = opening_changed();
    rig.event(open_failure(OpenKind::Config)).event(Event::Opened { number: 4, window: 1 });
    rig.order(Order::Keep);
    assert_eq!((rig.said.len(), rig.life.has_reload_failed(), rig.life.last_error()), (0, false, None));
}

#[test]
fn a_stop_wins_over_a_reload_and_the_next_start_opens_the_changed_one() {
    let mut rig = Rig::running(limits(1), 4);
    rig.order(Order::Reload(changed())).order(Order::Stop).event(Event::PollEnded);
    ended(&mut rig);
    assert_eq!((rig.life.phase(), opens(&rig)), (Phase::Stopped, 0));
    assert!(is_changed(&rig));
    rig.order(Order::Start);
    assert_eq!(rig.life.phase(), Phase::Opening);
}

#[test]
fn a_stopped_source_takes_the_change_and_stays_stopped() {
    let mut rig = Rig { life: Lifecycle::new(limits(1), Asked::Stopped), said: Vec::new() };
    rig.order(Order::Launch).order(Order::Reload(changed()));
    assert_eq!((rig.life.phase(), is_changed(&rig)), (Phase::Stopped, true));
    assert_eq!(rig.life.asked(), Asked::Stopped);
}

//! What counts as a nack, what resets the count, and what thirty of them do.

use super::{Rig, limits, open_failure};
use crate::lifecycle::{
    Asked, Effect, Ended, Event, Input, Lifecycle, Order, Phase, PolledKind, Stage, Status, Wait,
};
use crate::ports::{Cause, OpenKind};

/// `count` nacked batches from `number` on; returns the next number.
fn nacks(rig: &mut Rig, number: u64, count: u64) -> u64 {
    for offset in 0..count {
        rig.nack(number + offset);
        if rig.wait().is_some() {
            rig.wake();
        }
    }
    number + count
}

fn ended() -> Input {
    Input::Ended(Ended { is_leaked: false })
}

#[test]
fn twenty_nine_nacks_a_success_and_twenty_nine_nacks_leave_it_running_b142() {
    let mut rig = Rig::running(limits(1), 0);
    let next = nacks(&mut rig, 1, 29);
    assert_eq!((rig.life.consecutive_nacks(), rig.life.status()), (29, Status::Running));
    rig.deliver(next);
    assert_eq!(rig.life.consecutive_nacks(), 0);
    nacks(&mut rig, next + 1, 29);
    assert_eq!((rig.life.consecutive_nacks(), rig.life.status()), (29, Status::Running));
    assert!(rig.poll().is_some());
}

#[test]
fn thirty_nacks_halt_the_source_and_not_one_less_b142() {
    let mut rig = Rig::running(limits(1), 0);
    let next = nacks(&mut rig, 1, 29);
    assert_eq!(rig.life.phase(), Phase::Active);
    rig.nack(next);
    assert!(rig.says(&Effect::Close { is_orderly: true, keeps_lease: true }));
    rig.step(ended());
    assert!(matches!(rig.life.phase(), Phase::Halted { restart: Some(_) }));
    assert_eq!((rig.life.status(), rig.wait()), (Status::Error, Some(Wait::Restart(1))));
}

#[test]
fn a_restart_call_resets_the_count_b142() {
    let mut rig = Rig::running(limits(1), 0);
    nacks(&mut rig, 1, 29);
    rig.order(Order::Restart).event(Event::PollEnded).reopen(0);
    assert_eq!((rig.life.consecutive_nacks(), rig.life.status()), (0, Status::Running));
    nacks(&mut rig, 1, 29);
    assert_eq!(rig.life.status(), Status::Running);
}

#[test]
fn a_hundred_poll_errors_never_stop_the_source_b142() {
    let mut rig = Rig::running(limits(1), 0);
    for count in 1..=100 {
        rig.event(Event::PollFailed { is_permanent: false, cause: super::cause() });
        assert_eq!((rig.life.consecutive_nacks(), rig.wait()), (0, Some(Wait::Poll(count))));
        assert_eq!((rig.life.status(), rig.life.is_degraded()), (Status::Running, count >= 5));
        rig.wake();
        assert_eq!(rig.poll(), Some((1, false)));
    }
    rig.polled(1, PolledKind::Empty);
    assert!(!rig.life.is_degraded() && rig.life.last_error().is_none());
}

#[test]
fn only_a_delivered_batch_resets_the_count_b062() {
    let mut rig = Rig::running(limits(1), 0);
    rig.nack(1).wake();
    rig.polled(2, PolledKind::Empty).resolved();
    assert_eq!(rig.life.consecutive_nacks(), 1, "empty");
    rig.polled(2, PolledKind::Records).event(Event::Saved { number: 2, delivered: 0 }).resolved();
    assert_eq!(rig.life.consecutive_nacks(), 1, "filtered");
    rig.polled(3, PolledKind::Watermark).event(Event::Saved { number: 3, delivered: 0 }).resolved();
    assert_eq!(rig.life.consecutive_nacks(), 1, "watermark");
    assert!(rig.life.last_error().is_some());
    rig.deliver(4);
    assert_eq!((rig.life.consecutive_nacks(), rig.life.last_error()), (0, None));
}

#[test]
fn a_source_opened_again_by_itself_stays_in_error_until_it_delivers_and_one_nack_ends_the_try() {
    let mut rig = Rig::running(limits(1), 0);
    nacks(&mut rig, 1, 30);
    rig.step(ended()).wake().event(Event::Opened { number: 0, window: 1 });
    assert_eq!((rig.poll(), rig.life.status()), (Some((1, false)), Status::Error));

    rig.nack(1).step(ended());
    assert_eq!(rig.wait(), Some(Wait::Restart(2)), "one nack ended the try, the next one waits longer");
    rig.wake().event(Event::Opened { number: 0, window: 1 }).deliver(1);
    assert_eq!(rig.life.status(), Status::Running);
    nacks(&mut rig, 2, 30);
    rig.step(ended());
    assert_eq!(rig.wait(), Some(Wait::Restart(1)));
}

#[test]
fn a_cause_that_needs_a_human_is_not_opened_again_by_itself() {
    let mut rig = Rig::running(limits(1), 0);
    let next = nacks(&mut rig, 1, 29);
    rig.polled(next, PolledKind::Records);
    let event = Event::Failed {
        number: next,
        stage: Stage::Router,
        cause: super::cause(),
        is_client_lost: false,
        needs_human: true,
    };
    rig.event(event).quiet(next).resolved().step(ended());
    assert_eq!(rig.life.phase(), Phase::Halted { restart: None });
    assert!(rig.life.needs_human());
}

#[test]
fn every_way_to_lose_the_tree_is_one_nack() {
    let ways: [fn(&mut Rig); 4] = [
        |rig| _ = rig.event(Event::Broken(super::cause())),
        |rig| _ = rig.step(Input::ChildLost { epoch: rig.life.epoch(), cause: super::cause() }),
        |rig| _ = rig.saved(1).event(Event::ResolveFailed(super::cause())),
        |rig| _ = rig.failed(1).quiet(1).event(Event::ResolveFailed(super::cause())),
    ];
    for way in ways {
        let mut rig = Rig::running(limits(1), 0);
        rig.polled(1, PolledKind::Records);
        way(&mut rig);
        assert!(rig.says(&Effect::Close { is_orderly: false, keeps_lease: false }));
        rig.step(ended());
        assert_eq!((rig.life.consecutive_nacks(), rig.wait()), (1, Some(Wait::Nack(1))));
        assert_eq!(rig.life.status(), Status::Starting);
    }
}

#[test]
fn a_failed_opening_is_no_nack_unless_the_plugin_panicked() {
    let mut rig = Rig { life: Lifecycle::new(limits(1), Asked::Running), said: Vec::new() };
    rig.order(Order::Launch);
    for count in 1..=40 {
        rig.event(open_failure(OpenKind::Passing));
        assert_eq!((rig.life.consecutive_nacks(), rig.wait()), (0, Some(Wait::Open(count))));
        assert_eq!((rig.life.status(), rig.life.is_degraded()), (Status::Starting, count >= 5));
        rig.wake();
    }
    rig.event(open_failure(OpenKind::Panicked));
    assert_eq!((rig.life.consecutive_nacks(), rig.wait()), (1, Some(Wait::Nack(1))));
}

#[test]
fn a_permanent_poll_error_is_an_error_until_the_next_good_poll() {
    let mut rig = Rig::running(limits(1), 0);
    rig.event(Event::PollFailed { is_permanent: true, cause: super::cause() });
    assert_eq!((rig.life.status(), rig.wait()), (Status::Error, Some(Wait::PermanentPoll)));
    rig.wake().event(Event::PollFailed { is_permanent: false, cause: super::cause() });
    assert_eq!(rig.life.status(), Status::Error, "a passing error says nothing about the permanent one");
    rig.wake().polled(1, PolledKind::Empty);
    assert_eq!(rig.life.status(), Status::Running);
}

#[test]
fn a_pause_wins_over_the_limit_and_the_next_nack_halts() {
    let mut rig = Rig::running(limits(1), 0);
    let next = nacks(&mut rig, 1, 29);
    rig.polled(next, PolledKind::Records).failed(next).order(Order::Pause).quiet(next).resolved();
    assert_eq!((rig.life.phase(), rig.life.consecutive_nacks()), (Phase::Paused, 30));
    rig.order(Order::Resume).nack(next + 1).step(ended());
    assert!(matches!(rig.life.phase(), Phase::Halted { .. }));
}

#[test]
fn what_fails_behind_a_failed_batch_does_not_hide_its_cause() {
    let mut rig = Rig::running(limits(3), 0);
    let fail = |rig: &mut Rig, number, message: &str| {
        let cause = Cause::new("test.failed", message);
        rig.event(Event::Failed {
            number,
            stage: Stage::Producer,
            cause,
            is_client_lost: false,
            needs_human: false,
        });
    };
    for number in 1..=3 {
        rig.polled(number, PolledKind::Records);
    }

    fail(&mut rig, 2, "the topic is not there");
    fail(&mut rig, 3, "a batch before it failed");
    fail(&mut rig, 2, "its client was dropped");

    assert_eq!(rig.life.last_error().unwrap().message, "the topic is not there");
    fail(&mut rig, 1, "its record is too large");
    assert_eq!(rig.life.last_error().unwrap().message, "its record is too large");
}

//! The shortest traces that one plausible wrong reading of the in-flight protocol allows, one test each.
//!
//! Numbers are batch numbers. What a test here shows holds for the decisions and for the batch-number rule; that
//! the actors carry it out is the affair of the whole-tree tests, what broker and stores do of their own.

use picomq_connector_sdk::Verdict;

use super::{Rig, limits};
use crate::lifecycle::{BatchId, Effect, Ended, Event, Input, Order, Phase, PolledKind, Stage, Wait};
use crate::line::{Deliveries, Intake, NextSave, Saves};
use crate::ports::Cause;

fn batch(epoch: u64, first: u64, number: u64) -> BatchId {
    BatchId { epoch, first, number }
}

#[test]
fn trap_01_reports_of_a_later_batch_never_hand_it_on_first() {
    let mut deliveries = Deliveries::default();
    assert!(deliveries.take(batch(1, 1, 1)) && deliveries.take(batch(1, 1, 2)));

    deliveries.settle(1, 2);
    assert_eq!(deliveries.hand_on(), None);
    deliveries.settle(1, 1);
    assert_eq!([deliveries.hand_on(), deliveries.hand_on(), deliveries.hand_on()], [Some(1), Some(2), None]);

    let mut saves = Saves::new();
    assert!(!saves.take(batch(1, 1, 2), 1, Some('b')), "a checkpointer takes nothing before its predecessor");
    assert_eq!(saves.start(), NextSave::None);
}

#[test]
fn trap_02_nothing_of_an_epoch_passes_once_its_first_batch_failed() {
    let mut router = Intake::default();
    assert!(router.take(batch(1, 1, 1)));
    router.close(1, 1);
    assert!(!router.take(batch(1, 1, 2)), "the stage that failed 1 drops 2");

    let mut producer = Deliveries::default();
    assert!(!producer.take(batch(1, 1, 2)), "a stage that never saw 1 drops 2");
    assert!(producer.take(batch(2, 3, 3)), "the next epoch begins with its own first number");
}

#[test]
fn trap_03_a_poll_that_sent_nothing_gives_its_number_back() {
    let mut rig = Rig::running(limits(1), 0);
    rig.deliver(1);
    assert_eq!(rig.poll(), Some((2, false)));

    rig.event(Event::PollFailed { is_permanent: false, cause: super::cause() }).wake();
    assert_eq!(rig.poll(), Some((2, false)));
    rig.order(Order::Pause).event(Event::PollEnded).order(Order::Resume);
    assert_eq!(rig.poll(), Some((2, false)));
    rig.polled(2, PolledKind::Empty).resolved();
    assert_eq!(rig.poll(), Some((2, false)));
}

#[test]
fn trap_04_nothing_is_polled_or_told_before_the_opening_is_complete() {
    let mut rig = Rig::running(limits(1), 0);
    rig.polled(1, PolledKind::Records);
    rig.step(Input::ChildLost { epoch: rig.life.epoch(), cause: super::cause() });
    assert!(matches!(rig.said[..], [Effect::Nacked, Effect::Close { is_orderly: false, .. }]));
    rig.step(Input::Ended(Ended { is_leaked: false })).wake();
    assert!(matches!(rig.said[..], [Effect::Open { .. }]), "{:?}", rig.said);

    // Whatever else comes, only `Opened` (the store has made durable what it loaded) starts a poll.
    for event in [Event::Resolved, Event::PollEnded, Event::Probed { has_landed: true }] {
        assert!(rig.event(event).said.is_empty());
    }
    rig.event(Event::Opened { number: 0, window: 1 });
    assert_eq!(rig.poll(), Some((1, false)));
}

/// Batch 1 was delivered, its save failed, its Nack was told.
fn unsaved(window: usize) -> Rig {
    let mut rig = Rig::running(limits(window), 0);
    rig.polled(1, PolledKind::Records).save_failed(1).quiet(1).resolved();
    rig
}

#[test]
fn trap_05_after_a_failed_save_only_a_landed_probe_and_a_reopening_lead_to_a_poll() {
    let mut rig = unsaved(1);
    assert_eq!((rig.poll(), rig.wait()), (None, Some(Wait::Probe)));
    rig.wake();
    assert_eq!(rig.said, [Effect::Probe]);
    rig.event(Event::Probed { has_landed: false });
    assert_eq!((rig.poll(), rig.wait()), (None, Some(Wait::Probe)));
    rig.wake().event(Event::Probed { has_landed: true });
    assert_eq!(rig.said, [Effect::Close { is_orderly: true, keeps_lease: false }]);
    rig.reopen(1);
    assert_eq!(rig.poll(), Some((2, false)), "it polls from what the probe saved, not below");
}

#[test]
fn trap_06_pause_and_resume_do_not_lose_an_owed_probe() {
    let mut in_rewinding = Rig::running(limits(1), 0);
    in_rewinding.polled(1, PolledKind::Records).save_failed(1).order(Order::Pause).quiet(1).resolved();
    let probe = in_rewinding.token().expect("the probe waits");
    assert_eq!(in_rewinding.life.phase(), Phase::Paused);
    in_rewinding.order(Order::Resume);
    assert_eq!(in_rewinding.poll(), None);

    let mut in_waiting = unsaved(1);
    let token = in_waiting.token().expect("the probe waits");
    in_waiting.order(Order::Pause).order(Order::Resume);
    assert_eq!(in_waiting.poll(), None);

    for (rig, token) in [(&mut in_rewinding, probe), (&mut in_waiting, token)] {
        rig.step(Input::Wake(token));
        assert_eq!(rig.said, [Effect::Probe]);
        rig.event(Event::Probed { has_landed: true });
        assert!(matches!(rig.said[..], [Effect::Close { .. }]));
    }
}

#[test]
fn trap_07_one_probe_at_a_time_also_across_pause_and_resume() {
    let mut rig = unsaved(1);
    let token = rig.token().expect("the probe waits");
    rig.wake().order(Order::Pause).order(Order::Resume);
    assert!(!rig.says(&Effect::Probe));
    assert!(rig.step(Input::Wake(token)).said.is_empty(), "a wake of the former wait probes nothing");
}

#[test]
fn trap_08_a_lost_tree_is_opened_only_after_it_has_ended() {
    let mut rig = Rig::running(limits(1), 0);
    rig.polled(1, PolledKind::Records);
    let old = rig.life.epoch();
    rig.step(Input::ChildLost { epoch: old, cause: super::cause() });
    let token = rig.token();
    assert_eq!(
        (rig.life.phase(), token),
        (Phase::Closing { then: crate::lifecycle::Then::OpenAfterBackoff }, None)
    );

    // The write that still runs lands, and says so: an older epoch changes nothing.
    let late = Event::Saved { number: 1, delivered: 1 };
    assert!(rig.step(Input::Event { epoch: old, event: late }).said.is_empty());
    rig.step(Input::Ended(Ended { is_leaked: false })).wake();
    assert!(matches!(rig.said[..], [Effect::Open { .. }]));
}

#[test]
fn trap_09_the_first_refusal_of_an_opening_may_be_our_own_late_write() {
    let fenced = |number| Event::Fenced { number, cause: super::cause() };
    let mut rig = Rig::running(limits(1), 0);
    rig.polled(1, PolledKind::Records).event(fenced(1)).quiet(1);
    assert_eq!(rig.verdict(), Some(Verdict::Nack));
    rig.resolved().reopen(1);
    assert_eq!(rig.poll(), Some((2, false)), "reopened from the store, nobody is needed");

    rig.polled(2, PolledKind::Records).event(fenced(2)).quiet(2).resolved();
    assert!(
        rig.says(&Effect::Close { is_orderly: true, keeps_lease: true }),
        "the second is somebody else's"
    );
    rig.step(Input::Ended(Ended { is_leaked: false }));
    assert_eq!(rig.life.phase(), Phase::Halted { restart: None });

    let mut other = Rig::running(limits(1), 0);
    other.deliver(1).polled(2, PolledKind::Records).event(fenced(2)).quiet(2).resolved();
    assert!(
        other.says(&Effect::Close { is_orderly: true, keeps_lease: true }),
        "so is one after a save landed"
    );
}

#[test]
fn trap_10_the_nack_of_a_watermark_refuses_no_watermark() {
    let mut rig = Rig::running(limits(1), 0);
    rig.polled(1, PolledKind::Watermark).failed(1).quiet(1).resolved().wake();
    assert_eq!(rig.poll(), Some((2, false)));

    rig.polled(2, PolledKind::Records).failed(2).quiet(2).resolved().wake();
    assert_eq!(rig.poll(), Some((3, true)), "the nack of records does");
}

#[test]
fn trap_11_a_refused_watermark_is_nacked_even_if_the_flag_was_cleared_meanwhile_b062() {
    let mut rig = Rig::running(limits(2), 0);
    // Number 2 belonged to a poll that was running when 1 failed.
    rig.nack(1).wake();
    rig.polled(3, PolledKind::Records);
    assert_eq!(rig.poll(), Some((4, true)));

    // The poller refuses M with 4; only then the Ack of R clears the flag.
    rig.saved(3).polled(4, PolledKind::Refused);
    assert_eq!((rig.life.consecutive_nacks(), rig.verdict()), (1, None));
    rig.resolved();
    rig.quiet(4);
    assert_eq!(rig.verdict(), Some(Verdict::Nack));
    rig.resolved();
    assert_eq!(rig.life.consecutive_nacks(), 0, "a refused watermark is no nack");
    assert!(matches!(rig.wait(), Some(Wait::Nack(_))), "it is followed by the wait of the backoff");
    rig.wake();
    assert_eq!(rig.poll(), Some((4, false)));
}

#[test]
fn trap_12_quiet_counts_only_for_the_present_from() {
    let mut rig = Rig::running(limits(2), 0);
    rig.polled(1, PolledKind::Records).polled(2, PolledKind::Records).failed(2);
    rig.client_lost(1);
    rig.quiet(2);
    assert_eq!(rig.verdict(), None);
    rig.event(Event::Quiet { stage: Stage::Poller, from: 1 });
    rig.event(Event::Quiet { stage: Stage::Checkpointer, from: 1 });
    assert_eq!(rig.verdict(), None, "the report of 1 is outstanding");
    rig.event(Event::Quiet { stage: Stage::Producer, from: 1 });
    assert_eq!(rig.verdict(), Some(Verdict::Nack));
}

#[test]
fn trap_13_what_the_router_still_holds_ends_at_the_producer() {
    let mut producer = Deliveries::default();
    assert!(producer.take(batch(1, 1, 1)));
    producer.settle(1, 1);
    assert_eq!(producer.hand_on(), Some(1));

    producer.quiesce(1, 1);
    assert_eq!(producer.quiet(), Some(1));
    assert!(!producer.take(batch(1, 1, 2)), "sent after the Nack otherwise");

    let mut saves = Saves::new();
    saves.quiesce(1, 2);
    assert!(saves.take(batch(1, 1, 1), 1, Some('a')), "a predecessor is still taken");
    assert!(!saves.take(batch(1, 1, 2), 1, Some('b')));
}

#[test]
fn trap_14_silence_within_a_rewind_still_drops_the_client() {
    let mut rig = Rig::running(limits(1), 0);
    rig.polled(1, PolledKind::Records);
    rig.fail(1, Stage::Producer, false);
    let epoch = rig.life.epoch();
    assert!(!rig.says(&Effect::DropClient { epoch }), "a refused record keeps the client");
    rig.client_lost(1);
    assert!(rig.says(&Effect::DropClient { epoch }));
}

#[test]
fn trap_15_a_second_drop_of_the_client_does_not_outlive_its_epoch() {
    let mut rig = Rig::running(limits(2), 0);
    rig.polled(1, PolledKind::Records).polled(2, PolledKind::Records);
    let epoch = rig.life.epoch();
    rig.client_lost(1).client_lost(2);
    assert!(rig.says(&Effect::DropClient { epoch }));
    rig.quiet(1).resolved();
    assert!(rig.life.epoch() > epoch);

    let mut producer = Deliveries::default();
    assert!(producer.take(batch(epoch, 1, 1)) && producer.may_drop_client(epoch));
    assert!(producer.take(batch(rig.life.epoch(), 3, 3)));
    assert!(!producer.may_drop_client(epoch), "it would drop the client of the next epoch");
}

#[test]
fn trap_16_a_failed_save_is_told_for_the_oldest_batch_it_covered() {
    let mut saves = Saves::new();
    for (number, state) in [(1, 'a'), (2, 'b'), (3, 'c')] {
        assert!(saves.take(batch(1, 1, number), 1, Some(state)));
        if number == 1 {
            assert_eq!(saves.start(), NextSave::Write { number: 1, state: 'a' });
        }
    }
    assert_eq!(saves.saved(), [(1, 1)]);
    assert_eq!(saves.start(), NextSave::Write { number: 3, state: 'c' });
    assert_eq!(saves.failed(), Some((1, 2)));
}

#[test]
fn trap_17_told_before_handed_on_a_saved_batch_is_always_known() {
    let mut rig = Rig::running(limits(1), 0);
    assert!(rig.saved(1).said.is_empty(), "the wrong order is ignored, and would never be acked");
    rig.polled(1, PolledKind::Records);
    assert_eq!(rig.verdict(), None);
    rig.saved(1);
    assert_eq!(rig.verdict(), Some(Verdict::Ack));
}

#[test]
fn trap_18_an_empty_batch_is_a_predecessor_of_the_one_that_bears_its_number() {
    let mut rig = Rig::running(limits(3), 0);
    rig.polled(1, PolledKind::Records).polled(2, PolledKind::Empty).polled(2, PolledKind::Records);
    rig.failed(2).quiet(2).saved(1);
    assert_eq!(rig.verdict(), Some(Verdict::Ack), "1");
    rig.resolved();
    assert_eq!(rig.verdict(), Some(Verdict::Ack), "the empty batch");
    rig.resolved();
    assert_eq!(rig.verdict(), Some(Verdict::Nack), "the failed one");
}

#[test]
fn one_failure_more_never_hides_what_the_first_one_left() {
    let cause = |message: &str| Cause::new("test.failed", message);
    let mut rig = Rig::running(limits(2), 0);
    rig.polled(1, PolledKind::Records).polled(2, PolledKind::Records).saved(1);
    rig.event(Event::SaveFailed { number: 2, cause: cause("disk full") }).resolved();
    assert_eq!(
        rig.life.last_error(),
        Some(&cause("disk full")),
        "the Ack of 1 does not end the failure of 2"
    );
    assert!(rig.life.is_probing());
    assert_eq!(rig.life.status(), crate::lifecycle::Status::Error);
}

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use pico_actors::ports::Cause;

use super::*;

fn open(slots: &Slots) -> (Ticket, Receiver<DeliveryEvent>) {
    let (sender, events) = mpsc::channel();
    let opened = slots.open(1, Box::new(move |event| sender.send(event).unwrap_or(())));
    (opened.ok().unwrap(), events)
}

fn failure(word: &str) -> DeliveryFailure {
    DeliveryFailure { cause: Cause::new("test", word), is_client_lost: false, needs_human: false }
}

fn heard(events: &Receiver<DeliveryEvent>) -> Vec<DeliveryEvent> {
    events.try_iter().collect()
}

#[test]
fn the_number_of_a_report_names_slot_generation_and_record() {
    for ticket in
        [Ticket { slot: 0, generation: 0 }, Ticket { slot: 127, generation: (GENERATIONS - 1) as u32 }]
    {
        for record in [0, 1, u32::MAX] {
            assert_eq!(Ticket::of_opaque(ticket.opaque(record)), (ticket, record));
        }
    }
}

#[test]
fn a_batch_is_settled_by_its_last_report() {
    let slots = Slots::new(SLOTS_MAX);
    let (ticket, events) = open(&slots);
    slots.expect(ticket, 3);

    slots.release(ticket, 1);
    slots.release(ticket, 2);
    assert_eq!(heard(&events), []);
    slots.enqueued(ticket);
    slots.release(ticket, 1);

    assert_eq!(heard(&events), [DeliveryEvent::Enqueued, DeliveryEvent::Settled]);
    assert_eq!(slots.active(), 0);
}

#[test]
fn only_the_first_failure_of_a_batch_is_told() {
    let slots = Slots::new(SLOTS_MAX);
    let (ticket, events) = open(&slots);

    slots.fail(ticket, failure("first"));
    slots.fail(ticket, failure("second"));
    slots.fail_all(&failure("third"));
    slots.release(ticket, 1);

    assert_eq!(heard(&events), [DeliveryEvent::Failed(failure("first")), DeliveryEvent::Settled]);
}

#[test]
fn reports_of_a_batch_given_up_change_nothing() {
    let slots = Slots::new(SLOTS_MAX);
    let (ticket, events) = open(&slots);
    slots.expect(ticket, 5);
    slots.abandon(&failure("dropped"));
    assert_eq!(heard(&events), [DeliveryEvent::Failed(failure("dropped")), DeliveryEvent::Settled]);

    slots.release(ticket, 5);
    let (successor, its_events) = open(&slots);
    assert_eq!(successor.slot, ticket.slot, "the slot is used again");
    slots.release(ticket, 1);
    slots.fail(ticket, failure("late"));
    slots.enqueued(ticket);

    assert_eq!(heard(&its_events), []);
    assert!(slots.is_open(successor) && !slots.is_open(ticket));
}

#[test]
fn nothing_of_an_epoch_is_sent_behind_its_failure_however_late_it_comes() {
    let slots = Slots::new(SLOTS_MAX);
    let (first, _) = open(&slots);

    slots.fail(first, failure("unknown topic"));
    slots.release(first, 1);
    let (late, _) = open(&slots);
    let next = slots.open(2, Box::new(|_| {})).ok().unwrap();

    assert!(
        slots.is_behind_a_failure(late),
        "of the epoch that failed, though all was settled before it came"
    );
    assert!(!slots.is_behind_a_failure(next), "of the next one");
}

#[test]
fn there_are_as_many_slots_as_said() {
    let slots = Slots::new(SLOTS_MAX);
    let held: Vec<_> = (0..SLOTS_MAX).map(|_| open(&slots)).collect();

    assert!(slots.open(1, Box::new(|_| {})).is_err());
    slots.release(held[5].0, 1);
    open(&slots);
}

#[test]
fn concurrent_reports_settle_each_batch_exactly_once() {
    const REPORTERS: u32 = 4;
    const REPORTS: u32 = 500;
    let slots = Arc::new(Slots::new(SLOTS_MAX));

    for _ in 0..200 {
        let (ticket, events) = open(&slots);
        slots.expect(ticket, REPORTERS * REPORTS);
        thread::scope(|scope| {
            for _ in 0..REPORTERS {
                scope.spawn(|| (0..REPORTS).for_each(|_| slots.release(ticket, 1)));
            }
            scope.spawn(|| slots.release(ticket, 1));
        });
        assert_eq!(heard(&events), [DeliveryEvent::Settled]);
    }
}

#[test]
fn reports_that_race_with_giving_up_still_settle_exactly_once() {
    let slots = Arc::new(Slots::new(SLOTS_MAX));

    for _ in 0..500 {
        let (ticket, events) = open(&slots);
        slots.expect(ticket, 50);
        thread::scope(|scope| {
            scope.spawn(|| (0..51).for_each(|_| slots.release(ticket, 1)));
            scope.spawn(|| slots.abandon(&failure("dropped")));
        });
        let heard = heard(&events);
        assert_eq!(heard.iter().filter(|event| **event == DeliveryEvent::Settled).count(), 1, "{heard:?}");
        assert_eq!(heard.last(), Some(&DeliveryEvent::Settled));
        assert_eq!(slots.active(), 0);
    }
}

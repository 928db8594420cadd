use picomq_connector_sdk::Schema;
use picomq_connector_sdk::ffi::host::GuestBatch;

use super::*;
use crate::admission::STALLED_AFTER;
use crate::post::Headers;

const ROOM: Room = Room { records: 3, bytes: 1000 };
const BOUNDS: Bounds = Bounds {
    durability: Durability::Delivered,
    posts_max: 5,
    bytes_max: 100,
    nacks_max: None,
    dedupe_window: Duration::from_secs(600),
    dedupe_capacity: 100,
};

fn gate() -> Arc<Gate> {
    Arc::new(Gate::new(BOUNDS, None, 100))
}

fn post(payload: &str, id: Option<&str>) -> Post {
    Post {
        payload: payload.to_owned().into(),
        key: None,
        id: None,
        digest: id.map(|id| Digest::of("/topics/a", id)),
        received_ms: 0,
        event_time_ns: 0,
        headers: Headers::default(),
    }
}

fn wait(gate: &Arc<Gate>, payload: &str, id: Option<&str>) -> Ticket {
    match gate.offer(post(payload, id)) {
        Offer::Wait(ticket) => ticket,
        Offer::Safe | Offer::Full | Offer::Unavailable => panic!("not taken"),
    }
}

fn take(gate: &Gate, head: u64) -> (Vec<String>, u64) {
    let mut batch = Batch::new(Schema::Text);
    let Some(taken) = gate.take(head, ROOM, &mut batch) else { return (Vec::new(), head) };
    let batch = GuestBatch::from_batch(batch);
    let texts = batch.records().map(|record| String::from_utf8_lossy(record.payload.unwrap()).into_owned());
    (texts.collect(), taken.next)
}

#[tokio::test]
async fn a_post_is_safe_when_its_batch_is_acknowledged_and_not_before() {
    let gate = gate();
    let mut tickets: Vec<Ticket> = ["a", "b", "c", "d"].map(|text| wait(&gate, text, None)).into();
    assert_eq!(take(&gate, 100), (vec!["a".to_owned(), "b".to_owned(), "c".to_owned()], 103));
    let last = tickets.pop().unwrap();
    assert!(tickets.iter().all(|ticket| ticket.outcome.borrow().is_none()));
    gate.acked(103);
    for ticket in tickets {
        assert_eq!(ticket.outcome().await, Outcome::Safe);
    }
    assert!(last.outcome.borrow().is_none());
    assert_eq!(gate.posts(), 1);
}

#[tokio::test]
async fn a_nacked_batch_comes_again_and_then_the_rest() {
    let gate = gate();
    let _tickets: Vec<Ticket> = ["a", "b", "c", "d"].map(|text| wait(&gate, text, None)).into();
    let first = take(&gate, 100);
    gate.nacked();
    assert_eq!(take(&gate, 100), first);
    assert_eq!(take(&gate, 103), (vec!["d".to_owned()], 104));
}

#[tokio::test]
async fn a_sender_that_goes_away_before_its_post_was_polled_takes_it_along() {
    let gate = gate();
    let (_first, gone) = (wait(&gate, "a", None), wait(&gate, "b", Some("1")));
    let _last = wait(&gate, "c", None);
    drop(gone);
    assert_eq!(take(&gate, 100), (vec!["a".to_owned(), "c".to_owned()], 103));
    // Its name is free again.
    let _again = wait(&gate, "b", Some("1"));
    assert_eq!(take(&gate, 103), (vec!["b".to_owned()], 104));
}

#[tokio::test]
async fn a_sender_that_goes_away_later_does_not() {
    let gate = gate();
    let ticket = wait(&gate, "a", Some("1"));
    let first = take(&gate, 100);
    drop(ticket);
    gate.nacked();
    assert_eq!(take(&gate, 100), first);
    gate.acked(101);
    assert!(matches!(gate.offer(post("a", Some("1"))), Offer::Safe));
}

#[tokio::test]
async fn only_withdrawn_posts_are_no_batch_and_leave_no_trace() {
    let gate = gate();
    let tickets = ["a", "b"].map(|text| wait(&gate, text, None));
    drop(tickets);
    assert_eq!((take(&gate, 100).0.len(), gate.posts(), gate.bytes()), (0, 0, 0));
}

#[tokio::test]
async fn a_repeat_waits_for_the_first_and_makes_no_second_record() {
    let gate = gate();
    let (first, repeat) = (wait(&gate, "a", Some("1")), wait(&gate, "a", Some("1")));
    assert_eq!(take(&gate, 100), (vec!["a".to_owned()], 101));
    gate.acked(101);
    assert_eq!((first.outcome().await, repeat.outcome().await), (Outcome::Safe, Outcome::Safe));
    assert!(matches!(gate.offer(post("a", Some("1"))), Offer::Safe));
    assert_eq!(gate.posts(), 0);
}

#[tokio::test]
async fn a_full_gate_says_so_and_has_room_after_an_ack() {
    let gate = gate();
    let _tickets: Vec<Ticket> = (0..5).map(|_| wait(&gate, "a", None)).collect();
    assert!(matches!(gate.offer(post("a", None)), Offer::Full));
    let (_, next) = take(&gate, 100);
    gate.acked(next);
    assert!(matches!(gate.offer(post("a", None)), Offer::Wait(_)));
}

#[tokio::test]
async fn bytes_under_way_count_and_are_given_back() {
    let gate = gate();
    let reserved = gate.reserve(100).unwrap();
    assert!(matches!(gate.offer(post("a", None)), Offer::Full));
    assert!(gate.reserve(1).is_none());
    drop(reserved);
    assert!(matches!(gate.offer(post("a", None)), Offer::Wait(_)));
}

#[tokio::test(start_paused = true)]
async fn without_a_poll_for_five_seconds_nothing_is_taken_until_there_is_one_b106() {
    let gate = gate();
    tokio::time::advance(STALLED_AFTER).await;
    assert_eq!(gate.admission(1), Admission::Unavailable);
    let polling = gate.polling();
    tokio::time::advance(STALLED_AFTER * 100).await;
    assert_eq!(gate.admission(1), Admission::Admitted);
    drop(polling);
    assert_eq!(gate.admission(1), Admission::Admitted);
    tokio::time::advance(STALLED_AFTER).await;
    assert_eq!(gate.admission(1), Admission::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn health_ends_after_a_minute_without_poll_or_ack() {
    let minute = Duration::from_secs(60);
    let gate = gate();
    let _polling = gate.polling();
    tokio::time::advance(minute).await;
    assert!(gate.is_healthy(minute));
    gate.nacked();
    tokio::time::advance(minute / 2).await;
    gate.nacked();
    assert!(gate.is_healthy(minute));
    tokio::time::advance(minute / 2).await;
    assert!(!gate.is_healthy(minute));
    gate.acked(100);
    assert!(gate.is_healthy(minute));
}

#[tokio::test]
async fn too_many_nacks_refuse_posts_until_a_batch_is_delivered() {
    let gate = Arc::new(Gate::new(Bounds { nacks_max: Some(2), ..BOUNDS }, None, 100));
    let _ticket = wait(&gate, "a", None);
    let (_, next) = take(&gate, 100);
    gate.nacked();
    assert_eq!(gate.admission(1), Admission::Admitted);
    gate.nacked();
    assert_eq!(gate.admission(1), Admission::Unavailable);
    gate.acked(next);
    assert_eq!(gate.admission(1), Admission::Admitted);
}

#[tokio::test]
async fn closing_tells_everybody_who_waits_that_nothing_is_safe_b106() {
    let gate = gate();
    let (polled, waiting) = (wait(&gate, "a", None), wait(&gate, "b", None));
    take(&gate, 100);
    gate.close();
    assert_eq!((polled.outcome().await, waiting.outcome().await), (Outcome::Lost, Outcome::Lost));
    assert!(matches!(gate.offer(post("c", None)), Offer::Unavailable));
}

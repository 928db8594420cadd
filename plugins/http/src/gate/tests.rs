use picomq_connector_sdk::Schema;
use picomq_connector_sdk::ffi::host::GuestBatch;

use super::*;
use crate::admission::STALLED_AFTER;
use crate::post::Headers;
use crate::spool::{Opened, Opening};

const ROOM: Room = Room { records: 3, bytes: 1000 };
const BOUNDS: Bounds = Bounds {
    durability: Durability::Delivered,
    posts_max: 5,
    bytes_max: 100,
    nacks_max: None,
    dedupe_window: Duration::from_secs(600),
    dedupe_capacity: 100,
};

const SPOOLED: Bounds =
    Bounds { durability: Durability::Spooled { bytes_max: 1_000, takes_while_stalled: false }, ..BOUNDS };

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
    assert!(tickets.iter().all(|ticket| ticket.told().is_none()));
    gate.acked(103);
    for ticket in tickets {
        assert_eq!(ticket.outcome().await, Outcome::Safe);
    }
    assert!(last.told().is_none());
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
    let mut reserved = gate.reserving();
    (0..10).for_each(|_| reserved.add(10));
    assert!(matches!(gate.offer(post("a", None)), Offer::Full));
    reserved.add(1);
    assert_eq!(gate.admission(0), Admission::Full);
    drop(reserved);
    assert!(matches!(gate.offer(post("a", None)), Offer::Wait(_)));
}

#[tokio::test]
async fn what_the_spool_is_writing_still_takes_its_room() {
    let gate = gate();
    let ticket = wait(&gate, &"x".repeat(60), Some("1"));
    let group = gate.next_group(1_000).unwrap();
    assert_eq!((gate.posts(), gate.bytes()), (0, 60));
    assert!(matches!(gate.offer(post(&"x".repeat(60), None)), Offer::Full));
    gate.spooled(group);
    assert_eq!((ticket.outcome().await, gate.bytes()), (Outcome::Safe, 0));
    assert!(matches!(gate.offer(post(&"x".repeat(60), None)), Offer::Wait(_)));
    assert!(matches!(gate.offer(post("x", Some("1"))), Offer::Safe));
}

#[tokio::test]
async fn a_group_that_is_lost_with_its_writer_tells_its_senders() {
    let gate = gate();
    let ticket = wait(&gate, "a", None);
    drop(gate.next_group(1_000));
    assert_eq!(ticket.outcome().await, Outcome::Lost);
}

#[tokio::test]
async fn a_closed_gate_hands_its_spool_what_it_has_and_then_nothing() {
    let folder = tempfile::TempDir::new().unwrap();
    let opening = Opening {
        folder: folder.path(),
        committed: 0,
        is_expected: false,
        is_inspection: false,
        segment_bytes: 1_000,
    };
    let spool = Arc::new(Opened::open(&opening, &mut |_| {}).unwrap().spool);
    let gate = Arc::new(Gate::new(SPOOLED, Some(spool), 0));
    let waiting = Arc::clone(&gate);
    // It sleeps, or comes too late to: either way it gets every post, and is let go.
    let writer = std::thread::spawn(move || {
        let groups = std::iter::from_fn(|| waiting.next_group(1));
        groups.map(|group| group.encoded().len()).sum::<usize>()
    });
    let tickets: Vec<Ticket> = ["a", "b", "c"].map(|text| wait(&gate, text, None)).into();
    gate.close();
    assert!(matches!(gate.offer(post("d", None)), Offer::Unavailable));
    assert_eq!(writer.join().unwrap(), 3);
    for ticket in tickets {
        // Taken out and never said to be synced.
        assert_eq!(ticket.outcome().await, Outcome::Lost);
    }
}

#[tokio::test]
async fn a_rest_ends_when_the_gate_closes() {
    let gate = gate();
    let resting = Arc::clone(&gate);
    let writer = std::thread::spawn(move || resting.rest(Duration::from_secs(1_000)));
    gate.close();
    writer.join().unwrap();
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

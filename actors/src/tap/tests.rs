//! Whole batches past a tap.

use pico_config::{Engine, Env};
use pico_record::{Provenance, RecordPath};
use picomq_connector_sdk::{Batch, Record, Schema};

use super::*;

const DEFINITION: &str = r#"
type = "source"
key = "a"
path = "liba"
[[topics]]
topic = { strategy = "key", template = "orders.{value}" }
schema = "text"
"#;

/// So many records for each of these topics, in turn.
fn batch(topics: &[&str], each: usize) -> GuestBatch {
    let mut batch = Batch::new(Schema::Text);
    for number in 0..each {
        for topic in topics {
            batch.push(Record::new(format!("{topic} {number}").into_bytes()).with_key(topic.as_bytes()));
        }
    }
    GuestBatch::from_batch(batch)
}

fn routed(batch: GuestBatch) -> Routed {
    let engine = Engine::defaults("/srv".as_ref());
    let (definition, findings) =
        pico_config::check_definition("a.toml".as_ref(), DEFINITION, &engine, &Env::default());
    let definition = definition.unwrap_or_else(|| panic!("{findings:?}"));
    let mut path = RecordPath::new(&definition.topics, &engine.limits).unwrap();
    path.route(batch, Provenance { life: 1, number: 1 }).unwrap()
}

fn id(epoch: u64, number: u64) -> BatchId {
    BatchId { epoch, first: 1, number }
}

fn look(tap: &Arc<Tap>, stage: TapStage, topic: Option<&str>) -> Look {
    tap.look(TapFilter { stage, topic: topic.map(|topic| Glob::new(topic).unwrap()) }).unwrap()
}

fn seen(look: &mut Look) -> Vec<(u64, Option<String>, String)> {
    let mut seen = Vec::new();
    while let Ok(sample) = look.samples.try_recv() {
        let payload = String::from_utf8(sample.payload.unwrap().bytes).unwrap();
        seen.push((sample.batch, sample.topic.map(|topic| topic.to_string()), payload));
    }
    seen
}

#[test]
fn nobody_looking_is_seen_by_a_flag_and_looking_ends_with_its_holder() {
    let tap = Arc::new(Tap::default());
    assert!(!tap.is_wanted());
    let (first, second) = (look(&tap, TapStage::Sent, None), look(&tap, TapStage::Polled, None));
    drop(first);
    assert!(tap.is_wanted());
    drop(second);
    assert!(!tap.is_wanted());
    let all: Vec<Look> = (0..LISTENERS_MAX).map(|_| look(&tap, TapStage::Sent, None)).collect();
    assert!(tap.look(TapFilter { stage: TapStage::Sent, topic: None }).is_none());
    drop(tap);
    assert!(all.into_iter().all(|mut look| look.samples.try_recv().is_err()));
}

#[test]
fn a_rare_topic_is_seen_whole_among_many_records_of_others() {
    let tap = Arc::new(Tap::default());
    let mut rare = look(&tap, TapStage::Transformed, Some("orders.r*"));
    let mut all = look(&tap, TapStage::Transformed, None);
    let mut batch_of_many = Batch::new(Schema::Text);
    for number in 0..5_000 {
        let key = if number == 4_999 { b"rare".as_slice() } else { b"many".as_slice() };
        batch_of_many.push(Record::new(format!("{number}").into_bytes()).with_key(key));
    }
    tap.routed(id(1, 1), &routed(GuestBatch::from_batch(batch_of_many)));

    assert_eq!(seen(&mut rare), [(1, Some("orders.rare".to_owned()), "4999".to_owned())]);
    assert_eq!(rare.take_skipped(), 0);
    let all_seen = seen(&mut all);
    assert_eq!(all_seen.len() as u64 + all.take_skipped(), 5_000);
    assert!(
        all_seen.len() <= BURST as usize
            && all_seen.iter().any(|(_, topic, _)| topic.as_deref() == Some("orders.rare"))
    );
    assert_eq!(all.take_skipped(), 0, "it is told once");
}

#[test]
fn what_was_polled_has_no_topic_yet() {
    let tap = Arc::new(Tap::default());
    let mut polled = look(&tap, TapStage::Polled, None);
    let guest = batch(&["a"], 2);
    tap.polled(id(1, 1), &guest);
    tap.routed(id(1, 1), &routed(guest));
    assert_eq!(seen(&mut polled), [(1, None, "a 0".to_owned()), (1, None, "a 1".to_owned())]);
}

#[test]
fn what_was_sent_is_shown_after_its_delivery_and_never_after_a_nack() {
    let tap = Arc::new(Tap::default());
    let mut sent = look(&tap, TapStage::Sent, None);
    let pass = |epoch, number, topic: &str| tap.routed(id(epoch, number), &routed(batch(&[topic], 1)));
    pass(1, 1, "a");
    pass(1, 2, "nacked");
    assert_eq!(seen(&mut sent), []);
    tap.delivered(id(1, 1));
    // The second failed: its number comes again in a new epoch.
    pass(2, 2, "again");
    tap.delivered(id(2, 2));
    let topics: Vec<_> = seen(&mut sent).into_iter().map(|(_, topic, _)| topic.unwrap()).collect();
    assert_eq!(topics, ["orders.a", "orders.again"]);
}

#[test]
fn a_listener_that_takes_nothing_costs_a_bounded_number_of_records() {
    let tap = Arc::new(Tap::default());
    let mut idle = look(&tap, TapStage::Transformed, None);
    let mut undelivered = look(&tap, TapStage::Sent, None);
    for number in 1..=50 {
        for listener in tap.listeners().iter_mut() {
            listener.allowance = BURST;
        }
        tap.routed(id(1, number), &routed(batch(&["a", "b"], 50)));
    }
    let waiting: usize = tap.listeners()[1].undelivered.iter().map(|(_, samples)| samples.len()).sum();
    assert!(waiting <= WAITING_MAX, "{waiting}");
    let shown = seen(&mut idle).len();
    assert_eq!(shown, WAITING_MAX);
    assert_eq!(shown as u64 + idle.take_skipped(), 50 * 100);
    assert_eq!(seen(&mut undelivered), []);
    assert_eq!(waiting as u64 + undelivered.take_skipped(), 50 * 100);
}

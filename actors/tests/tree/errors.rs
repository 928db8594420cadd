//! `[errors]` in a running source: a poisoned record among good ones.

use std::time::Duration;

use pico_actors::testing::{BrokerFault, PluginFault};
use pico_config::{ErrorPolicy, OnRecordError};
use picomq_connector_sdk::Verdict;

use crate::world::{Plan, World};

const POISON: &[u8] = b"not json";

fn dead_letter() -> ErrorPolicy {
    let topic = "dead".to_owned();
    ErrorPolicy { on_record_error: OnRecordError::DeadLetter { topic }, ..ErrorPolicy::default() }
}

fn poisoned() -> PluginFault {
    PluginFault::PoisonedFirst(POISON.to_vec())
}

/// The numbers in their topic, and how many dead letters there are.
fn log(world: &World) -> (Vec<u64>, usize) {
    let log = world.delivery.broker.log();
    let (dead, good): (Vec<_>, Vec<_>) = log.into_iter().partition(|record| record.topic == "dead");
    assert!(dead.iter().all(|record| record.payload == POISON), "{dead:?}");
    let number = |payload: Vec<u8>| String::from_utf8(payload).expect("text").parse().expect("a number");
    (good.into_iter().map(|record| number(record.payload)).collect(), dead.len())
}

#[tokio::test(start_paused = true)]
async fn a_dead_letter_lets_its_batch_pass_and_nothing_is_nacked() {
    let plugin = vec![PluginFault::Works, poisoned()];
    let world = Plan { plugin, total: 30, errors: dead_letter(), ..Plan::default() }.run().await;

    world.until_all_acked().await;

    let expected: Vec<u64> = (0..30).filter(|n| *n != 10).collect();
    assert_eq!(log(&world), (expected, 1));
    assert!(world.plugin.log().verdicts.iter().all(|verdict| *verdict == Verdict::Ack));
    let mut sent = 0;
    for _ in 0..1_000 {
        sent = world.engine.totals().await[0].1.messages_sent;
        if sent == 29 {
            break;
        }
        // Counted when the plugin took the Ack, which it may have said a moment before.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(sent, 29, "a dead letter is not among the sent");
}

#[tokio::test(start_paused = true)]
async fn a_batch_of_nothing_but_a_dead_letter_is_delivered_and_saved() {
    let plugin = vec![PluginFault::Poisoned(POISON.to_vec())];
    let world = Plan { plugin, total: 10, errors: dead_letter(), ..Plan::default() }.run().await;

    world.until_all_acked().await;

    assert_eq!(log(&world), (vec![], 1));
    assert_eq!(world.delivery.store.history().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_dead_letter_that_the_broker_refuses_holds_its_batch() {
    let broker = vec![BrokerFault::Refused, BrokerFault::Works];
    let plugin = vec![poisoned(), poisoned()];
    let world = Plan { plugin, broker, total: 10, errors: dead_letter(), ..Plan::default() }.run().await;

    world.until_all_acked().await;

    assert_eq!(world.plugin.log().verdicts, [Verdict::Nack, Verdict::Ack]);
    assert_eq!(log(&world), ((1..10).collect(), 1));
}

#[tokio::test(start_paused = true)]
async fn a_skipped_record_is_nowhere_and_the_rest_of_its_batch_is() {
    let errors = ErrorPolicy { on_record_error: OnRecordError::Skip, ..ErrorPolicy::default() };
    let world = Plan { plugin: vec![poisoned()], total: 10, errors, ..Plan::default() }.run().await;

    world.until_all_acked().await;

    assert_eq!(log(&world), ((1..10).collect(), 0));
    let counted = async {
        while world.engine.totals().await[0].1.messages_filtered != 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), counted).await.expect("it is counted as filtered");
}

#[tokio::test(start_paused = true)]
async fn the_ceiling_goes_on_counting_when_the_source_is_opened_again() {
    let errors = ErrorPolicy { max_per_minute: 1, ..dead_letter() };
    let plugin = vec![poisoned(), PluginFault::Panic, poisoned()];
    let world = Plan { plugin, total: 30, errors, ..Plan::default() }.run().await;

    world.until_all_acked().await;

    assert_eq!(world.plugin.log().openings.len(), 2);
    let nacks = world.plugin.log().verdicts.iter().filter(|verdict| **verdict == Verdict::Nack).count();
    assert_eq!(nacks, 1, "the second poisoned record is one too many");
    assert_eq!(log(&world), ((1..30).collect(), 1), "read again it was a good one");
}

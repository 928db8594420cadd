//! What becomes of batches when nothing fails.

use std::time::Duration;

use pico_actors::status::{Status, Totals};
use pico_actors::testing::{BrokerFault, PluginFault};
use pico_config::{Expression, Rule, TopicBlock};

use crate::world::Plan;

#[tokio::test(start_paused = true)]
async fn every_record_arrives_once_and_in_order() {
    let world = Plan::default().run().await;

    world.until_all_acked().await;

    assert_eq!(world.check_log(), 0);
    assert_eq!(world.view().await.status, Status::Running);
}

#[tokio::test(start_paused = true)]
async fn four_batches_in_flight_keep_the_order() {
    let broker =
        vec![BrokerFault::Slow(30), BrokerFault::Slow(10), BrokerFault::Slow(20), BrokerFault::Works];
    let world = Plan { window: 4, broker, ..Plan::default() }.run().await;

    world.until_all_acked().await;

    assert_eq!(world.check_log(), 0);
}

#[tokio::test(start_paused = true)]
async fn saved_numbers_only_rise_and_one_save_may_cover_several_batches() {
    let world = Plan { window: 4, ..Plan::default() }.run().await;

    world.until_all_acked().await;

    let history = world.delivery.store.history();
    assert!(history.windows(2).all(|pair| pair[0] < pair[1]), "{history:?}");
    assert!(history.len() <= 10, "{history:?}");
}

#[tokio::test(start_paused = true)]
async fn a_watermark_is_saved_and_acked_and_an_empty_batch_stores_nothing() {
    let plugin = vec![PluginFault::Works, PluginFault::Empty, PluginFault::Watermark];
    let world = Plan { plugin, total: 10, ..Plan::default() }.run().await;

    world.until("the watermark is saved", |_| world.delivery.store.history().len() == 2).await;

    let numbers: Vec<u64> = world.delivery.store.history().iter().map(|(_, number)| *number).collect();
    assert_eq!(numbers, [1, 2], "the empty batch gave its number back");
    assert_eq!(world.check_log(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_record_counts_once_however_often_its_batch_is_read_and_filtered_ones_apart_b145() {
    let ten = TopicBlock {
        when: Some(Expression::parse(". < 10").unwrap()),
        ..TopicBlock::new(Rule::Static("numbers".to_owned()))
    };
    let broker = vec![BrokerFault::Refused; 3];
    let world = Plan { total: 15, topics: vec![ten], broker, ..Plan::default() }.run().await;

    world.until_all_acked().await;

    assert_eq!(world.sent(), (0..10).collect::<Vec<_>>());
    // The batch of ten is read four times; a total is published a moment after its Ack was taken.
    let expected = Totals { messages_produced: 45, messages_sent: 10, messages_filtered: 5, errors: 3 };
    let mut totals = Totals::default();
    for _ in 0..1_000 {
        totals = world.engine.totals().await[0].1;
        if totals == expected {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(totals, expected);
}

//! What a person may ask.

use std::time::Duration;

use pico_actors::handle::{Command, CommandError};
use pico_actors::status::Status;
use pico_actors::testing::BrokerFault;

use crate::world::Plan;

#[tokio::test(start_paused = true)]
async fn a_paused_source_keeps_its_plugin_open_and_polls_again_when_resumed() {
    let world = Plan { broker: vec![BrokerFault::Slow(200); 10], ..Plan::default() }.run().await;
    world.until_status(Status::Running).await;

    world.command(Command::Pause).await;
    world.until_status(Status::Paused).await;
    let polls = world.plugin.log().polls;
    tokio::time::sleep(Duration::from_secs(60)).await;

    assert_eq!(world.plugin.log().polls, polls);
    world.command(Command::Resume).await;
    world.until_all_acked().await;
    assert_eq!(world.plugin.log().openings, [0]);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_source_holds_nothing_and_starts_where_it_was() {
    let world = Plan { broker: vec![BrokerFault::Slow(200); 10], ..Plan::default() }.run().await;
    world.until("first save", |_| world.saved() >= 10).await;

    world.command(Command::Stop).await;
    world.until_status(Status::Stopped).await;

    assert!(!world.delivery.store.is_leased());
    assert_eq!(world.plugin.log().closes, 1);
    let saved = world.saved();
    world.command(Command::Start).await;
    world.until_all_acked().await;
    assert_eq!(world.plugin.log().openings, [0, saved]);
    assert_eq!(world.check_log(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_restart_interrupts_a_poll_that_sleeps_b141() {
    let world = Plan { total: 10, ..Plan::default() }.run().await;
    world.until_all_acked().await;
    let began = tokio::time::Instant::now();

    world.command(Command::Restart).await;
    world.until("opened again", |_| world.plugin.log().openings == [0, 10]).await;

    assert!(began.elapsed() < Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_that_drains_leaves_no_duplicates() {
    let world = Plan { window: 4, broker: vec![BrokerFault::Slow(500); 10], ..Plan::default() }.run().await;
    world.until("in flight", |view| view.in_flight == 4).await;

    let has_drained = world.engine.shutdown(Duration::from_secs(25)).await;

    assert!(has_drained);
    assert_eq!(world.saved(), world.sent().len() as u64, "all that is in the log is saved");
    assert_eq!(world.plugin.log().committed, world.saved());
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_that_cannot_drain_gives_up_within_the_grace_b068() {
    let world = Plan { broker: vec![BrokerFault::Slow(3_600_000)], ..Plan::default() }.run().await;
    world.until("in flight", |view| view.in_flight == 1).await;
    let began = tokio::time::Instant::now();

    let has_drained = world.engine.shutdown(Duration::from_secs(25)).await;

    assert!(!has_drained);
    assert!(began.elapsed() < Duration::from_secs(30));
    assert_eq!(world.saved(), 0, "no state for the batch that was given up");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_key_is_named() {
    let world = Plan::default().run().await;

    let refused = world.engine.command("letters", Command::Pause).await;

    assert_eq!(refused, Err(CommandError::UnknownSource("letters".to_owned())));
}

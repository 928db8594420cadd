//! What a person may ask.

use std::time::Duration;

use pico_actors::handle::{Command, CommandError};
use pico_actors::status::Status;
use pico_actors::testing::{BrokerFault, PluginFault};

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
async fn the_lease_of_an_opening_that_is_called_off_is_held_until_its_plugin_gave_it_up() {
    let late = PluginFault::OpenUntilCalledOff { then_ms: 4_000 };
    let world = Plan { total: 10, plugin: vec![late], ..Plan::default() }.run().await;
    world.until_status(Status::Starting).await;
    tokio::time::sleep(Duration::from_secs(1)).await;

    world.command(Command::Stop).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(world.delivery.store.is_leased(), "another process could open the source");
    world.until_status(Status::Stopped).await;

    assert_eq!((world.plugin.log().called_off, world.delivery.store.is_leased()), (1, false));
    world.command(Command::Start).await;
    world.until_all_acked().await;
}

#[tokio::test(start_paused = true)]
async fn a_plugin_that_does_not_give_an_opening_up_is_waited_for_six_seconds() {
    let never = PluginFault::OpenUntilCalledOff { then_ms: 3_600_000 };
    let world = Plan { total: 10, plugin: vec![never], ..Plan::default() }.run().await;
    world.until_status(Status::Starting).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let began = tokio::time::Instant::now();

    world.command(Command::Stop).await;
    world.until_status(Status::Stopped).await;

    assert!(began.elapsed() <= Duration::from_secs(7), "{:?}", began.elapsed());
    assert!(!world.delivery.store.is_leased());
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

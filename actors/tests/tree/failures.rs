//! What becomes of batches when something fails: nothing is lost, nothing overtakes, repeats are bounded.

use std::time::Duration;

use pico_actors::ports::OpenKind;
use pico_actors::status::Status;
use pico_actors::testing::{BrokerFault, PluginFault, StoreFault};
use pico_config::Supervision;
use picomq_connector_sdk::Verdict;

use crate::world::Plan;

#[tokio::test(start_paused = true)]
async fn a_refused_batch_is_read_again_and_its_client_stays() {
    let world =
        Plan { broker: vec![BrokerFault::Works, BrokerFault::Refused], ..Plan::default() }.run().await;

    world.until_all_acked().await;

    assert_eq!(world.check_log(), 0);
    assert_eq!(world.delivery.broker.drops(), 0);
    assert_eq!(world.view().await.consecutive_nacks, 0);
}

#[tokio::test(start_paused = true)]
async fn a_lost_client_repeats_at_most_what_was_in_flight() {
    for window in [1, 4] {
        let broker = vec![BrokerFault::Works, BrokerFault::LandsButLost];
        let world = Plan { window, broker, ..Plan::default() }.run().await;

        world.until_all_acked().await;

        let copies = world.check_log();
        assert!((10..=10 * window as usize).contains(&copies), "{copies} copies at W = {window}");
        assert!(world.delivery.broker.drops() >= 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_broker_is_given_up_and_nothing_is_saved_for_its_batch() {
    let world = Plan { window: 4, broker: vec![BrokerFault::Silent; 3], ..Plan::default() }.run().await;

    world.until_all_acked().await;

    assert_eq!(world.check_log(), 0);
}

#[tokio::test(start_paused = true)]
async fn thirty_nacks_halt_the_source_b142() {
    let world = Plan { broker: vec![BrokerFault::Refused; 30], ..Plan::default() }.run().await;

    let view = world.until_status(Status::Error).await;

    assert_eq!(view.consecutive_nacks, 30);
    assert!(view.last_error.is_some_and(|error| error.message.contains("the broker refused")));
    world.until_all_acked().await;
    assert_eq!(
        world.view().await.status,
        Status::Running,
        "restart_after opened it, a delivered batch cleared it"
    );
}

#[tokio::test(start_paused = true)]
async fn twenty_nine_nacks_a_success_and_twenty_nine_more_do_not_halt_b142() {
    let mut broker = vec![BrokerFault::Refused; 29];
    broker.push(BrokerFault::Works);
    broker.extend(vec![BrokerFault::Refused; 29]);
    let supervision = Supervision { restart_after: None, ..Supervision::default() };
    let world = Plan { broker, supervision, ..Plan::default() }.run().await;

    world.until_all_acked().await;

    assert_eq!(world.plugin.log().openings, [0], "it was never closed");
}

#[tokio::test(start_paused = true)]
async fn a_hundred_poll_errors_never_halt_b142() {
    let world = Plan { plugin: vec![PluginFault::PollError; 100], ..Plan::default() }.run().await;

    world.until("degraded", |view| view.conditions.iter().any(|condition| condition == "degraded")).await;
    world.until_all_acked().await;

    let view = world.view().await;
    assert_eq!((view.status, view.last_error), (Status::Running, None));
}

#[tokio::test(start_paused = true)]
async fn a_permanent_poll_error_shows_error_and_the_next_good_poll_clears_it() {
    let world = Plan { plugin: vec![PluginFault::PermanentPollError], ..Plan::default() }.run().await;

    let view = world.until_status(Status::Error).await;

    assert_eq!(view.consecutive_nacks, 0);
    world.until_all_acked().await;
    assert_eq!(world.view().await.status, Status::Running);
}

#[tokio::test(start_paused = true)]
async fn a_failed_save_shows_error_and_costs_at_most_one_repeated_batch() {
    for fault in [StoreFault::Fails, StoreFault::LandsButFails] {
        let store = vec![StoreFault::Works, fault, StoreFault::Fails, StoreFault::Fails];
        let world = Plan { store, ..Plan::default() }.run().await;

        world.until_status(Status::Error).await;
        world.until_all_acked().await;

        assert!(world.check_log() <= 10, "{fault:?}");
        assert_eq!(world.view().await.status, Status::Running);
    }
}

#[tokio::test(start_paused = true)]
async fn somebody_elses_state_stops_the_source_for_good() {
    let world = Plan { store: vec![StoreFault::Works, StoreFault::Fenced], ..Plan::default() }.run().await;

    let view = world.until("fenced", |view| view.conditions.iter().any(|name| name == "fenced")).await;

    assert_eq!(view.status, Status::Error);
    tokio::time::sleep(Duration::from_secs(1800)).await;
    assert_eq!(world.saved(), 10, "nothing is saved any more");
    assert_eq!(world.view().await.status, Status::Error);
}

#[tokio::test(start_paused = true)]
async fn a_plugin_that_panics_is_opened_again_from_the_saved_state_b125() {
    let plugin = vec![PluginFault::Works, PluginFault::Works, PluginFault::Panic];
    let world = Plan { plugin, ..Plan::default() }.run().await;

    world.until_all_acked().await;

    assert_eq!(world.plugin.log().openings, [0, 20]);
    assert_eq!(world.check_log(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_refused_ack_reopens_the_source_and_the_ack_is_owed() {
    let world = Plan { verdicts_taken: vec![true, false], ..Plan::default() }.run().await;

    world.until_all_acked().await;

    assert_eq!(world.plugin.log().openings, [0, 20], "the save came first");
    assert_eq!(world.check_log(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_cannot_open_yet_is_starting_for_as_long_as_it_takes() {
    let plugin = vec![PluginFault::Open(OpenKind::Passing); 20];
    let world = Plan { plugin, ..Plan::default() }.run().await;

    world.until("degraded", |view| view.conditions.iter().any(|name| name == "degraded")).await;
    assert_eq!(world.view().await.status, Status::Starting);

    world.until_all_acked().await;
    assert_eq!(world.view().await.status, Status::Running);
}

#[tokio::test(start_paused = true)]
async fn a_configuration_the_plugin_refuses_halts_until_a_person_acts() {
    let world = Plan { plugin: vec![PluginFault::Open(OpenKind::Config)], ..Plan::default() }.run().await;

    world.until_status(Status::Error).await;
    tokio::time::sleep(Duration::from_secs(3000)).await;

    assert_eq!(world.view().await.status, Status::Error, "not opened again by itself");
    world.command(pico_actors::handle::Command::Restart).await;
    world.until_all_acked().await;
}

#[tokio::test(start_paused = true)]
async fn a_watermark_after_a_nack_is_refused_until_records_were_acked_b062() {
    let plugin = vec![PluginFault::Works, PluginFault::Watermark, PluginFault::Works];
    let world = Plan { plugin, broker: vec![BrokerFault::Refused], total: 20, ..Plan::default() }.run().await;

    world.until_all_acked().await;

    assert_eq!(world.plugin.log().verdicts[..3], [Verdict::Nack, Verdict::Nack, Verdict::Ack]);
    assert_eq!(world.check_log(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_poisoned_batch_in_the_middle_of_a_window_loses_nothing_b061() {
    let plugin = vec![PluginFault::Works, PluginFault::Poisoned(b"not json".to_vec())];
    let world = Plan { plugin, window: 4, ..Plan::default() }.run().await;

    world.until_all_acked().await;

    assert_eq!(world.check_log(), 0);
    assert_eq!(world.delivery.broker.drops(), 0, "a routing failure keeps the client");
}

/// The first save fails, its probe finds that somebody wrote: it may be the late write of our own killed process.
#[tokio::test(start_paused = true)]
async fn a_probe_that_is_refused_opens_the_source_again_from_the_store() {
    let world = Plan { store: vec![StoreFault::Fails, StoreFault::Fenced], ..Plan::default() }.run().await;

    world.until_all_acked().await;

    assert_eq!(world.view().await.status, Status::Running);
    assert_eq!(world.plugin.log().openings.len(), 2, "it was opened again, once");
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_refused_after_a_save_landed_fences_the_source() {
    let store = vec![StoreFault::Works, StoreFault::Fails, StoreFault::Fenced];
    let world = Plan { store, ..Plan::default() }.run().await;

    let view =
        world.until("fenced", |view| view.conditions.iter().any(|condition| condition == "fenced")).await;

    assert_eq!(view.status, Status::Error);
    assert!(view.last_error.is_some_and(|error| error.message.contains("somebody else")));
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let after = world.view().await;
    assert_eq!(
        (after.status, world.plugin.log().openings.len()),
        (Status::Error, 1),
        "only a person opens it"
    );
}

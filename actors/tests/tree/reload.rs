//! A new set of definitions for a running engine.

use std::time::Duration;

use pico_actors::handle::{BadSource, Entry};
use pico_actors::ports::{Cause, OpenKind};
use pico_actors::status::Status;
use pico_actors::testing::{BrokerFault, PluginFault};
use pico_config::{Definition, Supervision};

use crate::world::{Plan, World, definition};

const KEY: &str = "numbers";

fn changed(world: &World, change: impl Fn(&mut Definition)) -> Entry {
    let mut definition = definition(KEY, 1, Supervision::default());
    change(&mut definition);
    world.entry(definition)
}

fn bad(key: &str) -> Entry {
    let cause = Cause::new("config.syntax", "line 3 is no TOML");
    Entry::Bad(BadSource { key: key.to_owned(), path: String::new(), cause })
}

fn slow() -> Plan {
    Plan { broker: vec![BrokerFault::Slow(200); 10], ..Plan::default() }
}

#[tokio::test(start_paused = true)]
async fn a_changed_definition_takes_over_after_the_verdict_and_loses_nothing_b135() {
    let world = slow().run().await;
    world.until("in flight", |view| view.in_flight == 1 && world.saved() >= 10).await;

    world.apply(vec![changed(&world, |definition| definition.name = "new".to_owned())]).await;

    world.until("the new name", |view| view.name == "new").await;
    world.until_all_acked().await;
    assert_eq!(world.check_log(), 0, "nothing is sent twice for a reload");
    let openings = world.plugin.log().openings;
    assert_eq!((openings.len(), openings[0]), (2, 0));
    assert!(openings[1] >= 10, "it went on from the saved state");
    let totals = world.engine.totals().await;
    assert_eq!(totals[0].1.messages_sent, 100, "counts go on over a reload");
}

#[tokio::test(start_paused = true)]
async fn an_equal_definition_is_untouched_b135() {
    let world = slow().run().await;

    world.apply(vec![changed(&world, |definition| definition.file = "moved.toml".into())]).await;
    world.until_all_acked().await;

    assert_eq!(world.plugin.log().openings, [0]);
}

#[tokio::test(start_paused = true)]
async fn a_file_that_breaks_keeps_what_runs_and_shows_it_until_it_is_mended_b133() {
    let world = slow().run().await;

    world.apply(vec![bad(KEY)]).await;
    let view =
        world.until("the condition", |view| view.conditions.contains(&"reload_failed".to_owned())).await;
    assert!(view.last_error.is_some_and(|error| error.message.contains("line 3 is no TOML")));
    world.until_all_acked().await;
    world.apply(vec![changed(&world, |_| {})]).await;

    let view = world.view().await;
    assert_eq!((view.conditions.contains(&"reload_failed".to_owned()), view.last_error), (false, None));
    assert_eq!(world.plugin.log().openings, [0], "neither step touched the source");
}

#[tokio::test(start_paused = true)]
async fn a_changed_definition_that_does_not_open_gives_way_to_the_former_one() {
    let world = Plan { total: 10, ..Plan::default() }.run().await;
    world.until_all_acked().await;
    world.plugin.fail_next(vec![PluginFault::Open(OpenKind::Config)]);

    world.apply(vec![changed(&world, |definition| definition.name = "new".to_owned())]).await;

    let view =
        world.until("the way back", |view| view.conditions.contains(&"reload_failed".to_owned())).await;
    assert_eq!(view.name, KEY);
    let view = world.until_status(Status::Running).await;
    assert!(view.last_error.is_some_and(|error| error.message.contains("the former one runs on")));
    world.apply(vec![changed(&world, |definition| definition.name = "new".to_owned())]).await;
    world.until("the second try", |view| view.name == "new" && view.conditions.is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn a_removed_source_drains_and_is_forgotten_and_may_come_back_at_once_b135() {
    let world = slow().run().await;
    world.until("in flight", |view| view.in_flight == 1 && world.saved() >= 10).await;

    world.apply(Vec::new()).await;
    world.apply(vec![changed(&world, |_| {})]).await;

    world.until_all_acked().await;
    assert_eq!(
        world.check_log(),
        0,
        "the batch in flight was drained, and the fakes refuse a second instance"
    );
    assert_eq!(world.plugin.log().openings.len(), 2);
    world.apply(Vec::new()).await;
    world.until_none().await;
    assert!(!world.delivery.store.is_leased());
}

#[tokio::test(start_paused = true)]
async fn switching_off_and_on_again_stops_and_starts_and_keeps_the_place() {
    let world = slow().run().await;
    world.until("in flight", |view| view.in_flight == 1 && world.saved() >= 10).await;

    world.apply(vec![changed(&world, |definition| definition.enabled = false)]).await;
    let view = world.until_status(Status::Stopped).await;
    assert!(!view.enabled);
    assert!(!world.delivery.store.is_leased());
    world.apply(vec![changed(&world, |_| {})]).await;

    world.until_all_acked().await;
    assert_eq!(world.check_log(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_reloads_never_runs_two_instances_and_loses_nothing() {
    let world = Plan { broker: vec![BrokerFault::Slow(30); 50], total: 500, ..Plan::default() }.run().await;

    for round in 0..200 {
        let entry = match round % 4 {
            0 => changed(&world, |definition| definition.name = format!("round {round}")),
            1 => bad(KEY),
            2 => changed(&world, |definition| definition.enabled = round % 8 != 2),
            _ => changed(&world, |_| {}),
        };
        world.apply(if round % 10 == 9 { Vec::new() } else { vec![entry] }).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    world.apply(vec![changed(&world, |_| {})]).await;

    world.until_all_acked().await;
    assert_eq!(world.check_log(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_poll_that_sleeps_does_not_hold_a_reload_b141() {
    let world = Plan { total: 10, ..Plan::default() }.run().await;
    world.until_all_acked().await;
    let began = tokio::time::Instant::now();

    world.apply(vec![changed(&world, |definition| definition.verbose = true)]).await;
    world.until("opened again", |_| world.plugin.log().openings == [0, 10]).await;

    assert!(began.elapsed() < Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn fifty_restarts_at_once_during_a_reload_leave_one_instance_b146() {
    let world = slow().run().await;
    world.until("in flight", |view| view.in_flight == 1).await;

    world.apply(vec![changed(&world, |definition| definition.name = "new".to_owned())]).await;
    let restarts = (0..50).map(|_| {
        let engine = world.engine.clone();
        tokio::spawn(async move { engine.command(KEY, pico_actors::handle::Command::Restart).await })
    });
    for restart in restarts.collect::<Vec<_>>() {
        assert_eq!(restart.await.expect("no panic"), Ok(()));
    }

    world.until_all_acked().await;
    assert_eq!(world.check_log(), 0);
    assert_eq!(world.view().await.name, "new");
}

#[tokio::test(start_paused = true)]
async fn what_was_asked_outlives_a_reload() {
    let world = slow().run().await;
    world.command(pico_actors::handle::Command::Pause).await;
    world.until_status(Status::Paused).await;

    world.apply(vec![changed(&world, |definition| definition.name = "new".to_owned())]).await;
    world.until("the new name", |view| view.name == "new" && view.status == Status::Paused).await;

    let polls = world.plugin.log().polls;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(world.plugin.log().polls, polls);
}

#[tokio::test(start_paused = true)]
async fn what_runs_is_told_with_its_definition() {
    let world = slow().run().await;

    world.apply(vec![changed(&world, |definition| definition.name = "new".to_owned()), bad("letters")]).await;
    let running = world.engine.running().await.expect("it runs");

    let names: Vec<_> =
        running.iter().map(|source| source.definition.as_ref().map(|it| it.name.clone())).collect();
    assert_eq!(names, [Some("new".to_owned()), None], "a definition on its way counts");
}

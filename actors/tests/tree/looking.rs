//! What can be seen of a running source, and asked of its plugin.

use std::time::Duration;

use pico_actors::handle::{AskError, Command, CommandError};
use pico_actors::news::{News, What};
use pico_actors::status::Status;
use pico_actors::tap::{Look, TapFilter, TapStage};
use pico_actors::testing::BrokerFault;

use crate::world::{Plan, World};

async fn look(world: &World, stage: TapStage) -> Look {
    let tap = world.engine.tap("numbers").await.expect("it runs");
    tap.look(TapFilter { stage, topic: None }).expect("nobody looks yet")
}

fn payloads(look: &mut Look) -> Vec<String> {
    let mut payloads = Vec::new();
    while let Ok(sample) = look.samples.try_recv() {
        payloads.push(String::from_utf8(sample.payload.expect("no tombstone").bytes).expect("text"));
    }
    payloads
}

#[tokio::test(start_paused = true)]
async fn records_are_seen_on_their_way_and_once_they_are_sent() {
    let plan = Plan { total: 30, broker: vec![BrokerFault::Slow(200); 9], ..Plan::default() };
    let world = plan.run().await;
    world.command(Command::Pause).await;
    world.until_status(Status::Paused).await;
    let seen_before = world.sent().len();
    let mut looks = Vec::new();
    for stage in [TapStage::Polled, TapStage::Transformed, TapStage::Sent] {
        looks.push(look(&world, stage).await);
    }

    world.command(Command::Resume).await;
    world.until_all_acked().await;

    let later: Vec<String> = (seen_before..30).map(|number| number.to_string()).collect();
    assert!(later.len() >= 10, "{seen_before} were sent before anybody looked");
    for mut look in looks {
        let seen = payloads(&mut look);
        assert!(seen.ends_with(&later), "{seen:?}");
        assert_eq!(look.take_skipped(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_nacked_is_seen_as_sent_once_when_it_was() {
    let faults = vec![BrokerFault::Slow(200), BrokerFault::Refused, BrokerFault::Refused];
    let world = Plan { total: 20, broker: faults, ..Plan::default() }.run().await;
    world.until("the first batch is on its way", |view| view.in_flight == 1).await;
    let mut sent = look(&world, TapStage::Sent).await;
    world.until_all_acked().await;
    let second: Vec<String> = (10..20).map(|number| number.to_string()).collect();
    assert_eq!(payloads(&mut sent), second);
}

#[tokio::test(start_paused = true)]
async fn a_look_ends_when_its_source_is_removed() {
    let world = Plan { total: 10, ..Plan::default() }.run().await;
    let mut look = look(&world, TapStage::Transformed).await;
    world.apply(Vec::new()).await;
    world.until_none().await;
    while look.samples.recv().await.is_some() {}
    assert!(matches!(
        world.engine.tap("numbers").await,
        Err(AskError::Source(CommandError::UnknownSource(_)))
    ));
}

#[tokio::test(start_paused = true)]
async fn changes_of_status_and_nacks_are_told_with_their_cause() {
    let world =
        Plan { broker: vec![BrokerFault::Slow(200), BrokerFault::Refused], ..Plan::default() }.run().await;
    let mut news = world.engine.news();
    world.until_all_acked().await;
    world.command(Command::Pause).await;
    world.until_status(Status::Paused).await;

    let mut told: Vec<News> = Vec::new();
    while let Ok(one) = news.try_recv() {
        told.push(one);
    }
    assert!(told.iter().all(|one| one.source == "numbers"));
    let nack = told.iter().find_map(|one| match &one.what {
        What::Nack { nacks, limit, cause, code } => Some((*nacks, *limit, cause.clone(), *code)),
        What::Status { .. } => None,
    });
    let (nacks, limit, cause, code) = nack.expect("one batch was refused");
    assert_eq!((nacks, limit), (1, 30));
    assert!(cause.is_some() && code.is_some());
    let last = told.iter().rev().find_map(|one| match &one.what {
        What::Status { status, before, .. } => Some((*status, *before)),
        What::Nack { .. } => None,
    });
    assert_eq!(last, Some((Status::Paused, Status::Running)));
}

#[tokio::test(start_paused = true)]
async fn a_command_of_the_plugin_is_answered_while_it_is_open() {
    let world = Plan { total: 10, ..Plan::default() }.run().await;
    world.until_all_acked().await;
    let ask = |name: &'static str| world.engine.ask_plugin("numbers", name, "[1]");
    assert_eq!(ask("echo").await, Ok("[1]".to_owned()));
    assert_eq!(ask("fail").await, Err(AskError::Failed("it failed on purpose".to_owned())));
    assert!(matches!(ask("nothing").await, Err(AskError::Unknown(_))));
    let began = tokio::time::Instant::now();
    assert_eq!(ask("hang").await, Err(AskError::Silent));
    assert!(began.elapsed() < Duration::from_secs(60));

    world.command(Command::Stop).await;
    world.until_status(Status::Stopped).await;
    assert_eq!(ask("echo").await, Err(AskError::NotOpen));
    assert!(matches!(
        world.engine.ask_plugin("nobody", "echo", "{}").await,
        Err(AskError::Source(CommandError::UnknownSource(_)))
    ));
}

#[tokio::test(start_paused = true)]
async fn the_rate_rises_with_what_is_delivered() {
    let world = Plan::default().run().await;
    let view = world.until_status(Status::Running).await;
    assert!(view.lag.seconds.is_none() && view.lag.bytes.is_none());
    world.until_all_acked().await;
    let view = world.view().await;
    assert!(view.records_per_second > 0.0, "{view:?}");
}

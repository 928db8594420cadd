//! Batches that fail: thirty times and then no more (B142), once in the middle of a window, for a record that nobody
//! can route, for one that the broker refuses.

use std::time::Duration;

use chaos_tests::admin::Admin;
use chaos_tests::campaign::{Campaign, seed};
use chaos_tests::kafka::Kafka;
use chaos_tests::launch::Launch;
use chaos_tests::wait::pause;
use chaos_tests::workload::Workload;

use crate::stage::{QUICK, WITHIN, nacks, wait_nacks};

fn quick(workload: Workload) -> Campaign {
    let bootstrap = Kafka::shared().bootstrap();
    let workload = Workload { sections: QUICK.to_owned(), ..workload };
    Campaign::new(&workload.key.clone(), workload, &bootstrap, &bootstrap, "").unwrap()
}

fn admin() -> Admin {
    Admin::new(&Kafka::shared().bootstrap()).unwrap()
}

#[test]
fn thirty_nacks_are_an_error_that_a_restart_after_the_repair_ends_b142() {
    let workload = Workload { create_topics: false, ..Workload::new("thirty", seed()) };
    let (topics, prefix) = (workload.topics(), workload.prefix.clone());
    let mut campaign = quick(workload);
    let daemon = campaign.start(&Launch::default()).unwrap();

    let view = daemon.wait_status("thirty", "error", WITHIN).unwrap();

    assert_eq!(view.consecutive_nacks, 30, "{view:?}");
    assert!(view.last_error.unwrap().message.contains(&prefix), "the message names the topic");
    assert_eq!(nacks(&daemon, "thirty"), 30);
    pause(Duration::from_secs(1));
    assert_eq!(nacks(&daemon, "thirty"), 30, "nothing is polled any more");
    assert_eq!(campaign.site.state("thirty").unwrap().map_or(0, |file| file.position().unwrap()), 0);
    campaign.broken("thirty nacks", false).unwrap();
    admin().create(&topics, &[]).unwrap();
    daemon.command("thirty", "restart").unwrap();
    campaign.mended().unwrap();
    campaign.wait_progress(&daemon, 3, WITHIN).unwrap();
    assert_eq!(daemon.source("thirty").unwrap().consecutive_nacks, 0);
    campaign.drain(daemon, WITHIN).unwrap().assert_clean();
}

#[test]
fn a_success_before_the_thirtieth_nack_begins_the_count_again_b142() {
    let workload = Workload { create_topics: false, pool: 1, ..Workload::new("counted", seed()) };
    let topic = workload.topic(0);
    // Slow enough at its ceiling that twenty of thirty can be met.
    let sections = QUICK.replace("50ms", "300ms");
    let mut campaign = quick(workload.clone());
    campaign.site.define("counted", &Workload { sections, ..workload }.definition()).unwrap();
    let daemon = campaign.start(&Launch::default()).unwrap();

    for _ in 0..2 {
        wait_nacks(&daemon, "counted", 20);
        assert_eq!(daemon.source("counted").unwrap().status, "running", "below the limit");
        admin().create(&[&topic], &[]).unwrap();
        campaign.wait_progress(&daemon, 2, WITHIN).unwrap();
        let view = daemon.source("counted").unwrap();
        assert_eq!((view.status.as_str(), view.consecutive_nacks), ("running", 0));
        admin().delete(&[&topic]).unwrap();
    }

    assert!(nacks(&daemon, "counted") >= 40, "more than thirty in all, and never an error");
}

#[test]
fn a_source_past_the_limit_tries_again_by_itself_and_stays_an_error_until_it_delivers() {
    let workload = Workload { create_topics: false, ..Workload::new("retried", seed()) };
    let topics = workload.topics();
    let mut campaign = quick(workload.clone());
    let sections = QUICK.replace("\"off\"", "\"1s\"") + "nack_limit = 3\n";
    campaign.site.define("retried", &Workload { sections, ..workload }.definition()).unwrap();
    let daemon = campaign.start(&Launch::default()).unwrap();
    daemon.wait_status("retried", "error", WITHIN).unwrap();
    assert_eq!(nacks(&daemon, "retried"), 3);

    // One nack ends each try, so the fourth and fifth are two tries.
    while nacks(&daemon, "retried") < 5 {
        assert_eq!(daemon.source("retried").unwrap().status, "error");
        pause(Duration::from_millis(20));
    }
    campaign.broken("its topics are not there", false).unwrap();
    admin().create(&topics, &[]).unwrap();
    campaign.mended().unwrap();

    campaign.wait_progress(&daemon, 2, WITHIN).unwrap();
    campaign.drain(daemon, WITHIN).unwrap().assert_clean();
}

#[test]
fn a_hundred_poll_errors_are_no_nacks_and_never_stop_the_source_b142() {
    let steps = r#"{ call = "poll", from = 3, do = "transient" }"#;
    let workload = Workload::script("poll-errors", seed(), steps, "");
    let mut campaign = quick(workload.clone());
    let sections = QUICK.to_owned() + "poll_backoff_max = \"20ms\"\n";
    campaign.site.define("poll-errors", &Workload { sections, ..workload }.definition()).unwrap();
    let daemon = campaign.start(&Launch::default()).unwrap();

    let view = daemon
        .wait_source("poll-errors", "a hundred poll errors", WITHIN, |_| {
            daemon.metric("picomq_connector_poll_errors_total", "poll-errors").unwrap() >= 100.0
        })
        .unwrap();

    assert_eq!((view.status.as_str(), view.consecutive_nacks), ("running", 0), "{view:?}");
    assert!(view.last_error.unwrap().message.contains("the script says transient"));
    assert_eq!(nacks(&daemon, "poll-errors"), 0);
    let health = daemon.request("GET", "/health").unwrap();
    assert_eq!((health.status, health.json().unwrap()["status"].as_str()), (200, Some("degraded")));
    campaign.run_for(Duration::from_millis(50)).unwrap();
    assert_eq!(campaign.position(), 20, "the two batches before the errors");
}

#[test]
fn a_record_poisoned_once_in_the_middle_of_a_window_is_repeated_in_order() {
    let bootstrap = Kafka::shared().bootstrap();
    for (at, kind) in [(57, "\"unroutable\""), (123, "\"not_json\""), (140, "{ bytes = 1200000 }")] {
        let key = format!("poisoned-{at}");
        let marker = chaos_tests::site::scratch().join(format!("{key}.marker"));
        let _ = std::fs::remove_file(&marker);
        let poison = format!("{{ sequence = {at}, with = {kind}, once = {marker:?} }}");
        let workload = Workload { window: 4, ..Workload::script(&key, seed(), "", &poison) };
        let mut campaign = Campaign::new(&key, workload, &bootstrap, &bootstrap, "").unwrap();
        let daemon = campaign.start(&Launch::default()).unwrap();

        campaign.wait_progress(&daemon, 30, WITHIN).unwrap();

        assert_eq!(nacks(&daemon, &key), 1, "{kind}: it failed once");
        assert_eq!(daemon.source(&key).unwrap().last_error.map(|error| error.message), None);
        campaign.drain(daemon, WITHIN).unwrap().assert_clean();
    }
}

#[test]
fn nothing_is_saved_past_a_batch_that_cannot_be_delivered_b061() {
    let poison = r#"{ sequence = 57, with = "unroutable" }"#;
    let workload = Workload { window: 4, ..Workload::script("blocked", seed(), "", poison) };
    let key = workload.key.clone();
    let mut campaign = quick(workload.clone());
    let mut daemon = campaign.start(&Launch::default()).unwrap();
    wait_nacks(&daemon, &key, 2);
    campaign.run_for(Duration::from_millis(50)).unwrap();
    let saved = std::fs::read(campaign.site.state_path(&key)).unwrap();
    let message = daemon.source(&key).unwrap().last_error.unwrap().message;

    daemon.wait_status(&key, "error", WITHIN).unwrap();

    assert_eq!(campaign.position(), 50, "batches of ten: the sixth is the bad one");
    assert_eq!(std::fs::read(campaign.site.state_path(&key)).unwrap(), saved, "the state stands still");
    assert!(message.contains("user_id"), "{message}");
    daemon.kill();
    campaign.broken("a record that nobody can route, then SIGKILL", false).unwrap();
    campaign.observe().unwrap();
    // The row is mended, and its batch comes again.
    campaign.site.define(&key, &Workload::script(&key, seed(), "", "").definition()).unwrap();
    let daemon = campaign.start(&Launch::default()).unwrap();
    campaign.wait_progress(&daemon, 3, WITHIN).unwrap();
    campaign.drain(daemon, WITHIN).unwrap().assert_clean();
}

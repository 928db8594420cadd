//! Topics that are not there, cannot be made, are made by somebody else, or disappear.

use std::time::Duration;

use chaos_tests::admin::Admin;
use chaos_tests::campaign::{Campaign, seed};
use chaos_tests::kafka::Kafka;
use chaos_tests::launch::Launch;
use chaos_tests::ledger::Report;
use chaos_tests::site::scratch;
use chaos_tests::wait::{pause, wait_for};
use chaos_tests::workload::Workload;

use crate::stage::{QUICK, Stage, WITHIN, complaint, nacks, wait_nacks};

#[test]
fn three_hundred_new_topics_in_one_batch_are_made_with_one_partition_each_b080() {
    let workload = Workload {
        pool: 300,
        batch_min: 300,
        batch_max: 300,
        max_count: Some(600),
        ..Workload::new("tenants", seed())
    };
    let stage = Stage::new("topics-tenants");
    stage.define(&workload);
    let daemon = stage.start();

    stage.wait_position("tenants", 600);

    assert!(nacks(&daemon, "tenants") <= 3, "{} nacks", nacks(&daemon, "tenants"));
    assert_eq!(daemon.source("tenants").unwrap().status, "running");
    for lane in 0..300 {
        let topic = workload.topic(lane);
        assert_eq!(stage.admin.partitions(&topic).unwrap(), Some(1), "{topic}");
    }
    assert_eq!(stage.sequences(&workload.topic(299)), [299, 599]);
    stage.admin.delete(&workload.topics()).unwrap();
}

#[test]
fn a_topic_made_this_moment_has_every_record_from_the_first_on() {
    let stage = Stage::new("topics-fresh");
    let source = |number: u32| Workload {
        window: 4,
        interval: "1ms".to_owned(),
        max_count: Some(400),
        ..Workload::script(&format!("fresh-{number}"), seed(), "", "")
    };
    let sources: Vec<Workload> = (0..40).map(source).collect();
    for workload in &sources {
        stage.define(workload);
    }
    let _daemon = stage.start();

    for workload in &sources {
        stage.wait_position(&workload.key, 400);
    }

    let topics: Vec<String> = sources.iter().flat_map(Workload::topics).collect();
    let mut logs = stage.logs(&topics);
    for (at, topic) in topics.iter().enumerate() {
        let mut sequences = logs.remove(topic).unwrap_or_default();
        let in_order = sequences.clone();
        sequences.sort_unstable();
        sequences.dedup();
        let whole: Vec<u64> = (0..100).map(|place| at as u64 % 4 + 4 * place).collect();
        assert_eq!(sequences, whole, "{topic}: {in_order:?}");
    }
}

#[test]
fn topics_that_two_sources_and_a_script_make_at_once_are_a_success_for_all_b082() {
    let stage = Stage::new("topics-rivals");
    let rival = |key: &str| Workload {
        prefix: format!("rivals-{}-", seed()),
        pool: 50,
        batch_min: 50,
        batch_max: 50,
        max_count: Some(100),
        ..Workload::new(key, seed())
    };
    let (one, other) = (rival("rival-one"), rival("rival-other"));
    stage.define(&one);
    stage.define(&other);
    let daemon = stage.start();
    let script = Admin::new(&stage.bootstrap).unwrap();
    for topic in one.topics() {
        // Whether the script or an engine was first is chance; that it is there afterwards is not.
        let _ = script.create(&[topic], &[]);
    }

    for key in ["rival-one", "rival-other"] {
        stage.wait_position(key, 100);
        assert_eq!(nacks(&daemon, key), 0, "{}", complaint(&daemon, key));
    }

    for topic in one.topics() {
        assert_eq!(stage.sequences(&topic).len(), 4, "{topic} has two records of each source");
        assert_eq!(stage.admin.partitions(&topic).unwrap(), Some(1));
    }
}

#[test]
fn a_topic_deleted_under_way_is_made_again_where_that_was_asked_for_b085_b089() {
    let stage = Stage::new("topics-remade");
    let workload = Workload { window: 4, sections: QUICK.to_owned(), ..Workload::new("remade", seed()) };
    stage.define(&workload);
    let daemon = stage.start();
    stage.wait_position("remade", 1_000);
    let topic = workload.topic(0);

    for _ in 0..2 {
        stage.admin.delete(&[&topic]).unwrap();
        wait_for("the topic anew, with records", WITHIN, || {
            match stage.admin.partitions(&topic).map_err(|error| error.to_string())? {
                Some(1) if !stage.entries(&topic).is_empty() => Ok(()),
                other => Err(format!("{other:?}, {:?}", daemon.source("remade"))),
            }
        })
        .unwrap();
        stage.wait_position("remade", stage.position("remade") + 1_000);
        assert_eq!(daemon.source("remade").unwrap().status, "running");
    }

    // What was deleted is gone; the others are complete and in order, with repeats from the nacks alone.
    for lane in 1..4 {
        let mut firsts = Vec::new();
        for sequence in stage.sequences(&workload.topic(lane)) {
            if firsts.last().is_none_or(|last| *last < sequence) {
                firsts.push(sequence);
            }
        }
        let whole: Vec<u64> = (0..firsts.len() as u64).map(|place| lane + 4 * place).collect();
        assert_eq!(firsts, whole, "lane {lane}");
    }
}

#[test]
fn a_topic_deleted_under_way_is_an_error_where_nobody_may_make_it_b085() {
    let stage = Stage::new("topics-missed");
    let missed = Workload {
        create_topics: false,
        window: 4,
        sections: QUICK.to_owned(),
        ..Workload::new("missed", seed())
    };
    let other = Workload::new("unharmed", seed());
    stage.define(&missed);
    stage.define(&other);
    stage.admin.create(&missed.topics(), &[]).unwrap();
    let daemon = stage.start();
    stage.wait_position("missed", 1_000);
    let topic = missed.topic(2);

    stage.admin.delete(&[&topic]).unwrap();

    let view = daemon.wait_status("missed", "error", WITHIN).unwrap();
    assert!(view.last_error.unwrap().message.contains(&topic), "the message names the topic");
    assert_eq!(stage.admin.partitions(&topic).unwrap(), None, "nobody made it");
    stage.wait_position("unharmed", stage.position("unharmed") + 1_000);
    stage.admin.create(&[&topic], &[]).unwrap();
    daemon.command("missed", "restart").unwrap();
    stage.wait_position("missed", stage.position("missed") + 1_000);
    daemon.wait_status("missed", "running", WITHIN).unwrap();
}

#[test]
fn a_big_record_and_its_fifty_neighbours_all_come_once_the_limit_is_raised_b070() {
    let stage = Stage::new("topics-limit");
    let workload = Workload {
        pool: 1,
        batch_max: 51,
        max_count: Some(51),
        create_topics: false,
        sections: QUICK.to_owned(),
        ..Workload::script("limited", seed(), "", "{ sequence = 20, with = { bytes = 3000 } }")
    };
    let topic = workload.topic(0);
    stage.admin.create(&[&topic], &[("max.message.bytes", "2000")]).unwrap();
    stage.define(&workload);
    let daemon = stage.start();
    wait_nacks(&daemon, "limited", 2);
    assert_eq!(stage.position("limited"), 0, "nothing is saved");
    assert!(complaint(&daemon, "limited").contains(&topic), "{}", complaint(&daemon, "limited"));

    daemon.wait_status("limited", "error", WITHIN).unwrap();
    stage.admin.configure(&topic, "max.message.bytes", "1048588").unwrap();
    daemon.command("limited", "restart").unwrap();
    stage.wait_position("limited", 51);

    let mut distinct = stage.sequences(&topic);
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct, (0..51).collect::<Vec<_>>());
}

/// Rows whose text names their topic.
fn rows(stage: &Stage, names: [&str; 3]) -> std::path::PathBuf {
    let folder = stage.site.dir().join("rows");
    std::fs::create_dir_all(&folder).unwrap();
    for (at, name) in names.iter().enumerate() {
        std::fs::write(folder.join(format!("{at}")), name).unwrap();
    }
    folder
}

#[test]
fn a_row_with_a_bad_topic_name_holds_its_batch_and_no_other_source_b071() {
    let stage = Stage::new("topics-bad-name");
    let prefix = format!("rows-{}-", seed());
    let folder = rows(&stage, ["t1", "bad!name", "t2"]);
    let topics = ["t1", "t2"].map(|name| format!("{prefix}{name}"));
    stage.admin.create(&topics, &[]).unwrap();
    let definition = format!(
        "type = \"source\"\nkey = \"rows\"\nenabled = true\nname = \"Rows\"\n\
         path = \"picomq_connector_faulty_source\"\n\n\
         [[topics]]\n\
         topic = {{ strategy = \"field\", path = \"text\", template = \"{prefix}{{value}}\" }}\n\n\
         [plugin_config]\nmode = \"destructive\"\nfolder = {folder:?}\n\n{QUICK}"
    );
    stage.site.define("rows", &definition).unwrap();
    stage.define(&Workload::new("beside-rows", seed()));
    let daemon = stage.start();

    let view = daemon.wait_status("rows", "error", WITHIN).unwrap();

    let message = view.last_error.unwrap().message;
    assert_eq!(view.consecutive_nacks, 30);
    assert!(message.contains("bad!name") && message.contains("text"), "{message}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 3, "nothing is deleted upstream");
    assert_eq!(stage.entries(&topics[0]).len(), 0, "nothing of a batch with a bad name is sent");
    stage.wait_position("beside-rows", stage.position("beside-rows") + 500);
    std::fs::write(folder.join("1"), "t2").unwrap();
    daemon.command("rows", "restart").unwrap();
    wait_for("the rows", WITHIN, || match std::fs::read_dir(&folder).unwrap().count() {
        0 => Ok(()),
        left => Err(format!("{left} rows left, {:?}", daemon.source("rows"))),
    })
    .unwrap();
    assert_eq!((stage.entries(&topics[0]).len(), stage.entries(&topics[1]).len()), (1, 2));
}

/// Under a linger of five seconds, SIGTERM a second after the first batch was polled.
#[test]
fn a_batch_that_lingers_at_the_end_is_in_the_log_exactly_when_it_is_saved_b087() {
    let bootstrap = Kafka::shared().bootstrap();
    let workload = Workload {
        block: "linger_time = \"5s\"".to_owned(),
        window: 4,
        batch_min: 30,
        batch_max: 30,
        interval: "200ms".to_owned(),
        ..Workload::new("linger", seed())
    };
    let dir = scratch().join("topics-linger");
    let mut campaign = Campaign::new("topics-linger", workload.clone(), &bootstrap, &bootstrap, "").unwrap();
    let mut daemon = campaign.start(&Launch::default()).unwrap();
    daemon.wait_serving().unwrap();
    daemon.wait_source("linger", "a batch in flight", WITHIN, |view| view.status == "running").unwrap();
    pause(Duration::from_secs(1));

    let report: Report = campaign.drain(daemon, WITHIN).unwrap();

    report.assert_clean();
    assert_eq!(report.figures.position, report.figures.distinct, "saved is what is in the log: {dir:?}");
    assert_eq!(report.figures.duplicates, 0);
}

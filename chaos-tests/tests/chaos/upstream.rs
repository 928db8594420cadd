//! Sources whose upstream shows every mistake: a folder whose files are deleted on Ack, so that a lost record is lost
//! for good, and keys that each count for themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use chaos_tests::campaign::seed;
use chaos_tests::consumer::LogReader;
use chaos_tests::launch::Launch;
use chaos_tests::ledger::{SideEffects, check_side_effects};
use chaos_tests::wait::wait_for;
use chaos_tests::workload::Workload;

use crate::stage::{Stage, WITHIN, field};

const FILES: u64 = 3_000;
/// Where a kill is the most dangerous: around the save and the verdict, before and in the middle of sending.
const POINTS: [&str; 10] = [
    "poll_returned",
    "half_enqueued",
    "first_report",
    "all_delivered",
    "state_temp_synced",
    "state_renamed",
    "saved_event",
    "before_ack",
    "after_ack",
    "opened",
];

fn definition(key: &str, window: u64, config: &str, topic: &str) -> String {
    format!(
        "type = \"source\"\nkey = \"{key}\"\nenabled = true\nname = \"Upstream\"\n\
         path = \"picomq_connector_faulty_source\"\nmax_in_flight = {window}\n\n\
         [[topics]]\ntopic = {topic}\ncreate_topics = true\n\n[plugin_config]\n{config}\n"
    )
}

fn fill(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    for number in 0..FILES {
        fs::write(folder.join(format!("{number:06}")), "x").unwrap();
    }
}

/// The folder first, the state then, the log last: so that what is deleted must be in both.
fn look(stage: &Stage, folder: &Path, key: &str, topics: &[String]) -> SideEffects {
    let left: BTreeSet<u64> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_str().unwrap().parse().unwrap())
        .collect();
    let saved = stage.site.state(key).unwrap().map(|file| {
        let last = file.value().unwrap()["state"]["last"].as_str().unwrap_or_default().to_owned();
        last.parse::<u64>().map_or(0, |last| last + 1)
    });
    let delivered = topics.iter().flat_map(|topic| stage.sequences(topic)).collect();
    SideEffects { deleted: (0..FILES).filter(|number| !left.contains(number)).collect(), saved, delivered }
}

fn destructive(name: &str, window: u64) {
    let stage = Stage::new(name);
    let mut random = fastrand::Rng::with_seed(seed());
    let folder = stage.site.dir().join("upstream");
    fill(&folder);
    let prefix = format!("{name}-{}-", seed());
    let config = format!("mode = \"destructive\"\nfolder = {folder:?}\nrecords = 20\ninterval = \"5ms\"\n");
    let topic = format!("{{ strategy = \"field\", path = \"user_id\", template = \"{prefix}{{value}}\" }}");
    stage.site.define(name, &definition(name, window, &config, &topic)).unwrap();
    let topics: Vec<String> = (0..4).map(|lane| format!("{prefix}user-{lane}")).collect();
    let replay = format!("CHAOS_SEED={} cargo test -p chaos-tests --test chaos {name}", seed());

    for point in POINTS {
        let passing = if point == "opened" { 1 } else { random.u32(2..10) };
        let mut daemon = stage.site.start(&Launch::kill_at(point, passing)).unwrap();
        daemon.wait_exit(WITHIN).unwrap();
        let incident = format!("SIGKILL at passing {passing} of {point}");
        let found = check_side_effects(&look(&stage, &folder, name, &topics), &incident, &replay);
        assert!(found.is_empty(), "{found:?}");
    }
    let mut daemon = stage.start();
    wait_for("an empty upstream", WITHIN, || match fs::read_dir(&folder).unwrap().count() {
        0 => Ok(()),
        left => Err(format!("{left} files left")),
    })
    .unwrap();
    daemon.terminate();
    assert_eq!(daemon.wait_exit(WITHIN).unwrap().code(), Some(0));

    let last = look(&stage, &folder, name, &topics);
    assert_eq!((last.deleted.len() as u64, last.delivered.len() as u64), (FILES, FILES), "all of them");
    assert!(check_side_effects(&last, "the end", &replay).is_empty());
}

#[test]
fn what_is_deleted_upstream_is_in_the_log_and_saved_whatever_was_killed() {
    destructive("destructive-1", 1);
}

#[test]
fn what_is_deleted_upstream_is_in_the_log_and_saved_with_four_batches_in_flight() {
    destructive("destructive-4", 4);
}

/// First occurrences of each key, by partition.
fn first_occurrences(bootstrap: &str, topic: &str) -> BTreeMap<String, (i32, Vec<u64>)> {
    let mut keys: BTreeMap<String, (i32, Vec<u64>)> = BTreeMap::new();
    for partition in 0..3 {
        let mut reader = LogReader::of_partition(bootstrap, partition).unwrap();
        reader
            .read_to_end(&[topic], &mut |entry| {
                let key = String::from_utf8(entry.key.clone().unwrap()).unwrap();
                let number = field(&entry, "number").as_u64().unwrap();
                let (home, numbers) = keys.entry(key.clone()).or_insert((partition, Vec::new()));
                assert_eq!(*home, partition, "{key} is in two partitions");
                if numbers.last().is_none_or(|last| *last < number) {
                    numbers.push(number);
                }
            })
            .unwrap();
    }
    keys
}

#[test]
fn over_several_partitions_each_key_stays_in_order_through_kills() {
    let stage = Stage::new("per-key");
    let topic = format!("per-key-{}", seed());
    stage.admin.create_with_partitions(&[&topic], &[], 3).unwrap();
    let config = "mode = \"per_key\"\nkeys = 8\nrecords = 40\ninterval = \"5ms\"\nmax_count = 20000\n";
    let definition = definition("per-key", 4, config, &format!("{topic:?}"));
    stage.site.define("per-key", &definition).unwrap();
    let mut random = fastrand::Rng::with_seed(seed());

    while stage.position("per-key") < 20_000 {
        let mut daemon = stage.start();
        chaos_tests::wait::pause(Duration::from_millis(random.u64(300..2_000)));
        daemon.kill();
    }

    let keys = first_occurrences(&stage.bootstrap, &topic);
    assert_eq!(keys.len(), 8);
    let homes: BTreeSet<i32> = keys.values().map(|(home, _)| *home).collect();
    assert!(homes.len() > 1, "all keys in one partition show nothing: {homes:?}");
    for (key, (_, numbers)) in keys {
        assert_eq!(numbers, (0..2_500).collect::<Vec<_>>(), "{key} has every number, in order");
    }
}

/// Records without a payload are not records with an empty one.
#[test]
fn a_tombstone_arrives_as_one_b092() {
    let stage = Stage::new("tombstone");
    let topic = format!("tombstone-{}", seed());
    let poison = r#"{ sequence = 3, with = "tombstone" }"#;
    let workload = Workload { max_count: Some(10), ..Workload::script("tombstone", seed(), "", poison) };
    let rule = "topic = { strategy = \"field\", path = \"user_id\"";
    let text = workload.definition();
    let start = text.find(rule).unwrap();
    let end = start + text[start..].find('\n').unwrap();
    let text = text.replace(&text[start..end], &format!("topic = {topic:?}"));
    stage
        .site
        .define("tombstone", &text.replace("[plugin_config]\n", "[plugin_config]\nkey_by_user = true\n"))
        .unwrap();
    let _daemon = stage.start();

    stage.wait_position("tombstone", 10);

    let entries = stage.entries(&topic);
    let payloads: Vec<bool> = entries.iter().map(|entry| entry.payload.is_some()).collect();
    assert_eq!(payloads, [true, true, true, false, true, true, true, true, true, true]);
    assert_eq!(entries[3].key.as_deref(), Some(&b"user-3"[..]));
}

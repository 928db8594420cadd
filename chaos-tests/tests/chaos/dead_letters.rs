//! Records that fail in a fast stream: set aside while the engine is killed again and again, looked at, replayed once.
//!
//! The ledger of the other stories knows every record in its topic; here some lie among the dead, so the logs are
//! compared by hand: every sequence up to the saved position is in its topic or set aside, never neither.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output};
use std::time::Duration;

use chaos_tests::campaign::seed;
use chaos_tests::wait::{pause, wait_for};
use chaos_tests::workload::Workload;
use chaos_tests::{binaries, consumer::Entry};

use crate::stage::{Stage, WITHIN, field};

/// Kills in the story of the storm; each leaves the engine about a second.
const KILLS: u32 = 8;
const SIGKILL: i32 = 9;
/// Every so many a record is unroutable.
const POISONED_EVERY: u64 = 37;

fn dead_topic(key: &str) -> String {
    format!("{key}-{}-dead", seed())
}

fn errors(key: &str) -> String {
    format!(
        "[errors]\non_record_error = \"dead_letter\"\ndead_letter_topic = \"{}\"\nmax_per_minute = 100000\n",
        dead_topic(key)
    )
}

fn poison(sequences: impl Iterator<Item = u64>, with: &str) -> String {
    let one = |sequence| format!("{{ sequence = {sequence}, with = \"{with}\" }}");
    sequences.map(one).collect::<Vec<_>>().join(", ")
}

fn header(entry: &Entry, name: &str) -> String {
    let found = entry.headers.iter().find(|(found, _)| found == name);
    String::from_utf8(found.unwrap_or_else(|| panic!("no {name}: {entry:?}")).1.clone()).unwrap()
}

/// The verb, as a person would type it on the site of a story.
fn typed(stage: &Stage, arguments: &[&str]) -> Output {
    let mut command = Command::new(binaries::engine().unwrap());
    command.arg("--config").arg(stage.site.config()).args(arguments);
    command.output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn a_poisoned_record_in_a_fast_stream_with_dead_letters_loses_nothing_under_kills() {
    let key = "letters-storm";
    let stage = Stage::new(key);
    let poisoned = poison((0..30_000).step_by(POISONED_EVERY as usize), "unroutable");
    let workload = Workload {
        window: 4,
        batch_max: 50,
        sections: errors(key),
        ..Workload::script(key, seed(), "", &poisoned)
    };
    stage.define(&workload);
    let mut random = fastrand::Rng::with_seed(seed());

    for _ in 0..KILLS {
        let mut daemon = stage.start();
        pause(Duration::from_millis(random.u64(200..1_200)));
        assert!(daemon.kill(), "the engine ended by itself; see {}", stage.site.log().display());
    }
    let mut daemon = stage.start();
    let before = stage.position(key);
    stage.wait_position(key, before + 500);
    daemon.terminate();
    assert_eq!(daemon.wait_exit(WITHIN).unwrap().code(), Some(0));

    let position = stage.position(key);
    let dead: Vec<u64> = stage
        .entries(&dead_topic(key))
        .iter()
        .map(|letter| field(letter, "sequence").as_u64().unwrap())
        .collect();
    let (mut good, mut copies) = (BTreeSet::new(), dead.len());
    for (topic, log) in stage.logs(&workload.topics()) {
        let mut highest = None;
        for sequence in &log {
            let is_first = good.insert(*sequence);
            assert!(!is_first || highest < Some(*sequence), "{sequence} came late in {topic}");
            highest = highest.max(Some(*sequence));
        }
        copies += log.len();
    }
    let dead: BTreeSet<u64> = dead.into_iter().collect();
    assert!(dead.iter().all(|sequence| sequence.is_multiple_of(POISONED_EVERY)), "{dead:?}");
    assert!(good.iter().all(|sequence| !sequence.is_multiple_of(POISONED_EVERY)));
    assert_eq!(good.len() + dead.len(), position as usize, "each up to the saved position, once at least");
    assert!(
        good.union(&dead).all(|sequence| *sequence < position),
        "and none beyond after a stop that drained"
    );
    copies -= position as usize;
    let in_flight = KILLS as usize * 4 * 50;
    assert!(copies <= in_flight, "{copies} copies, at most {in_flight} were in flight at a kill");
    eprintln!("{key}: {position} records, {} set aside, {KILLS} kills, {copies} copies", dead.len());
}

#[test]
fn letters_are_replayed_once_through_todays_definition_and_those_that_fail_again_stay() {
    let key = "letters-replay";
    let stage = Stage::new(key);
    let poisoned =
        format!("{}, {}", poison([3, 14].into_iter(), "unroutable"), poison([20].into_iter(), "not_json"));
    let workload = Workload {
        max_count: Some(40),
        sections: errors(key),
        ..Workload::script(key, seed(), "", &poisoned)
    };
    stage.define(&workload);
    let mut daemon = stage.start();
    stage.wait_position(key, 40);
    // Counted when the plugin took the Ack, a moment after the save.
    wait_for("the counts of 37 good records and 3 letters", WITHIN, || {
        let of =
            |name: &str| daemon.metric(&format!("picomq_connector_{name}_total"), key).unwrap_or_default();
        let counts = (of("messages_sent"), of("dead_letters"), of("messages_filtered"));
        if counts == (37.0, 3.0, 0.0) { Ok(()) } else { Err(format!("{counts:?}")) }
    })
    .unwrap();
    daemon.terminate();
    daemon.wait_exit(WITHIN).unwrap();
    let letters = stage.entries(&dead_topic(key));
    let codes: Vec<String> = letters.iter().map(|letter| header(letter, "picomq.error.code")).collect();
    assert_eq!(codes, ["unroutable_record", "unroutable_record", "payload_not_json"]);
    assert_eq!(header(&letters[0], "picomq.error.source"), key);

    let list = typed(&stage, &["dlq", "list", key]);
    assert_eq!(out(&list).matches("waits").count(), 3, "{}", out(&list));
    let shown = typed(&stage, &["dead-letters", "show", key, "--at", "0/1"]);
    assert!(out(&shown).contains("\"sequence\":14"), "{}", out(&shown));

    // Today's definition has a place for those without a user.
    let rest = format!("{key}-{}-rest", seed());
    let mended =
        workload.definition().replace("{value}\" }", &format!("{{value}}\", fallback = \"{rest}\" }}"));
    stage.site.define(key, &mended).unwrap();
    let asked = typed(&stage, &["dead-letters", "replay", key]);
    assert_eq!(asked.status.code(), Some(4), "{}", out(&asked));
    assert!(out(&asked).contains("2 of 3 letters") && out(&asked).contains(&format!("2 to {rest}")));
    assert!(stage.entries(&rest).is_empty(), "nothing was sent before somebody said yes");

    let replayed = typed(&stage, &["dead-letters", "replay", key, "--yes"]);
    assert_eq!(replayed.status.code(), Some(1), "one fails again: {}", out(&replayed));
    assert_eq!(stage.sequences(&rest), [3, 14]);
    assert!(out(&replayed).contains("0/2  payload_not_json"), "{}", out(&replayed));

    let again = typed(&stage, &["dead-letters", "replay", key, "--yes"]);
    assert_eq!(stage.sequences(&rest), [3, 14], "a second replay repeats nothing");
    assert!(out(&again).contains("0 of 1 letters"), "{}", out(&again));
    let list = out(&typed(&stage, &["dlq", "list", key]));
    assert_eq!((list.matches("failed again").count(), list.matches("done").count()), (1, 2), "{list}");
}

#[test]
fn a_dry_run_shows_what_fails_leaves_no_trace_and_does_not_take_a_running_source() {
    let key = "letters-dry";
    let stage = Stage::new(key);
    let workload = Workload {
        sections: errors(key),
        create_topics: true,
        ..Workload::script(key, seed(), "", &poison([1].into_iter(), "unroutable"))
    };
    stage.define(&workload);

    let looked = typed(&stage, &["dry-run", key, "--records", "12"]);

    assert_eq!(looked.status.code(), Some(1), "one fails: {}", out(&looked));
    assert!(out(&looked).contains("✗ unroutable_record") && out(&looked).contains(&dead_topic(key)));
    assert!(
        out(&looked).contains("\n12 "),
        "the plugin is pipelined, so a second batch is seen: {}",
        out(&looked)
    );
    assert!(stage.site.state(key).unwrap().is_none(), "nothing was saved");
    for topic in workload.topics().iter().chain([&dead_topic(key)]) {
        assert_eq!(stage.admin.partitions(topic).unwrap(), None, "{topic} was made");
    }

    let daemon = stage.start();
    stage.wait_position(key, 10);
    let refused = typed(&stage, &["dry-run", key]);
    assert_eq!(refused.status.code(), Some(3), "{}", out(&refused));
    assert!(out(&refused).contains(&format!("pico-connectors stop {key}")), "{}", out(&refused));
    daemon.command(key, "stop").unwrap();
    daemon.wait_status(key, "stopped", WITHIN).unwrap();
    let position = stage.position(key);
    let looked = typed(&stage, &["dry-run", key, "--records", "2", "--json"]);
    assert_eq!((looked.status.code(), stage.position(key)), (Some(0), position), "{}", out(&looked));
}

#[test]
fn a_replay_that_is_killed_loses_no_letter_and_repeats_at_most_its_last_piece() {
    const LETTERS: u64 = 1_200;
    /// Letters between two places that are kept, as docs/errors.md says.
    const PIECE: usize = 500;
    let key = "letters-killed";
    let stage = Stage::new(key);
    let workload = Workload {
        max_count: Some(LETTERS),
        batch_min: 100,
        batch_max: 100,
        sections: errors(key),
        ..Workload::script(key, seed(), "", &poison(0..LETTERS, "unroutable"))
    };
    stage.define(&workload);
    let mut daemon = stage.start();
    stage.wait_position(key, LETTERS);
    daemon.terminate();
    assert_eq!(daemon.wait_exit(WITHIN).unwrap().code(), Some(0));
    let rest = format!("{key}-{}-rest", seed());
    let mended =
        workload.definition().replace("{value}\" }", &format!("{{value}}\", fallback = \"{rest}\" }}"));
    stage.site.define(key, &mended).unwrap();
    let replay = |failpoints: &str| {
        let mut command = Command::new(binaries::engine().unwrap());
        command.arg("--config").arg(stage.site.config()).args(["dead-letters", "replay", key, "--yes"]);
        command.env("FAILPOINTS", failpoints).output().unwrap()
    };

    // Within its first piece, then between the delivery of a second piece and its place.
    for (point, repeats_max) in
        [("half_enqueued=return", PIECE), ("replay_delivered=1*off->return", 2 * PIECE)]
    {
        let killed = replay(point);
        assert_eq!(killed.status.signal(), Some(SIGKILL), "{point}: {}", out(&killed));
        assert_repeats(&stage.sequences(&rest), repeats_max);
    }
    let before = stage.sequences(&rest).len();
    assert!(before >= 2 * PIECE, "two pieces were delivered before the second kill, not {before}");
    let last = replay("");
    assert_eq!(last.status.code(), Some(0), "{}", out(&last));

    let sent = stage.sequences(&rest);
    assert!(out(&last).contains("700 of 700 letters"), "the first piece alone is done: {}", out(&last));
    let distinct: BTreeSet<u64> = sent.iter().copied().collect();
    assert_eq!(distinct, (0..LETTERS).collect(), "every letter");
    assert_repeats(&sent, 2 * PIECE);
    let again = replay("");
    assert!(out(&again).contains("no dead letter waits"), "{}", out(&again));
    assert_eq!(stage.sequences(&rest).len(), sent.len());
}

/// The first copies are in order, and there are at most so many others.
fn assert_repeats(sent: &[u64], repeats_max: usize) {
    let (mut seen, mut next) = (BTreeSet::new(), 0);
    for sequence in sent {
        if seen.insert(*sequence) {
            assert_eq!(*sequence, next, "a letter overtook another");
            next += 1;
        }
    }
    let repeats = sent.len() - seen.len();
    assert!(repeats <= repeats_max, "{repeats} repeats, at most {repeats_max}");
}

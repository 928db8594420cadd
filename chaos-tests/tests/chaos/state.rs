//! The state folder is full, read-only, or fails once; state files that are not whole, or not ours.
//!
//! The folders are a small tmpfs in a mount namespace of the engine's own, so no story needs root.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chaos_tests::admin::Admin;
use chaos_tests::campaign::{Campaign, seed, wait_records};
use chaos_tests::consumer::LogReader;
use chaos_tests::daemon::Daemon;
use chaos_tests::kafka::Kafka;
use chaos_tests::launch::Launch;
use chaos_tests::ledger::Report;
use chaos_tests::site::{Site, scratch};
use chaos_tests::statefile::StateFile;
use chaos_tests::wait::pause;
use chaos_tests::workload::Workload;

use crate::stage::{WITHIN, nacks};

const STATE_KIB: u32 = 64;
const PAGE: usize = 4096;
/// A store that failed is probed at the ceiling of the backoff.
const PROBED_OFTEN: &str = "[supervision]\nbackoff_max = \"500ms\"\n";
/// Long enough that a source which still polled would have sent something.
const STILL: Duration = Duration::from_secs(2);

fn campaign(name: &str, window: u64) -> Campaign {
    let kafka = Kafka::shared();
    let workload = Workload { window, sections: PROBED_OFTEN.to_owned(), ..Workload::new(name, seed()) };
    Campaign::new(name, workload, &kafka.bootstrap(), &kafka.bootstrap(), "").unwrap()
}

/// From the fault on: an error that a person can read, nothing polled, nothing saved.
fn assert_refused(campaign: &mut Campaign, daemon: &Daemon) {
    let key = campaign.workload.key.clone();
    let view = daemon.wait_status(&key, "error", WITHIN).unwrap();
    let message = view.last_error.expect("an error says why").message;
    assert!(message.contains(&format!("{key}.")) && message.contains("state"), "{message}");
    campaign.observe().unwrap();
    let (position, records) = (campaign.position(), campaign.figures().records);
    campaign.run_for(STILL).unwrap();
    campaign.observe().unwrap();
    assert_eq!(campaign.position(), position, "nothing can be saved");
    assert_eq!(campaign.figures().records, records, "nothing is polled until the store takes a write");
}

/// The fault has ended: it runs by itself, then stands still to be judged.
fn recover(mut campaign: Campaign, daemon: &Daemon) -> Report {
    campaign.mended().unwrap();
    campaign.wait_progress(daemon, 5, WITHIN).unwrap();
    let key = campaign.workload.key.clone();
    assert_eq!(daemon.source(&key).unwrap().last_error.map(|error| error.message), None);
    daemon.command(&key, "pause").unwrap();
    daemon.wait_status(&key, "paused", WITHIN).unwrap();
    campaign.judge().unwrap()
}

/// Takes every page that is left, and those that the engine gives back by its renames, until none has come free for
/// a while.
fn fill(folder: &Path) -> PathBuf {
    let path = folder.join("filler");
    let mut filler = fs::File::create(&path).unwrap();
    let mut taken = Instant::now();
    while taken.elapsed() < Duration::from_millis(500) {
        if filler.write_all(&[0; PAGE]).is_ok() {
            taken = Instant::now();
        }
        pause(Duration::from_millis(1));
    }
    path
}

fn full_folder(name: &str, window: u64) -> Report {
    let mut campaign = campaign(name, window);
    let launch = Launch { small_state_kib: Some(STATE_KIB), ..Launch::default() };
    let mut daemon = campaign.start(&launch).unwrap();
    daemon.wait_serving().unwrap();
    campaign.look_inside(&daemon);
    campaign.wait_progress(&daemon, 5, WITHIN).unwrap();

    let filler = fill(&daemon.inside(&campaign.site.state_folder()));
    campaign.broken("the state folder is full", false).unwrap();
    assert_refused(&mut campaign, &daemon);
    fs::remove_file(filler).unwrap();

    recover(campaign, &daemon)
}

#[test]
fn a_full_state_folder_is_an_error_that_ends_when_space_returns_b064() {
    let report = full_folder("state-full-1", 1);
    report.assert_clean();
    assert_eq!(report.figures.duplicates, 0, "what was delivered is saved by the probe");
}

#[test]
fn a_full_state_folder_with_four_batches_in_flight_repeats_at_most_these_b064() {
    full_folder("state-full-4", 4).assert_clean();
}

#[test]
fn a_read_only_state_folder_is_an_error_that_ends_when_it_takes_writes_again() {
    let mut campaign = campaign("state-read-only", 1);
    let launch = Launch { small_state_kib: Some(STATE_KIB), ..Launch::default() };
    let mut daemon = campaign.start(&launch).unwrap();
    daemon.wait_serving().unwrap();
    campaign.look_inside(&daemon);
    campaign.wait_progress(&daemon, 5, WITHIN).unwrap();
    let folder = campaign.site.state_folder();

    daemon.remount(&folder, "ro").unwrap();
    campaign.broken("the state folder is read-only", false).unwrap();
    assert_refused(&mut campaign, &daemon);
    daemon.remount(&folder, "rw").unwrap();

    recover(campaign, &daemon).assert_clean();
}

#[test]
fn a_disk_that_fails_once_is_tried_again_and_nobody_notices() {
    for call in ["fdatasync", "rename,renameat,renameat2", "fsync"] {
        assert!(
            (0..5).any(|attempt| is_unnoticed(call, attempt)),
            "{call}: every attempt hit one save three times"
        );
    }
}

/// strace counts the calls of each thread by itself. Where it hit the three tries of one save, the save failed, as it
/// must: that proves nothing about a disk that fails once, and false is returned.
fn is_unnoticed(call: &str, attempt: u32) -> bool {
    let mut campaign = campaign(&format!("state-once-{}-{attempt}", &call[..5]), 1);
    let daemon = campaign.start(&Launch::inject(call, "error=EIO", 3 + attempt)).unwrap();

    campaign.wait_progress(&daemon, 40, WITHIN).unwrap();

    let nacks = nacks(&daemon, &campaign.workload.key);
    let trace = fs::read_to_string(campaign.site.dir().join("strace.log")).unwrap();
    let hits = trace.matches("INJECTED").count() as u64;
    assert!(hits > 0, "{call} was never made to fail");
    assert!(nacks <= hits / 3, "{nacks} saves failed although only {hits} tries were hit");
    if nacks > 0 {
        return false;
    }
    let report = campaign.drain(daemon, WITHIN).unwrap();
    report.assert_clean();
    assert_eq!(report.figures.duplicates, 0);
    true
}

/// A whole state file of the random source at position 40.
fn whole() -> Vec<u8> {
    let blob = rmp_serde::to_vec_named(&serde_json::json!({"v": 1, "state": {"count": 40}})).unwrap();
    StateFile { life: 9, number: 4, blob }.to_bytes()
}

fn planted() -> Vec<(&'static str, Vec<u8>)> {
    let (mut damaged, mut newer) = (whole(), whole());
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    newer[8] = 2;
    let cut = whole()[..20].to_vec();
    let foreign = b"{\"count\": 40}".to_vec();
    vec![("damaged", damaged), ("empty", Vec::new()), ("newer", newer), ("cut", cut), ("foreign", foreign)]
}

#[test]
fn a_state_file_that_is_not_whole_or_not_ours_is_refused_by_name_and_left_as_it_is() {
    let bootstrap = Kafka::shared().bootstrap();
    let site = Site::new(&scratch().join("state-refused"), &bootstrap, "").unwrap();
    fs::create_dir_all(site.state_folder()).unwrap();
    let define = |key: &str| {
        let workload = Workload::new(key, seed());
        site.define(key, &workload.definition()).unwrap();
        workload
    };
    let good = define("good");
    for (key, bytes) in planted() {
        define(key);
        fs::write(site.state_path(key), bytes).unwrap();
    }

    let mut daemon = site.start(&Launch::default()).unwrap();
    daemon.wait_serving().unwrap();

    let reader = LogReader::new(&bootstrap).unwrap();
    for (key, bytes) in planted() {
        let view = daemon.wait_status(key, "error", WITHIN).unwrap();
        let message = view.last_error.expect("a refusal says why").message;
        assert!(message.contains(&format!("{key}.state")), "{message}");
        assert_eq!(fs::read(site.state_path(key)).unwrap(), bytes, "{key} is left as it was");
        assert_eq!(reader.end(&Workload::new(key, seed()).topic(0)).unwrap(), None, "{key} sent nothing");
    }
    daemon.wait_status(&good.key, "running", WITHIN).unwrap();
    // What the message advises: a good copy, or none.
    fs::write(site.state_path("damaged"), whole()).unwrap();
    fs::remove_file(site.state_path("empty")).unwrap();
    for (key, first) in [("damaged", 40), ("empty", 0)] {
        daemon.command(key, "restart").unwrap();
        daemon.wait_status(key, "running", WITHIN).unwrap();
        let topic = Workload::new(key, seed()).topic(0);
        wait_records(&reader, &topic, 1, WITHIN).unwrap();
        assert_eq!(first_sequence(&bootstrap, &topic), first, "{key}");
    }
    Admin::new(&bootstrap).unwrap().delete(&good.topics()).unwrap();
}

fn first_sequence(bootstrap: &str, topic: &str) -> u64 {
    let mut first = None;
    let mut reader = LogReader::new(bootstrap).unwrap();
    reader
        .read_to_end(&[topic], &mut |entry| {
            let document: serde_json::Value = serde_json::from_slice(&entry.payload.unwrap()).unwrap();
            first = first.or(document["sequence"].as_u64());
        })
        .unwrap();
    first.expect("the topic has a record")
}

//! B064: a process that is killed at any moment leaves a complete old or a complete new checkpoint.
//!
//! A kill does not stage a power loss: the page cache survives it. `order` covers what that needs.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::support::{FOLDER, SAVES, on_disk, pattern, test_alone};

/// Kills, each of a process of its own on the same folder, and saves in all: at least so many of both.
const KILLS_MIN: u32 = 220;
const SAVES_MIN: u64 = 1000;
/// On a disk on which a save takes longer than a child lives the test ends here.
const KILLS_MAX: u32 = 3000;
/// Latest kill after the first word of the child: a save takes from half a millisecond to ten.
const KILL_WITHIN_US: u64 = 40_000;

/// Runs a child that saves, kills it after `wait`, and gives the newest number it was told is saved.
fn killed_after(folder: &Path, wait: Duration) -> Option<u64> {
    let mut child = test_alone("support::a_loop_of_saves_leaves_the_last_one");
    child.env(FOLDER, folder).env(SAVES, "1000").stdout(Stdio::piped());
    let mut child = child.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    assert!(lines.any(|line| line.starts_with("opened ")), "the child did not open the source");
    let killer = std::thread::spawn(move || {
        std::thread::park_timeout(wait);
        child.kill().unwrap();
        child.wait().unwrap();
    });
    let saved = lines.filter_map(|line| line.strip_prefix("saved ")?.parse().ok()).last();
    killer.join().unwrap();
    saved
}

#[test]
fn a_state_file_is_complete_after_every_kill_b064() {
    let folder = tempfile::tempdir().unwrap();
    let seed = std::env::var("SEED").map_or_else(|_| fastrand::u64(..), |text| text.parse().unwrap());
    println!("SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut newest, mut between, mut kills) = (0, 0, 0);

    while kills < KILLS_MIN || newest < SAVES_MIN {
        assert!(kills < KILLS_MAX, "only {newest} saves in {kills} kills: too few to mean anything");
        kills += 1;
        let wait = Duration::from_micros(random.u64(0..KILL_WITHIN_US));
        newest = killed_after(folder.path(), wait).unwrap_or(newest);
        if !folder.path().join("orders.state").exists() {
            assert_eq!(newest, 0, "kill {kills}: a saved state is gone");
            continue;
        }
        let found = on_disk(folder.path());
        assert!(found.number >= newest, "kill {kills}: {} is older than the saved {newest}", found.number);
        assert!(found.number <= newest + 1, "kill {kills}: {} was never asked for", found.number);
        assert_eq!(found.state, pattern(found.number), "kill {kills}: not what was saved under that number");
        between += u32::from(found.number == newest + 1);
        newest = found.number;
    }

    println!("{newest} saves, {kills} kills, {between} between landing and answer");
}

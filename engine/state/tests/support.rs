//! Opening stores, and this test binary as a process of its own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use pico_actors::ports::{SaveFailure, StorePort};
use pico_config::{HttpState, LoadMethod, SaveMethod, SourceKey, StateRetry, StateUrl};
use pico_state::{Checkpoint, FileStore, HttpStore, Lease, Loaded};
use reference_state_server::StateServer;

/// Where a child works; unset when the test runs by itself.
pub(crate) const FOLDER: &str = "PICO_STATE_TEST_FOLDER";
/// How many saves a child makes.
pub(crate) const SAVES: &str = "PICO_STATE_TEST_SAVES";

pub(crate) fn key(text: &str) -> SourceKey {
    text.parse().unwrap()
}

pub(crate) async fn open(folder: &Path) -> (Lease, Loaded) {
    FileStore::open_folder(folder).unwrap().open(&key("orders")).await.unwrap()
}

/// The state file of `orders` as it lies on the disk.
pub(crate) fn on_disk(folder: &Path) -> Checkpoint {
    pico_state::decode(&std::fs::read(folder.join("orders.state")).unwrap()).unwrap()
}

/// Makes every write fail: a folder lies where the temporary file goes. (Permissions do not stop root.)
pub(crate) struct Blocked(PathBuf);

impl Blocked {
    pub(crate) fn new(folder: &Path) -> Blocked {
        let path = folder.join(".orders.tmp");
        std::fs::create_dir(&path).unwrap();
        Blocked(path)
    }

    pub(crate) fn lift(self) {
        std::fs::remove_dir(&self.0).unwrap();
    }
}

pub(crate) fn message(failure: &SaveFailure) -> &str {
    match failure {
        SaveFailure::Failed(cause) | SaveFailure::Fenced(cause) => &cause.message,
    }
}

/// The state a child saves under `number`: its length and bytes tell torn, mixed and stale files.
pub(crate) fn pattern(number: u64) -> Vec<u8> {
    let length = 1 + (number * 977 % 9000) as usize;
    number.to_le_bytes().into_iter().cycle().take(length).collect()
}

/// This test binary, running one test alone.
pub(crate) fn test_alone(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture", "--test-threads", "1"]);
    command
}

/// Saves in a loop: by itself twenty times into a folder of its own, for other tests as the process to be killed.
#[test]
fn a_loop_of_saves_leaves_the_last_one() {
    let own = tempfile::tempdir().unwrap();
    let folder = std::env::var_os(FOLDER).map_or(own.path().to_path_buf(), PathBuf::from);
    let saves: u64 = std::env::var(SAVES).map_or(20, |text| text.parse().unwrap());
    // One writing thread: strace counts the calls of each thread by itself.
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().max_blocking_threads(1).build().unwrap();
    runtime.block_on(save_in_a_loop(&folder, saves));
}

async fn save_in_a_loop(folder: &Path, saves: u64) {
    let (lease, loaded) = open(folder).await;
    say("opened", loaded.number);
    for number in loaded.number + 1..=loaded.number + saves {
        lease.save(number, pattern(number)).await.unwrap();
        say("saved", number);
    }

    assert_eq!(on_disk(folder).number, loaded.number + saves);
}

/// One line a fact, out at once. It begins with a line feed because the test runner leaves its own line open.
fn say(word: &str, number: u64) {
    let mut out = std::io::stdout().lock();
    write!(out, "\n{word} {number}\n").unwrap();
    out.flush().unwrap();
}

/// Settings for the server at `url`: many quick retries, and more time for a request than a busy machine takes.
pub(crate) fn http_settings(url: &str) -> HttpState {
    HttpState {
        url: StateUrl::parse(url).unwrap(),
        load_method: LoadMethod::Get,
        save_method: SaveMethod::Put,
        timeout: Duration::from_secs(20),
        request_headers: Vec::new(),
        retry: StateRetry {
            retries_max: 4,
            initial_backoff: Duration::from_millis(1),
            max_backoff: Duration::from_millis(5),
            backoff_multiplier: 2,
        },
    }
}

pub(crate) fn http_store(server: &StateServer) -> HttpStore {
    HttpStore::new(http_settings(&server.url())).unwrap()
}

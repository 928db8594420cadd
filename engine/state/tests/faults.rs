//! The named points really kill the process, where their names say.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use pico_actors::ports::StorePort;

use crate::support::{FOLDER, on_disk, open, test_alone};

/// Opens on state 1 and saves 2 in a process that dies at `point` the `nth` time it passes it.
fn killed_at(folder: &Path, point: &str, nth: u32) {
    std::fs::write(folder.join("orders.state"), pico_state::encode(1, 1, b"one")).unwrap();
    let actions = format!("{point}={}*off->return", nth - 1);
    let mut child = test_alone("faults::opens_and_saves_once");
    let status = child.env(FOLDER, folder).env("FAILPOINTS", actions).status().unwrap();
    assert_eq!(status.signal(), Some(9), "{point} killed nobody");
}

#[tokio::test]
async fn opens_and_saves_once() {
    let own = tempfile::tempdir().unwrap();
    let folder = std::env::var_os(FOLDER).map_or(own.path().to_path_buf(), Into::into);
    let _scenario = fail::FailScenario::setup();

    let (lease, loaded) = open(&folder).await;
    lease.save(loaded.number + 1, b"two".to_vec()).await.unwrap();

    assert_eq!(on_disk(&folder).state, b"two");
}

#[tokio::test]
async fn each_point_leaves_the_old_or_the_new_state_and_the_source_opens_again() {
    // Each point is passed once by the opening and once by the save, `life_written` by the opening alone.
    let cases = [
        ("life_written", 1, 1),
        ("state_temp_written", 2, 1),
        ("state_temp_synced", 2, 1),
        ("state_renamed", 2, 2),
        ("state_dir_synced", 2, 2),
    ];
    for (point, nth, number) in cases {
        let folder = tempfile::tempdir().unwrap();

        killed_at(folder.path(), point, nth);

        assert_eq!(on_disk(folder.path()).number, number, "{point}");
        let (lease, loaded) = open(folder.path()).await;
        assert_eq!(loaded.number, number, "{point}");
        lease.save(number + 1, b"three".to_vec()).await.unwrap();
    }
}

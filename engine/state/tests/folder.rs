//! The folder, its locks and what lies beside the states.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use pico_actors::ports::{OpenFailure, OpenKind, StorePort};
use pico_state::{Asked, FileStore, StateError};

use crate::support::{FOLDER, SAVES, key, open, test_alone};

fn mode_of(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_missing_folder_is_made_for_its_owner_alone() {
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().join("var/state");

    let (lease, _) = open(&folder).await;
    lease.save(1, b"position".to_vec()).await.unwrap();

    assert_eq!(mode_of(&folder), 0o700);
    assert_eq!(mode_of(&folder.join("orders.state")), 0o600);
    assert_eq!(mode_of(&folder.join("orders.lock")), 0o600);
}

#[tokio::test]
async fn a_folder_open_to_others_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();

    FileStore::open_folder(folder.path()).unwrap();

    assert_eq!(mode_of(folder.path()), 0o700);
}

#[tokio::test]
async fn a_folder_that_everybody_else_may_write_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    std::os::unix::fs::chown(folder.path(), Some(12_345), None).unwrap();

    let refused = FileStore::open_folder(folder.path()).unwrap_err();

    assert!(matches!(refused, StateError::FolderOpen { .. }), "{refused}");
}

#[tokio::test]
async fn a_file_in_the_place_of_the_folder_is_named() {
    let outside = tempfile::tempdir().unwrap();
    let path = outside.path().join("state");
    std::fs::write(&path, b"").unwrap();

    let refused = FileStore::open_folder(&path).unwrap_err();

    assert!(refused.to_string().contains(&path.display().to_string()), "{refused}");
}

/// The second half of the case, keys that cannot be told apart, is refused when definitions are loaded.
#[tokio::test]
async fn keys_that_look_alike_have_files_of_their_own_b067() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::open_folder(folder.path()).unwrap();
    let keys =
        ["Orders", "orders", "orders.state", "orders.lock", "orders.asked", "orders.tmp", "a_b", "a.b"];

    let mut leases = Vec::new();
    for (at, name) in keys.iter().enumerate() {
        let (lease, loaded) = store.open(&key(name)).await.unwrap();
        assert_eq!(loaded.state, None, "{name}");
        lease.save(1, vec![at as u8]).await.unwrap();
        store.set_asked(&key(name), [Asked::Paused, Asked::Stopped][at % 2]).await.unwrap();
        leases.push(lease);
    }

    for (at, name) in keys.iter().enumerate() {
        let (_lease, loaded) = store.open(&key(name)).await.unwrap();
        assert_eq!(loaded.state, Some(vec![at as u8]), "{name}");
        assert_eq!(store.asked(&key(name)).await.unwrap(), [Asked::Paused, Asked::Stopped][at % 2], "{name}");
    }
}

#[tokio::test]
async fn two_processes_cannot_run_one_source_b067() {
    let folder = tempfile::tempdir().unwrap();
    let mut other = test_alone("support::a_loop_of_saves_leaves_the_last_one");
    other.env(FOLDER, folder.path()).env(SAVES, u32::MAX.to_string()).stdout(Stdio::piped());
    let mut other = other.spawn().unwrap();
    let mut lines = BufReader::new(other.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "saved 1"));

    let store = FileStore::open_folder(folder.path()).unwrap();
    let refused = OpenFailure::from(store.open(&key("orders")).await.unwrap_err());
    other.kill().unwrap();
    other.wait().unwrap();
    let (_lease, loaded) = store.open(&key("orders")).await.unwrap();

    assert_eq!(refused.kind, OpenKind::Passing);
    assert!(refused.cause.message.contains("another engine runs this source"), "{}", refused.cause.message);
    assert!(refused.cause.message.contains("orders.lock"), "{}", refused.cause.message);
    assert!(loaded.number >= 1);
}

#[tokio::test]
async fn leftovers_of_a_killed_process_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(".orders.tmp"), b"half").unwrap();
    std::fs::write(folder.path().join(".orders.asked"), b"half").unwrap();
    std::fs::write(folder.path().join(".others.tmp"), b"half").unwrap();

    let _lease = open(folder.path()).await;

    assert!(!folder.path().join(".orders.tmp").exists());
    assert!(!folder.path().join(".orders.asked").exists());
    assert!(folder.path().join(".others.tmp").exists(), "another source may be writing it");
}

#[tokio::test]
async fn nothing_asked_means_running() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::open_folder(folder.path()).unwrap();

    assert_eq!(store.asked(&key("orders")).await.unwrap(), Asked::Running);
}

#[tokio::test]
async fn what_was_asked_last_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::open_folder(folder.path()).unwrap();

    for asked in [Asked::Paused, Asked::Stopped, Asked::Running] {
        store.set_asked(&key("orders"), asked).await.unwrap();
        let reopened = FileStore::open_folder(folder.path()).unwrap();
        assert_eq!(reopened.asked(&key("orders")).await.unwrap(), asked);
    }
    assert_eq!(mode_of(&folder.path().join("orders.asked")), 0o600);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_while_the_source_opens_and_saves_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::open_folder(folder.path()).unwrap();
    let opening = store.clone();
    let openings = tokio::spawn(async move {
        for number in 1..60 {
            let (lease, _) = opening.open(&key("orders")).await.unwrap();
            lease.save(number, b"state".to_vec()).await.unwrap();
        }
    });

    for round in 0..60 {
        let asked = [Asked::Paused, Asked::Running][round % 2];
        store.set_asked(&key("orders"), asked).await.unwrap();
        assert_eq!(store.asked(&key("orders")).await.unwrap(), asked);
    }

    openings.await.unwrap();
}

#[tokio::test]
async fn another_word_in_the_asked_file_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("orders.asked"), b"halted\n").unwrap();
    let store = FileStore::open_folder(folder.path()).unwrap();

    let refused = store.asked(&key("orders")).await.unwrap_err();

    assert!(refused.to_string().contains("orders.asked"), "{refused}");
}

#[tokio::test]
async fn a_borrowed_source_is_run_by_nobody_and_nothing_of_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::open_folder(folder.path()).unwrap();
    let (lease, _) = store.open(&key("orders")).await.unwrap();
    lease.save(1, b"position".to_vec()).await.unwrap();
    assert!(matches!(store.borrow(&key("orders")).await.unwrap_err(), StateError::InUse));
    lease.release().await;
    let before = std::fs::read(folder.path().join("orders.state")).unwrap();

    let (borrowed, saved) = store.borrow(&key("orders")).await.unwrap();

    assert_eq!(saved.state.as_deref(), Some(&b"position"[..]));
    let other = FileStore::open_folder(folder.path()).unwrap();
    assert!(matches!(other.open(&key("orders")).await.unwrap_err(), StateError::Locked { .. }));
    assert_eq!(std::fs::read(folder.path().join("orders.state")).unwrap(), before);
    drop(borrowed);
    assert!(other.open(&key("orders")).await.is_ok());
}

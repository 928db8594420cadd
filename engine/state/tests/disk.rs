//! A disk that is full or read-only, for real: a small tmpfs in a mount namespace of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use pico_actors::ports::{OpenFailure, OpenKind, StorePort};
use pico_state::FileStore;

use crate::support::{FOLDER, key, message, on_disk, open};

/// Runs the test `name` again with a 64 KiB tmpfs as its folder; `None` when this is that run.
fn in_namespace(name: &str) -> Option<()> {
    if std::env::var_os(FOLDER).is_some() {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = r#"mount -t tmpfs -o size=64k none "$0" && exec "$@""#;
    let mut command = Command::new("unshare");
    command.args(["-Urm", "sh", "-c", script]).arg(folder.path()).arg(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture"]).env(FOLDER, folder.path());
    let output = command.output().expect("unshare is installed");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("1 passed"), "the test did not run: {text}");
    Some(())
}

fn folder() -> PathBuf {
    PathBuf::from(std::env::var_os(FOLDER).unwrap())
}

fn remount(folder: &Path, how: &str) {
    let status = Command::new("mount").args(["-o", &format!("remount,{how}")]).arg(folder).status().unwrap();
    assert!(status.success());
}

#[tokio::test]
async fn a_full_disk_fails_the_save_and_takes_it_when_there_is_room_again_b064() {
    if in_namespace("disk::a_full_disk_fails_the_save_and_takes_it_when_there_is_room_again_b064").is_some() {
        return;
    }
    let folder = folder();
    let (lease, _) = open(&folder).await;
    lease.save(1, vec![1; 10_000]).await.unwrap();
    std::fs::write(folder.join("ballast"), vec![0; 40_000]).unwrap();

    let failed = lease.save(2, vec![2; 30_000]).await.unwrap_err();
    let kept = on_disk(&folder);
    lease.probe().await.unwrap_err();
    std::fs::remove_file(folder.join("ballast")).unwrap();
    lease.probe().await.unwrap();

    assert!(message(&failed).contains("No space left"), "{failed:?}");
    assert_eq!((kept.number, kept.state), (1, vec![1; 10_000]));
    assert_eq!(on_disk(&folder).state, vec![2; 30_000]);
    assert!(!folder.join(".orders.tmp").exists());
}

#[tokio::test]
async fn a_disk_turned_read_only_fails_saves_and_openings_until_it_is_writable() {
    if in_namespace("disk::a_disk_turned_read_only_fails_saves_and_openings_until_it_is_writable").is_some() {
        return;
    }
    let folder = folder();
    let store = FileStore::open_folder(&folder).unwrap();
    let (lease, _) = store.open(&key("orders")).await.unwrap();
    lease.save(1, b"one".to_vec()).await.unwrap();

    remount(&folder, "ro");
    let failed = lease.save(2, b"two".to_vec()).await.unwrap_err();
    lease.release().await;
    let refused = OpenFailure::from(store.open(&key("orders")).await.unwrap_err());
    remount(&folder, "rw");
    let (_lease, loaded) = store.open(&key("orders")).await.unwrap();

    assert!(message(&failed).contains("Read-only"), "{failed:?}");
    assert_eq!(refused.kind, OpenKind::Passing);
    assert_eq!((loaded.number, loaded.state.as_deref()), (1, Some(&b"one"[..])));
}

//! The order of system calls that makes a save survive a power loss, read off the calls themselves.
//!
//! strace shows the calls and makes single ones fail; the store under it is the real one.

use std::path::Path;

use crate::support::{FOLDER, SAVES, test_alone};

const TRACED: &str = "trace=openat,write,fdatasync,fsync,rename,renameat,renameat2";

/// Runs `saves` saves under strace and gives the calls that concern the state, in words. `inject` is a fault in
/// strace's words.
fn calls_of(folder: &Path, saves: u32, inject: Option<&str>) -> Vec<String> {
    let log = tempfile::NamedTempFile::new().unwrap();
    let saver = test_alone("support::a_loop_of_saves_leaves_the_last_one");
    let mut strace = std::process::Command::new("strace");
    strace.args(["-f", "-y", "-s", "0", "-e", TRACED, "-o"]).arg(log.path());
    for path in [folder.to_path_buf(), folder.join(".orders.tmp")] {
        strace.arg("-P").arg(path);
    }
    strace.args(inject.map(|fault| format!("--inject={fault}")));
    strace.arg(saver.get_program()).args(saver.get_args());
    strace.env(FOLDER, folder).env(SAVES, saves.to_string());
    let output = strace.output().expect("strace is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = std::fs::read_to_string(log.path()).unwrap();
    lines.lines().filter_map(|line| in_words(line, folder)).collect()
}

/// `fdatasync(9</state/.orders.tmp>)` as `fdatasync .orders.tmp`; `None` for calls on other files.
fn in_words(line: &str, folder: &Path) -> Option<String> {
    let folder = folder.display().to_string();
    let (_thread, call) = line.split_once(' ')?;
    let (name, arguments) = call.trim_start().split_once('(')?;
    let is_temporary = arguments.contains(".orders.tmp");
    match name {
        _ if arguments.contains("INJECTED") => Some(format!("{name} fails")),
        "openat" if is_temporary => Some("create temporary".into()),
        "write" if is_temporary => Some("write temporary".into()),
        "fdatasync" | "fsync" if is_temporary => Some("sync temporary".into()),
        "rename" | "renameat" | "renameat2" if is_temporary => Some("rename".into()),
        "fsync" if arguments.contains(&format!("<{folder}>")) => Some("sync folder".into()),
        _ => None,
    }
}

const ONE_SAVE: [&str; 5] =
    ["create temporary", "write temporary", "sync temporary", "rename", "sync folder"];

#[test]
fn a_save_syncs_the_file_renames_it_and_syncs_the_folder() {
    let folder = tempfile::tempdir().unwrap();

    let calls = calls_of(&folder.path().canonicalize().unwrap(), 2, None);

    assert_eq!(calls, [ONE_SAVE, ONE_SAVE].concat());
}

#[test]
fn an_opening_makes_durable_what_it_loaded_in_the_same_order() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("orders.state"), pico_state::encode(1, 1, b"one")).unwrap();

    let calls = calls_of(&folder.path().canonicalize().unwrap(), 0, None);

    assert_eq!(calls, ONE_SAVE);
}

/// A sync that failed may have thrown the dirty pages away: a second one on the same file would succeed and mean
/// nothing.
#[test]
fn a_failed_sync_is_followed_by_a_whole_new_file() {
    let folder = tempfile::tempdir().unwrap();

    let fault = Some("fdatasync:error=EIO:when=1");
    let calls = calls_of(&folder.path().canonicalize().unwrap(), 1, fault);

    let failed = ["create temporary", "write temporary", "fdatasync fails"];
    assert_eq!(calls, [&failed[..], &ONE_SAVE[..]].concat());
}

#[test]
fn a_failed_sync_of_the_folder_is_followed_by_a_whole_new_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();

    // The parent's sync, when the store is opened, is not of this path and so not counted.
    let calls = calls_of(&folder, 1, Some("fsync:error=EIO:when=1"));

    let failed = ["create temporary", "write temporary", "sync temporary", "rename", "fsync fails"];
    assert_eq!(calls, [&failed[..], &ONE_SAVE[..]].concat());
}

#[test]
fn a_failed_rename_is_followed_by_a_whole_new_file() {
    let folder = tempfile::tempdir().unwrap();

    let fault = Some("renameat,renameat2:error=EIO:when=1");
    let calls = calls_of(&folder.path().canonicalize().unwrap(), 1, fault);

    let failed = ["create temporary", "write temporary", "sync temporary"];
    assert_eq!(calls[..3], failed);
    assert!(calls[3].ends_with("fails"), "{calls:?}");
    assert_eq!(calls[4..], ONE_SAVE);
}

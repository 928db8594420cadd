//! Saves, probes and who may make them.

use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use pico_actors::ports::{OpenFailure, OpenKind, SaveFailure, StorePort};
use pico_state::{FileStore, STATE_BYTES_MAX};

use crate::support::{Blocked, key, message, on_disk, open};

#[tokio::test]
async fn what_was_saved_is_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let (lease, _) = open(folder.path()).await;
    lease.save(1, b"one".to_vec()).await.unwrap();
    lease.save(5, b"five".to_vec()).await.unwrap();
    lease.release().await;

    let (_lease, loaded) = open(folder.path()).await;

    assert_eq!((loaded.number, loaded.state.as_deref()), (5, Some(&b"five"[..])));
}

#[tokio::test]
async fn an_empty_state_is_a_state() {
    let folder = tempfile::tempdir().unwrap();
    let (lease, _) = open(folder.path()).await;
    lease.save(1, Vec::new()).await.unwrap();
    lease.release().await;

    let (_lease, loaded) = open(folder.path()).await;

    assert_eq!(loaded.state, Some(Vec::new()));
}

/// Trap 4: what was read may be a rename whose folder was never synced.
#[tokio::test]
async fn an_opening_writes_what_it_loaded_under_its_own_life() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("orders.state"), pico_state::encode(77, 3, b"three")).unwrap();

    let (lease, loaded) = open(folder.path()).await;

    let written = on_disk(folder.path());
    assert_ne!(written.life, 77);
    assert_eq!((written.life, loaded.life), (lease.life(), lease.life()));
    assert_eq!((written.number, written.state.as_slice()), (3, &b"three"[..]));
}

#[tokio::test]
async fn an_opening_that_cannot_write_what_it_loaded_fails_for_a_passing_reason() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("orders.state"), pico_state::encode(77, 3, b"three")).unwrap();
    let blocked = Blocked::new(folder.path());
    let store = FileStore::open_folder(folder.path()).unwrap();

    let refused = OpenFailure::from(store.open(&key("orders")).await.unwrap_err());
    blocked.lift();
    let (_lease, loaded) = store.open(&key("orders")).await.unwrap();

    assert_eq!(refused.kind, OpenKind::Passing);
    assert_eq!(loaded.number, 3);
}

#[tokio::test]
async fn a_number_that_does_not_rise_is_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let (lease, _) = open(folder.path()).await;
    lease.save(2, b"two".to_vec()).await.unwrap();

    for number in [0, 1, 2] {
        let refused = lease.save(number, b"other".to_vec()).await.unwrap_err();
        assert!(message(&refused).contains("does not rise above 2"), "{refused:?}");
    }

    assert_eq!(on_disk(folder.path()).state, b"two");
}

#[tokio::test]
async fn a_state_beyond_the_limit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (lease, _) = open(folder.path()).await;

    let refused = lease.save(1, vec![0; STATE_BYTES_MAX + 1]).await.unwrap_err();

    assert!(message(&refused).contains("67108865"), "{refused:?}");
}

#[tokio::test]
async fn a_fault_that_passes_within_a_second_is_not_seen() {
    let folder = tempfile::tempdir().unwrap();
    let (lease, _) = open(folder.path()).await;
    let blocked = Blocked::new(folder.path());

    let lifted = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        blocked.lift();
    };
    let (saved, ()) = tokio::join!(lease.save(1, b"one".to_vec()), lifted);

    saved.unwrap();
    assert_eq!(on_disk(folder.path()).state, b"one");
}

#[tokio::test]
async fn a_fault_that_stays_fails_the_save_within_a_second_and_leaves_the_old_state() {
    let folder = tempfile::tempdir().unwrap();
    let (lease, _) = open(folder.path()).await;
    lease.save(1, b"one".to_vec()).await.unwrap();
    let _blocked = Blocked::new(folder.path());

    let started = Instant::now();
    let failed = lease.save(2, b"two".to_vec()).await.unwrap_err();

    assert!(started.elapsed() >= Duration::from_millis(500), "it was tried more than once");
    assert!(started.elapsed() < Duration::from_secs(2));
    assert!(matches!(failed, SaveFailure::Failed(_)));
    assert!(message(&failed).contains(".orders.tmp"), "{failed:?}");
    assert_eq!(on_disk(folder.path()).state, b"one");
}

/// Trap 5: the probe writes the newer state, and it writes it for good.
#[tokio::test]
async fn a_probe_lands_the_failed_save_under_the_next_number() {
    let folder = tempfile::tempdir().unwrap();
    let (lease, _) = open(folder.path()).await;
    lease.save(1, b"one".to_vec()).await.unwrap();
    let blocked = Blocked::new(folder.path());
    lease.save(2, b"two".to_vec()).await.unwrap_err();
    lease.probe().await.unwrap_err();
    blocked.lift();

    lease.probe().await.unwrap();

    let written = on_disk(folder.path());
    assert_eq!((written.number, written.state.as_slice()), (4, &b"two"[..]));
    lease.save(4, b"late".to_vec()).await.unwrap_err();
    lease.release().await;
    let (_lease, loaded) = open(folder.path()).await;
    assert_eq!((loaded.number, loaded.state.as_deref()), (4, Some(&b"two"[..])));
}

#[tokio::test]
async fn a_probe_without_a_failed_save_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (lease, _) = open(folder.path()).await;
    lease.save(1, b"one".to_vec()).await.unwrap();

    lease.probe().await.unwrap_err();

    assert_eq!(on_disk(folder.path()).number, 1);
}

#[tokio::test]
async fn nothing_is_saved_after_release() {
    let folder = tempfile::tempdir().unwrap();
    let (lease, _) = open(folder.path()).await;
    lease.save(1, b"one".to_vec()).await.unwrap();
    lease.release().await;

    let fenced = lease.save(2, b"two".to_vec()).await.unwrap_err();

    assert!(matches!(fenced, SaveFailure::Fenced(_)));
    assert_eq!(on_disk(folder.path()).state, b"one");
}

#[tokio::test]
async fn a_former_opening_saves_nothing_once_a_later_one_owns_the_source() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::open_folder(folder.path()).unwrap();
    let (former, _) = store.open(&key("orders")).await.unwrap();
    former.save(1, b"one".to_vec()).await.unwrap();
    let (later, _) = store.open(&key("orders")).await.unwrap();

    let fenced = former.save(2, b"former".to_vec()).await.unwrap_err();
    former.release().await;
    later.save(2, b"later".to_vec()).await.unwrap();

    assert!(matches!(fenced, SaveFailure::Fenced(_)));
    assert_eq!(on_disk(folder.path()).state, b"later");
}

/// Trap 8: the caller died while its write ran on a blocking thread. The next opening sees that write.
#[tokio::test]
async fn an_opening_waits_for_the_write_of_a_caller_that_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::open_folder(folder.path()).unwrap();
    let (lease, _) = store.open(&key("orders")).await.unwrap();
    let mut saving = lease.save(1, vec![7; STATE_BYTES_MAX]);

    let is_pending = saving.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending();
    drop(saving);
    drop(lease);
    let (_later, loaded) = store.open(&key("orders")).await.unwrap();

    assert!(is_pending);
    assert_eq!(loaded.number, 1);
}

#[tokio::test]
async fn release_waits_for_a_write_under_way() {
    let folder = tempfile::tempdir().unwrap();
    let (lease, _) = open(folder.path()).await;
    let mut saving = lease.save(1, vec![7; STATE_BYTES_MAX]);
    let is_pending = saving.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending();
    drop(saving);

    lease.release().await;

    assert!(is_pending);
    assert_eq!(on_disk(folder.path()).number, 1);
}

#[tokio::test]
async fn a_dropped_lease_gives_the_source_back() {
    let folder = tempfile::tempdir().unwrap();
    for number in 1..100 {
        let (lease, _) = open(folder.path()).await;
        lease.save(number, b"state".to_vec()).await.unwrap();
        drop(lease);
    }

    assert_eq!(on_disk(folder.path()).number, 99);
}

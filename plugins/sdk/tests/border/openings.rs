//! Openings that somebody does not want any more, and a library whose loading never ends.

use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use picomq_connector_sdk::ffi::host::{Library, LoadError, OpenError, OpenRequest};
use tokio::sync::oneshot;

use crate::support::{example, library, own_copy, own_library, request};

/// A request whose own timeout helps nobody.
fn patient(config: &str) -> OpenRequest {
    OpenRequest { open_timeout: Duration::from_secs(3_600), ..request(config) }
}

#[tokio::test]
async fn an_opening_that_is_called_off_ends_long_before_its_timeout_b125() {
    let opening = library("scripted").open_until(patient(r#"{"open": "wait"}"#), std::future::ready(()));

    let error = opening.await.unwrap_err();

    assert!(matches!(&error, OpenError::Transient(text) if text.contains("called off")), "{error:?}");
}

#[tokio::test]
async fn a_blocked_opening_hangs_five_seconds_after_it_was_called_off_b125() {
    let (wanted, unwanted) = oneshot::channel::<()>();
    let blocks = patient(r#"{"open": "block"}"#);
    let opening = own_library("scripted").open_until(blocks, async { drop(unwanted.await) });
    // Real time passes until the call is under way; then this side's clock jumps.
    tokio::time::sleep(Duration::from_millis(100)).await;
    tokio::time::pause();
    let began = tokio::time::Instant::now();

    drop(wanted);

    assert!(matches!(opening.await, Err(OpenError::Hung(_))));
    assert!(began.elapsed() <= Duration::from_secs(6), "{:?}", began.elapsed());
}

#[tokio::test]
async fn what_is_wanted_opens_as_ever() {
    let source = library("scripted").open_until(patient("{}"), std::future::pending()).await.unwrap();
    assert_eq!(source.poll().await.unwrap().len(), 1);
}

/// A library that hangs in the call that should describe it.
fn hanging() -> PathBuf {
    let path = own_copy("broken_hangs").with_file_name("libhangs.so");
    if !path.exists() {
        std::fs::copy(example("broken_hangs"), &path).expect("the example was built with this test");
    }
    path
}

#[test]
fn a_library_that_hangs_while_it_is_loaded_holds_up_nobody_b125() {
    let hanging = hanging();
    let (sender, refused) = mpsc::channel();
    for within in [Duration::from_secs(1), Duration::from_millis(1), Duration::ZERO] {
        let (sender, hanging) = (sender.clone(), hanging.clone());
        std::thread::spawn(move || sender.send(Library::load_within(&hanging, within).map(drop)));
    }
    for _ in 0..3 {
        let error = refused.recv_timeout(Duration::from_secs(60)).unwrap().unwrap_err();
        assert!(matches!(&error, LoadError::Hung { path, .. } if *path == hanging), "{error:?}");
        assert!(error.to_string().contains("restart the engine"), "{error}");
    }

    let (sender, loaded) = mpsc::channel();
    std::thread::spawn(move || sender.send(Library::load(&own_copy("scripted")).is_ok()));

    assert_eq!(loaded.recv_timeout(Duration::from_secs(60)), Ok(true));
    // One thread is lost, however often it was tried.
    let names = std::fs::read_dir("/proc/self/task").unwrap();
    let names = names.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok());
    assert_eq!(names.filter(|name| name.trim() == "libhangs").count(), 1);
}

#[test]
fn everybody_who_waits_for_a_library_is_told_why_it_is_refused() {
    let path = own_copy("broken_abi");
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let path = path.clone();
            std::thread::spawn(move || Library::load(&path).map(drop))
        })
        .collect();
    for thread in threads {
        let error = thread.join().unwrap().unwrap_err();
        assert!(matches!(error, LoadError::Abi { .. }), "{error:?}");
    }
}

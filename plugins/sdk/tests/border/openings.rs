//! Openings that somebody does not want any more, and a library whose loading never ends.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use picomq_connector_sdk::ffi::host::{Library, OpenError, OpenRequest};
use tokio::sync::oneshot;

use crate::support::{library, own_copy, own_library, request};

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

#[test]
fn a_library_that_hangs_while_it_is_loaded_holds_up_no_other_b125() {
    let hanging = own_copy("broken_hangs");
    let name = hanging.file_name().unwrap().to_str().unwrap().to_owned();
    std::thread::Builder::new().name("hangs".to_owned()).spawn(move || Library::load(&hanging)).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !std::fs::read_to_string("/proc/self/maps").unwrap().contains(&name) {
        assert!(Instant::now() < deadline, "{name} was never mapped");
        std::thread::yield_now();
    }

    let (sender, loaded) = mpsc::channel();
    std::thread::spawn(move || sender.send(Library::load(&own_copy("scripted")).is_ok()));

    assert_eq!(loaded.recv_timeout(Duration::from_secs(60)), Ok(true));
}

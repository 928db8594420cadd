//! The HTTP store when answers are late, lost or wrong, and when its caller goes away.

use std::time::Duration;

use pico_actors::ports::{SaveFailure, StorePort};
use pico_config::{HttpState, StateRetry};
use pico_state::HttpStore;
use reference_state_server::{Fault, StateServer};

use crate::support::{http_settings, http_store, key, message};

/// Nothing here waits so long by right.
const PATIENCE: Duration = Duration::from_secs(60);

fn saves(server: &StateServer) -> Vec<String> {
    let text = |state: &[u8]| String::from_utf8_lossy(state).into_owned();
    server.history("orders").iter().map(|entry| text(&entry.state)).collect()
}

fn assert_well_behaved(server: &StateServer) {
    assert!(server.faults_of_clients().is_empty(), "{:?}", server.faults_of_clients());
}

/// Settings under which a request that is never answered is given up soon.
fn impatient(server: &StateServer) -> HttpStore {
    let settings = http_settings(&server.url());
    HttpStore::new(HttpState { timeout: Duration::from_millis(300), ..settings }).unwrap()
}

async fn until_held(server: &StateServer, count: usize) {
    let held = async {
        while server.held() < count {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, held).await.expect("the request arrives");
}

#[tokio::test]
async fn whatever_happens_to_an_answer_the_same_request_settles_it_once() {
    let status = |status, applies| Fault::Status { status, applies, retry_after: None };
    for faults in [
        vec![status(503, false)],
        vec![status(503, true)],
        vec![status(409, false), status(409, true)],
        vec![status(408, false)],
        vec![status(202, true)],
        vec![status(429, false), status(425, false)],
        vec![Fault::Cut { applies: true }],
        vec![Fault::Cut { applies: false }, Fault::Cut { applies: true }, status(500, false)],
    ] {
        let server = StateServer::start().unwrap();
        let (lease, _) = http_store(&server).open(&key("orders")).await.unwrap();
        lease.save(1, b"one".to_vec()).await.unwrap();
        server.plan(faults.clone());

        lease.save(2, b"two".to_vec()).await.unwrap_or_else(|failure| panic!("{faults:?}: {failure:?}"));
        lease.save(3, b"three".to_vec()).await.unwrap_or_else(|failure| panic!("{faults:?}: {failure:?}"));

        assert_eq!(saves(&server), ["one", "two", "three"], "{faults:?}");
        assert_well_behaved(&server);
    }
}

#[tokio::test]
async fn a_late_answer_is_asked_for_again() {
    let server = StateServer::start().unwrap();
    let (lease, _) = impatient(&server).open(&key("orders")).await.unwrap();
    server.plan([Fault::Late(PATIENCE)]);
    lease.save(1, b"one".to_vec()).await.unwrap();
    lease.save(2, b"two".to_vec()).await.unwrap();
    assert_eq!(saves(&server), ["one", "two"]);
}

#[tokio::test]
async fn max_attempts_counts_retries_and_a_wish_for_an_hour_is_cut() {
    for (retries_max, attempts) in [(4, 5), (0, 1)] {
        let server = StateServer::start().unwrap();
        let settings = http_settings(&server.url());
        let retry = StateRetry { retries_max, ..settings.retry };
        let store = HttpStore::new(HttpState { retry, ..settings }).unwrap();
        let (lease, _) = store.open(&key("orders")).await.unwrap();
        let before = server.requests();
        server.plan(vec![Fault::Status { status: 503, applies: false, retry_after: Some(3600) }; 10]);

        let saving = tokio::time::timeout(PATIENCE, lease.save(1, b"one".to_vec()));
        let failure = saving.await.expect("it does not wait an hour").unwrap_err();

        assert_eq!(server.requests() - before, attempts);
        assert!(message(&failure).contains("it answered 503"), "{failure:?}");
    }
}

#[tokio::test]
async fn after_a_failed_save_the_probe_is_the_very_same_request() {
    let server = StateServer::start().unwrap();
    let (lease, _) = http_store(&server).open(&key("orders")).await.unwrap();
    lease.save(1, b"one".to_vec()).await.unwrap();
    server.plan(vec![Fault::Status { status: 503, applies: true, retry_after: None }]);
    server.plan(vec![Fault::status(503); 9]);

    assert!(matches!(lease.save(2, b"two".to_vec()).await, Err(SaveFailure::Failed(_))));
    assert!(matches!(lease.probe().await, Err(SaveFailure::Failed(_))));
    server.plan_nothing();
    lease.probe().await.unwrap();

    assert_eq!(saves(&server), ["one", "two"], "it landed once, with its first attempt");
    assert_well_behaved(&server);
    assert!(matches!(lease.probe().await, Err(SaveFailure::Failed(_))), "there is nothing to probe with");
}

#[tokio::test]
async fn what_the_server_will_never_take_is_not_tried_again_by_itself() {
    let server = StateServer::start().unwrap();
    let (lease, _) = http_store(&server).open(&key("orders")).await.unwrap();
    let before = server.requests();
    server.plan([Fault::status(413)]);
    let failure = lease.save(1, b"one".to_vec()).await.unwrap_err();
    assert!(message(&failure).contains("too large"), "{failure:?}");
    assert_eq!(server.requests() - before, 1);
    lease.probe().await.unwrap();
    assert_eq!(saves(&server), ["one"]);
}

/// The tree of the source died while its PUT was under way: the lease owns it.
#[tokio::test]
async fn an_opening_waits_for_the_put_of_a_dead_tree_and_loads_what_it_saved() {
    let server = StateServer::start().unwrap();
    let store = http_store(&server);
    let (lease, _) = store.open(&key("orders")).await.unwrap();
    server.plan([Fault::Held]);
    let saving = tokio::spawn(lease.save(1, b"one".to_vec()));
    until_held(&server, 1).await;
    saving.abort();
    drop(lease);

    let opening = {
        let store = store.clone();
        tokio::spawn(async move { store.open(&key("orders")).await })
    };
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!opening.is_finished(), "it waits for what may still land");
    server.release();
    let (present, loaded) = opening.await.unwrap().unwrap();

    assert_eq!(loaded.state.as_deref(), Some(&b"one"[..]));
    present.save(1, b"two".to_vec()).await.unwrap();
    assert_eq!(saves(&server), ["one", "two"]);
    assert_well_behaved(&server);
}

/// Its attempts are used up and nobody knows whether one of them lands: the next opening asks until it is known.
#[tokio::test]
async fn an_opening_repeats_what_was_left_in_doubt_before_it_loads() {
    let server = StateServer::start().unwrap();
    let store = impatient(&server);
    let (lease, _) = store.open(&key("orders")).await.unwrap();
    lease.save(1, b"one".to_vec()).await.unwrap();
    server.plan(vec![Fault::Held; 5]);
    assert!(matches!(lease.save(2, b"two".to_vec()).await, Err(SaveFailure::Failed(_))));
    lease.release().await;
    assert_eq!(saves(&server), ["one"]);
    server.plan(vec![Fault::status(503); 5]);
    store.open(&key("orders")).await.expect_err("nothing is loaded while it may still land");

    let (present, loaded) = store.open(&key("orders")).await.unwrap();
    assert_eq!(loaded.state.as_deref(), Some(&b"two"[..]));
    present.save(1, b"three".to_vec()).await.unwrap();
    server.release();
    tokio::time::timeout(PATIENCE, async {
        while server.held() > 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await
    .expect("the late copies arrive");

    assert_eq!(saves(&server), ["one", "two", "three"], "no late copy of `two` lands behind `three`");
    assert_well_behaved(&server);
}

/// Of a killed process: nobody knows of it, and the first save finds out.
#[tokio::test]
async fn a_put_of_a_killed_process_that_lands_late_makes_the_first_save_a_refusal() {
    let server = StateServer::start().unwrap();
    let (killed, _) = http_store(&server).open(&key("orders")).await.unwrap();
    killed.save(1, b"one".to_vec()).await.unwrap();
    server.plan([Fault::Held]);
    let saving = tokio::spawn(killed.save(2, b"two".to_vec()));
    until_held(&server, 1).await;
    let (present, loaded) = http_store(&server).open(&key("orders")).await.unwrap();
    assert_eq!(loaded.state.as_deref(), Some(&b"one"[..]));

    server.release();
    saving.await.unwrap().unwrap();
    let refused = present.save(1, b"other two".to_vec()).await;

    assert!(matches!(refused, Err(SaveFailure::Fenced(_))), "{refused:?}");
    assert_eq!(saves(&server), ["one", "two"], "nothing of it is overwritten");
}

#[tokio::test]
async fn giving_back_does_not_wait_for_a_server_that_is_silent() {
    let server = StateServer::start().unwrap();
    let (lease, _) = http_store(&server).open(&key("orders")).await.unwrap();
    server.plan([Fault::Held]);
    let saving = tokio::spawn(lease.save(1, b"one".to_vec()));
    until_held(&server, 1).await;
    tokio::time::timeout(PATIENCE, lease.release()).await.expect("a stop ends");
    server.release();
    saving.await.unwrap().unwrap();
    let late = tokio::time::timeout(PATIENCE, async {
        while !matches!(lease.save(2, b"two".to_vec()).await, Err(SaveFailure::Fenced(_))) {}
    });
    late.await.expect("it is given back once the request ended");
}

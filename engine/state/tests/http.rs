//! The HTTP store against a server that keeps its contract: what is sent, and who may save.

use std::time::Duration;

use pico_actors::ports::{OpenFailure, OpenKind, SaveFailure, StorePort};
use pico_config::{HttpState, LoadMethod, SaveMethod, Secret};
use pico_state::{HttpStore, STATE_BYTES_MAX};
use reference_state_server::{Fault, StateServer, Tags};

use crate::support::{http_settings, http_store, key, message};

fn is_fenced(outcome: &Result<(), SaveFailure>) -> bool {
    matches!(outcome, Err(SaveFailure::Fenced(_)))
}

#[tokio::test]
async fn what_was_saved_is_loaded_under_no_number() {
    let server = StateServer::start().unwrap();
    let (lease, first) = http_store(&server).open(&key("orders")).await.unwrap();
    assert_eq!((first.number, first.state), (0, None));
    lease.save(1, b"one".to_vec()).await.unwrap();
    lease.save(5, b"five".to_vec()).await.unwrap();
    lease.release().await;

    let (_lease, loaded) = http_store(&server).open(&key("orders")).await.unwrap();

    assert_eq!((loaded.number, loaded.state.as_deref()), (0, Some(&b"five"[..])));
    assert_ne!(loaded.life, first.life);
    assert!(server.faults_of_clients().is_empty(), "{:?}", server.faults_of_clients());
}

#[tokio::test]
async fn every_save_says_what_it_rests_on_and_has_a_key_of_its_own() {
    let server = StateServer::start().unwrap();
    let (lease, _) = http_store(&server).open(&key("orders")).await.unwrap();
    lease.save(1, b"one".to_vec()).await.unwrap();
    lease.save(2, b"two".to_vec()).await.unwrap();

    let heads = server.heads();
    let header = |head: &str, name: &str| -> Option<String> {
        let (_, rest) = head.split_once(&format!("\"{name}\": \""))?;
        Some(rest.split("\", ").next().unwrap().trim_end_matches("\"}").to_owned())
    };
    assert!(heads[0].starts_with("GET /checkpoints/source_orders\n"), "{}", heads[0]);
    assert_eq!(header(&heads[0], "accept-encoding").as_deref(), Some("identity"));
    assert!(heads[1].starts_with("PUT /checkpoints/source_orders\n"), "{}", heads[1]);
    assert_eq!(header(&heads[1], "if-none-match").as_deref(), Some("*"));
    assert_eq!(header(&heads[1], "content-type").as_deref(), Some("application/octet-stream"));
    assert_eq!(header(&heads[2], "if-match").as_deref(), Some("\\\"1\\\""), "{}", heads[2]);
    assert_ne!(header(&heads[1], "idempotency-key"), header(&heads[2], "idempotency-key"));
}

#[tokio::test]
async fn methods_headers_and_query_are_those_of_the_configuration() {
    let server = StateServer::start().unwrap();
    let settings = HttpState {
        load_method: LoadMethod::Post,
        save_method: SaveMethod::Patch,
        request_headers: vec![("x-tenant".to_owned(), Secret::new("a".to_owned()))],
        ..http_settings(&format!("{}/?sig=1", server.url()))
    };
    let (lease, _) = HttpStore::new(settings).unwrap().open(&key("orders")).await.unwrap();
    lease.save(1, b"one".to_vec()).await.unwrap();

    let heads = server.heads();
    assert!(heads[0].starts_with("POST /checkpoints/source_orders?sig=1\n"), "{}", heads[0]);
    assert!(heads[1].starts_with("PATCH /checkpoints/source_orders?sig=1\n"), "{}", heads[1]);
    assert!(heads.iter().all(|head| head.contains("\"x-tenant\": ")), "{heads:?}");
    assert_eq!(server.saved("orders").unwrap().state, "one");
}

#[tokio::test]
async fn an_empty_body_is_a_state() {
    let server = StateServer::start().unwrap();
    server.put("orders", "");
    let (lease, loaded) = http_store(&server).open(&key("orders")).await.unwrap();
    assert_eq!(loaded.state, Some(Vec::new()));
    lease.save(1, Vec::new()).await.unwrap();
}

#[tokio::test]
async fn of_two_engines_the_one_that_saves_second_is_fenced_and_saves_nothing_any_more() {
    let server = StateServer::start().unwrap();
    let (first, _) = http_store(&server).open(&key("orders")).await.unwrap();
    first.save(1, b"first".to_vec()).await.unwrap();
    let (second, loaded) = http_store(&server).open(&key("orders")).await.unwrap();
    assert_eq!(loaded.state.as_deref(), Some(&b"first"[..]));
    second.save(1, b"second".to_vec()).await.unwrap();

    let refused = first.save(2, b"late".to_vec()).await;
    let requests = server.requests();
    let again = [first.save(3, b"later".to_vec()).await, first.probe().await];

    assert!(is_fenced(&refused), "{refused:?}");
    assert!(message(&refused.unwrap_err()).contains("stop the other engine"));
    assert!(again.iter().all(is_fenced), "{again:?}");
    assert_eq!(server.requests(), requests, "nothing is sent by a fenced lease");
    assert_eq!(server.saved("orders").unwrap().state, "second");
}

#[tokio::test]
async fn a_state_that_was_removed_behind_our_back_fences_us() {
    let server = StateServer::start().unwrap();
    let (lease, _) = http_store(&server).open(&key("orders")).await.unwrap();
    lease.save(1, b"one".to_vec()).await.unwrap();
    server.remove("orders");
    assert!(is_fenced(&lease.save(2, b"two".to_vec()).await));
}

#[tokio::test]
async fn without_strong_tags_the_condition_says_so_and_goes_when_they_come() {
    let server = StateServer::start().unwrap();
    server.put("orders", "old");
    for tags in [Tags::Weak, Tags::Missing] {
        server.give_tags(tags);
        let (lease, _) = http_store(&server).open(&key("orders")).await.unwrap();
        assert_eq!(lease.conditions(), ["unfenced"], "{tags:?}");
        lease.save(1, b"one".to_vec()).await.unwrap();
        assert_eq!(lease.conditions(), ["unfenced"], "{tags:?}");
        server.give_tags(Tags::Strong);
        lease.save(2, b"two".to_vec()).await.unwrap();
        assert!(lease.conditions().is_empty());
        server.put("orders", "somebody else's");
        assert!(is_fenced(&lease.save(3, b"three".to_vec()).await));
    }
}

#[tokio::test]
async fn a_later_opening_of_this_process_takes_the_source_over() {
    let server = StateServer::start().unwrap();
    let store = http_store(&server);
    let (former, _) = store.open(&key("orders")).await.unwrap();
    let (present, _) = store.open(&key("orders")).await.unwrap();
    assert!(is_fenced(&former.save(1, b"former".to_vec()).await));
    former.release().await;
    present.save(1, b"present".to_vec()).await.unwrap();
    present.release().await;
    assert!(is_fenced(&present.save(2, b"after".to_vec()).await), "nothing is saved after the release");
    assert_eq!(server.saved("orders").unwrap().state, "present");
}

async fn kind_of_opening(server: &StateServer) -> (OpenKind, String) {
    let failure = OpenFailure::from(http_store(server).open(&key("orders")).await.unwrap_err());
    (failure.kind, failure.cause.message)
}

#[tokio::test]
async fn what_stands_in_the_way_of_an_opening_is_told_by_what_helps() {
    let server = StateServer::start().unwrap();
    server.put("orders", "one");
    server.plan_loads([Fault::status(401)]);
    let (kind, text) = kind_of_opening(&server).await;
    assert_eq!(kind, OpenKind::Permanent);
    assert!(text.contains("request_headers"), "{text}");
    server.plan_loads([Fault::status(308)]);
    let (kind, text) = kind_of_opening(&server).await;
    assert_eq!(kind, OpenKind::Passing);
    assert!(text.contains("redirects are not followed"), "{text}");
    server.claim_encoding("gzip");
    assert_eq!(kind_of_opening(&server).await.0, OpenKind::State);
    server.put("orders", vec![0; STATE_BYTES_MAX + 1]);
    server.claim_encoding("identity");
    assert_eq!(kind_of_opening(&server).await.0, OpenKind::State);
}

#[tokio::test]
async fn a_server_that_is_down_is_a_passing_reason() {
    let server = StateServer::start().unwrap();
    let store = http_store(&server);
    server.down();
    let failure = OpenFailure::from(store.open(&key("orders")).await.unwrap_err());
    assert_eq!(failure.kind, OpenKind::Passing);
    server.up().unwrap();
    store.open(&key("orders")).await.unwrap();
}

#[tokio::test]
async fn a_state_that_is_too_large_is_not_sent() {
    let server = StateServer::start().unwrap();
    let (lease, _) = http_store(&server).open(&key("orders")).await.unwrap();
    let requests = server.requests();
    let refused = lease.save(1, vec![0; STATE_BYTES_MAX + 1]).await.unwrap_err();
    assert!(message(&refused).contains("larger than"));
    assert_eq!(server.requests(), requests);
}

#[tokio::test]
async fn a_person_replaces_and_removes_only_what_nobody_holds() {
    let server = StateServer::start().unwrap();
    let store = http_store(&server);
    let (lease, _) = store.open(&key("orders")).await.unwrap();
    lease.save(1, b"one".to_vec()).await.unwrap();
    let refused = store.replace(&key("orders"), Some(b"two".to_vec())).await.unwrap_err();
    assert_eq!(refused.code(), "state.in_use");
    lease.release().await;

    store.replace(&key("orders"), Some(b"two".to_vec())).await.unwrap();
    assert_eq!(store.read(&key("orders")).await.unwrap().as_deref(), Some(&b"two"[..]));
    store.replace(&key("orders"), None).await.unwrap();
    assert_eq!(store.read(&key("orders")).await.unwrap(), None);
    store.replace(&key("orders"), None).await.unwrap();
    let (lease, loaded) = store.open(&key("orders")).await.unwrap();
    assert_eq!(loaded.state, None);
    lease.save(1, b"afresh".to_vec()).await.unwrap();
}

/// B066: the parts of a URL that may hold a secret, and a header's value, in every message there can be.
#[tokio::test]
async fn no_message_shows_more_of_a_url_than_its_origin_b066() {
    let server = StateServer::start().unwrap();
    let url = format!("{}/hunter2/?token=hunter2", server.url());
    let settings = HttpState {
        request_headers: vec![("authorization".to_owned(), Secret::new("Bearer hunter2".to_owned()))],
        timeout: Duration::from_millis(200),
        ..http_settings(&url)
    };
    let store = HttpStore::new(settings).unwrap();
    let (lease, _) = store.open(&key("orders")).await.unwrap();
    let mut shown = vec![format!("{store:?} {lease:?}")];
    for fault in [
        Fault::status(400),
        Fault::status(401),
        Fault::status(307),
        Fault::Cut { applies: false },
        Fault::Late(Duration::from_secs(5)),
    ] {
        server.plan(vec![fault.clone(); 5]);
        let failure = lease.save(shown.len() as u64, b"x".to_vec()).await.err().or(lease.probe().await.err());
        shown.push(format!("{fault:?} {failure:?}"));
        server.plan_nothing();
        lease.probe().await.ok();
    }
    for fault in [Fault::status(401), Fault::status(418), Fault::Cut { applies: false }] {
        server.plan_loads(vec![fault; 5]);
        let error = store.open(&key("other")).await.unwrap_err();
        shown.push(format!("{error:?} {error} {:?}", error.cause()));
    }
    server.down();
    let error = store.open(&key("other")).await.unwrap_err();
    assert!(error.to_string().contains("http://127.0.0.1:"), "the origin helps: {error}");
    shown.push(format!("{error:?} {error} {:?}", error.cause()));
    for text in shown {
        assert!(!text.contains("hunter2"), "{text}");
    }
}

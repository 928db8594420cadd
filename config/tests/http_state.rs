//! `[state] storage = "http"` and its server.

use std::time::Duration;

use pico_config::{Env, HttpState, LoadMethod, SaveMethod, StateConfig, StateRetry};

use crate::given::{engine, engine_with, refused_engine};

fn state(text: &str) -> HttpState {
    match engine(text).unwrap_or_else(|findings| panic!("{findings:#?}")).0.state {
        StateConfig::Http(http) => *http,
        StateConfig::File { path } => panic!("a folder: {}", path.display()),
    }
}

#[test]
fn a_url_is_enough_and_the_rest_are_the_defaults_of_the_existing_runtimes() {
    let state = state("[state]\nstorage = \"http\"\nhttp = { url = \"https://state.example/c?sig=1\" }");
    assert_eq!(state.url.origin(), "https://state.example");
    assert_eq!((state.load_method, state.save_method), (LoadMethod::Get, SaveMethod::Put));
    assert_eq!(state.timeout, Duration::from_secs(5));
    assert_eq!(state.retry, StateRetry::default());
    assert_eq!((state.retry.retries_max, state.retry.backoff_multiplier), (4, 2));
    assert!(state.request_headers.is_empty());
}

#[test]
fn every_key_is_read() {
    let text = r#"
        [state]
        storage = "http"
        [state.http]
        url = "http://localhost:9/s"
        load_method = "post"
        save_method = "patch"
        timeout = "1s"
        request_headers = { "X-Tenant" = "a", authorization = "Bearer hunter2" }
        [state.http.retry]
        max_attempts = 7
        initial_backoff = "1ms"
        max_backoff = "3s"
        backoff_multiplier = 3
    "#;
    let state = state(text);
    assert_eq!((state.load_method, state.save_method), (LoadMethod::Post, SaveMethod::Patch));
    assert_eq!(state.timeout, Duration::from_secs(1));
    let headers: Vec<_> =
        state.request_headers.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
    assert_eq!(headers, [("x-tenant", "a"), ("authorization", "Bearer hunter2")]);
    let retry = StateRetry {
        retries_max: 7,
        initial_backoff: Duration::from_millis(1),
        max_backoff: Duration::from_secs(3),
        backoff_multiplier: 3,
    };
    assert_eq!(state.retry, retry);
    assert!(!format!("{state:?}").contains("hunter2"));
}

#[test]
fn retries_switched_off_mean_a_single_attempt() {
    let text = "[state]\nstorage = \"http\"\n[state.http]\nurl = \"http://h\"\nretry = { enabled = false, max_attempts = 9 }";
    assert_eq!(state(text).retry.retries_max, 0);
}

#[test]
fn the_environment_can_hold_all_of_it() {
    let env = Env::from_pairs([
        ("PICOMQ_CONNECTORS_STATE__STORAGE", "http"),
        ("PICOMQ_CONNECTORS_STATE__HTTP__URL", "http://localhost:1/"),
        ("PICOMQ_CONNECTORS_STATE__HTTP__RETRY__MAX_ATTEMPTS", "0"),
    ]);
    let (engine, _) = engine_with("", &env).unwrap();
    assert!(matches!(engine.state, StateConfig::Http(http) if http.retry.retries_max == 0));
}

#[test]
fn what_cannot_work_is_refused_with_what_would_be_right() {
    let text = r#"[state]
storage = "http"
[state.http]
url = "http://me:hunter2@h/"
request_headers = { "If-Match" = "x", "Idempotency-Key" = "x", "a b" = "x", ok = "line\nbreak" }
retry = { initial_backoff = "3s", max_backoff = "1s" }
"#;
    insta::assert_snapshot!(refused_engine(text), @r#"
    config.bad_url 4:7 state.http.url: `url` holds a user; send credentials as a header in request_headers
    config.bad_header 5:21 state.http.request_headers.If-Match: `if-match` is set by the engine itself; take it out
    config.bad_header 5:39 state.http.request_headers.Idempotency-Key: `idempotency-key` is set by the engine itself; take it out
    config.bad_header 5:64 state.http.request_headers."a b": "a b" is no name of a header
    config.bad_header 5:77 state.http.request_headers.ok: the value of `ok` holds a character that no header may hold
    config.out_of_range 6:29 state.http.retry.initial_backoff: `initial_backoff` is longer than `max_backoff`
    "#);
}

#[test]
fn a_server_without_a_url_is_refused_where_it_is_missing() {
    for text in ["[state]\nstorage = \"http\"", "[state]\nstorage = \"http\"\nhttp = { timeout = \"1s\" }"] {
        let findings = engine(text).unwrap_err();
        assert_eq!(findings.iter().map(|finding| finding.code).collect::<Vec<_>>(), ["config.missing_field"]);
        assert!(findings[0].hint.as_ref().unwrap().contains("[state.http] url ="), "{findings:?}");
    }
}

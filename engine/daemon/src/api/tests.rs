//! The routes over a real engine with ports in memory.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{Request, Response};
use pico_actors::handle::{BadSource, Engine, EngineSettings, Entry, SourceSpec};
use pico_actors::ports::Cause;
use pico_actors::testing::{CountingPlugin, FakeAsked, FakeDelivery};
use pico_config::{Definition, Env};
use pico_state::AnyStore;
use serde_json::Value;
use tower::ServiceExt as _;

use super::*;
use crate::events::Events;
use crate::plugins::Catalog;
use crate::process::{Meter, Started};

mod keys;
mod listening;
mod state;

const DEFINITION: &str = r#"
type = "source"
key = "good"
path = "libcounting"
[[topics]]
topic = "numbers"
schema = "text"
"#;

fn definition() -> Definition {
    let engine = pico_config::Engine::defaults(std::path::Path::new("/tmp"));
    let checked = pico_config::check_definition("good.toml".as_ref(), DEFINITION, &engine, &Env::default());
    checked.0.unwrap_or_else(|| panic!("{:?}", checked.1))
}

fn good() -> Entry {
    Entry::Good(Box::new(SourceSpec {
        definition: Arc::new(definition()),
        plugin: Arc::new(CountingPlugin::new(10, 100)),
        delivery: Arc::new(FakeDelivery::default()),
        asked: Arc::new(FakeAsked::default()),
    }))
}

fn bad() -> Entry {
    let cause = Cause::new("config.bad_duration", "bad.toml:7:1: `5 parsecs` is no duration");
    Entry::Bad(BadSource { key: "bad".to_owned(), path: String::new(), cause })
}

struct Server {
    router: Router,
    readiness: Readiness,
    engine: Engine,
    store: AnyStore,
    _state: tempfile::TempDir,
    events: Events,
}

impl Server {
    async fn new() -> Server {
        Server::with(Http::default()).await
    }

    async fn with(http: Http) -> Server {
        let engine = pico_config::Engine::defaults(std::path::Path::new("/tmp"));
        let engine = pico_config::Engine { http, ..engine };
        let settings = EngineSettings { limits: engine.limits, grace: Duration::from_secs(5) };
        let running = Engine::start(settings, vec![good(), bad()]).await.unwrap();
        let readiness = Readiness::new();
        let folder = tempfile::tempdir().unwrap();
        let state = pico_config::StateConfig::File { path: folder.path().to_owned() };
        let events = Events::new();
        tokio::spawn(events.clone().follow(running.news()));
        let store = AnyStore::of(&state).unwrap();
        let api = Api {
            engine: running.clone(),
            store: store.clone(),
            plugin_folders: engine.plugins.clone(),
            limits: engine.limits,
            readiness: readiness.clone(),
            metrics: None,
            metrics_endpoint: "/metrics".to_owned(),
            started: Started::now(),
            meter: Meter::new(),
            paths: Paths {
                config: None,
                definitions: "/etc/pico/sources".into(),
                state: "/var/lib/pico".into(),
                plugins: vec!["/usr/local/lib".into()],
            },
            plugins: Catalog::new(&engine, &[]),
            reloads: None,
            events: events.clone(),
            streams: Streams::new(),
            warnings: vec!["unsafe".to_owned()],
        };
        let gate = Gate::new(&engine.http, SocketAddr::from((Ipv4Addr::LOCALHOST, 8081))).unwrap();
        let router = router(api, gate, &engine.http);
        Server { router, readiness, engine: running, store, _state: folder, events }
    }

    async fn ask(&self, method: &str, path: &str) -> (u16, String, Value) {
        let request = Request::builder().method(method).uri(path).header("host", "127.0.0.1:8081");
        answer(self.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()).await
    }

    async fn send(&self, request: Request<Body>) -> Response<Body> {
        self.router.clone().oneshot(request).await.unwrap()
    }

    async fn status_of(&self, key: &str, wanted: &str) -> Value {
        let reached = async {
            loop {
                let (_, _, source) = self.ask("GET", &format!("/sources/{key}")).await;
                if source["status"] == wanted {
                    return source;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), reached).await.expect("the source gets there")
    }
}

async fn answer(response: Response<Body>) -> (u16, String, Value) {
    let status = response.status().as_u16();
    let kind = response.headers().get("content-type").map(|kind| kind.to_str().unwrap().to_owned());
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let value = serde_json::from_slice(&body)
        .unwrap_or_else(|_| Value::from(String::from_utf8_lossy(&body).as_ref()));
    (status, kind.unwrap_or_default(), value)
}

#[tokio::test]
async fn a_file_that_is_no_definition_is_listed_in_error_beside_one_that_runs_b126() {
    let server = Server::new().await;
    server.status_of("good", "running").await;

    let (status, _, sources) = server.ask("GET", "/sources").await;

    assert_eq!(status, 200);
    let bad = sources.as_array().unwrap().iter().find(|source| source["key"] == "bad").unwrap();
    assert_eq!(bad["status"], "error");
    assert!(bad["last_error"]["message"].as_str().unwrap().contains("bad.toml:7:1"));
    let good = sources.as_array().unwrap().iter().find(|source| source["key"] == "good").unwrap();
    for field in ["id", "name", "path", "enabled", "plugin_config_format", "since", "conditions", "in_flight"]
    {
        assert!(good.get(field).is_some(), "{field} is missing in {good}");
    }
}

/// The fields that an answer has are those that the document names.
#[tokio::test]
async fn answers_have_the_fields_that_the_document_names() {
    let server = Server::new().await;
    server.status_of("good", "running").await;
    let (_, _, document) = server.ask("GET", "/openapi.json").await;
    let names = |value: &Value| -> Vec<String> {
        let mut names: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        names.sort();
        names
    };
    let schema = |name: &str| names(&document["components"]["schemas"][name]["properties"]);
    let (_, _, sources) = server.ask("GET", "/sources").await;
    assert_eq!(names(&sources[0]), schema("Source"));
    for (path, name) in [("/sources/good", "SourceDetail"), ("/stats", "Stats"), ("/health", "Health")] {
        assert_eq!(names(&server.ask("GET", path).await.2), schema(name), "{path}");
    }
}

#[tokio::test]
async fn one_source_has_its_topics_and_checks_too() {
    let server = Server::new().await;
    let (status, _, source) = server.ask("GET", "/sources/good").await;
    assert_eq!(status, 200);
    assert!(source["topics"][0]["topic"].as_str().unwrap().contains("numbers"));
    assert!(source["checks"].is_array());
}

#[tokio::test]
async fn commands_answer_204_and_act() {
    let server = Server::new().await;
    server.status_of("good", "running").await;
    for (command, leads_to) in
        [("pause", "paused"), ("resume", "running"), ("stop", "stopped"), ("start", "running")]
    {
        let (status, _, body) = server.ask("POST", &format!("/sources/good/{command}")).await;
        assert_eq!((status, body), (204, Value::from("")), "{command}");
        server.status_of("good", leads_to).await;
    }
    assert_eq!(server.ask("POST", "/sources/good/restart").await.0, 204);
    server.status_of("good", "running").await;
}

#[tokio::test]
async fn an_unknown_key_is_404_with_a_problem_that_says_where_the_keys_are() {
    let server = Server::new().await;
    for (method, path) in
        [("GET", "/sources/nobody"), ("POST", "/sources/nobody/restart"), ("POST", "/sources/%FF/stop")]
    {
        let (status, kind, problem) = server.ask(method, path).await;
        assert_eq!((status, kind.as_str()), (404, "application/problem+json"), "{path}");
        assert_eq!(
            (&problem["code"], &problem["status"]),
            (&Value::from("source_not_found"), &Value::from(404))
        );
        assert_eq!(problem["detail"], problem["reason"]);
    }
}

#[tokio::test]
async fn a_source_whose_file_is_bad_cannot_be_commanded_and_says_so() {
    let server = Server::new().await;
    let (status, kind, problem) = server.ask("POST", "/sources/bad/start").await;
    assert_eq!((status, kind.as_str()), (409, "application/problem+json"));
    assert_eq!(problem["code"], "source.not_runnable");
    assert!(problem["hint"].is_string());
}

#[tokio::test]
async fn unknown_paths_and_wrong_methods_are_problems_too() {
    let server = Server::new().await;
    let (status, kind, problem) = server.ask("GET", "/nothing/here").await;
    assert_eq!((status, kind.as_str()), (404, "application/problem+json"));
    assert_eq!(problem["location"], "/nothing/here");
    let (status, kind, problem) = server.ask("GET", "/sources/good/restart").await;
    assert_eq!((status, kind.as_str()), (405, "application/problem+json"));
    assert_eq!(problem["code"], "http.wrong_method");
}

#[tokio::test]
async fn ready_is_503_with_every_reason_until_all_is_there_and_again_while_draining() {
    let server = Server::new().await;
    server.readiness.broker_failed("connection refused".to_owned());
    let (status, _, problem) = server.ask("GET", "/ready").await;
    assert_eq!(status, 503);
    assert_eq!(problem["reasons"].as_array().unwrap().len(), 2);
    assert!(problem["detail"].as_str().unwrap().contains("connection refused"));

    server.readiness.definitions_loaded();
    server.readiness.broker_reached();
    assert_eq!(server.ask("GET", "/ready").await.0, 200);

    server.readiness.draining();
    assert_eq!(server.ask("GET", "/ready").await.0, 503);
    assert_eq!(server.ask("GET", "/health").await.0, 200);
}

#[tokio::test]
async fn health_is_200_with_a_source_in_error() {
    let server = Server::new().await;
    let (status, _, health) = server.ask("GET", "/health").await;
    assert_eq!(status, 200);
    assert!(["healthy", "degraded"].contains(&health["status"].as_str().unwrap()));
}

#[tokio::test]
async fn stats_have_the_known_names_and_absolute_paths() {
    let server = Server::new().await;
    server.status_of("good", "running").await;
    let (status, _, stats) = server.ask("GET", "/stats").await;
    assert_eq!(status, 200);
    for field in [
        "connectors_runtime_version",
        "connectors_runtime_version_semver",
        "process_id",
        "cpu_usage",
        "total_cpu_usage",
        "memory_usage",
        "total_memory",
        "available_memory",
        "run_time",
        "start_time",
        "sources_total",
        "sources_running",
    ] {
        assert!(stats.get(field).is_some_and(|value| !value.is_null()), "{field}");
    }
    assert_eq!(stats["paths"]["state"], "/var/lib/pico");
    assert_eq!(stats["warnings"], serde_json::json!(["unsafe"]));
    let good = stats["connectors"].as_array().unwrap().iter().find(|one| one["key"] == "good").unwrap();
    for field in ["messages_produced", "messages_sent", "messages_filtered", "errors", "connector_type"] {
        assert!(good.get(field).is_some(), "{field}");
    }
}

#[tokio::test]
async fn a_host_that_only_resolves_to_us_is_refused_before_any_handler() {
    let server = Server::new().await;
    let request = Request::post("/sources/good/stop").header("host", "rebound.example:8081");
    let response = server.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let (status, kind, problem) = answer(response).await;
    assert_eq!((status, kind.as_str()), (421, "application/problem+json"));
    assert_eq!(problem["code"], "http.host_refused");
    assert_eq!(server.status_of("good", "running").await["status"], "running");
}

#[tokio::test]
async fn a_large_body_is_refused_though_nobody_would_read_it() {
    let server = Server::new().await;
    let request = Request::post("/sources/good/restart").header("host", "localhost");
    let response =
        server.router.clone().oneshot(request.body(Body::from(vec![0; 100_000])).unwrap()).await.unwrap();
    let (status, _, problem) = answer(response).await;
    assert_eq!((status, problem["code"].as_str().unwrap()), (413, "http.body_too_large"));
}

#[tokio::test]
async fn after_the_end_a_command_says_that_the_daemon_is_shutting_down() {
    let server = Server::new().await;
    assert!(server.engine.shutdown(Duration::from_secs(5)).await);
    let (status, _, problem) = server.ask("POST", "/sources/good/pause").await;
    assert_eq!((status, problem["code"].as_str().unwrap()), (503, "engine.ending"));
}

#[tokio::test]
async fn metrics_cannot_take_the_place_of_another_route() {
    let at = |path: &str| Http { metrics_endpoint: path.to_owned(), ..Http::default() };
    for taken in OWN_PATHS.iter().chain(&["/sources/x", "/sources/x/stop"]) {
        assert!(check_endpoint(&at(taken)).is_err(), "{taken}");
        assert!(check_endpoint(&Http { metrics_enabled: false, ..at(taken) }).is_ok(), "{taken}");
    }
    for free in ["/metrics", "/ops/metrics", "/:metrics", "/healthy"] {
        assert!(check_endpoint(&at(free)).is_ok(), "{free}");
        // What axum cannot route it refuses by a panic.
        drop(Router::<()>::new().without_v07_checks().route(free, get(banner)));
    }
}

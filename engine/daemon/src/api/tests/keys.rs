//! Keys, origins and bodies, over the whole router.

use pico_config::{ApiKey, Cors, Role, Secret};

use super::*;

fn keyed() -> Http {
    let key =
        |name: &str, role| ApiKey { name: name.to_owned(), key: Secret::new(format!("key-of-{name}")), role };
    Http { keys: vec![key("admin", Role::Admin), key("eyes", Role::Read)], ..Http::default() }
}

fn request(method: &str, path: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path).header("host", "localhost:8081");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::empty()).unwrap()
}

#[tokio::test]
async fn every_route_but_health_and_the_banner_wants_a_key_b131() {
    let server = Server::with(keyed()).await;
    for path in ["/ready", "/stats", "/plugins", "/sources", "/sources/good", "/metrics", "/nothing"] {
        let response = server.send(request("GET", path, &[])).await;
        assert!(response.headers().contains_key("www-authenticate"), "{path}");
        let (status, kind, problem) = answer(response).await;
        assert_eq!((status, kind.as_str()), (401, "application/problem+json"), "{path}");
        assert_eq!(problem["code"], "http.no_key");
        assert!(problem["hint"].as_str().unwrap().contains("api-key"));
    }
    for (key, status) in [("key-of-wrong", 401), ("key-of-admin", 200), ("key-of-eyes", 200)] {
        let response = server.send(request("GET", "/sources", &[("api-key", key)])).await;
        assert_eq!(response.status(), status, "{key}");
    }
    for path in ["/", "/health"] {
        assert_eq!(server.send(request("GET", path, &[])).await.status(), 200, "{path}");
    }
}

#[tokio::test]
async fn who_has_no_key_learns_that_something_is_wrong_but_not_what() {
    let server = Server::with(keyed()).await;
    let (_, _, health) = answer(server.send(request("GET", "/health", &[])).await).await;
    assert_eq!((&health["status"], &health["degraded"]), (&"degraded".into(), &serde_json::json!([])));
    let with_key = server.send(request("GET", "/health", &[("api-key", "key-of-eyes")])).await;
    let (_, _, health) = answer(with_key).await;
    assert!(health["degraded"].as_array().is_some_and(|list| !list.is_empty()), "{health}");
}

#[tokio::test]
async fn a_read_key_commands_nothing() {
    let server = Server::with(keyed()).await;
    server.engine.command("good", pico_actors::handle::Command::Pause).await.unwrap();
    for command in ["start", "stop", "pause", "resume", "restart"] {
        let path = format!("/sources/good/{command}");
        let response = server.send(request("POST", &path, &[("api-key", "key-of-eyes")])).await;
        let (status, _, problem) = answer(response).await;
        assert_eq!((status, problem["code"].as_str().unwrap()), (403, "http.read_only_key"), "{command}");
    }
    let admin = request("POST", "/sources/good/pause", &[("authorization", "Bearer key-of-admin")]);
    assert_eq!(server.send(admin).await.status(), 204);
}

#[tokio::test]
async fn a_preflight_from_elsewhere_is_told_nothing_unless_it_was_let_in_b131() {
    let preflight = |origin| {
        let headers = [("origin", origin), ("access-control-request-method", "POST")];
        request("OPTIONS", "/sources/good/stop", &headers)
    };
    let closed = Server::with(keyed()).await.send(preflight("https://example.org")).await;
    assert_eq!(closed.status(), 401);
    assert!(!closed.headers().keys().any(|name| name.as_str().starts_with("access-control")));

    let cors = Cors {
        allowed_origins: vec!["https://example.org".to_owned()],
        allowed_methods: vec!["GET".to_owned(), "POST".to_owned()],
        allowed_headers: vec!["api-key".to_owned()],
        exposed_headers: Vec::new(),
        allow_credentials: false,
        allow_private_network: false,
    };
    let open = Server::with(Http { cors: Some(cors), ..keyed() }).await;
    let told = open.send(preflight("https://example.org")).await;
    assert_eq!(
        (told.status().as_u16(), &told.headers()["access-control-allow-origin"]),
        (200, &"https://example.org".parse().unwrap())
    );
    let told = open.send(preflight("https://evil.example")).await;
    assert!(!told.headers().contains_key("access-control-allow-origin"));
    let sent = [("origin", "https://example.org"), ("api-key", "key-of-admin")];
    assert_eq!(open.send(request("POST", "/sources/good/pause", &sent)).await.status(), 204);
}

#[tokio::test]
async fn a_body_that_a_form_could_send_changes_nothing() {
    let server = Server::new().await;
    for kind in ["text/plain", "application/x-www-form-urlencoded"] {
        let mut sent = request("POST", "/sources/good/stop", &[("content-type", kind)]);
        *sent.body_mut() = Body::from("{}");
        let (status, _, problem) = answer(server.send(sent).await).await;
        assert_eq!((status, problem["code"].as_str().unwrap()), (415, "http.content_type"));
    }
    assert_eq!(server.status_of("good", "running").await["status"], "running");
}

#[tokio::test]
async fn a_key_that_looks_like_a_path_is_a_key_that_no_source_has_b132() {
    let server = Server::new().await;
    let long = "a".repeat(300);
    for key in ["..%2f..%2fx", "a%2fb", "%2e%2e", "con", "a%00b", "%ff", &long] {
        for (method, rest) in [
            ("GET", ""),
            ("POST", "/restart"),
            ("POST", "/start"),
            ("GET", "/state"),
            ("DELETE", "/state"),
            ("GET", "/tail"),
            ("POST", "/commands/x"),
        ] {
            let path = format!("/sources/{key}{rest}");
            let (status, kind, _) = answer(server.send(request(method, &path, &[])).await).await;
            assert_eq!((status, kind.as_str()), (404, "application/problem+json"), "{method} {path}");
        }
    }
    let (status, _, _) = answer(server.send(request("POST", "/sources//restart", &[])).await).await;
    assert_eq!(status, 404, "an empty key");
}

#[tokio::test]
async fn fifty_restarts_at_once_leave_one_source_that_runs_b146() {
    let server = Server::new().await;
    server.status_of("good", "running").await;
    let mut asked = tokio::task::JoinSet::new();
    for number in 0..50 {
        let router = server.router.clone();
        // Among them what must be refused: another method, no such source, a large body.
        let sent = match number % 10 {
            7 => request("PUT", "/sources/good/restart", &[]),
            8 => request("POST", "/sources/nobody/restart", &[]),
            9 => {
                let large = Body::from(vec![b'x'; 1 << 20]);
                let sent = Request::post("/sources/good/restart").header("host", "localhost");
                sent.header("content-type", "application/json").body(large).unwrap()
            }
            _ => request("POST", "/sources/good/restart", &[]),
        };
        asked.spawn(async move { answer(router.oneshot(sent).await.unwrap()).await });
    }
    let mut answers = std::collections::BTreeMap::new();
    while let Some(answered) = asked.join_next().await {
        let (status, kind, body) = answered.unwrap();
        assert!(status == 204 || kind == "application/problem+json" && body["code"].is_string(), "{body}");
        *answers.entry(status).or_insert(0) += 1;
    }
    assert_eq!(answers, [(204, 35), (404, 5), (405, 5), (413, 5)].into());
    // A second live instance would have ended the test: the plugin in memory refuses one.
    server.status_of("good", "running").await;
}

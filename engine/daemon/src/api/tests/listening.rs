//! Streams and commands of plugins, over the whole router.

use http_body_util::BodyExt as _;

use super::*;
use crate::events::Kind;

/// Everything a stream says until it says this.
async fn read_until(response: Response<Body>, end: &str) -> String {
    let mut body = response.into_body();
    let reading = async {
        let mut text = String::new();
        while !text.contains(end) {
            let Some(Ok(frame)) = body.frame().await else { break };
            text.push_str(&String::from_utf8_lossy(&frame.into_data().unwrap_or_default()));
        }
        text
    };
    tokio::time::timeout(Duration::from_secs(10), reading).await.unwrap_or_else(|_| panic!("no {end}"))
}

fn get(path: &str) -> Request<Body> {
    Request::get(path).header("host", "localhost").body(Body::empty()).unwrap()
}

#[tokio::test]
async fn events_tell_changes_of_status_and_go_on_after_the_last_one_seen() {
    let server = Server::new().await;
    server.status_of("good", "running").await;
    let response = server.send(get("/events?kind=status&source=good")).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    server.ask("POST", "/sources/good/pause").await;
    let text = read_until(response, "\"status\":\"paused\"").await;
    assert!(text.contains("event: status") && text.contains("\"before\":\"running\""), "{text}");

    let id = text.lines().rev().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    server.ask("POST", "/sources/good/resume").await;
    server.status_of("good", "running").await;
    let mut again = get("/events?kind=status");
    again.headers_mut().insert("last-event-id", id.parse().unwrap());
    let text = read_until(server.send(again).await, "\"status\":\"running\"").await;
    assert!(!text.contains("\"status\":\"paused\""), "it was seen: {text}");
}

#[tokio::test]
async fn a_reader_that_comes_late_is_told_how_much_it_missed() {
    let server = Server::new().await;
    for _ in 0..1_500 {
        server.events.publish(Kind::Reload, None, serde_json::Map::new());
    }
    let mut late = get("/events");
    late.headers_mut().insert("last-event-id", format!("{:x}-1", server.events.life()).parse().unwrap());
    let text = read_until(server.send(late).await, "event: reload").await;
    assert!(text.starts_with("event: skipped\ndata: {\"events\":"), "{text}");
}

#[tokio::test]
async fn queries_that_make_no_sense_are_refused() {
    let server = Server::new().await;
    for path in [
        "/events?kind=weather",
        "/events?last=many",
        "/events?what=1",
        "/sources/good/tail?stage=later",
        "/sources/good/tail?limit=0",
        "/sources/good/tail?stage=polled&topic=x",
    ] {
        let (status, kind, problem) = server.ask("GET", path).await;
        assert_eq!((status, kind.as_str()), (400, "application/problem+json"), "{path}");
        assert_eq!(problem["code"], "http.bad_query");
    }
    let (status, _, problem) = server.ask("GET", "/sources/bad/tail").await;
    assert_eq!((status, problem["code"].as_str().unwrap()), (409, "source.not_runnable"));
    assert_eq!(server.ask("GET", "/sources/nobody/tail").await.0, 404);
}

#[tokio::test]
async fn tail_shows_records_until_its_limit() {
    let server = Server::new().await;
    server.status_of("good", "running").await;
    server.ask("POST", "/sources/good/stop").await;
    server.status_of("good", "stopped").await;
    let response = server.send(get("/sources/good/tail?limit=3&topic=num*")).await;
    assert_eq!(response.status(), 200);
    // What the former plugin had is sent; this one has more.
    server.engine.apply(vec![endless()], true).await.unwrap();
    server.ask("POST", "/sources/good/start").await;
    let text = read_until(response, "event: end").await;
    assert_eq!(text.matches("event: record").count(), 3, "{text}");
    assert!(text.contains("\"topic\":\"numbers\"") && text.contains("the limit is reached"), "{text}");
}

/// The source `good` over a plugin that has more, in a place of its own.
fn endless() -> Entry {
    let Entry::Good(spec) = good() else { unreachable!("made above") };
    let mut definition = Definition::clone(&spec.definition);
    definition.name = "endless".to_owned();
    Entry::Good(Box::new(SourceSpec {
        definition: Arc::new(definition),
        plugin: Arc::new(CountingPlugin::new(1, 1_000_000)),
        ..*spec
    }))
}

#[tokio::test]
async fn streams_end_when_the_process_drains_and_when_their_source_is_removed() {
    let server = Server::new().await;
    let events = server.send(get("/events")).await;
    let tail = server.send(get("/sources/good/tail?stage=sent")).await;
    server.engine.apply(Vec::new(), true).await.unwrap();
    let text = read_until(tail, "event: end").await;
    assert!(text.contains("the source was removed"), "{text}");
    server.readiness.draining();
    let text = read_until(events, "event: end").await;
    assert!(text.contains("the daemon is shutting down"), "{text}");
}

#[tokio::test]
async fn there_are_only_so_many_streams_and_one_that_ends_makes_room() {
    let server = Server::new().await;
    let mut open = Vec::new();
    loop {
        let response = server.send(get("/events")).await;
        if response.status() != 200 {
            assert_eq!(response.status(), 503);
            break;
        }
        open.push(response);
        assert!(open.len() <= 32);
    }
    open.pop();
    let until_free = async {
        while server.send(get("/events")).await.status() != 200 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), until_free).await.expect("its place is free again");
}

#[tokio::test]
async fn a_command_of_the_plugin_is_json_in_and_json_out() {
    let server = Server::new().await;
    server.status_of("good", "running").await;
    let post = |name: &str, body: &str| {
        Request::post(format!("/sources/good/commands/{name}"))
            .header("host", "localhost")
            .header("content-type", "application/json")
            .body(Body::from(body.to_owned()))
            .unwrap()
    };
    let (status, kind, value) = answer(server.send(post("echo", "{\"a\": [1]}")).await).await;
    assert_eq!((status, kind.as_str(), value), (200, "application/json", serde_json::json!({"a": [1]})));
    for (name, body, status, code) in [
        ("echo", "{", 400, "http.bad_json"),
        ("nothing", "{}", 404, "plugin.unknown_command"),
        ("fail", "{}", 422, "plugin.command_failed"),
    ] {
        let (answered, _, problem) = answer(server.send(post(name, body)).await).await;
        assert_eq!((answered, problem["code"].as_str().unwrap()), (status, code), "{name}");
    }
    let (status, _, _) = server.ask("POST", "/sources/good/commands/echo").await;
    assert_eq!(status, 200, "no body is null");
}

//! `/sources/{key}/state`.

use pico_config::{ApiKey, Role, Secret};

use super::*;

const PATH: &str = "/sources/good/state";

impl Server {
    async fn stopped() -> Server {
        let server = Server::new().await;
        server.status_of("good", "running").await;
        assert_eq!(server.ask("POST", "/sources/good/stop").await.0, 204);
        server.status_of("good", "stopped").await;
        server
    }

    async fn save(&self, state: &[u8]) {
        let key = "good".parse().unwrap();
        self.store.replace(&key, Some(state.to_vec())).await.unwrap();
    }

    async fn put(&self, path: &str, body: &str) -> (u16, String, Value) {
        let request =
            Request::put(path).header("host", "127.0.0.1:8081").header("content-type", "application/json");
        answer(self.send(request.body(Body::from(body.to_owned())).unwrap()).await).await
    }
}

#[tokio::test]
async fn what_is_saved_is_read_while_the_source_runs() {
    let server = Server::new().await;
    server.status_of("good", "running").await;
    let (status, _, document) = server.ask("GET", PATH).await;
    assert_eq!((status, &document["saved"], &document["state"]), (200, &Value::Null, &Value::Null));
    server.save(b"abc").await;
    let (_, _, document) = server.ask("GET", PATH).await;
    assert_eq!((&document["key"], &document["state"]), (&Value::from("good"), &Value::from("YWJj")));
    assert_eq!(
        (&document["saved"]["bytes"], &document["saved"]["number"]),
        (&Value::from(3), &Value::from(1))
    );
}

#[tokio::test]
async fn a_source_that_is_not_stopped_keeps_its_state_and_says_what_to_do() {
    let server = Server::new().await;
    server.status_of("good", "running").await;
    server.save(b"abc").await;
    for (status, kind, problem) in
        [server.ask("DELETE", PATH).await, server.put(PATH, r#"{"state": ""}"#).await]
    {
        assert_eq!((status, kind.as_str()), (409, "application/problem+json"), "{problem}");
        assert_eq!(problem["code"], "state.not_stopped");
        assert!(problem["hint"].as_str().unwrap().contains("POST /sources/good/stop"), "{problem}");
    }
    assert_eq!(server.ask("GET", PATH).await.2["state"], "YWJj");
}

#[tokio::test]
async fn a_reset_says_what_it_means_before_it_is_done() {
    let server = Server::stopped().await;
    server.save(b"abc").await;
    let (status, _, change) = server.ask("DELETE", &format!("{PATH}?dry_run=true")).await;
    assert_eq!((status, &change["now"]["bytes"], &change["then"]), (200, &Value::from(3), &Value::Null));
    assert!(change["means"].as_str().unwrap().contains("sent again"), "{change}");
    assert_eq!(server.ask("GET", PATH).await.2["state"], "YWJj", "nothing was done");

    assert_eq!(server.ask("DELETE", PATH).await.0, 200);
    assert_eq!(server.ask("GET", PATH).await.2["saved"], Value::Null);
    assert_eq!(server.ask("DELETE", PATH).await.0, 200, "once more changes nothing");
}

#[tokio::test]
async fn a_source_that_was_started_meanwhile_has_its_state() {
    let server = Server::stopped().await;
    let (_lease, _) = server.store.open(&"good".parse().unwrap()).await.unwrap();
    let (status, _, problem) = server.ask("DELETE", PATH).await;
    assert_eq!((status, &problem["code"]), (409, &Value::from("state.not_stopped")));
}

#[tokio::test]
async fn what_is_no_state_or_is_not_taken_is_refused() {
    let server = Server::stopped().await;
    for body in ["", "[]", "{}", r#"{"state": "%"}"#] {
        let (status, _, problem) = server.put(PATH, body).await;
        assert_eq!((status, &problem["code"]), (400, &Value::from("state.bad_document")), "{body}");
    }
    // Its library is not there, so nobody can say that it goes on from these bytes.
    let (status, _, problem) = server.put(PATH, r#"{"state": "YWJj"}"#).await;
    assert_eq!((status, &problem["code"]), (422, &Value::from("state.not_taken")));
    assert_eq!(server.ask("GET", PATH).await.2["saved"], Value::Null);
    let (status, _, problem) = server.ask("DELETE", &format!("{PATH}?dry_run=perhaps")).await;
    assert_eq!((status, &problem["code"]), (400, &Value::from("http.bad_query")));
}

#[tokio::test]
async fn keys_of_no_source_reach_no_file_b132() {
    let server = Server::stopped().await;
    for key in ["nobody", "..%2f..%2fx", "a%2fb", "%00", "con", &"x".repeat(300)] {
        for method in ["GET", "DELETE"] {
            let (status, _, problem) = server.ask(method, &format!("/sources/{key}/state")).await;
            assert_eq!((status, &problem["code"]), (404, &Value::from("source_not_found")), "{method} {key}");
        }
    }
    let (status, _, problem) = server.ask("DELETE", "/sources/bad/state").await;
    assert_eq!((status, &problem["code"]), (409, &Value::from("source.not_runnable")));
}

#[tokio::test]
async fn a_key_that_may_read_only_sees_no_bytes_and_changes_nothing() {
    let key = |name: &str, role| ApiKey { name: name.to_owned(), key: Secret::new(name.repeat(20)), role };
    let http = Http { keys: vec![key("a", Role::Admin), key("r", Role::Read)], ..Http::default() };
    let server = Server::with(http).await;
    server.save(b"abc").await;
    let ask = async |method: &str, name: &str| {
        let request = Request::builder().method(method).uri(PATH).header("host", "127.0.0.1:8081");
        let request = request.header("api-key", name.repeat(20)).body(Body::empty()).unwrap();
        answer(server.send(request).await).await
    };
    assert_eq!(ask("GET", "a").await.2["state"], "YWJj");
    let (status, _, document) = ask("GET", "r").await;
    assert_eq!(
        (status, &document["saved"]["bytes"], &document["state"]),
        (200, &Value::from(3), &Value::Null)
    );
    assert_eq!(ask("DELETE", "r").await.0, 403);
}

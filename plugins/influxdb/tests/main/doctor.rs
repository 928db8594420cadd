//! What `doctor` is told, over the border as the engine asks it, and what a running source says where there is nothing.

use std::time::Duration;

use picomq_connector_sdk::conformance;
use picomq_connector_sdk::http::stub::{Reply, Stub};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::support::{next, open, parameter, v1};

const NOTHING: &str = "{\"results\":[{\"statement_id\":0}]}\n";
const ONE: &str = "{\"results\":[{\"statement_id\":0,\"series\":[{\"name\":\"m\",\"columns\":[\"time\",\"v\",\"t\"],\
                   \"values\":[[7,1,\"a\"]]}]}]}\n";

/// Name and status of each look, and the detail of the last.
async fn doctor(settings: Value) -> (Vec<(String, String)>, String) {
    let answer = conformance::doctor(env!("CARGO_PKG_NAME"), &settings, None).await;
    let word = |check: &Value, name: &str| check[name].as_str().unwrap_or_default().to_owned();
    let checks = answer["checks"].as_array().unwrap();
    let detail = word(checks.last().unwrap(), "detail");
    (checks.iter().map(|check| (word(check, "name"), word(check, "status"))).collect(), detail)
}

fn told(looks: &[(&str, &str)]) -> Vec<(String, String)> {
    looks.iter().map(|(name, status)| ((*name).to_owned(), (*status).to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_tells_a_server_that_is_away_from_one_with_points_and_one_without() {
    for (status, body, looks, detail) in [
        (200, ONE, told(&[("server", "ok"), ("points", "ok")]), "there are points to read"),
        (200, NOTHING, told(&[("server", "ok"), ("points", "warning")]), "nothing to read yet"),
        (401, "{\"error\":\"unauthorized\"}", told(&[("server", "error")]), "401"),
    ] {
        // Whoever asks for the earliest times alone, up to none of ours, finds nothing.
        let found = move |query: &str| if query.contains("'20") { body } else { NOTHING };
        let stub = Stub::start(move |asked| Reply::json(status, found(&parameter(&asked.target, "q")))).await;
        let (seen, last) = doctor(v1(&stub.url(), json!({}))).await;
        assert_eq!(seen, looks, "{last}");
        assert!(last.contains(detail), "{last}");
    }
    let (seen, last) = doctor(v1("http://127.0.0.1:1", json!({}))).await;
    assert_eq!(seen, told(&[("server", "error")]), "{last}");
}

#[tokio::test]
async fn a_name_under_which_nothing_is_found_is_told_until_there_is_something() {
    let (has_points, sees) = watch::channel(false);
    let stub = Stub::start(move |_| Reply::json(200, if *sees.borrow() { ONE } else { NOTHING })).await;
    let bench = open(v1(&stub.url(), json!({})), None).await.unwrap();
    let said = || format!("{:?}", bench.reports());
    let polled = tokio::time::timeout(Duration::from_millis(300), bench.poll()).await;
    assert!(polled.is_err(), "there is nothing");
    assert_eq!(said().matches("nothing was found yet").count(), 1, "{}", said());

    has_points.send_replace(true);

    assert_eq!(next(&bench).await.unwrap().0.len(), 1);
    let last = said().rsplit("points").next().unwrap_or_default().to_owned();
    assert!(last.contains("Ok"), "{}", said());
}

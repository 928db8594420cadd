//! Version 3 against a stub written from the public API documents: no server of it can be had where this is built.
//!
//! `POST /api/v3/query_sql` takes `db`, `q` and `format` as JSON and answers JSON lines; times have no zone.

use picomq_connector_sdk::http::stub::{Asked, Reply, Stub};
use picomq_connector_sdk::{Error, Verdict};
use serde_json::{Value, json};

use crate::support::{is_quiet, open, read, with};

/// The rows (nanosecond, host, value) of table `cpu`, asked by SQL with a lower bound and a limit.
fn answer(all: &[(i64, &str, i64)], asked: &Asked) -> Reply {
    let body: Value = serde_json::from_slice(&asked.body).unwrap();
    assert_eq!((body["db"].as_str(), body["format"].as_str()), (Some("sensors"), Some("jsonl")));
    let query = body["q"].as_str().unwrap();
    // Everything here lies in the first second of 1970, or just before it.
    let number = |text: &str| -> i64 {
        if text.starts_with("1969") {
            return -1;
        }
        let fraction = text.trim_end_matches('Z').split_once('.').map_or("", |(_, fraction)| fraction);
        format!("{fraction:0<9}").parse().unwrap()
    };
    let bound = |operator: &str| {
        let after = query.split_once(operator)?.1;
        Some(number(after.split('\'').next()?))
    };
    let is_wanted = |time: i64| {
        bound("time > '").is_none_or(|low| time > low) && bound("time >= '").is_none_or(|low| time >= low)
    };
    let limit = query
        .rsplit_once("LIMIT ")
        .map_or(usize::MAX, |(_, rest)| rest.split(' ').next().unwrap().parse().unwrap());
    let mut rows: Vec<&(i64, &str, i64)> = all.iter().filter(|row| is_wanted(row.0)).collect();
    rows.sort_by_key(|row| row.0);
    let line = |row: &&(i64, &str, i64)| {
        format!("{{\"host\":\"{}\",\"n\":{},\"time\":\"1970-01-01T00:00:00.{:09}\"}}\n", row.1, row.2, row.0)
    };
    Reply::json(200, rows.iter().take(limit).map(line).collect::<String>())
}

fn config(url: &str, keys: Value) -> Value {
    let base = json!({
        "version": "v3", "url": url, "token": "apiv3_x", "db": "sensors", "poll_interval": "1ms", "tags": ["host"],
        "query": "SELECT * FROM cpu WHERE time > '$cursor' ORDER BY time LIMIT $limit OFFSET $offset",
        "batch_size": 10, "max_retries": 1, "max_open_retries": 1,
    });
    with(base, keys)
}

#[tokio::test]
async fn rows_of_sql_come_once_with_every_digit_whatever_the_group_b100_b101() {
    let mut all: Vec<(i64, &str, i64)> = vec![(1, "a", i64::MAX), (2, "a", 2)];
    all.extend((0..35).map(|value| (9, "b", value)));
    all.push((10, "c", 3));
    let rows = all.clone();
    let stub = Stub::start(move |asked| answer(&rows, asked)).await;
    let bench = open(config(&stub.url(), json!({})), None).await.unwrap();
    let read = read(&bench, all.len()).await;
    assert_eq!(
        read[0].payload,
        r#"{"host":"a","n":9223372036854775807,"time":"1970-01-01T00:00:00.000000001"}"#
    );
    assert_eq!(
        (read[0].key.as_deref(), read[0].id.as_str(), read[0].event_time_ns),
        (Some("host=a"), "host=a 1", Some(1))
    );
    let mut values: Vec<i64> = read.iter().map(|record| record.json()["n"].as_i64().unwrap()).collect();
    let mut right: Vec<i64> = all.iter().map(|row| row.2).collect();
    values.sort_unstable();
    right.sort_unstable();
    assert_eq!(values, right);
    assert!(is_quiet(&bench).await);
    let asked = stub.asked();
    assert!(asked.iter().all(|asked| asked.target == "/api/v3/query_sql"));
    assert_eq!(asked[0].header("authorization"), Some("Bearer apiv3_x"));
}

#[tokio::test]
async fn a_measurement_is_read_by_sql_without_a_query() {
    let stub = Stub::start(|asked| answer(&[(1, "a", 1), (2, "b", 2)], asked)).await;
    let keys =
        json!({ "query": null, "measurement": "cpu", "initial_offset": "1970-01-01T00:00:00.000000001Z" });
    let bench = open(config(&stub.url(), keys), None).await.unwrap();
    assert_eq!(read(&bench, 2).await.len(), 2);
    let asked: Value = serde_json::from_slice(&stub.asked().last().unwrap().body).unwrap();
    assert!(asked["q"].as_str().unwrap().starts_with("SELECT * FROM \"cpu\" WHERE time >= '"), "{asked}");
}

#[tokio::test]
async fn a_nacked_batch_comes_again_and_nothing_after_it_is_passed_over() {
    let stub = Stub::start(|asked| {
        let all: Vec<(i64, &str, i64)> = (1..=25).map(|row| (row, "a", row)).collect();
        answer(&all, asked)
    })
    .await;
    let bench = open(config(&stub.url(), json!({})), None).await.unwrap();
    let first = bench.poll().await.unwrap().len();
    bench.poll().await.unwrap();
    bench.resolve(Verdict::Nack).await.unwrap();
    let read = read(&bench, 25).await;
    assert_eq!(first, 9, "the last time of a full page is left for the next");
    assert_eq!(
        read.iter().map(|record| record.json()["n"].as_i64().unwrap()).collect::<Vec<_>>(),
        (1..=25).collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn a_refused_query_is_told_with_the_servers_words() {
    let stub =
        Stub::start(|_| Reply::json(400, "{\"error\":\"Error during planning: table 'cpu' not found\"}"))
            .await;
    let error = open(config(&stub.url(), json!({})), None).await.err().unwrap();
    assert!(
        matches!(&error, Error::Permanent(_)) && error.chain().contains("table 'cpu' not found"),
        "{}",
        error.chain()
    );
    let stub = Stub::start(|_| Reply::json(200, "{\"n\":1}\n")).await;
    let error = open(config(&stub.url(), json!({})), None).await.err().unwrap();
    assert!(error.chain().contains("no column `time`"), "{}", error.chain());
    let stub = Stub::start(|_| Reply::json(200, "")).await;
    let bench = open(config(&stub.url(), json!({})), None).await.unwrap();
    assert!(is_quiet(&bench).await);
}

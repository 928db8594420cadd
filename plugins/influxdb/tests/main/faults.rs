//! Faults that no server shows on demand.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use picomq_connector_sdk::Error;
use picomq_connector_sdk::http::stub::{Reply, Stub};
use serde_json::json;

use crate::support::{is_quiet, next, open, parameter, read, v1, with};

/// One document of rows (time, value) of one series.
fn rows(rows: &[(i64, i64)], partial: &str) -> String {
    let values: Vec<String> = rows.iter().map(|(time, value)| format!("[{time},{value},\"a\"]")).collect();
    format!(
        r#"{{"results":[{{"statement_id":0,"series":[{{"name":"m","columns":["time","v","t"],"values":[{}]{partial}}}]}}]}}"#,
        values.join(",")
    ) + "\n"
}

const NOTHING: &str = "{\"results\":[{\"statement_id\":0}]}\n";

/// The time after which a query asks.
fn low(query: &str) -> i64 {
    let Some((_, after)) = query.split_once("time >= '") else { return i64::MIN };
    let text = after.split('\'').next().unwrap();
    let second: i64 = text[17..19].parse().unwrap();
    let fraction = text.trim_end_matches('Z').split_once('.').map_or("", |(_, fraction)| fraction);
    second * 1_000_000_000 + format!("{fraction:0<9}").parse::<i64>().unwrap()
}

/// Answers the rows from `low` on, as many as `limit` says and `most` allows; with more it says that it cut.
fn answer(all: &[(i64, i64)], query: &str, most: usize) -> String {
    let limit = query.rsplit_once("LIMIT ").map_or(usize::MAX, |(_, limit)| limit.trim().parse().unwrap());
    let wanted: Vec<(i64, i64)> = all.iter().copied().filter(|row| row.0 >= low(query)).take(limit).collect();
    match wanted.len() {
        0 => NOTHING.to_owned(),
        count if count > most => rows(&wanted[..most], ",\"partial\":true"),
        _ => rows(&wanted, ""),
    }
}

#[tokio::test]
async fn twelve_thousand_points_come_through_a_server_that_cuts_at_ten_thousand_rows_b102() {
    let all: Vec<(i64, i64)> = (0..12_000).map(|row| (row / 3 + 1, row)).collect();
    let stub =
        Stub::start(move |asked| Reply::json(200, answer(&all, &parameter(&asked.target, "q"), 1_000))).await;
    let bench = open(v1(&stub.url(), json!({ "batch_size": 10_000 })), None).await.unwrap();
    let read = read(&bench, 12_000).await;
    let mut values: Vec<i64> =
        read.iter().map(|record| record.json()["fields"]["v"].as_i64().unwrap()).collect();
    values.sort_unstable();
    assert_eq!(values, (0..12_000).collect::<Vec<_>>());
    assert!(is_quiet(&bench).await);
}

#[tokio::test]
async fn a_group_that_a_server_always_cuts_is_an_error_with_the_setting_to_change_b102() {
    let all: Vec<(i64, i64)> = (0..300).map(|row| (5, row)).collect();
    let stub =
        Stub::start(move |asked| Reply::json(200, answer(&all, &parameter(&asked.target, "q"), 100))).await;
    let bench = open(v1(&stub.url(), json!({ "batch_size": 200 })), None).await.unwrap();
    let error = next(&bench).await.unwrap_err();
    assert!(
        matches!(&error, Error::Permanent(_)) && error.chain().contains("max-row-limit"),
        "{}",
        error.chain()
    );
}

#[tokio::test]
async fn an_error_inside_a_200_fails_the_poll_and_moves_no_cursor_b103() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let all: Vec<(i64, i64)> = (1..=20).map(|row| (row, row)).collect();
    let stub = Stub::start(move |asked| {
        let good = answer(&all, &parameter(&asked.target, "q"), 1_000);
        // The probe is answered well, the first page ends in an error.
        match count.fetch_add(1, Ordering::SeqCst) {
            1 => Reply::json(
                200,
                good + "{\"results\":[{\"statement_id\":0,\"error\":\"engine: disk on fire\"}]}\n",
            ),
            _ => Reply::json(200, good),
        }
    })
    .await;
    let bench = open(v1(&stub.url(), json!({ "batch_size": 10 })), None).await.unwrap();
    let error = next(&bench).await.unwrap_err();
    assert!(error.is_transient() && error.chain().contains("disk on fire"), "{}", error.chain());
    let read = read(&bench, 20).await;
    assert_eq!(read[0].json()["fields"]["v"], 1);
    assert_eq!(read.len(), 20);
}

#[tokio::test]
async fn a_body_that_breaks_off_gives_no_record_b103() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let all: Vec<(i64, i64)> = (1..=20).map(|row| (row, row)).collect();
    let stub = Stub::start(move |asked| {
        let good = Reply::json(200, answer(&all, &parameter(&asked.target, "q"), 1_000));
        match count.fetch_add(1, Ordering::SeqCst) {
            1 => Reply { cut_at: Some(60), ..good },
            // Cut, and yet a whole answer to HTTP.
            2 => Reply { body: good.body[..100].to_vec(), ..good },
            _ => good,
        }
    })
    .await;
    let bench = open(v1(&stub.url(), json!({ "batch_size": 10 })), None).await.unwrap();
    for _ in 0..2 {
        let error = next(&bench).await.unwrap_err();
        assert!(error.is_transient(), "{}", error.chain());
    }
    assert_eq!(read(&bench, 20).await.len(), 20);
}

#[tokio::test]
async fn flux_rows_before_an_error_table_are_not_delivered_b103() {
    let good = "#datatype,string,long,dateTime:RFC3339,long\r\n,result,table,_time,_value\r\n,,0,1970-01-01T00:00:00.000000001Z,1\r\n";
    let bad = format!("{good}\r\n#datatype,string,string\r\n,error,reference\r\n,Failed to read,897\r\n\r\n");
    let asked = AtomicUsize::new(0);
    let stub = Stub::start(move |_| match asked.fetch_add(1, Ordering::SeqCst) {
        1 => Reply { status: 200, body: bad.clone().into(), ..Reply::default() },
        _ => Reply { status: 200, body: good.into(), ..Reply::default() },
    })
    .await;
    let config = json!({
        "url": stub.url(), "org": "o", "token": "t", "max_retries": 1, "poll_interval": "1ms",
        "query": "from(bucket: \"b\") |> range(start: time(v: \"$cursor\")) |> limit(n: $limit)",
    });
    let bench = open(config, None).await.unwrap();
    let error = next(&bench).await.unwrap_err();
    assert!(
        error.is_transient() && error.chain().contains("Failed to read (reference 897)"),
        "{}",
        error.chain()
    );
    let record = read(&bench, 1).await.remove(0);
    assert_eq!(record.json()["value"], 1);
}

#[tokio::test]
async fn a_server_that_is_busy_is_left_alone_and_tried_again() {
    let asked = AtomicUsize::new(0);
    let all = [(1, 1), (2, 2)];
    let stub = Stub::start(move |request| match asked.fetch_add(1, Ordering::SeqCst) {
        1 => Reply::json(503, "{\"error\":\"busy\"}"),
        2 => Reply::json(429, "{}").with("retry-after", "0"),
        _ => Reply::json(200, answer(&all, &parameter(&request.target, "q"), 100)),
    })
    .await;
    let bench = open(v1(&stub.url(), json!({ "max_retries": 3 })), None).await.unwrap();
    assert_eq!(read(&bench, 2).await.len(), 2);
}

#[tokio::test]
async fn a_refused_token_is_an_error_that_names_no_secret() {
    let words = "{\"code\":\"unauthorized\",\"message\":\"token s3cret-token is not known\"}";
    let stub = Stub::start(move |_| Reply::json(401, words)).await;
    let config = json!({
        "url": stub.url(), "org": "o", "token": "s3cret-token", "bucket": "b", "measurement": "m", "tags": ["t"],
        "max_open_retries": 1,
    });
    let error = open(config, None).await.err().unwrap();
    assert!(matches!(&error, Error::Permanent(_)), "{error:?}");
    assert!(error.chain().contains("401") && !error.chain().contains("s3cret"), "{}", error.chain());
    let sent = stub.asked()[0].header("authorization").unwrap().to_owned();
    assert_eq!(sent, "Token s3cret-token");
}

#[tokio::test]
async fn a_missing_database_is_waited_for_when_it_opens() {
    let stub = Stub::start(|_| {
        Reply::json(200, "{\"results\":[{\"statement_id\":0,\"error\":\"database not found: db\"}]}\n")
    })
    .await;
    let error = open(v1(&stub.url(), json!({})), None).await.err().unwrap();
    assert!(error.is_transient() && error.chain().contains("database not found"), "{}", error.chain());
}

#[tokio::test]
async fn after_failures_in_a_row_nothing_is_asked_for_a_while() {
    let asked = AtomicUsize::new(0);
    let stub = Stub::start(move |_| match asked.fetch_add(1, Ordering::SeqCst) {
        0 => Reply::json(200, NOTHING),
        _ => Reply::json(500, "{\"error\":\"no\"}"),
    })
    .await;
    let keys = json!({ "circuit_breaker_threshold": 2, "circuit_breaker_cool_down": "1h" });
    let bench = open(v1(&stub.url(), keys), None).await.unwrap();
    for _ in 0..2 {
        assert!(next(&bench).await.is_err());
    }
    assert!(is_quiet(&bench).await);
    assert_eq!(stub.asked().len(), 3, "the probe and two failures");
}

#[tokio::test]
async fn a_state_of_other_settings_begins_its_group_anew_and_loses_nothing() {
    let all: Vec<(i64, i64)> = (0..30).map(|row| (5, row)).collect();
    let stub =
        Stub::start(move |asked| Reply::json(200, answer(&all, &parameter(&asked.target, "q"), 1_000))).await;
    let small = json!({ "batch_size": 10, "stuck_batch_cap_factor": 0 });
    let bench = open(v1(&stub.url(), small.clone()), None).await.unwrap();
    let (first, state) = next(&bench).await.unwrap();
    assert_eq!(first.len(), 10);
    let same = open(v1(&stub.url(), small.clone()), state.clone()).await.unwrap();
    assert_eq!(read(&same, 20).await.len(), 20);
    assert!(is_quiet(&same).await);
    let other =
        open(v1(&stub.url(), with(small, json!({ "include_metadata": false }))), state).await.unwrap();
    assert_eq!(read(&other, 30).await.len(), 30);
}

#[tokio::test]
async fn a_server_that_is_well_again_is_shown_well_though_nothing_new_is_there() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    // The opening is answered well, the first page fails, and there is never a point.
    let stub = Stub::start(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        1 => Reply::json(503, "{}"),
        _ => Reply::json(200, NOTHING),
    })
    .await;
    let bench = open(v1(&stub.url(), json!({})), None).await.unwrap();
    assert!(next(&bench).await.is_err());

    let (records, state) = next(&bench).await.unwrap();

    assert_eq!((records.len(), state.is_none()), (0, true), "an empty batch says that the poll was good");
    assert!(is_quiet(&bench).await, "once is enough");
}

#[tokio::test]
async fn a_server_of_another_version_is_told_with_the_settings_to_look_at() {
    let stub = Stub::start(|_| Reply::json(404, "404 page not found")).await;

    let error = open(v1(&stub.url(), json!({})), None).await.err().unwrap();

    assert!(
        matches!(error, Error::Permanent(_)) && error.chain().contains("version (v1, v2, v3)"),
        "{error:?}"
    );
}

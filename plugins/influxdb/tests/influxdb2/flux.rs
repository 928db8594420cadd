//! Flux and InfluxQL of version 2.

use std::collections::BTreeSet;

use picomq_connector_sdk::{Error, State};
use serde_json::{Value, json};

use crate::server::{Database, Server, TOKEN};
use crate::support::{Seen, is_quiet, next, open, read, with};

fn config(database: &Database, keys: Value) -> Value {
    let base = json!({
        "version": "v2", "url": database.server.url, "token": TOKEN, "org": "org", "poll_interval": "1ms",
        "max_open_retries": 1,
    });
    with(base, keys)
}

/// Everything of measurement `m`.
fn measurement(database: &Database, keys: Value) -> Value {
    config(database, with(json!({ "bucket": database.name, "measurement": "m" }), keys))
}

/// The points of one field by a query.
fn written(database: &Database, tail: &str) -> Value {
    let query = format!(
        "from(bucket: \"{}\") |> range(start: time(v: \"$cursor\")) |> filter(fn: (r) => r._measurement == \"m\"){tail}",
        database.name
    );
    config(database, json!({ "query": query, "batch_size": 100, "stuck_batch_cap_factor": 4 }))
}

fn ids(records: &[Seen]) -> BTreeSet<String> {
    records.iter().map(|record| record.id.clone()).collect()
}

const SORTED: &str = " |> group() |> sort(columns: [\"_time\"]) |> limit(n: $limit)";

#[tokio::test]
async fn a_point_of_flux_has_tags_and_fields_of_every_type_with_every_digit_b101() {
    let database = Database::on(Server::v2());
    database.write(
        "m,host=a,region=e\\ u i=9223372036854775807i,u=18446744073709551615u,f=0.1,b=true,s=\"x, \\\"y\\\"\nz\" 1\n\
         m,host=b i=-9223372036854775808i 2\nm,host=b i=1i 1534906009915285377\nother v=1 3\n",
    );
    let bench = open(measurement(&database, json!({})), None).await.unwrap();
    let first = read(&bench, 3).await;
    assert_eq!(
        first[0].json(),
        json!({
            "measurement": "m", "timestamp": "1970-01-01T00:00:00.000000001Z", "tags": { "host": "a", "region": "e u" },
            "fields": { "i": i64::MAX, "u": u64::MAX, "f": 0.1, "b": true, "s": "x, \"y\"\nz" },
        })
    );
    assert_eq!(first[1].json()["fields"], json!({ "i": i64::MIN }));
    assert_eq!(
        (first[2].id.as_str(), first[2].key.as_deref()),
        ("m,host=b 1534906009915285377", Some("m,host=b"))
    );
    assert!(is_quiet(&bench).await);
    // A tag and a text field that were not there when it was opened.
    database.write("m,host=b,zone=7 t=\"new\" 1534906009915285378\n");
    let record = read(&bench, 1).await.remove(0).json();
    assert_eq!(
        (&record["tags"], &record["fields"]),
        (&json!({ "host": "b", "zone": "7" }), &json!({ "t": "new" }))
    );
}

#[tokio::test]
async fn a_query_of_flux_gives_what_the_existing_runtimes_give() {
    let database = Database::on(Server::v2());
    database.write("m,host=a n=5i 1\n");
    let bench = open(written(&database, " |> limit(n: $limit)"), None).await.unwrap();
    let record = read(&bench, 1).await.remove(0);
    assert_eq!(
        record.json(),
        json!({
            "measurement": "m", "field": "n", "timestamp": "1970-01-01T00:00:00.000000001Z", "value": 5,
            "row": { "_time": "1970-01-01T00:00:00.000000001Z", "_value": 5, "_field": "n", "_measurement": "m", "host": "a" },
        })
    );
    assert_eq!((record.key.as_deref(), record.id.as_str()), (Some("m,host=a n"), "m,host=a n 1"));
}

#[tokio::test]
async fn pages_that_end_inside_a_group_lose_nothing_with_one_table_or_many_b100_b104() {
    let database = Database::on(Server::v2());
    let mut lines: String = (1..=98).map(|row| format!("m,t=x v={row}i {row}\n")).collect();
    (0..5).for_each(|tag| lines.push_str(&format!("m,t={tag} v=1i 600\n")));
    (0..1_500).for_each(|tag| lines.push_str(&format!("m,t=g{tag} v=1i 700\n")));
    lines.push_str("m,t=x v=1i 800\n");
    database.write(&lines);
    let all = [
        written(&database, SORTED),
        written(&database, " |> sort(columns: [\"_time\"]) |> limit(n: $limit)"),
        written(&database, " |> limit(n: $limit)"),
        written(&database, ""),
        measurement(&database, json!({ "batch_size": 100, "stuck_batch_cap_factor": 4 })),
    ];
    for config in all {
        let (mut records, mut state): (Vec<Seen>, Option<State>) = (Vec::new(), None);
        while records.len() < 1_604 {
            let bench = open(config.clone(), state.clone()).await.unwrap();
            let (batch, now) = next(&bench).await.unwrap();
            assert!(batch.len() <= 400);
            records.extend(batch);
            state = now;
        }
        assert_eq!((records.len(), ids(&records).len()), (1_604, 1_604), "{config}");
        let bench = open(config, state).await.unwrap();
        assert!(is_quiet(&bench).await);
    }
}

#[tokio::test]
async fn years_without_points_are_passed_quickly_and_late_points_come() {
    let database = Database::on(Server::v2());
    let day = 86_400_000_000_000_i64;
    let lines: String =
        (0..300).map(|row| format!("m,t=x v={row}i {}\n", 18_000 * day + row * 1_000)).collect();
    database.write(&format!("m,t=old v=1i 1\n{lines}"));
    let config = measurement(&database, json!({ "overlap": "1h", "batch_size": 100 }));
    let bench = open(config, None).await.unwrap();
    assert_eq!(read(&bench, 301).await.len(), 301);
    assert!(is_quiet(&bench).await);
    database.write(&format!("m,t=late v=1i {}\n", 18_000 * day + 5));
    assert_eq!(read(&bench, 1).await[0].json()["tags"]["t"], "late");
    assert!(is_quiet(&bench).await);
}

#[tokio::test]
async fn version_2_answers_influxql_with_a_token_too() {
    let database = Database::on(Server::v2());
    let lines: String = (1..=250).map(|row| format!("m,t={} v={row}i {row}\n", row % 3)).collect();
    database.write(&lines);
    let keys = json!({ "language": "influxql", "db": database.name, "measurement": "m", "batch_size": 100 });
    let bench = open(config(&database, keys), None).await.unwrap();
    let read = read(&bench, 250).await;
    assert_eq!(ids(&read).len(), 250);
    assert_eq!(read[0].json()["tags"], json!({ "t": "1" }));
    assert!(is_quiet(&bench).await);
}

#[tokio::test]
async fn refusals_say_what_is_wrong_and_never_the_token_b103_b130() {
    let database = Database::on(Server::v2());
    let error = |config: Value| async { open(config, None).await.err().expect("it does not open") };
    let wrong = error(with(measurement(&database, json!({})), json!({ "token": "s3cret-token" }))).await;
    assert!(matches!(&wrong, Error::Permanent(_)) && !wrong.chain().contains("s3cret"), "{}", wrong.chain());
    let missing = error(measurement(&database, json!({ "bucket": "none" }))).await;
    assert!(
        missing.is_transient() && missing.chain().contains("could not find bucket"),
        "{}",
        missing.chain()
    );
    let bad = error(config(&database, json!({ "query": "from(bucket: $cursor" }))).await;
    assert!(
        matches!(&bad, Error::Permanent(_)) && bad.chain().contains("compilation failed"),
        "{}",
        bad.chain()
    );
    database.write("m n=5i 1\n");
    let collision =
        error(written(&database, " |> group() |> sort(columns: [\"_time\"]) |> limit(n: $limit)"));
    database.write("m n=5i,s=\"x\" 1\n");
    let collision = collision.await;
    assert!(
        matches!(&collision, Error::Permanent(_)) && collision.chain().contains("schema collision"),
        "{}",
        collision.chain()
    );
    // An error that shows only while the rows are made: this server keeps its answer back until it knows. The data may change.
    let tail = " |> filter(fn: (r) => r._field == \"n\") |> map(fn: (r) => ({r with _value: 1 / (r._value - 5)})) |> limit(n: $limit)";
    let failed = error(written(&database, tail)).await;
    assert!(failed.is_transient() && failed.chain().contains("divide by zero"), "{}", failed.chain());
}

#[tokio::test]
async fn a_cursor_after_the_end_of_the_range_has_no_rows_and_is_no_error() {
    let database = Database::on(Server::v2());
    database.write("m v=1i 1\nm v=2i 9\n");
    let ended = format!(
        "from(bucket: \"{}\") |> range(start: time(v: \"$cursor\"), stop: 1970-01-01T00:00:00.00000001Z) |> limit(n: $limit)",
        database.name
    );
    let bench = open(config(&database, json!({ "query": ended, "batch_size": 10 })), None).await.unwrap();
    assert_eq!(read(&bench, 2).await.len(), 2);
    assert!(is_quiet(&bench).await);
    let ahead = json!({ "initial_offset": "2200-01-01T00:00:00Z" });
    let bench = open(measurement(&database, ahead.clone()), None).await.unwrap();
    assert!(is_quiet(&bench).await);
    let bench = open(with(written(&database, SORTED), ahead), None).await.unwrap();
    assert!(is_quiet(&bench).await);
}

//! Values, digits, names and queries.

use serde_json::{Value, json};

use crate::server::{Database, Server};
use crate::support::{is_quiet, open, read, with};

/// Everything of measurement `m`, soon again.
pub(crate) fn config(database: &Database, keys: Value) -> Value {
    let base = json!({
        "version": "v1", "url": database.server.url, "db": database.name, "measurement": "m", "poll_interval": "1ms",
    });
    with(base, keys)
}

#[tokio::test]
async fn nanoseconds_and_large_integers_keep_every_digit_b101() {
    let database = Database::on(Server::v1());
    database.write(
        "m,t=a v=9223372036854775807i 1\nm,t=a v=-9223372036854775808i 2\nm,t=a v=1i,u=0.1 1534906009915285377\n",
    );
    let bench = open(config(&database, json!({})), None).await.unwrap();
    let read = read(&bench, 3).await;
    let payloads: Vec<&str> = read.iter().map(|record| record.payload.as_str()).collect();
    assert_eq!(
        payloads,
        [
            r#"{"measurement":"m","timestamp":"1970-01-01T00:00:00.000000001Z","tags":{"t":"a"},"fields":{"v":9223372036854775807}}"#,
            r#"{"measurement":"m","timestamp":"1970-01-01T00:00:00.000000002Z","tags":{"t":"a"},"fields":{"v":-9223372036854775808}}"#,
            r#"{"measurement":"m","timestamp":"2018-08-22T02:46:49.915285377Z","tags":{"t":"a"},"fields":{"u":0.1,"v":1}}"#,
        ]
    );
    assert_eq!(read[2].event_time_ns, Some(1_534_906_009_915_285_377));
    assert_eq!((read[2].key.as_deref(), read[2].id.as_str()), (Some("m,t=a"), "m,t=a 1534906009915285377"));
    assert_eq!(read[2].timestamp_ms, Some(1_534_906_009_915));
    assert!(is_quiet(&bench).await);
}

#[tokio::test]
async fn points_before_1970_and_at_it_come_first_b041() {
    let database = Database::on(Server::v1());
    database.write("m v=1i -9223372036854775806\nm v=2i -1\nm v=3i 0\nm v=4i 1\n");
    let bench = open(config(&database, json!({ "batch_size": 2 })), None).await.unwrap();
    let read = read(&bench, 4).await;
    assert_eq!(
        read.iter().map(|record| record.json()["fields"]["v"].clone()).collect::<Vec<_>>(),
        [1, 2, 3, 4]
    );
    assert_eq!(read[0].json()["timestamp"], "1677-09-21T00:12:43.145224194Z");
    assert_eq!((read[0].timestamp_ms, read[0].event_time_ns), (None, Some(-9_223_372_036_854_775_806)));
}

#[tokio::test]
async fn names_need_no_care_and_tags_are_told_from_fields_b128() {
    let database = Database::on(Server::v1());
    // A tag and a field of one name, a quote in a name, a tag that not every series has.
    database.write(
        "a\\ \"b\\,c,host=x,re\"gion=eu host=5i,f\\ 1=\"it's \\\"x\\\"\" 1\na\\ \"b\\,c,host=y g=true 2\n",
    );
    let config = config(&database, json!({ "measurement": "a \"b,c" }));
    let bench = open(config.clone(), None).await.unwrap();
    let first = read(&bench, 2).await;
    assert_eq!(first[0].json()["tags"], json!({ "host": "x", "re\"gion": "eu" }));
    assert_eq!(first[0].json()["fields"], json!({ "host": 5, "f 1": "it's \"x\"" }));
    assert_eq!(
        first[1].json(),
        json!({ "measurement": "a \"b,c", "timestamp": "1970-01-01T00:00:00.000000002Z", "tags": { "host": "y" }, "fields": { "g": true } })
    );
    assert_eq!(first[0].key.as_deref(), Some("a\\ \"b\\,c,host=x,re\"gion=eu"));
    // A new tag while it runs.
    database.write("a\\ \"b\\,c,host=y,zone=7 g=false 3\n");
    assert_eq!(read(&bench, 1).await[0].json()["tags"], json!({ "host": "y", "zone": "7" }));
    let named = with(config, json!({ "fields": ["g", "host"], "tags": ["host"] }));
    let bench = open(named, None).await.unwrap();
    let named = read(&bench, 3).await;
    assert_eq!(named[0].json()["fields"], json!({ "host": 5 }));
    assert_eq!(named[2].json()["tags"], json!({ "host": "y" }));
}

#[tokio::test]
async fn a_query_of_ones_own_is_read_page_by_page_and_goes_on() {
    let database = Database::on(Server::v1());
    let lines: String = (1..=95).map(|row| format!("m,t={} v={row}i {row}\n", row % 3)).collect();
    database.write(&lines);
    for query in [
        "SELECT v, t FROM m WHERE time > '$cursor' ORDER BY time LIMIT $limit",
        "SELECT v, t FROM m WHERE time >= '$cursor' LIMIT $limit",
        "SELECT v FROM m WHERE time > '$cursor' GROUP BY t LIMIT $limit",
        "SELECT v, t FROM m WHERE time > '$cursor'",
    ] {
        let keys = json!({ "measurement": null, "query": query, "batch_size": 10, "tags": ["t"] });
        let bench = open(config(&database, keys), None).await.unwrap();
        let mut values: Vec<i64> = read(&bench, 95)
            .await
            .iter()
            .map(|record| record.json()["fields"]["v"].as_i64().unwrap())
            .collect();
        assert!(values.is_sorted(), "{query}");
        values.dedup();
        assert_eq!(values.len(), 95, "{query}");
        assert!(is_quiet(&bench).await, "{query}");
    }
    database.write("m,t=9 v=96i 96\n");
}

#[tokio::test]
async fn a_retention_policy_of_another_name_is_read_when_it_is_named() {
    let database = Database::on(Server::v1());
    let name = &database.name;
    database
        .server
        .influxql("", &format!("CREATE RETENTION POLICY \"one week\" ON {name} DURATION INF REPLICATION 1"));
    database
        .server
        .influxql(name, &format!("CREATE RETENTION POLICY other ON {name} DURATION INF REPLICATION 1"));
    database.write("m v=1i 1\n");
    database.server.influxql(name, &format!("SELECT v INTO {name}.\"one week\".m FROM {name}.autogen.m"));
    let bench = open(config(&database, json!({ "retention_policy": "one week" })), None).await.unwrap();
    assert_eq!(read(&bench, 1).await[0].json()["fields"]["v"], 1);
    let bench = open(config(&database, json!({ "retention_policy": "other" })), None).await.unwrap();
    assert!(is_quiet(&bench).await);
}

#[tokio::test]
async fn one_column_can_be_the_payload() {
    let database = Database::on(Server::v1());
    database.write("m v=1i,doc=\"{\\\"a\\\": [1, 2]}\",b=\"aGk=\" 1\n");
    for (column, format, right) in [
        ("doc", "json", r#"{"a": [1, 2]}"#),
        ("doc", "text", r#"{"a": [1, 2]}"#),
        ("b", "base64", "hi"),
        ("v", "json", "1"),
    ] {
        let keys = json!({ "payload_column": column, "payload_format": format });
        let bench = open(config(&database, keys), None).await.unwrap();
        assert_eq!(read(&bench, 1).await[0].payload, right, "{column} {format}");
    }
    let bench = open(config(&database, json!({ "payload_column": "nope" })), None).await.err().unwrap();
    assert!(bench.chain().contains("no such column"), "{}", bench.chain());
}

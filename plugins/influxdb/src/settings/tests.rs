use picomq_connector_sdk::Limits;
use serde_json::{Value, json};

use super::Settings;
use crate::config::InfluxConfig;

const LIMITS: Limits = Limits { batch_records: 10_000, batch_bytes: 64 << 20 };

fn check(base: Value, keys: Value) -> Result<Settings, String> {
    let mut config = base;
    for (key, value) in keys.as_object().unwrap() {
        config[key] = value.clone();
    }
    let config: InfluxConfig = serde_json::from_value(config).map_err(|error| error.to_string())?;
    config.check(&LIMITS).map_err(|error| error.chain())
}

fn v1(keys: Value) -> Result<Settings, String> {
    check(json!({ "version": "v1", "url": "http://localhost:8086", "db": "d", "measurement": "m" }), keys)
}

fn v2(keys: Value) -> Result<Settings, String> {
    let query = "from(bucket:\"b\") |> range(start: time(v: \"$cursor\")) |> limit(n: $limit)";
    check(json!({ "url": "http://localhost:8086", "org": "o", "token": "s3cret", "query": query }), keys)
}

#[test]
fn a_definition_of_the_existing_runtimes_is_taken_with_every_key() {
    let settings = v2(json!({
        "version": "v2", "poll_interval": "5s", "batch_size": 500, "cursor_field": "_time",
        "initial_offset": "2024-01-01T00:00:00Z", "payload_column": "_value", "payload_format": "utf8",
        "include_metadata": true, "timeout": "10s", "max_retries": 3, "retry_delay": "1s", "retry_max_delay": "5s",
        "max_open_retries": 10, "open_retry_max_delay": "60s", "circuit_breaker_threshold": 5,
        "circuit_breaker_cool_down": "30s", "stuck_batch_cap_factor": 10, "verbose_logging": true,
    }))
    .unwrap();
    assert_eq!(settings.from, 1_704_067_200_000_000_000);
    assert_eq!((settings.pace.room.records, settings.pace.piece.records), (500, 5_000));
    assert_eq!(settings.retry.times, 2);
    let defaults = v2(json!({})).unwrap();
    assert_eq!((defaults.from, defaults.breaker.0, defaults.poll_interval.as_secs()), (0, 5, 5));
}

#[test]
fn wrong_and_missing_keys_are_refused_with_what_would_be_right() {
    let text = "FROM";
    for (outcome, part) in [
        (v2(json!({ "token": null })), "token is missing"),
        (v2(json!({ "org": "" })), "org is missing"),
        (v2(json!({ "tokne": "x" })), "unknown field `tokne`"),
        (v2(json!({ "cursor_field": "time" })), "`_time`"),
        (v2(json!({ "measurement": "m" })), "keep one of them"),
        (v2(json!({ "query": null })), "neither query nor measurement"),
        (v2(json!({ "query": "from(bucket: \"b\")" })), "$cursor"),
        (v2(json!({ "query": null, "measurement": "m" })), "bucket is missing"),
        (v2(json!({ "username": "u" })), "v1"),
        (v2(json!({ "language": "sql" })), "flux or influxql"),
        (v2(json!({ "batch_size": 0 })), "batch_size"),
        (v2(json!({ "stuck_batch_cap_factor": 1 })), "2 to 100"),
        (v2(json!({ "stuck_batch_cap_factor": 101 })), "2 to 100"),
        (v2(json!({ "max_retries": 0 })), "max_retries"),
        (v2(json!({ "initial_offset": "yesterday" })), "RFC 3339"),
        (v2(json!({ "poll_interval": "soon" })), "poll_interval"),
        (v2(json!({ "overlap": "long" })), "overlap"),
        (v2(json!({ "overlap_points": 200_001 })), "overlap_points"),
        (v2(json!({ "payload_format": "text" })), "payload_column"),
        (v2(json!({ "ca_file": "ca.pem" })), "relative"),
        (v2(json!({ "url": "localhost" })), "url"),
        (v2(json!({ "url": "http://u:s3cret@localhost" })), "username and password"),
        (v1(json!({ "db": null })), "db is missing"),
        (v1(json!({ "username": "u" })), "go together"),
        (v1(json!({ "token": "t" })), "username and password"),
        (v1(json!({ "measurement": "a\nb" })), "control characters"),
        (v1(json!({ "bucket": "b" })), "bucket is a key of Flux"),
    ] {
        let error = outcome.err().unwrap_or_else(|| panic!("{part} is taken {text}"));
        assert!(error.contains(part) && !error.contains("s3cret"), "{part}: {error}");
    }
}

#[test]
fn limits_of_the_engine_bound_pages_and_pieces() {
    let settings = v2(json!({ "batch_size": 100_000 })).unwrap();
    assert_eq!((settings.pace.room.records, settings.pace.piece.records), (10_000, 10_000));
}

#[test]
fn a_measurement_is_read_from_the_very_first_time_b041() {
    assert_eq!(v1(json!({})).unwrap().from, crate::time::MIN);
}

#[test]
fn another_query_or_form_has_another_fingerprint_and_another_pace_has_not() {
    let one = v1(json!({})).unwrap().fingerprint;
    assert_eq!(v1(json!({ "batch_size": 7, "poll_interval": "1s" })).unwrap().fingerprint, one);
    assert_ne!(v1(json!({ "include_metadata": false })).unwrap().fingerprint, one);
    assert_ne!(v1(json!({ "fields": ["a"] })).unwrap().fingerprint, one);
}

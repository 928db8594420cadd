//! Everything has a limit.

use pico_config::{Limits, Schema};
use pico_record::RecordPath;
use picomq_connector_sdk::Record;

use crate::given::*;

fn tenants(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!(r#"{{"tenant":"{name}"}}"#)).collect()
}

fn route(path: &mut RecordPath, names: &[&str]) -> Result<Vec<String>, String> {
    let payloads = tenants(names);
    let payloads: Vec<&str> = payloads.iter().map(String::as_str).collect();
    let routed = path.route(json(&payloads), PROVENANCE).map_err(|failure| failure.message)?;
    Ok(topics(&routed))
}

#[test]
fn past_max_topics_a_new_name_is_refused_and_the_known_ones_go_on() {
    let mut block = by_tenant();
    block.max_topics = 2;
    let mut path = path(&[block]);

    assert_eq!(route(&mut path, &["a", "b"]).unwrap(), ["orders.a", "orders.b"]);
    let message = route(&mut path, &["a", "c"]).unwrap_err();
    assert!(
        message.starts_with("record 1: \"c\" names the topic \"orders.c\", one more than max_topics = 2")
    );
    assert_eq!(route(&mut path, &["b", "a"]).unwrap(), ["orders.b", "orders.a"]);
}

#[test]
fn the_fallback_takes_no_place_of_the_names_records_give() {
    let mut block = block(with_fallback(rule(field("tenant"), "{value}"), "rest"));
    block.max_topics = 1;
    let mut path = path(&[block]);

    assert_eq!(route(&mut path, &["a", "b", "rest", "c", "a"]).unwrap(), ["a", "a", "rest", "rest", "rest"]);
    assert_eq!(path.route(json(&["{}"]), PROVENANCE).unwrap().groups().len(), 1);
}

#[test]
fn max_topics_is_counted_for_each_block() {
    let mut block = by_tenant();
    block.max_topics = 1;
    let mut path = path(&[block.clone(), block]);

    assert_eq!(route(&mut path, &["a"]).unwrap(), ["orders.a", "orders.a"]);
}

#[test]
fn key_and_headers_count_towards_the_size_of_a_record() {
    let limits = Limits { record_bytes: 20, ..Limits::default() };
    let mut block = to("t");
    block.record_key = Some(template("{field:k}"));
    block.headers = vec![("h".into(), template("1"))];
    let mut path = RecordPath::new(&[block], &limits).unwrap();
    let payload = |key: &str| format!(r#"{{"k":"{key}"}}"#);
    // 12 of payload, 4 of key, 2 of header, then the plugin's header.
    let record = |value: &str| Record::new(payload("1234")).with_header("x", value).with_key("a long key");
    let batch = |value| batch(Schema::Json, vec![Record::new(payload("1")), record(value)]);

    let routed = path.route(batch("1"), PROVENANCE).unwrap();
    let failure = path.route(batch("12"), PROVENANCE).unwrap_err();

    assert_eq!(routed.bytes(), 12 + 20);
    assert_eq!(failure.code, "record_too_large");
    let expected = "record 1: 21 bytes with key and headers, more than limits.record_bytes = 20 allows";
    assert_eq!(failure.message, expected);
}

#[test]
fn the_id_counts_with_its_header() {
    let limits = Limits { record_bytes: 12, ..Limits::default() };
    let mut path = RecordPath::new(&[to("t")], &limits).unwrap();
    let batch = |id| batch(Schema::Json, vec![Record::new("{}").with_id(id)]);

    assert_eq!(path.route(batch("7"), PROVENANCE).unwrap().bytes(), 12);
    assert!(path.route(batch("78"), PROVENANCE).is_err());
}

#[test]
fn a_header_that_is_left_out_does_not_count() {
    let mut block = to("t");
    block.headers = vec![("gone".into(), template("text before {field:n}")), ("h".into(), template("1"))];

    let routed = path(&[block]).route(json(&["{}"]), PROVENANCE).unwrap();

    assert_eq!(routed.bytes(), 2 + 2);
}

#[test]
fn more_values_than_are_remembered_still_find_their_topics() {
    let mut path = path(&[block(with_fallback(rule(field("tenant"), "{value}"), "rest"))]);
    for round in 0..2 {
        for first in (0..140_000).step_by(10_000) {
            let names: Vec<String> = (first..first + 10_000).map(|n| format!("t{n}")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let mut expected = names.clone();
            // The first thousand names have topics of their own, in every round.
            let own = if first == 0 { 1_000 } else { 0 };
            expected[own..].fill("rest");
            assert_eq!(route(&mut path, &names).unwrap(), expected, "round {round}, from {first}");
        }
    }
}

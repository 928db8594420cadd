//! From the schema of the plugin to that of a block.

use pico_config::Schema;
use picomq_connector_sdk::Record;

use crate::given::*;

const PAYLOAD: &str = " {\"n\": 1.50,\t\"n\" :2}\n";

fn routed(from: Schema, to_schema: Schema, payload: &str) -> Result<Vec<Sent>, String> {
    let mut block = to("t");
    block.schema = to_schema;
    let batch = batch(from, vec![Record::new(payload)]);
    let routed = path(&[block]).route(batch, PROVENANCE).map_err(|failure| failure.message)?;
    Ok(sent(&routed))
}

#[test]
fn every_pair_is_passed_on_unchanged_or_refused_by_name() {
    for from in Schema::ALL {
        for to in Schema::ALL {
            let passes = from == to
                || to == Schema::Raw
                || matches!((from, to), (Schema::Json, Schema::Text) | (Schema::Text, Schema::Json));
            match routed(from, to, PAYLOAD) {
                Ok(sent) => {
                    assert!(passes, "{from} to {to} passed");
                    assert_eq!(sent[0].payload.as_deref(), Some(PAYLOAD.as_bytes()));
                }
                Err(message) => {
                    assert!(!passes, "{from} to {to}: {message}");
                    assert!(
                        message.starts_with(&format!("the records are {from} and topics[0] asks for {to}: "))
                    );
                }
            }
        }
    }
}

#[test]
fn json_is_checked_wherever_the_plugin_or_the_block_says_json_and_bytes_are_read() {
    for (from, to, checked) in [
        (Schema::Json, Schema::Json, true),
        (Schema::Json, Schema::Text, true),
        (Schema::Text, Schema::Json, true),
        (Schema::Json, Schema::Raw, false),
        (Schema::Text, Schema::Text, false),
        (Schema::Raw, Schema::Raw, false),
    ] {
        assert_eq!(routed(from, to, "{\"a\":}").is_err(), checked, "{from} to {to}");
    }
}

#[test]
fn a_payload_that_is_not_json_names_record_id_and_place() {
    let records = vec![Record::new("{}"), Record::new("{\"a\":}").with_id("lsn-7")];

    let failure = path(&[to("t")]).route(batch(Schema::Json, records), PROVENANCE).unwrap_err();

    assert_eq!(failure.code, "payload_not_json");
    let expected = "record 1 (id \"lsn-7\"): the payload is not JSON: expected value at line 1 column 6";
    assert_eq!(failure.message, expected);
}

#[test]
fn one_block_that_asks_for_json_has_the_payload_checked_for_all() {
    let mut raw = to("raw");
    raw.schema = Schema::Raw;
    let mut path = path(&[raw, to("json")]);

    assert!(path.route(json(&["{"]), PROVENANCE).is_err());
    assert_eq!(topics(&path.route(json(&["{}"]), PROVENANCE).unwrap()), ["raw", "json"]);
}

#[test]
fn a_batch_without_records_is_not_judged_by_its_schema() {
    let routed = path(&[to("t")]).route(batch(Schema::Avro, Vec::new()), PROVENANCE).unwrap();

    assert_eq!((routed.records(), routed.outgoing(), routed.groups().len()), (0, 0, 0));
}

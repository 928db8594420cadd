//! What holds for every batch.

use std::collections::BTreeMap;

use pico_config::{Schema, TopicBlock, Value};
use pico_record::{Routed, Step};
use picomq_connector_sdk::{Record, State};
use proptest::prelude::*;

use crate::given::*;

fn record() -> impl Strategy<Value = Record> {
    let payload = prop_oneof![
        Just(None),
        (0..6_u8, any::<String>()).prop_map(|(tenant, text)| {
            let json = serde_json::json!({ "text": text, "tenant": format!("t{tenant}") });
            Some(json.to_string().into_bytes())
        }),
    ];
    let key = proptest::option::of("[a-c]");
    (payload, key).prop_map(|(payload, key)| Record {
        payload,
        key: key.map(String::into_bytes),
        ..Record::default()
    })
}

fn blocks() -> Vec<TopicBlock> {
    let mut keyed = block(with_fallback(rule(Value::Key, "k.{value}"), "keyless"));
    keyed.headers = vec![("tenant".into(), template("{field:tenant}"))];
    keyed.provenance = true;
    vec![to("all"), block(with_fallback(rule(field("tenant"), "t.{value}"), "none")), keyed]
}

/// The topic that each block must choose, worked out from a tree.
fn expected(record: &Record) -> [String; 3] {
    let tree = record
        .payload
        .as_deref()
        .map(|payload| serde_json::from_slice::<serde_json::Value>(payload).unwrap());
    let tenant = tree.and_then(|tree| Some(tree.get("tenant")?.as_str()?.to_owned()));
    let key = record.key.as_deref().map(|key| String::from_utf8(key.to_vec()).unwrap());
    [
        "all".to_owned(),
        tenant.map_or("none".to_owned(), |tenant| format!("t.{tenant}")),
        key.map_or("keyless".to_owned(), |key| format!("k.{key}")),
    ]
}

fn in_steps(records: Vec<Record>, records_a_step: usize) -> Routed {
    let mut path = path(&blocks());
    let mut routing = path.begin(batch(Schema::Json, records), PROVENANCE).unwrap();
    loop {
        routing = match routing.step(&mut path, records_a_step).unwrap() {
            Step::More(routing) => routing,
            Step::Done(routed) => return routed,
        };
    }
}

proptest! {
    #[test]
    fn every_record_goes_to_every_block_unchanged_and_in_order(
        records in proptest::collection::vec(record(), 0..60),
        records_a_step in 1..70_usize,
    ) {
        let mut by_topic: BTreeMap<(u16, String), Vec<&Record>> = BTreeMap::new();
        for record in &records {
            for (block, topic) in (0..).zip(expected(record)) {
                by_topic.entry((block, topic)).or_default().push(record);
            }
        }

        let routed = in_steps(records.clone(), records_a_step);

        prop_assert_eq!(routed.records() as usize, records.len());
        prop_assert_eq!(routed.outgoing() as usize, 3 * records.len());
        prop_assert_eq!(routed.filtered(), 0);
        prop_assert_eq!(routed.groups().len(), by_topic.len());
        for group in routed.groups() {
            let expected = by_topic.remove(&(group.block, group.topic.to_string()));
            let sent: Vec<_> = routed.entries(group).map(|outgoing| (outgoing.payload, outgoing.key)).collect();
            let given: Vec<_> = expected
                .unwrap()
                .into_iter()
                .map(|record| (record.payload.as_deref(), record.key.as_deref()))
                .collect();
            prop_assert_eq!(sent, given);
        }
    }

    #[test]
    fn the_size_of_a_step_changes_nothing(records in proptest::collection::vec(record(), 0..40), step in 1..50_usize) {
        prop_assert_eq!(sent(&in_steps(records.clone(), step)), sent(&in_steps(records, usize::MAX)));
    }
}

#[test]
fn groups_stand_in_the_order_in_which_records_name_them() {
    let payloads = ["b", "a", "b", "c"].map(|tenant| format!(r#"{{"tenant":"{tenant}"}}"#));
    let mut path = path(&[by_tenant()]);

    let routed = path.route(json(&payloads.each_ref().map(String::as_str)), PROVENANCE).unwrap();

    let groups: Vec<_> = routed.groups().iter().map(|group| (&*group.topic, group.records())).collect();
    assert_eq!(groups, [("orders.b", 2), ("orders.a", 1), ("orders.c", 1)]);
}

#[test]
fn a_topic_is_the_same_allocation_in_every_batch() {
    let mut path = path(&[by_tenant()]);
    let mut topic = || {
        let routed = path.route(json(&[r#"{"tenant":"a"}"#]), PROVENANCE).unwrap();
        routed.groups()[0].topic.clone()
    };

    assert!(std::sync::Arc::ptr_eq(&topic(), &topic()));
}

#[test]
fn a_refused_batch_leaves_the_path_usable() {
    let mut path = path(&[by_tenant()]);
    let good = r#"{"tenant":"a"}"#;

    assert!(path.route(json(&[good, "{}", good]), PROVENANCE).is_err());

    assert_eq!(topics(&path.route(json(&[good, good]), PROVENANCE).unwrap()), ["orders.a", "orders.a"]);
}

#[test]
fn a_record_that_goes_to_no_block_counts_as_filtered() {
    let routed = path(&[]).route(json(&["{}", "[]"]), PROVENANCE).unwrap();

    assert_eq!((routed.records(), routed.outgoing(), routed.filtered()), (2, 0, 2));
}

#[test]
fn nothing_of_a_record_is_printed_for_debugging() {
    let record = Record::new(r#"{"tenant":"secret"}"#).with_key("secret");
    let routed = path(&[to("t")]).route(batch(Schema::Json, vec![record]), PROVENANCE).unwrap();
    let outgoing = routed.entries(&routed.groups()[0]).next().unwrap();

    let printed = format!("{routed:?} {outgoing:?}");

    assert!(!printed.contains("secret"), "{printed}");
}

#[test]
fn the_state_of_a_batch_is_kept_when_the_batch_is_given_back() {
    let state = State::from_bytes(vec![1, 2]);
    let with_state = path(&[to("t")]).route(batch_with_state(Vec::new(), state), PROVENANCE).unwrap();
    let without = path(&[to("t")]).route(json(&["{}"]), PROVENANCE).unwrap();

    assert_eq!(with_state.state(), Some(&[1, 2][..]));
    assert_eq!(with_state.into_state(), Some(vec![1, 2]));
    assert_eq!(without.into_state(), None);
}

use pico_config::{FieldPath, Illegal, Limits, Rule, Template, TopicBlock, Value};
use picomq_connector_sdk::{Batch, Record, Schema};

use super::*;

/// Two blocks: the first takes its topic from `tenant`, the second from `region`.
fn path() -> RecordPath {
    let by = |path: &str| {
        let from = Value::Field(FieldPath::parse(path).unwrap());
        let template = Template::parse("{value}").unwrap();
        let rule = Rule::Dynamic { from, template, fallback: None, illegal: Illegal::Missing };
        let key = Some(Template::parse("{field:region}").unwrap());
        TopicBlock { record_key: key, provenance: true, ..TopicBlock::new(rule) }
    };
    RecordPath::new(&[by("tenant"), by("region")], &Limits::default()).unwrap()
}

fn guest(payloads: &[&str]) -> GuestBatch {
    let mut batch = Batch::new(Schema::Json);
    payloads.iter().for_each(|payload| batch.push(Record::new(*payload)));
    GuestBatch::from_batch(batch)
}

/// What is filed for the records, those that fail left out; and how many failed.
fn drafted(payloads: &[&str]) -> (Routed, usize) {
    let (mut path, batch) = (path(), guest(payloads));
    let mut draft = Draft::default();
    let mut failed = 0;
    for (index, record) in batch.records().enumerate() {
        let batch = Provenance { life: 1, number: 1 };
        let place = Place { batch, index: index as u32, size: payloads.len() };
        failed += usize::from(draft.add(&mut path, record, Reading::Json, place).is_err());
    }
    (draft.sort(batch, path.header_names.clone()), failed)
}

fn shown(routed: &Routed) -> Vec<String> {
    let mut all = Vec::new();
    for group in routed.groups() {
        for entry in routed.entries(group) {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let headers: Vec<_> = entry.headers().map(|(_, value)| text(value)).collect();
            let (key, payload) = (text(entry.key.unwrap()), text(entry.payload.unwrap()));
            all.push(format!("{}/{}: {key} {headers:?} {payload}", group.block, group.topic));
        }
    }
    all
}

const GOOD: &str = r#"{"tenant":"a","region":"eu"}"#;
const LATER: &str = r#"{"tenant":"new","region":"us"}"#;
/// Fails in the second block, after the first has filed it under a topic of its own.
const BAD: &str = r#"{"tenant":"new","region":"no topic"}"#;

#[test]
fn a_record_that_fails_in_a_later_block_leaves_nothing_behind() {
    let (with, failed) = drafted(&[GOOD, BAD]);
    let (without, _) = drafted(&[GOOD, GOOD]);

    assert_eq!(failed, 1);
    assert_eq!(
        shown(&with),
        shown(&without)[..1].iter().chain(&shown(&without)[2..3]).cloned().collect::<Vec<_>>()
    );
    assert_eq!((with.outgoing(), with.groups().len(), with.bytes()), (2, 2, without.bytes() / 2));
    assert_eq!(with.arena.len(), without.arena.len() / 2);
}

#[test]
fn a_topic_whose_first_record_failed_is_filed_under_by_the_next() {
    let (routed, failed) = drafted(&[GOOD, BAD, LATER, LATER]);

    assert_eq!(failed, 1);
    let new: Vec<_> = shown(&routed).into_iter().filter(|line| line.starts_with("0/new")).collect();
    assert_eq!(new.len(), 2, "{:?}", shown(&routed));
    assert!(new[0].contains("1/1/2/4") && new[1].contains("1/1/3/4"), "{new:?}");
    assert_eq!(routed.groups().iter().map(Group::records).sum::<usize>(), routed.outgoing() as usize);
}

#[test]
fn a_fault_says_its_stage_and_whether_it_is_the_records_own() {
    let (mut path, batch) = (path(), guest(&[BAD, "{", r#"{"tenant":"a"}"#]));
    let mut faults = Vec::new();
    for record in batch.records() {
        let place = Place { batch: Provenance { life: 1, number: 1 }, index: 0, size: 1 };
        let fault = Draft::default().add(&mut path, record, Reading::Json, place).unwrap_err();
        assert!(fault.is_of_the_record());
        faults.push((fault.stage().as_str(), fault.code()));
    }

    let expected =
        [("route", "unroutable_record"), ("decode", "payload_not_json"), ("route", "record_key_missing")];
    assert_eq!(faults, expected);
    assert!(!Fault::ArenaFull.is_of_the_record());
}

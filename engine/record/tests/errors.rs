//! `[errors]`: a record that fails is nacked with its batch, set aside or skipped, and each is exactly one of these.

use std::time::Duration;

use pico_config::{ErrorPolicy, Limits, OnRecordError, Schema, TopicBlock};
use pico_record::{Ceiling, Moment, RecordPath, Routed, Stage, error_header};
use picomq_connector_sdk::Record;
use proptest::prelude::*;

use crate::given::{PROVENANCE, Sent, batch, by_tenant, json, path, sent, template, to, with_fallback};

const GOOD: &str = r#"{"tenant":"a"}"#;
const BAD: &str = r#"{"no":"tenant"}"#;

fn dead_letter() -> ErrorPolicy {
    let topic = "dead".to_owned();
    ErrorPolicy { on_record_error: OnRecordError::DeadLetter { topic }, ..ErrorPolicy::default() }
}

fn skip() -> ErrorPolicy {
    ErrorPolicy { on_record_error: OnRecordError::Skip, ..ErrorPolicy::default() }
}

fn with(blocks: &[TopicBlock], errors: &ErrorPolicy) -> RecordPath {
    path(blocks).with_errors(errors, "orders", Ceiling::default()).unwrap()
}

fn header<'s>(sent: &'s Sent, name: &str) -> Option<&'s str> {
    let found = sent.headers.iter().find(|(found, _)| found == name);
    found.map(|(_, value)| std::str::from_utf8(value).unwrap())
}

/// The one dead letter of a batch.
fn letter(routed: &Routed) -> Sent {
    let mut letters: Vec<Sent> = sent(routed).into_iter().filter(|sent| sent.topic == "dead").collect();
    assert_eq!((letters.len(), routed.dead_letters()), (1, 1));
    letters.remove(0)
}

#[test]
fn a_dead_letter_is_the_record_as_it_came_with_the_reason_in_its_headers() {
    let record = Record::new(BAD)
        .with_key("k")
        .with_header("a", "1")
        .with_id("lsn-7")
        .with_timestamp_ms(1_700_000_000_000);
    let block = TopicBlock {
        record_key: Some(template("{field:tenant}")),
        headers: vec![("extra".into(), template("x"))],
        ..by_tenant()
    };
    let mut path = with(&[block], &dead_letter());
    path.set_now(Moment { unix_ms: 1_234, steady: Duration::ZERO });

    let routed = path.route(batch(Schema::Json, vec![Record::new(GOOD), record]), PROVENANCE).unwrap();

    let letter = letter(&routed);
    assert_eq!((letter.block, letter.payload.as_deref()), (1, Some(BAD.as_bytes())));
    assert_eq!(letter.key.as_deref(), Some(&b"k"[..]));
    assert_eq!((header(&letter, "a"), header(&letter, "picomq.id")), (Some("1"), Some("lsn-7")));
    assert_eq!(header(&letter, "extra"), None, "what a block adds is not of the record");
    let all = error_header::ALL.map(|name| header(&letter, name));
    let [stage, code, message, source, topic, position, timestamp, schema] = all;
    assert_eq!((stage, code), (Some("route"), Some("unroutable_record")));
    assert!(
        message.unwrap().contains("record 1 (id \"lsn-7\"): field \"tenant\" is not there"),
        "{message:?}"
    );
    assert_eq!((source, topic, position), (Some("orders"), None, Some("lsn-7")));
    assert_eq!((timestamp, schema), (Some("1234"), Some("json")));
    let group = routed.groups().iter().find(|group| &*group.topic == "dead").unwrap();
    assert_eq!(routed.entries(group).next().unwrap().timestamp_ms, Some(1_700_000_000_000));
}

#[test]
fn a_letter_without_an_id_is_named_by_its_place_and_one_topic_is_known_to_be_meant() {
    let mut path = with(&[to("orders")], &dead_letter());
    let routed = path.route(json(&["{}", "{"]), PROVENANCE).unwrap();
    let letter = letter(&routed);
    assert_eq!(header(&letter, error_header::POSITION), Some("77/5/1"));
    assert_eq!(header(&letter, error_header::TOPIC), Some("orders"));
    assert_eq!(header(&letter, error_header::STAGE), Some("decode"));
}

#[test]
fn a_record_that_fails_in_one_block_goes_to_none_and_is_one_letter() {
    let mut path = with(&[to("all"), by_tenant(), to("audit")], &dead_letter());
    let routed = path.route(json(&[GOOD, BAD, GOOD]), PROVENANCE).unwrap();
    let topics: Vec<String> = sent(&routed).into_iter().map(|sent| sent.topic).collect();
    assert_eq!(topics, ["all", "all", "orders.a", "orders.a", "audit", "audit", "dead"]);
    assert_eq!((routed.outgoing(), routed.faults()[0].index), (7, 1));
}

#[test]
fn a_skipped_record_goes_nowhere_and_is_counted_and_named() {
    let mut path = with(&[by_tenant()], &skip());
    let routed = path.route(json(&[BAD, GOOD, "{"]), PROVENANCE).unwrap();
    assert_eq!((routed.outgoing(), routed.skipped(), routed.dead_letters()), (1, 2, 0));
    let faults: Vec<_> = routed.faults().iter().map(|fault| (fault.index, fault.stage, fault.code)).collect();
    assert_eq!(faults, [(0, Stage::Route, "unroutable_record"), (2, Stage::Decode, "payload_not_json")]);
}

#[test]
fn past_the_ceiling_the_batch_is_refused_after_all_until_the_minute_is_over() {
    let ceiling = Ceiling::default();
    let errors = ErrorPolicy { max_per_minute: 2, ..skip() };
    let at = |seconds, payloads: &[&str]| {
        // A path of its own each time, as after an opening.
        let mut path = path(&[by_tenant()]).with_errors(&errors, "orders", ceiling.clone()).unwrap();
        path.set_now(Moment { unix_ms: 0, steady: Duration::from_secs(seconds) });
        path.route(json(payloads), PROVENANCE)
    };
    assert_eq!(at(5, &[BAD, GOOD, BAD]).unwrap().skipped(), 2);
    let failure = at(64, &[GOOD, BAD]).unwrap_err();
    assert_eq!((failure.code, failure.needs_human), ("too_many_record_errors", false));
    assert!(
        failure.message.contains("record 1: field \"tenant\"") && failure.message.contains("before it 2")
    );
    assert_eq!(at(64, &[GOOD]).unwrap().outgoing(), 1, "good ones pass");
    assert_eq!(at(65, &[GOOD, BAD]).unwrap().skipped(), 1);
}

#[test]
fn without_a_policy_the_first_bad_record_refuses_its_batch_for_a_person() {
    let failure =
        with(&[by_tenant()], &ErrorPolicy::default()).route(json(&[GOOD, BAD]), PROVENANCE).unwrap_err();
    assert_eq!((failure.code, failure.needs_human), ("unroutable_record", true));
}

#[test]
fn a_record_too_large_as_it_came_is_never_lost_and_one_that_grew_is_set_aside() {
    let limits = Limits { record_bytes: 20, ..Limits::default() };
    let path = |errors: &ErrorPolicy, block: TopicBlock| {
        let path = RecordPath::new(&[block], &limits).unwrap();
        path.with_errors(errors, "orders", Ceiling::default()).unwrap()
    };
    let grown = || TopicBlock { headers: vec![("h".into(), template("{key}{key}{key}"))], ..to("t") };
    let keyed = || batch(Schema::Json, vec![Record::new("{}").with_key("0123456789")]);

    let routed = path(&dead_letter(), grown()).route(keyed(), PROVENANCE).unwrap();
    assert_eq!(header(&letter(&routed), error_header::STAGE), Some("size"));

    let large = || json(&["\"0123456789012345678\""]);
    let failure = path(&dead_letter(), to("t")).route(large(), PROVENANCE).unwrap_err();
    assert_eq!((failure.code, failure.needs_human), ("record_too_large", true));
    assert!(failure.message.contains("no dead-letter topic either"), "{}", failure.message);
    assert_eq!(path(&skip(), to("t")).route(large(), PROVENANCE).unwrap().skipped(), 1);
}

#[test]
fn no_record_can_name_the_topic_where_dead_letters_go() {
    let rule = crate::given::rule(crate::given::field("tenant"), "{value}");
    let payloads = &[r#"{"tenant":"dead"}"#, r#"{"tenant":"alive"}"#];
    let routed =
        with(&[crate::given::block(rule.clone())], &dead_letter()).route(json(payloads), PROVENANCE).unwrap();
    assert!(routed.faults()[0].message.contains("where the dead letters of this source go"));
    assert_eq!((letter(&routed).payload, routed.outgoing()), (Some(payloads[0].into()), 2));
    let routed = with(&[crate::given::block(with_fallback(rule, "rest"))], &dead_letter())
        .route(json(payloads), PROVENANCE)
        .unwrap();
    assert_eq!(
        (routed.dead_letters(), crate::given::topics(&routed)),
        (0, vec!["rest".into(), "alive".into()])
    );
}

#[test]
fn a_pair_of_schemas_that_is_refused_is_no_matter_of_single_records() {
    let failure = with(&[to("t")], &skip()).route(batch(Schema::Avro, vec![Record::new("x")]), PROVENANCE);
    assert_eq!(failure.unwrap_err().code, "schema_pair_refused");
}

#[derive(Clone, Debug)]
struct Given {
    payload: String,
    key: Option<Vec<u8>>,
}

/// Good ones, unroutable ones, ones that a transform drops, ones that are no JSON, ones too large by their key, ones too large as they came.
fn given_record() -> impl Strategy<Value = Given> {
    let payload = prop_oneof![
        4 => "[a-c]".prop_map(|tenant| format!("{{\"tenant\":\"{tenant}\"}}")),
        1 => Just(BAD.to_owned()),
        1 => Just("{\"tenant\":\"no topic\"}".to_owned()),
        1 => Just("not json".to_owned()),
        1 => Just("{\"drop\":true}".to_owned()),
        1 => "[a-z]{50,80}".prop_map(|text| format!("{{\"tenant\":\"a\",\"t\":\"{text}\"}}")),
    ];
    let key = proptest::option::of(proptest::collection::vec(any::<u8>(), 0..12));
    (payload, key).prop_map(|(payload, key)| Given { payload, key })
}

fn policy() -> impl Strategy<Value = ErrorPolicy> {
    let per_minute = prop_oneof![1 => 1_u32..6, 2 => Just(1_000)];
    (0_usize..3, per_minute).prop_map(|(which, max_per_minute)| {
        let on_record_error = [OnRecordError::Nack, skip().on_record_error, dead_letter().on_record_error];
        ErrorPolicy { on_record_error: on_record_error[which].clone(), max_per_minute }
    })
}

proptest! {
    #[test]
    fn every_record_is_delivered_filtered_skipped_or_set_aside_or_its_batch_fails(
        records in proptest::collection::vec(given_record(), 0..24),
        errors in policy(),
        chunk in 1_usize..30,
    ) {
        let limits = Limits { record_bytes: 75, ..Limits::default() };
        let grows = TopicBlock { headers: vec![("k".into(), template("{key}{key}{key}{key}"))], ..by_tenant() };
        let path = RecordPath::new(&[to("all"), grows], &limits).unwrap();
        let filter = "[[transforms]]\ntype = \"filter_records\"\nwhen = '.drop == true'\n";
        let path = path.with_transforms(&crate::given::transforms(filter)).unwrap();
        let mut path = path.with_errors(&errors, "orders", Ceiling::default()).unwrap();
        let of = |given: &Given| {
            let record = Record::new(given.payload.as_str());
            given.key.iter().fold(record, |record, key| record.with_key(key.clone()))
        };
        let guest = batch(Schema::Json, records.iter().map(of).collect());
        let mut routing = path.begin(guest, PROVENANCE).unwrap();
        let routed = loop {
            match routing.step(&mut path, chunk) {
                Ok(pico_record::Step::More(rest)) => routing = rest,
                Ok(pico_record::Step::Done(routed)) => break Some(routed),
                Err(_) => break None,
            }
        };
        let Some(routed) = routed else { return Ok(()) };

        let mut seen = vec![[0_u32; 3]; records.len()];
        for group in routed.groups() {
            for entry in routed.entries(group) {
                let at = entry.index() as usize;
                seen[at][usize::from(group.block)] += 1;
                if group.block == 2 {
                    prop_assert_eq!(&*group.topic, "dead");
                    prop_assert_eq!(entry.payload, Some(records[at].payload.as_bytes()));
                    prop_assert_eq!(entry.key, records[at].key.as_deref());
                }
            }
        }
        let failed: Vec<usize> = routed.faults().iter().map(|fault| fault.index as usize).collect();
        prop_assert!(failed.is_sorted() && failed.len() <= errors.max_per_minute as usize);
        for (at, seen) in seen.iter().enumerate() {
            let is_dropped = records[at].payload.contains("\"drop\"");
            prop_assert!(!(is_dropped && failed.contains(&at)), "a rule drops it before it can fail");
            let wanted = match (failed.contains(&at), &errors.on_record_error) {
                (false, _) if is_dropped => [0, 0, 0],
                (false, _) => [1, 1, 0],
                (true, OnRecordError::DeadLetter { .. }) => [0, 0, 1],
                (true, OnRecordError::Skip) => [0, 0, 0],
                (true, OnRecordError::Nack) => panic!("a record failed and its batch went on"),
            };
            prop_assert_eq!(*seen, wanted, "record {}", at);
        }
        let set_aside = failed.len() as u32;
        let counted = (routed.skipped(), routed.dead_letters());
        let is_skip = errors.on_record_error == OnRecordError::Skip;
        prop_assert_eq!(counted, if is_skip { (set_aside, 0) } else { (0, set_aside) });
        let dropped = records.iter().filter(|given| given.payload.contains("\"drop\"")).count() as u32;
        prop_assert_eq!(routed.filtered(), dropped);
        let delivered = records.len() as u32 - set_aside - dropped;
        prop_assert_eq!(routed.outgoing(), 2 * delivered + routed.dead_letters());
    }
}

//! How fast one core routes: `cargo bench -p pico-record`. Prints, for each case, records a second (best batch and
//! median) and allocations a record. Batches are built beforehand; the time is that of `RecordPath::route` and of
//! walking through what it returns once, as a producer does.

#![allow(clippy::print_stdout, reason = "what a bench is for")]

use std::alloc::System;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use pico_config::{
    Action, Expression, FieldPath, FieldValue, HashOf, Illegal, Limits, Location, NewField, RecordSchema,
    Rule, Schema, SchemaSource, Template, TopicBlock, Transform, Value,
};
use pico_record::{Provenance, RecordPath};
use picomq_connector_sdk::ffi::host::GuestBatch;
use picomq_connector_sdk::{Batch, Record};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const RECORDS: usize = 10_000;
const BATCHES: usize = 200;

fn main() {
    println!("{:<44} {:>6} {:>12} {:>12} {:>10}", "case", "bytes", "best rec/s", "median", "allocs/rec");
    let random = |topics: usize| move |number: usize| random_record(number, topics);
    measure("raw, one topic", vec![raw(one_topic())], random(4));
    measure("json, one topic (validation alone)", vec![one_topic()], random(4));
    measure("json, field, 4 topics", vec![by(field("user_id"))], random(4));
    measure("json, field, 5,000 topics", vec![by(field("user_id"))], random(5_000));
    measure("json, hash of field, 16 topics", vec![by(hash("user_id"))], random(5_000));
    measure("json, field, key, 2 headers, provenance", vec![dressed()], random(4));
    measure("json, field, 2 blocks", vec![by(field("user_id")), by(field("sequence"))], random(4));
    for (case, schema, source) in schemas() {
        let block = TopicBlock { schema, record_schema: Some(record_schema(source)), ..one_topic() };
        measure(case, vec![block], random(4));
    }
    measure("json, nested field, change event", vec![by(field("after.tenant"))], change_event);
    transforms();
}

fn measure(case: &str, blocks: Vec<TopicBlock>, record: impl Fn(usize) -> Record) {
    measure_with(case, blocks, &[], record);
}

fn measure_with(
    case: &str,
    blocks: Vec<TopicBlock>,
    transforms: &[Transform],
    record: impl Fn(usize) -> Record,
) -> f64 {
    let limits = Limits::default();
    let path = RecordPath::new(&blocks, &limits).expect("the blocks of a bench are right");
    let mut path = path.with_transforms(transforms).expect("the transforms of the bench are good");
    let batch = || {
        let mut batch = Batch::new(Schema::Json);
        (0..RECORDS).for_each(|number| batch.push(record(number)));
        GuestBatch::from_batch(batch)
    };
    let bytes = record(RECORDS).payload.map_or(0, |payload| payload.len());
    // The first batch makes the topics.
    run(&mut path, batch());
    let mut times = Vec::new();
    let mut allocations = 0;
    for _ in 0..BATCHES {
        let batch = batch();
        let region = Region::new(ALLOCATOR);
        times.push(run(&mut path, batch));
        let change = region.change();
        allocations += change.allocations + change.reallocations;
    }
    times.sort_unstable();
    let rate = |time: Duration| RECORDS as f64 / time.as_secs_f64();
    let per_record = allocations as f64 / (RECORDS * BATCHES) as f64;
    println!(
        "{case:<44} {bytes:>6} {:>12.0} {:>12.0} {per_record:>10.4}",
        rate(times[0]),
        rate(times[times.len() / 2])
    );
    rate(times[times.len() / 2])
}

/// Records of 1 KB: field routing alone, with two edits of fields, with jq, and the two edits by way of a tree.
fn transforms() {
    let tenant = || vec![by(field("tenant"))];
    measure("1 KB, field, 4 topics", tenant(), row);
    let when = Expression::parse(".op == \"u\"").expect("an expression");
    measure("1 KB, field, plain when", vec![TopicBlock { when: Some(when), ..by(field("tenant")) }], row);
    let spliced = measure_with("1 KB, field, two field edits", tenant(), &edits(), row);
    let jq = Expression::parse("del(.password) | .source = \"shop\"").expect("an expression");
    measure_with("1 KB, field, the same edits by jq", tenant(), &[transform(Action::Jq(jq))], row);
    println!("{:<44} {:>6.2}", "two field edits: splicing / serde_json tree", spliced / edits_on_a_tree());
}

fn transform(action: Action) -> Transform {
    Transform { place: "transforms[0]".to_owned(), is_enabled: true, when: None, action }
}

fn edits() -> [Transform; 2] {
    let path = |text| FieldPath::parse(text).expect("a path");
    let source = NewField { path: path("source"), value: FieldValue::Static("shop".into()) };
    [transform(Action::DeleteFields(vec![path("password")])), transform(Action::AddFields(vec![source]))]
}

/// Parse, delete, add, find the tenant, print: records a second, median of the batches.
fn edits_on_a_tree() -> f64 {
    let payloads: Vec<Vec<u8>> =
        (0..RECORDS).map(|number| row(number).payload.expect("a row has a payload")).collect();
    let mut out = Vec::new();
    let mut times: Vec<Duration> = (0..BATCHES / 4)
        .map(|_| {
            let started = Instant::now();
            for payload in &payloads {
                let mut tree: serde_json::Value = serde_json::from_slice(payload).expect("JSON");
                let members = tree.as_object_mut().expect("an object");
                members.shift_remove("password");
                members.entry("source").or_insert_with(|| "shop".into());
                black_box(members.get("tenant"));
                out.clear();
                serde_json::to_writer(&mut out, &tree).expect("memory takes every write");
                black_box(&out);
            }
            started.elapsed()
        })
        .collect();
    times.sort_unstable();
    RECORDS as f64 / times[times.len() / 2].as_secs_f64()
}

/// A row of 20 columns, 1 KB.
fn row(number: usize) -> Record {
    let columns: Vec<String> = (0..14)
        .map(|column| format!(r#""column_{column}":"value {column} of {number:06} and some words more""#))
        .collect();
    Record::new(format!(
        r#"{{"id":{number},"tenant":"t-{}","op":"u","password":"secret","amount":12.50,"at":"2024-01-02T03:04:05Z",{}}}"#,
        number % 4,
        columns.join(",")
    ))
}

fn run(path: &mut RecordPath, batch: GuestBatch) -> Duration {
    let started = Instant::now();
    let routed =
        path.route(batch, Provenance { life: 1, number: 1 }).expect("every record of a bench has a topic");
    for group in routed.groups() {
        for outgoing in routed.entries(group) {
            black_box(outgoing);
        }
    }
    let elapsed = started.elapsed();
    drop(routed);
    elapsed
}

/// What the random source makes with `payload_size = 60`, filled up to 200 bytes.
fn random_record(number: usize, users: usize) -> Record {
    let text = "kQ2n8ZpL0vX3yA7bTq4c".repeat(4);
    Record::new(format!(
        r#"{{"id":"7f1a1c8e-3d4b-4a0e-9f0c-2b6c1d5e8a90","sequence":{},"user_id":"user-{}","title":"Hello","name":"World","text":"{}"}}"#,
        1_000 + number % 1_000,
        number * 7_919 % users,
        &text[..76]
    ))
}

fn change_event(number: usize) -> Record {
    Record::new(format!(
        r#"{{"before":null,"after":{{"id":{number},"tenant":"t-{}","tags":["a","b"],"amount":12.50}},"source":{{"lsn":23456789,"table":"orders","schema":"public"}},"op":"c","ts_ms":1700000000000}}"#,
        number % 4
    ))
}

/// Schemas of what [`random_record`] makes.
fn schemas() -> [(&'static str, Schema, SchemaSource); 2] {
    let avro = r#"{"type": "record", "name": "Event", "fields": [
        {"name": "id", "type": {"type": "string", "logicalType": "uuid"}}, {"name": "sequence", "type": "long"},
        {"name": "user_id", "type": ["null", "string"]}, {"name": "title", "type": "string"},
        {"name": "name", "type": "string"}, {"name": "text", "type": "string"}]}"#;
    let proto = r#"syntax = "proto3"; message Event { string id = 1; int64 sequence = 2; string user_id = 3;
        string title = 4; string name = 5; string text = 6; }"#;
    let root = "event.proto".to_owned();
    let files = BTreeMap::from([(root.clone(), proto.to_owned())]);
    [
        ("json to avro, one topic", Schema::Avro, SchemaSource::Avro { text: avro.to_owned() }),
        ("json to proto, one topic", Schema::Proto, SchemaSource::ProtoFiles { root, files, message: None }),
    ]
}

fn record_schema(source: SchemaSource) -> RecordSchema {
    RecordSchema { source, file: None, location: Location::Variable(String::new()), path: String::new() }
}

fn field(path: &str) -> Value {
    Value::Field(FieldPath::parse(path).expect("a path"))
}

fn hash(path: &str) -> Value {
    let of = HashOf::Field(FieldPath::parse(path).expect("a path"));
    Value::Hash { of, buckets: NonZeroU32::new(16).expect("not zero") }
}

fn by(from: Value) -> TopicBlock {
    let template = Template::parse("orders.{value}").expect("a template");
    let rule = Rule::Dynamic { from, template, fallback: None, illegal: Illegal::Missing };
    TopicBlock { max_topics: 10_000, ..TopicBlock::new(rule) }
}

fn one_topic() -> TopicBlock {
    TopicBlock::new(Rule::Static("orders".to_owned()))
}

fn raw(block: TopicBlock) -> TopicBlock {
    TopicBlock { schema: Schema::Raw, ..block }
}

fn dressed() -> TopicBlock {
    let template = |text| Template::parse(text).expect("a template");
    TopicBlock {
        record_key: Some(template("{value}/{field:sequence}")),
        headers: vec![("source".into(), template("random")), ("title".into(), template("{field:title}"))],
        provenance: true,
        ..by(field("user_id"))
    }
}

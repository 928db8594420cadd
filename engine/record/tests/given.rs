//! Short ways to say what a story is given, and to read what came out.

use std::path::Path;

use pico_config::{
    Engine, Env, FieldPath, Illegal, Limits, Rule, Schema, Template, TopicBlock, Transform, Value,
    check_definition,
};
use pico_record::{Provenance, RecordPath, RouteFailure, Routed};
use picomq_connector_sdk::ffi::host::GuestBatch;
use picomq_connector_sdk::{Batch, Record, State};

pub(crate) const PROVENANCE: Provenance = Provenance { life: 77, number: 5 };

pub(crate) fn template(text: &str) -> Template {
    Template::parse(text).unwrap()
}

pub(crate) fn field(path: &str) -> Value {
    Value::Field(FieldPath::parse(path).unwrap())
}

/// A rule that takes illegal characters for missing and has no fallback.
pub(crate) fn rule(from: Value, text: &str) -> Rule {
    Rule::Dynamic { from, template: template(text), fallback: None, illegal: Illegal::Missing }
}

pub(crate) fn with_fallback(rule: Rule, name: &str) -> Rule {
    match rule {
        Rule::Dynamic { from, template, illegal, .. } => {
            Rule::Dynamic { from, template, fallback: Some(name.to_owned()), illegal }
        }
        Rule::Static(_) => panic!("a static rule has no fallback"),
    }
}

pub(crate) fn replacing(rule: Rule) -> Rule {
    match rule {
        Rule::Dynamic { from, template, fallback, .. } => {
            Rule::Dynamic { from, template, fallback, illegal: Illegal::Replace }
        }
        Rule::Static(_) => panic!("a static rule replaces nothing"),
    }
}

pub(crate) fn block(rule: Rule) -> TopicBlock {
    TopicBlock::new(rule)
}

pub(crate) fn to(topic: &str) -> TopicBlock {
    block(Rule::Static(topic.to_owned()))
}

pub(crate) fn by_tenant() -> TopicBlock {
    block(rule(field("tenant"), "orders.{value}"))
}

pub(crate) fn path(blocks: &[TopicBlock]) -> RecordPath {
    RecordPath::new(blocks, &Limits::default()).unwrap()
}

pub(crate) fn batch(schema: Schema, records: Vec<Record>) -> GuestBatch {
    GuestBatch::from_batch(filled(schema, records))
}

pub(crate) fn batch_with_state(records: Vec<Record>, state: State) -> GuestBatch {
    GuestBatch::from_batch(filled(Schema::Json, records).with_state(state))
}

fn filled(schema: Schema, records: Vec<Record>) -> Batch {
    let mut batch = Batch::new(schema);
    records.into_iter().for_each(|record| batch.push(record));
    batch
}

pub(crate) fn json(payloads: &[&str]) -> GuestBatch {
    batch(Schema::Json, payloads.iter().map(|payload| Record::new(*payload)).collect())
}

/// Everything that would be produced, in the order of groups and entries.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) block: u16,
    pub(crate) topic: String,
    pub(crate) payload: Option<Vec<u8>>,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
}

pub(crate) fn sent(routed: &Routed) -> Vec<Sent> {
    let mut all = Vec::new();
    for group in routed.groups() {
        let entries = routed.entries(group);
        assert_eq!(entries.len(), group.records());
        for outgoing in entries {
            let headers: Vec<_> =
                outgoing.headers().map(|(name, value)| (name.to_owned(), value.to_vec())).collect();
            assert_eq!(outgoing.has_headers(), !headers.is_empty());
            all.push(Sent {
                block: group.block,
                topic: group.topic.to_string(),
                payload: outgoing.payload.map(<[u8]>::to_vec),
                key: outgoing.key.map(<[u8]>::to_vec),
                headers,
            });
        }
    }
    assert_eq!(routed.outgoing() as usize, all.len());
    all
}

/// The topic of each record in the order of sending.
pub(crate) fn topics(routed: &Routed) -> Vec<String> {
    sent(routed).into_iter().map(|sent| sent.topic).collect()
}

/// The topic of one payload, or why it has none.
pub(crate) fn topic_of(block: TopicBlock, payload: &str) -> Result<String, RouteFailure> {
    let routed = path(&[block]).route(json(&[payload]), PROVENANCE)?;
    Ok(topics(&routed).remove(0))
}

/// The message of a refusal.
pub(crate) fn refusal(block: TopicBlock, payload: &str) -> String {
    topic_of(block, payload).unwrap_err().message
}

/// The transforms of a definition that has these tables.
pub(crate) fn transforms(tables: &str) -> Vec<Transform> {
    let text =
        format!("type = \"source\"\nkey = \"a\"\npath = \"liba\"\n[[topics]]\ntopic = \"t\"\n{tables}");
    let engine = Engine::defaults(Path::new("/srv"));
    let (definition, findings) = check_definition(Path::new("a.toml"), &text, &engine, &Env::default());
    definition.unwrap_or_else(|| panic!("{tables}: {findings:?}")).transforms
}

/// What becomes of one payload: the payload sent, `filtered`, or why it fails.
pub(crate) fn transformed(tables: &str, payload: &str) -> String {
    let mut path = path(&[to("t")]).with_transforms(&transforms(tables)).unwrap();
    match path.route(json(&[payload]), PROVENANCE) {
        Ok(routed) if routed.filtered() == 1 => "filtered".to_owned(),
        Ok(routed) => String::from_utf8(sent(&routed).remove(0).payload.unwrap()).unwrap(),
        Err(failure) => format!("{}: {}", failure.code, failure.message),
    }
}

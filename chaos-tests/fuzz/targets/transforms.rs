//! Any payload through every transform of fields, by paths that are in the input too: what is JSON comes out as JSON,
//! what is not is refused, and a transform that changes nothing leaves every byte.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pico_config::{
    Action, Envelope, FieldFilter, FieldMask, FieldPath, FieldPattern, FieldRename, FieldValue, IfMissing,
    KeyPattern, Limits, MaskMethod, NewField, Rule, TopicBlock, Transform,
};
use pico_record::{Provenance, RecordPath};
use picomq_connector_sdk::ffi::host::GuestBatch;
use picomq_connector_sdk::{Batch, Record, Schema};

fn transform(action: Action) -> Transform {
    Transform { place: "transforms[0]".to_owned(), is_enabled: true, when: None, action }
}

fn actions(first: &FieldPath, second: &FieldPath) -> Vec<Action> {
    let written = FieldValue::Static("x\"y".into());
    let name = first.segments()[0].clone();
    vec![
        Action::AddFields(vec![NewField { path: first.clone(), value: written }]),
        Action::MaskFields(FieldMask { fields: vec![second.clone()], method: MaskMethod::Hash(None) }),
        Action::RenameFields(vec![FieldRename { from: first.clone(), to: second.clone() }]),
        Action::DeleteFields(vec![second.clone()]),
        Action::FilterFields(FieldFilter {
            keep: vec![first.clone()],
            patterns: vec![FieldPattern { key: Some(KeyPattern::Contains(name)), value: None }],
            include_matching: true,
        }),
        Action::UnwrapEnvelope(Envelope { field: first.clone(), if_missing: IfMissing::Pass }),
    ]
}

/// What leaves, or nothing.
fn run(transforms: &[Transform], payload: &[u8]) -> Option<Vec<u8>> {
    let blocks = [TopicBlock::new(Rule::Static("t".to_owned()))];
    let mut path = RecordPath::new(&blocks, &Limits::default()).unwrap().with_transforms(transforms).unwrap();
    let mut batch = Batch::new(Schema::Json);
    batch.push(Record::new(payload));
    let routed = path.route(GuestBatch::from_batch(batch), Provenance { life: 1, number: 1 }).ok()?;
    let group = routed.groups().first()?;
    let payload = routed.entries(group).next()?.payload.map(<[u8]>::to_vec);
    payload
}

fuzz_target!(|input: (&str, &str, &[u8])| {
    let (first, second, payload) = input;
    let (Ok(first), Ok(second)) = (FieldPath::parse(first), FieldPath::parse(second)) else { return };
    let length = first.segments().len().min(second.segments().len());
    let is_inside = first.segments()[..length] == second.segments()[..length];
    // Renaming a path into itself is refused at load.
    let actions: Vec<Action> = actions(&first, &second)
        .into_iter()
        .filter(|action| !is_inside || !matches!(action, Action::RenameFields(_)))
        .collect();
    let is_json = std::str::from_utf8(payload)
        .is_ok_and(|text| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok());
    for count in 1..=actions.len() {
        let transforms: Vec<Transform> = actions[..count].iter().cloned().map(transform).collect();
        if let Some(out) = run(&transforms, payload) {
            assert!(is_json, "what is no JSON passed");
            serde_json::from_slice::<serde::de::IgnoredAny>(&out).expect("what leaves is JSON");
        }
    }
    let nowhere = FieldPath::parse("no\u{1}where.at\u{2}all").unwrap();
    let same = run(&[transform(Action::DeleteFields(vec![nowhere]))], payload);
    assert_eq!(same.is_some(), is_json);
    assert!(same.is_none_or(|same| same == payload));
});

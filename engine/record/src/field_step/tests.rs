//! Edits by splicing are held against the same edits on serde_json's tree, for random documents, paths and edits.

use pico_config::{FieldPath, FieldRename, FieldUpdate, NewField};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::document::Parts;
use crate::surroundings::System;

/// Few names, so that paths often lead somewhere; some need escapes, some are numbers.
fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "0", "1", "ä\"\n", "long name"]).prop_map(str::to_owned)
}

fn path() -> impl Strategy<Value = FieldPath> {
    prop::collection::vec(name(), 1..4).prop_map(|names| FieldPath::parse(&names.join(".")).unwrap())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        // Quarters survive serde_json's quick reading of floats.
        any::<i32>().prop_map(|quarters| json!(f64::from(quarters) / 4.0)),
        "[a-z\\\\\"\u{1}ü😀]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    prop::collection::vec((name(), value()), 0..6)
        .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>()))
}

fn action() -> impl Strategy<Value = Action> {
    let field =
        || (path(), value()).prop_map(|(path, value)| NewField { path, value: FieldValue::Static(value) });
    let condition =
        prop::sample::select(vec![Condition::Always, Condition::KeyExists, Condition::KeyNotExists]);
    prop_oneof![
        field().prop_map(|field| Action::AddFields(vec![field])),
        (field(), condition)
            .prop_map(|(field, condition)| { Action::UpdateFields(vec![FieldUpdate { field, condition }]) }),
        prop::collection::vec(path(), 1..3).prop_map(Action::DeleteFields),
        (path(), path())
            .prop_filter("one path inside the other is refused at load", |(from, to)| {
                let length = from.segments().len().min(to.segments().len());
                from.segments()[..length] != to.segments()[..length]
            })
            .prop_map(|(from, to)| Action::RenameFields(vec![FieldRename { from, to }])),
        prop::collection::vec(path(), 1..4).prop_map(|keep| {
            Action::FilterFields(FieldFilter { keep, patterns: Vec::new(), include_matching: true })
        }),
    ]
}

/// What stands at a path of a tree.
fn at<'v>(tree: &'v mut Value, path: &[String]) -> Option<&'v mut Value> {
    path.iter().try_fold(tree, |at, name| match at {
        Value::Object(members) => members.get_mut(name),
        Value::Array(items) => items.get_mut(crate::target::index_of(name)?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}

/// Err: something is in the way.
fn set(tree: &mut Value, path: &[String], value: Value) -> Result<(), ()> {
    let Some((name, rest)) = path.split_first() else {
        *tree = value;
        return Ok(());
    };
    match tree {
        Value::Object(members) => {
            let is_new = !members.contains_key(name);
            let inner = members.entry(name).or_insert_with(|| json!({}));
            debug_assert!(!is_new || inner.is_object());
            set(inner, rest, value)
        }
        Value::Array(items) => {
            let item = crate::target::index_of(name).and_then(|index| items.get_mut(index));
            item.ok_or(()).and_then(|item| set(item, rest, value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Err(()),
    }
}

fn remove(tree: &mut Value, path: &[String]) -> Option<Value> {
    let (name, parents) = path.split_last()?;
    match at(tree, parents)? {
        Value::Object(members) => members.shift_remove(name),
        Value::Array(items) => {
            let index = crate::target::index_of(name).filter(|index| *index < items.len())?;
            Some(items.remove(index))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn keep(tree: Value, paths: &[&[String]]) -> Option<Value> {
    if paths.iter().any(|path| path.is_empty()) {
        return Some(tree);
    }
    let below = |is_it: &dyn Fn(&str) -> bool| -> Vec<&[String]> {
        paths.iter().filter(|path| is_it(&path[0])).map(|path| &path[1..]).collect()
    };
    match tree {
        Value::Object(members) => {
            let kept: Map<String, Value> = members
                .into_iter()
                .filter_map(|(name, value)| {
                    let inner = below(&|segment| segment == name);
                    (!inner.is_empty()).then(|| keep(value, &inner)).flatten().map(|value| (name, value))
                })
                .collect();
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        Value::Array(items) => {
            let kept: Vec<Value> = items
                .into_iter()
                .enumerate()
                .filter_map(|(index, value)| {
                    let inner = below(&|segment| crate::target::index_of(segment) == Some(index));
                    (!inner.is_empty()).then(|| keep(value, &inner)).flatten()
                })
                .collect();
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// The same edit on a tree.
fn on_tree(tree: &mut Value, action: &Action) -> Result<(), ()> {
    match action {
        Action::AddFields(fields) => fields.iter().try_for_each(|field| {
            let FieldValue::Static(value) = &field.value else { return Ok(()) };
            let path = field.path.segments();
            if at(tree, path).is_some() { Ok(()) } else { set(tree, path, value.clone()) }
        }),
        Action::UpdateFields(updates) => updates.iter().try_for_each(|update| {
            let FieldValue::Static(value) = &update.field.value else { return Ok(()) };
            let path = update.field.path.segments();
            let exists = at(tree, path).is_some();
            match (update.condition, exists) {
                (Condition::KeyExists, false) | (Condition::KeyNotExists, true) => Ok(()),
                (Condition::Always | Condition::KeyExists | Condition::KeyNotExists, _) => {
                    set(tree, path, value.clone())
                }
            }
        }),
        Action::DeleteFields(paths) => {
            paths.iter().for_each(|path| drop(remove(tree, path.segments())));
            Ok(())
        }
        Action::RenameFields(renames) => renames
            .iter()
            .try_for_each(|rename| rename_in(tree, rename.from.segments(), rename.to.segments())),
        Action::FilterFields(filter) => {
            let paths: Vec<&[String]> = filter.keep.iter().map(FieldPath::segments).collect();
            *tree = keep(std::mem::take(tree), &paths).unwrap_or_else(|| json!({}));
            Ok(())
        }
        other => panic!("{other:?} is not among the random edits"),
    }
}

fn rename_in(tree: &mut Value, from: &[String], to: &[String]) -> Result<(), ()> {
    if at(tree, from).is_none() {
        return Ok(());
    }
    let (from_name, from_parents) = from.split_last().unwrap();
    let (to_name, to_parents) = to.split_last().unwrap();
    if from_parents == to_parents
        && let Some(Value::Object(members)) = at(tree, from_parents)
    {
        members.shift_remove(to_name);
        let renamed = std::mem::take(members)
            .into_iter()
            .map(|(name, value)| if name == *from_name { (to_name.clone(), value) } else { (name, value) });
        *members = renamed.collect();
        return Ok(());
    }
    let mut probe = tree.clone();
    set(&mut probe, to, Value::Null)?;
    let value = remove(tree, from).unwrap();
    set(tree, to, value)
}

fn spliced(payload: &str, actions: &[Action]) -> Result<String, ()> {
    let mut parts = Parts::default();
    let mut document = parts.open(payload.as_bytes()).unwrap();
    for action in actions {
        FieldStep::new(action).unwrap().apply(&mut document, &System).map_err(drop)?;
    }
    let mut out = Vec::new();
    document.write(&mut out);
    assert!(document.is_changed() || out == payload.as_bytes());
    Ok(String::from_utf8(out).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn splicing_and_a_tree_come_to_the_same(
        document in object(),
        actions in prop::collection::vec(action(), 1..5),
        is_pretty in any::<bool>(),
    ) {
        let payload = if is_pretty { serde_json::to_string_pretty(&document).unwrap() } else { document.to_string() };
        let mut tree = document;
        let expected = actions.iter().try_for_each(|action| on_tree(&mut tree, action));

        let outcome = spliced(&payload, &actions);

        prop_assert_eq!(outcome.is_ok(), expected.is_ok());
        if let Ok(text) = outcome {
            // As text, so that the order of members counts.
            let parsed: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(parsed.to_string(), tree.to_string());
            if !is_pretty {
                prop_assert_eq!(text, tree.to_string(), "nothing is spelled anew");
            }
        }
    }

    #[test]
    fn any_bytes_are_opened_exactly_when_they_are_json(payload in "[\\[\\]{}:,\"\\\\ a0-9.eEtrufnls-]{0,40}") {
        let mut parts = Parts::default();
        let is_json = serde_json::from_str::<serde::de::IgnoredAny>(&payload).is_ok();

        prop_assert_eq!(parts.open(payload.as_bytes()).is_ok(), is_json);
    }
}

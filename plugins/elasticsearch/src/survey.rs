//! What the server has to say about index and field before a search can be right.

use picomq_connector_sdk::Error;
use serde_json::{Map, Value, json};

use crate::client::Server;
use crate::key::Unit;
use crate::query::Field;
use crate::settings::{Order, Settings};

/// What is there to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Survey {
    /// No index matches the pattern, or what matches is empty.
    Nothing,
    /// Documents, and a field that orders them.
    Field(Field),
}

/// Asks once; the answer is good until indices come or go.
///
/// # Errors
/// [`Error::Transient`] when the index is not there, [`Error::Permanent`] when the field can order nothing.
pub(crate) async fn survey(server: &Server, settings: &Settings) -> Result<Survey, Error> {
    let Order::Timestamp { field, .. } = &settings.order else {
        return Ok(Survey::Field(Field { unit: Unit::Sequence, nested: None }));
    };
    let answer = server.field_kinds(&with_parents(field).join(",")).await?;
    match kind(field, &answer)? {
        Some(found) => Ok(Survey::Field(found)),
        None if answer["indices"].as_array().is_some_and(Vec::is_empty) => Ok(Survey::Nothing),
        None => {
            let any = json!({ "size": 1, "_source": false, "query": { "match_all": {} } });
            let found = server.count(&any).await?;
            match found["hits"]["hits"].as_array().is_some_and(|hits| !hits.is_empty()) {
                false => Ok(Survey::Nothing),
                true => Err(Error::permanent(format!(
                    "timestamp_field = \"{field}\": no document under index = \"{}\" has that field; right is the whole \
                     path, such as event.created",
                    settings.index
                ))),
            }
        }
    }
}

/// `a.b.c`, `a.b`, `a`.
fn with_parents(field: &str) -> Vec<&str> {
    let mut names = vec![field];
    while let Some((parent, _)) = names.last().and_then(|name| name.rsplit_once('.')) {
        names.push(parent);
    }
    names
}

/// What kind of field it is; none when nothing maps it.
fn kind(field: &str, answer: &Value) -> Result<Option<Field>, Error> {
    let Some(kinds) = answer["fields"][field].as_object() else { return Ok(None) };
    let kinds: Map<String, Value> = kinds
        .iter()
        .filter(|(kind, _)| *kind != "unmapped")
        .map(|(kind, of)| (kind.clone(), of.clone()))
        .collect();
    let units: Option<Vec<Unit>> = kinds.keys().map(|kind| unit(kind)).collect();
    let names = || kinds.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let unit = match units.as_deref() {
        Some([]) => return Ok(None),
        Some([one]) => *one,
        Some(several) if several.iter().all(|unit| unit.is_time()) => Unit::Nanos,
        Some([first, rest @ ..]) if rest.iter().all(|unit| unit == first) => *first,
        Some(_) | None => {
            return Err(Error::permanent(format!(
                "timestamp_field = \"{field}\" is of kind {}: right is date, date_nanos, or one kind of integer or keyword \
                 throughout",
                names()
            )));
        }
    };
    if kinds.values().any(|of| of["aggregatable"] == false) {
        return Err(Error::permanent(format!(
            "timestamp_field = \"{field}\" cannot be sorted by: its mapping ({}) has no doc_values",
            names()
        )));
    }
    let is_nested = |parent: &&&str| answer["fields"][**parent].get("nested").is_some();
    let nested = with_parents(field).iter().skip(1).find(is_nested).map(|parent| (*parent).to_owned());
    Ok(Some(Field { unit, nested }))
}

fn unit(kind: &str) -> Option<Unit> {
    match kind {
        "date" => Some(Unit::Millis),
        "date_nanos" => Some(Unit::Nanos),
        "long" | "integer" | "short" | "byte" => Some(Unit::Number),
        "keyword" | "constant_keyword" => Some(Unit::Text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(kinds: Value) -> Value {
        json!({ "indices": ["d"], "fields": { "a.t": kinds, "a": { "nested": { "type": "nested" } } } })
    }

    #[test]
    fn dates_of_both_kinds_are_counted_in_nanoseconds_b099() {
        let found = |kinds: Value| kind("a.t", &answer(kinds)).unwrap().unwrap().unit;
        assert_eq!(found(json!({ "date": {} })), Unit::Millis);
        assert_eq!(found(json!({ "date_nanos": {} })), Unit::Nanos);
        assert_eq!(found(json!({ "date": {}, "date_nanos": {}, "unmapped": {} })), Unit::Nanos);
        assert_eq!(found(json!({ "long": {}, "integer": {} })), Unit::Number);
        assert_eq!(found(json!({ "keyword": {} })), Unit::Text);
    }

    #[test]
    fn what_orders_nothing_is_refused_by_its_kind_b097() {
        for kinds in [json!({ "text": {} }), json!({ "date": {}, "keyword": {} }), json!({ "double": {} })] {
            let error = kind("a.t", &answer(kinds)).unwrap_err();
            assert!(matches!(error, Error::Permanent(_)) && error.chain().contains("a.t"), "{error}");
        }
        let unsorted = kind("a.t", &answer(json!({ "date": { "aggregatable": false } }))).unwrap_err();
        assert!(unsorted.chain().contains("doc_values"), "{unsorted}");
        assert_eq!(kind("b", &answer(json!({}))).unwrap(), None);
    }

    #[test]
    fn the_nearest_nested_object_is_found_b097() {
        assert_eq!(with_parents("a.b.c"), ["a.b.c", "a.b", "a"]);
        assert_eq!(
            kind("a.t", &answer(json!({ "date": {} }))).unwrap().unwrap().nested.as_deref(),
            Some("a")
        );
    }
}

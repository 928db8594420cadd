//! The bodies of searches. Pure: what to ask, never how.

use serde_json::{Map, Value, json};

use crate::key::{Key, Point, Unit};
use crate::settings::{Order, SEQUENCE, Settings};

/// Where a page begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// With the first document past this floor; with the very first without one.
    Floor(Option<Key>),
    /// After this document. Where shards may share a sequence number, *with* it: what else has its key may not have been
    /// read, and what was is remembered.
    Document(Key),
}

/// What of the server a search depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) unit: Unit,
    /// The nearest object around the field whose documents are hidden ones (`type: nested`).
    pub(crate) nested: Option<String>,
}

/// How the place where a page begins is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// By `search_after`, with so many values of the server's own behind ours.
    SearchAfter { own_values: usize },
    /// By a query, since a scroll takes no `search_after`.
    Query,
}

/// The body of one search, without the point in time.
pub(crate) fn body(
    settings: &Settings,
    field: &Field,
    begin: Begin,
    after: &After,
    size: usize,
) -> Map<String, Value> {
    let mut filters: Vec<Value> = settings.query.iter().map(|query| Value::Object(query.clone())).collect();
    if let Order::Timestamp { field: name, .. } = &settings.order {
        filters.push(nested(field, there_and_due(name, field.unit)));
    }
    let mut body = Map::new();
    match (begin, after) {
        (Begin::Query, After::Floor(Some(floor)) | After::Document(floor)) => {
            filters.push(past(settings, field, floor));
        }
        (Begin::SearchAfter { own_values }, After::Floor(Some(key))) => {
            body.insert("search_after".into(), search_after(&settings.order, key, own_values));
        }
        (Begin::SearchAfter { own_values }, After::Document(key)) => {
            let key = if settings.order.is_tie_shared() { with_itself(key) } else { key.clone() };
            body.insert("search_after".into(), search_after(&settings.order, &key, own_values));
        }
        (_, After::Floor(None)) => {}
    }
    body.insert("size".into(), size.into());
    body.insert("query".into(), json!({ "bool": { "filter": filters } }));
    body.insert("sort".into(), Value::Array(sort(&settings.order, field, begin)));
    body.insert("seq_no_primary_term".into(), true.into());
    body.insert("version".into(), settings.has_metadata.into());
    body
}

/// How many documents the field is missing from, of those the query matches.
pub(crate) fn without_field(settings: &Settings, field: &Field) -> Option<Value> {
    let Order::Timestamp { field: name, .. } = &settings.order else { return None };
    let filters: Vec<Value> = settings.query.iter().map(|query| Value::Object(query.clone())).collect();
    let exists = nested(field, json!({ "exists": { "field": name } }));
    Some(
        json!({ "size": 0, "track_total_hits": true, "query": { "bool": { "filter": filters, "must_not": [exists] } } }),
    )
}

/// What is said of documents dated ahead, behind their number.
pub(crate) const AHEAD: &str = "are dated ahead of the server's clock; each is read when its time has come";

/// How many documents are dated ahead of the server's clock, where that can be said.
pub(crate) fn dated_ahead(settings: &Settings, field: &Field) -> Option<Value> {
    let Order::Timestamp { field: name, .. } = &settings.order else { return None };
    let ahead = field.unit.is_time().then(|| nested(field, json!({ "range": { name: { "gt": "now" } } })))?;
    let filters: Vec<Value> =
        settings.query.iter().map(|query| Value::Object(query.clone())).chain([ahead]).collect();
    Some(json!({ "size": 0, "track_total_hits": true, "query": { "bool": { "filter": filters } } }))
}

/// The newest document past `floor` that is so old, by the server's clock, that nothing older can still become visible. None
/// where no such time is known: the field is none, or there is no `overlap`.
pub(crate) fn settled(settings: &Settings, field: &Field, floor: Option<&Key>) -> Option<Value> {
    let Order::Timestamp { field: name, .. } = &settings.order else { return None };
    if !field.unit.is_time() || settings.overlap_nanos == 0 {
        return None;
    }
    // Date math knows no parts of a second: a little longer, never shorter.
    let seconds = (settings.overlap_nanos - 1) / 1_000_000_000 + 1;
    let mut range = json!({ "lte": format!("now-{seconds}s") });
    if let Some(floor) = floor {
        let (at, format) = in_query(field.unit, &floor.at);
        range["gte"] = at;
        range["format"] = format.into();
    }
    // No second filter: OpenSearch 2.19 fails to sort downwards by a nested field when there is one. What settles the whole
    // index settles what `query` leaves of it.
    let old = nested(field, json!({ "range": { name: range } }));
    let mut how = by_time(field);
    how["order"] = "desc".into();
    // Of several values the smallest counts, as when they are read upwards.
    how["mode"] = "min".into();
    Some(json!({
        "size": 1, "_source": false, "track_total_hits": false,
        "query": { "bool": { "filter": [old] } }, "sort": [{ name: how }],
    }))
}

/// A document dated ahead is left until its time has come, by the server's clock: it would carry the cursor past
/// everybody else's documents.
fn there_and_due(name: &str, unit: Unit) -> Value {
    match unit.is_time() {
        true => json!({ "range": { name: { "lte": "now" } } }),
        false => json!({ "exists": { "field": name } }),
    }
}

/// How many documents lie past the floor.
pub(crate) fn unread(settings: &Settings, field: &Field, floor: Option<&Key>) -> Value {
    let after = After::Floor(floor.cloned());
    let mut body = body(settings, field, Begin::Query, &after, 0);
    body.remove("sort");
    body.insert("track_total_hits".into(), true.into());
    Value::Object(body)
}

fn sort(order: &Order, field: &Field, begin: Begin) -> Vec<Value> {
    let mut sort = Vec::new();
    match order {
        Order::Sequence => sort.push(json!({ SEQUENCE: "asc" })),
        Order::Timestamp { field: name, tie } => {
            sort.push(json!({ name: by_time(field) }));
            sort.push(json!({ tie: "asc" }));
        }
    }
    if begin == (Begin::SearchAfter { own_values: 1 }) {
        sort.push(json!({ "_shard_doc": "asc" }));
    }
    sort
}

fn by_time(field: &Field) -> Value {
    let mut how = json!({ "order": "asc" });
    if field.unit == Unit::Nanos {
        // A `date` under the same pattern is then counted in nanoseconds too.
        how["numeric_type"] = "date_nanos".into();
    }
    if let Some(path) = &field.nested {
        how["nested"] = json!({ "path": path });
    }
    how
}

fn search_after(order: &Order, key: &Key, own_values: usize) -> Value {
    let mut values = vec![key.at.json()];
    if let Order::Timestamp { .. } = order {
        values.push(key.tie.json());
    }
    // Behind every document of that key.
    values.extend(std::iter::repeat_n(Value::from(i64::MAX), own_values));
    Value::Array(values)
}

/// The key just before, so that documents of this very key come again. In a snapshot the sequence number stands first.
fn with_itself(key: &Key) -> Key {
    let before = |point: &Point| match point {
        Point::Int(number) => Point::Int(number.saturating_sub(1)),
        other => other.clone(),
    };
    match &key.tie {
        Point::None => Key { at: before(&key.at), tie: Point::None },
        tie => Key { at: key.at.clone(), tie: before(tie) },
    }
}

/// A query for what lies past the floor. Where the field is coarser than our count it lets a little more through.
fn past(settings: &Settings, field: &Field, floor: &Key) -> Value {
    let Order::Timestamp { field: name, tie } = &settings.order else {
        return json!({ "range": { SEQUENCE: { "gt": floor.at.json() } } });
    };
    let (at, format) = in_query(field.unit, &floor.at);
    let range = |bounds: &[&str]| {
        let mut range: Map<String, Value> =
            bounds.iter().map(|bound| ((*bound).to_owned(), at.clone())).collect();
        range.extend(format.map(|format| ("format".to_owned(), format.into())));
        nested(field, json!({ "range": { name: range } }))
    };
    let same = json!({ "bool": { "filter": [range(&["gte", "lte"]), { "range": { tie: { "gt": floor.tie.json() } } }] } });
    json!({ "bool": { "should": [range(&["gt"]), same], "minimum_should_match": 1 } })
}

/// A value as it stands in a range, and the format it then has.
fn in_query(unit: Unit, at: &Point) -> (Value, Option<&'static str>) {
    match unit {
        Unit::Millis => (at.json(), Some("epoch_millis")),
        Unit::Nanos => (unit.show(at).into(), Some("strict_date_optional_time_nanos")),
        Unit::Number | Unit::Text | Unit::Sequence => (at.json(), None),
    }
}

fn nested(field: &Field, query: Value) -> Value {
    match &field.nested {
        Some(path) => json!({ "nested": { "path": path, "query": query } }),
        None => query,
    }
}

#[cfg(test)]
mod tests {
    use picomq_connector_sdk::Limits;

    use super::*;
    use crate::config::ElasticsearchConfig;

    fn settings(more: Value) -> Settings {
        let mut config = json!({ "url": "http://host", "index": "docs" });
        config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let limits = Limits { batch_records: 10_000, batch_bytes: 64 << 20 };
        serde_json::from_value::<ElasticsearchConfig>(config).unwrap().check(&limits).unwrap()
    }

    fn field(unit: Unit) -> Field {
        Field { unit, nested: None }
    }

    fn key(at: i64, tie: i64) -> Key {
        Key { at: Point::Int(at), tie: Point::Int(tie) }
    }

    const PLAIN: Begin = Begin::SearchAfter { own_values: 0 };

    #[test]
    fn the_first_page_has_no_lower_bound_and_leaves_out_what_has_no_timestamp_b097() {
        let body = body(
            &settings(json!({ "timestamp_field": "a.b" })),
            &field(Unit::Millis),
            PLAIN,
            &After::Floor(None),
            7,
        );
        assert_eq!(body.get("search_after"), None);
        assert_eq!(
            body["query"],
            json!({ "bool": { "filter": [{ "range": { "a.b": { "lte": "now" } } }] } })
        );
        assert_eq!(body["sort"], json!([{ "a.b": { "order": "asc" } }, { "_seq_no": "asc" }]));
        assert_eq!(body["size"], 7);
    }

    #[test]
    fn numbers_and_texts_know_no_now() {
        let settings = settings(json!({ "timestamp_field": "n" }));
        for unit in [Unit::Number, Unit::Text] {
            let body = body(&settings, &field(unit), PLAIN, &After::Floor(None), 7);
            assert_eq!(body["query"], json!({ "bool": { "filter": [{ "exists": { "field": "n" } }] } }));
            assert_eq!(dated_ahead(&settings, &field(unit)), None);
        }
    }

    #[test]
    fn a_following_page_begins_with_the_key_of_the_last_document_b093() {
        let settings = settings(json!({ "timestamp_field": "at" }));
        let pit = Begin::SearchAfter { own_values: 1 };
        let next = body(&settings, &field(Unit::Millis), pit, &After::Document(key(5, 0)), 7);
        assert_eq!(next["search_after"], json!([5, -1, i64::MAX]));
        assert_eq!(next["sort"][2], json!({ "_shard_doc": "asc" }));
        let first = body(&settings, &field(Unit::Millis), PLAIN, &After::Floor(Some(key(5, 0))), 7);
        assert_eq!(first["search_after"], json!([5, 0]));
    }

    #[test]
    fn a_tie_break_of_ones_own_is_unique_and_not_read_twice() {
        let settings = settings(json!({ "timestamp_field": "at", "tie_breaker": "uid" }));
        let key = Key { at: Point::Int(5), tie: Point::Text("x".into()) };
        let next = body(&settings, &field(Unit::Millis), PLAIN, &After::Document(key), 7);
        assert_eq!(next["search_after"], json!([5, "x"]));
    }

    #[test]
    fn a_scroll_begins_by_a_query_to_the_nanosecond_b099() {
        let settings = settings(json!({ "timestamp_field": "at", "query": { "term": { "k": "v" } } }));
        let floor = After::Floor(Some(key(1_767_225_600_123_456_781, 9)));
        let body = body(&settings, &field(Unit::Nanos), Begin::Query, &floor, 7);
        assert_eq!(body.get("search_after"), None);
        let filter = &body["query"]["bool"]["filter"];
        assert_eq!(filter[0], json!({ "term": { "k": "v" } }));
        let range = &filter[2]["bool"]["should"][0]["range"]["at"];
        assert_eq!(range["gt"], "2026-01-01T00:00:00.123456781Z");
        assert_eq!(body["sort"][0]["at"]["numeric_type"], "date_nanos");
    }

    #[test]
    fn a_nested_field_is_asked_for_through_its_path_b097() {
        let settings = settings(json!({ "timestamp_field": "n.t" }));
        let nested = Field { unit: Unit::Millis, nested: Some("n".into()) };
        let body = body(&settings, &nested, PLAIN, &After::Floor(None), 7);
        assert_eq!(body["query"]["bool"]["filter"][0]["nested"]["path"], "n");
        assert_eq!(body["sort"][0]["n.t"]["nested"]["path"], "n");
        assert_eq!(
            without_field(&settings, &nested).unwrap()["query"]["bool"]["must_not"][0]["nested"]["path"],
            "n"
        );
    }

    #[test]
    fn what_is_settled_is_asked_by_the_clock_of_the_server_b094() {
        let settings_of = |overlap| settings(json!({ "timestamp_field": "n.t", "overlap": overlap }));
        let nested = Field { unit: Unit::Nanos, nested: Some("n".into()) };
        let body = settled(&settings_of("1500ms"), &nested, Some(&key(5, 6))).unwrap();
        let filters = body["query"]["bool"]["filter"].as_array().unwrap();
        let range = json!({ "lte": "now-2s", "gte": "1970-01-01T00:00:00.000000005Z", "format": "strict_date_optional_time_nanos" });
        assert_eq!(
            filters[..],
            [json!({ "nested": { "path": "n", "query": { "range": { "n.t": range } } } })]
        );
        let sort = json!({ "order": "desc", "mode": "min", "numeric_type": "date_nanos", "nested": { "path": "n" } });
        assert_eq!(body["sort"], json!([{ "n.t": sort }]));
        assert_eq!(settled(&settings_of("0s"), &nested, None), None);
        assert_eq!(settled(&settings_of("1s"), &field(Unit::Number), None), None);
    }

    #[test]
    fn a_snapshot_goes_by_sequence_number_alone() {
        let settings = settings(json!({ "mode": "snapshot" }));
        let key = Key { at: Point::Int(5), tie: Point::None };
        let next = body(&settings, &field(Unit::Sequence), PLAIN, &After::Document(key), 7);
        assert_eq!((&next["search_after"], &next["sort"]), (&json!([4]), &json!([{ "_seq_no": "asc" }])));
        assert_eq!(next["query"], json!({ "bool": { "filter": [] } }));
    }
}

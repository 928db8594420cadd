//! From checked `[[transforms]]` tables to transforms.

use picomq_connector_sdk::Schema;

use crate::checked::{Checked, Fields};
use crate::context::{Context, Draft, Place};
use crate::expression::Expression;
use crate::read_block::when;
use crate::read_pattern::{any_value, key_pattern, only, value_pattern};
use crate::read_rule::field_path;
use crate::read_schema::read_convert_schema;
use crate::secret::Secret;
use crate::template::FieldPath;
use crate::transform::{
    Action, Computed, Condition, Envelope, FieldFilter, FieldMask, FieldPattern, FieldRename, FieldUpdate,
    FieldValue, IfMissing, MaskMethod, NewField, RecordFilter, RecordPattern, SchemaConversion, Transform,
};

/// What hides a value when nothing else is said.
const REPLACEMENT: &str = "***";

/// Those that are right; findings say what is wrong with the others.
pub(crate) fn read_transforms(cx: &mut Context<'_>, fields: &Fields) -> Vec<Transform> {
    let tables = fields.tagged("transforms");
    tables.iter().filter_map(|(name, table)| read_transform(cx, name, table)).collect()
}

fn read_transform(cx: &mut Context<'_>, name: &str, fields: &Fields) -> Option<Transform> {
    let when = when(cx, fields);
    let action = match name {
        "add_fields" => new_fields(cx, fields).map(Action::AddFields),
        "update_fields" => updates(cx, fields).map(Action::UpdateFields),
        "delete_fields" => paths(cx, fields, "fields").map(Action::DeleteFields),
        "rename_fields" => renames(cx, fields).map(Action::RenameFields),
        "filter_fields" => field_filter(cx, fields).map(Action::FilterFields),
        "filter_records" => record_filter(cx, fields).map(Action::FilterRecords),
        "mask_fields" => mask(cx, fields).map(Action::MaskFields),
        "unwrap_envelope" => envelope(cx, fields).map(Action::UnwrapEnvelope),
        "avro_convert" => conversion(cx, fields, Schema::Avro).map(Action::Convert),
        "proto_convert" => conversion(cx, fields, Schema::Proto).map(Action::Convert),
        "flatbuffer_convert" | "flat_buffer_convert" => {
            conversion(cx, fields, Schema::FlatBuffer).map(Action::Convert)
        }
        _ => expression(cx, fields).map(Action::Jq),
    };
    let is_enabled = fields.flag("enabled").unwrap_or(true);
    Some(Transform { place: fields.place.path.clone(), is_enabled, when, action: action? })
}

/// A list that asks for nothing is a mistake: the transform would do nothing.
fn not_empty<T>(cx: &mut Context<'_>, fields: &Fields, name: &str, list: Vec<T>) -> Option<Vec<T>> {
    if list.is_empty() && fields.get(name).is_some() && fields.list(name).is_empty() {
        let place = fields.get(name).map_or(&fields.place, |item| &item.place);
        let reason = format!("`{name}` is empty, so the transform would do nothing");
        cx.add(place, Draft::error("config.no_effect", reason).hint("name a field, or set enabled = false"));
        return None;
    }
    (!list.is_empty()).then_some(list)
}

fn path(cx: &mut Context<'_>, fields: &Fields, name: &str) -> Option<(FieldPath, Place)> {
    let (text, place) = fields.text(name)?;
    Some((field_path(cx, text, place)?, place.clone()))
}

fn paths(cx: &mut Context<'_>, fields: &Fields, name: &str) -> Option<Vec<FieldPath>> {
    let mut all = Vec::new();
    for item in fields.list(name) {
        if let Checked::Text(text) = &item.value {
            all.extend(field_path(cx, &text.resolved, &item.place));
        }
    }
    not_empty(cx, fields, name, all)
}

fn new_fields(cx: &mut Context<'_>, fields: &Fields) -> Option<Vec<NewField>> {
    let all = fields.tables("fields").filter_map(|field| new_field(cx, field)).collect();
    not_empty(cx, fields, "fields", all)
}

fn updates(cx: &mut Context<'_>, fields: &Fields) -> Option<Vec<FieldUpdate>> {
    let mut all = Vec::new();
    for table in fields.tables("fields") {
        let condition = match table.word("condition") {
            Some("key_exists") => Condition::KeyExists,
            Some("key_not_exists") => Condition::KeyNotExists,
            Some(_) | None => Condition::Always,
        };
        all.extend(new_field(cx, table).map(|field| FieldUpdate { field, condition }));
    }
    not_empty(cx, fields, "fields", all)
}

fn new_field(cx: &mut Context<'_>, fields: &Fields) -> Option<NewField> {
    let path = path(cx, fields, "key").map(|(path, _)| path);
    let table = fields.table("value")?;
    let value = match only(cx, table, &["static", "computed"])? {
        "static" => any_value(cx, table.get("static")?).map(FieldValue::Static),
        _ => table.word("computed").and_then(computed).map(FieldValue::Computed),
    };
    Some(NewField { path: path?, value: value? })
}

fn computed(word: &str) -> Option<Computed> {
    Some(match word {
        "date_time" => Computed::DateTime,
        "timestamp_seconds" => Computed::TimestampSeconds,
        "timestamp_millis" => Computed::TimestampMillis,
        "timestamp_micros" => Computed::TimestampMicros,
        "timestamp_nanos" => Computed::TimestampNanos,
        "uuid_v4" => Computed::UuidV4,
        "uuid_v7" => Computed::UuidV7,
        _ => return None,
    })
}

fn renames(cx: &mut Context<'_>, fields: &Fields) -> Option<Vec<FieldRename>> {
    let mut all = Vec::new();
    for table in fields.tables("fields") {
        let (from, to) = (path(cx, table, "from"), path(cx, table, "to"));
        let (Some((from, _)), Some((to, place))) = (from, to) else { continue };
        let length = from.segments().len().min(to.segments().len());
        if from.segments()[..length] == to.segments()[..length] {
            let reason = if from == to {
                "a field is renamed to itself"
            } else {
                "one of the two paths is inside the other"
            };
            cx.add(&place, Draft::error("config.conflict", reason).hint("rename it to a path of its own"));
            continue;
        }
        all.push(FieldRename { from, to });
    }
    not_empty(cx, fields, "fields", all)
}

fn field_filter(cx: &mut Context<'_>, fields: &Fields) -> Option<FieldFilter> {
    let keep = paths(cx, fields, "keep_fields").unwrap_or_default();
    let mut patterns = Vec::new();
    for table in fields.tables("patterns") {
        let key = table.table("key_pattern").map(|pattern| key_pattern(cx, pattern));
        let value = table.get("value_pattern").map(|pattern| value_pattern(cx, pattern));
        let (Some(key), Some(value)) =
            (key.map_or(Some(None), |key| key.map(Some)), value.map_or(Some(None), |value| value.map(Some)))
        else {
            continue;
        };
        if key.is_none() && value.is_none() {
            let reason = "a pattern needs `key_pattern` or `value_pattern`";
            cx.add(&table.place, Draft::error("config.missing_field", reason));
        }
        patterns.push(FieldPattern { key, value });
    }
    let include_matching = fields.flag("include_matching").unwrap_or(true);
    // A field or pattern that is none has its finding, and the filter is not judged without it.
    let is_whole = |name, read: usize| !fields.has_failed(name) && fields.list(name).len() == read;
    if patterns.is_empty()
        && (keep.is_empty() || !include_matching)
        && is_whole("keep_fields", keep.len())
        && is_whole("patterns", 0)
    {
        let reason = if include_matching {
            "the filter names no field, so none would stay"
        } else {
            "without `patterns` no field matches, so all would stay"
        };
        let hint = "write keep_fields = [\"…\"] or patterns = [{ key_pattern = { … } }]";
        cx.add(&fields.place, Draft::error("config.no_effect", reason).hint(hint));
        return None;
    }
    Some(FieldFilter { keep, patterns, include_matching })
}

fn record_filter(cx: &mut Context<'_>, fields: &Fields) -> Option<RecordFilter> {
    let mut patterns = Vec::new();
    for table in fields.tables("patterns") {
        let field = path(cx, table, "field").map(|(path, _)| path);
        let value = table.get("value_pattern").and_then(|pattern| value_pattern(cx, pattern));
        patterns.extend(field.zip(value).map(|(field, value)| RecordPattern { field, value }));
    }
    let is_bare = fields.list("patterns").is_empty() && !fields.has_failed("patterns");
    if is_bare && fields.get("when").is_none() && !fields.has_failed("when") {
        let reason = "the filter has neither `patterns` nor `when`, so every record would be dropped";
        let hint = "write when = \"…\" for the records to drop";
        cx.add(&fields.place, Draft::error("config.no_effect", reason).hint(hint));
        return None;
    }
    if let Some(item) = fields.get("include_matching").filter(|_| is_bare) {
        let reason = "`include_matching` has no effect without `patterns`: records for which `when` is true are dropped";
        cx.add(&item.place, Draft::warning("config.no_effect", reason).hint("take it out"));
    }
    let include_matching = fields.flag("include_matching").unwrap_or(true);
    (is_bare || !patterns.is_empty()).then_some(RecordFilter { patterns, include_matching })
}

fn mask(cx: &mut Context<'_>, fields: &Fields) -> Option<FieldMask> {
    let is_hash = fields.word("method") == Some("hash");
    let unused = if is_hash { "replacement" } else { "hash_key" };
    if let Some(item) = fields.get(unused) {
        let method = if is_hash { "hash" } else { "redact" };
        let reason = format!("`{unused}` has no effect with method = \"{method}\"");
        cx.add(&item.place, Draft::warning("config.no_effect", reason).hint("take it out"));
    }
    let key = fields.text("hash_key").map(|(key, place)| (Secret::new(key.to_owned()), place));
    if let Some((_, place)) = key.as_ref().filter(|(key, _)| key.is_empty() && is_hash) {
        let reason = "`hash_key` is empty";
        cx.add(
            place,
            Draft::error("config.bad_hash_key", reason).hint("write a long random text, or take it out"),
        );
    }
    if is_hash && key.is_none() && !fields.has_failed("hash_key") {
        let reason = "without `hash_key` whoever can guess a value can check the guess against its hash";
        let hint = "write hash_key = \"${env:NAME}\"";
        cx.add(&fields.place, Draft::info("config.plain_hash", reason).hint(hint));
    }
    let replacement = fields.text("replacement").map_or(REPLACEMENT, |(text, _)| text).to_owned();
    let method =
        if is_hash { MaskMethod::Hash(key.map(|(key, _)| key)) } else { MaskMethod::Redact(replacement) };
    Some(FieldMask { fields: paths(cx, fields, "fields")?, method })
}

fn envelope(cx: &mut Context<'_>, fields: &Fields) -> Option<Envelope> {
    let (field, _) = path(cx, fields, "field")?;
    let if_missing =
        if fields.word("if_missing") == Some("error") { IfMissing::Error } else { IfMissing::Pass };
    Some(Envelope { field, if_missing })
}

/// From the schema of the transform to JSON, unless the formats say the other way.
fn conversion(cx: &mut Context<'_>, fields: &Fields, schema: Schema) -> Option<SchemaConversion> {
    let is_json = |name: &str, default: &'static str| fields.word(name).unwrap_or(default) == "json";
    let (from, to) = match (is_json("source_format", ""), is_json("target_format", "json")) {
        (false, true) => (schema, Schema::Json),
        (true, false) => (Schema::Json, schema),
        (is_json, _) => {
            let both = if is_json { Schema::Json } else { schema };
            let reason =
                format!("`source_format` and `target_format` are both {both}; one of them must be json");
            cx.add(&fields.place, Draft::error("config.conflict", reason));
            return None;
        }
    };
    let schema = read_convert_schema(cx, fields, schema)?;
    let int64_as_string = fields.flag("int64_as_string").unwrap_or(false);
    Some(SchemaConversion { from, to, schema, int64_as_string })
}

fn expression(cx: &mut Context<'_>, fields: &Fields) -> Option<Expression> {
    let (text, place) = fields.text("filter")?;
    Expression::parse(text).map_err(|error| cx.add(place, Draft::parse("config.bad_expression", error))).ok()
}

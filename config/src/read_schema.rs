//! From the keys of a block to its binary schema: the files are read here, once, and not compiled.

use std::path::{Path, PathBuf};

use picomq_connector_sdk::Schema;

use crate::checked::{Checked, Fields};
use crate::context::{Context, Draft, Place};
use crate::proto_imports::ProtoFiles;
use crate::schema_file::{read_bytes, read_text};
use crate::{RecordSchema, SchemaSource};

/// The keys of each schema, the first of which may hold the schema.
const KEYS: [(Schema, &[&str]); 3] = [
    (Schema::Avro, &["avro_schema_path", "avro_schema_json"]),
    (Schema::Proto, &["proto_schema_path", "proto_descriptor_set", "proto_message", "proto_include_paths"]),
    (Schema::FlatBuffer, &["flatbuffer_schema_path", "flatbuffer_root"]),
];

/// The schema of a block. None where it has none, or where a finding says why not.
pub(crate) fn read_schema(cx: &mut Context<'_>, fields: &Fields, schema: Schema) -> Option<RecordSchema> {
    for (of, keys) in KEYS.iter().filter(|(of, _)| *of != schema) {
        for item in keys.iter().filter_map(|key| fields.get(key)) {
            let reason = format!("`{}` has no effect with schema = \"{schema}\"", item.place.name());
            let hint = format!("write schema = \"{of}\", or take the line out");
            cx.add(&item.place, Draft::error("config.no_effect", reason).hint(hint));
        }
    }
    match schema {
        Schema::Avro => read_avro(cx, fields),
        Schema::Proto => read_proto(cx, fields),
        Schema::FlatBuffer => read_flatbuffer(cx, fields),
        Schema::Json | Schema::Raw | Schema::Text => None,
    }
}

fn read_avro(cx: &mut Context<'_>, fields: &Fields) -> Option<RecordSchema> {
    if let (Some(_), Some((_, place))) = (fields.text("avro_schema_path"), fields.text("avro_schema_json")) {
        both(cx, place, "avro_schema_path");
        return None;
    }
    if let Some((text, place)) = fields.text("avro_schema_json") {
        let source = SchemaSource::Avro { text: text.to_owned() };
        return Some(of_key(cx, source, None, place));
    }
    let Some((file, place)) = path(cx, fields, "avro_schema_path") else {
        unless_failed(cx, fields, &["avro_schema_path", "avro_schema_json"], Schema::Avro);
        return None;
    };
    let text = read_text(cx, &file, &place)?;
    Some(of_key(cx, SchemaSource::Avro { text }, Some(file), &place))
}

fn read_proto(cx: &mut Context<'_>, fields: &Fields) -> Option<RecordSchema> {
    let message =
        fields.text("proto_message").map(|(name, _)| name.to_owned()).filter(|name| !name.is_empty());
    if let (Some(_), Some((_, place))) =
        (fields.text("proto_schema_path"), fields.text("proto_descriptor_set"))
    {
        both(cx, place, "proto_schema_path");
        return None;
    }
    if let Some((file, place)) = path(cx, fields, "proto_descriptor_set") {
        let bytes = read_bytes(cx, &file, &place)?;
        return Some(of_key(cx, SchemaSource::ProtoDescriptorSet { bytes, message }, Some(file), &place));
    }
    let Some((file, place)) = path(cx, fields, "proto_schema_path") else {
        unless_failed(cx, fields, &["proto_schema_path", "proto_descriptor_set"], Schema::Proto);
        return None;
    };
    let folder = folder(cx);
    let texts = fields.list("proto_include_paths").iter();
    let texts =
        texts.filter_map(|item| if let Checked::Text(text) = &item.value { Some(text) } else { None });
    let folders: Vec<PathBuf> = texts.map(|text| folder.join(&text.resolved)).collect();
    let ProtoFiles { root, files } = ProtoFiles::read(cx, &file, &folders, &place)?;
    Some(of_key(cx, SchemaSource::ProtoFiles { root, files, message }, Some(file), &place))
}

fn read_flatbuffer(cx: &mut Context<'_>, fields: &Fields) -> Option<RecordSchema> {
    let Some((file, place)) = path(cx, fields, "flatbuffer_schema_path") else {
        unless_failed(cx, fields, &["flatbuffer_schema_path"], Schema::FlatBuffer);
        return None;
    };
    if file.extension().is_some_and(|extension| extension == "fbs") {
        let reason = "`flatbuffer_schema_path` must be a binary schema (.bfbs), not its source";
        let hint = format!("run flatc --binary --schema {}", file.display());
        cx.add(&place, Draft::error("config.bad_schema", reason).hint(hint));
        return None;
    }
    let bytes = read_bytes(cx, &file, &place)?;
    let root =
        fields.text("flatbuffer_root").map(|(name, _)| name.to_owned()).filter(|name| !name.is_empty());
    Some(of_key(cx, SchemaSource::FlatBuffer { bytes, root }, Some(file), &place))
}

fn of_key(cx: &Context<'_>, source: SchemaSource, file: Option<PathBuf>, place: &Place) -> RecordSchema {
    RecordSchema { source, file, location: cx.location(place), path: place.path.clone() }
}

/// A path of the definition, taken from its folder.
fn path(cx: &mut Context<'_>, fields: &Fields, name: &str) -> Option<(PathBuf, Place)> {
    let (text, place) = fields.text(name)?;
    if text.is_empty() {
        cx.add(place, Draft::error("config.empty", format!("`{name}` is empty")));
        return None;
    }
    Some((folder(cx).join(text), place.clone()))
}

/// The folder of the definition.
pub(crate) fn folder(cx: &Context<'_>) -> PathBuf {
    cx.text.file().parent().unwrap_or(Path::new("")).to_owned()
}

fn both(cx: &mut Context<'_>, place: &Place, other: &str) {
    let reason = format!("`{}` and `{other}` both name the schema", place.name());
    cx.add(place, Draft::error("config.contradiction", reason).hint("take one of them out"));
}

/// Only records that are in the schema already can pass a block without one.
fn unless_failed(cx: &mut Context<'_>, fields: &Fields, keys: &[&str], schema: Schema) {
    if keys.iter().any(|key| fields.has_failed(key) || fields.get(key).is_some()) {
        return;
    }
    let place = fields.get("schema").map_or_else(|| fields.place.clone(), |item| item.place.clone());
    let reason = format!("without a schema only records that the plugin gives as {schema} pass this block");
    cx.add(&place, Draft::warning("config.no_schema", reason).hint(format!("write {} = \"…\"", keys[0])));
}

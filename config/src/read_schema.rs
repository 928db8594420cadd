//! From the keys of a block to its binary schema: the files are read here, once, and not compiled.

use std::path::{Path, PathBuf};

use picomq_connector_sdk::Schema;

use crate::checked::{Checked, Fields};
use crate::context::{Context, Draft, Place};
use crate::proto_imports::ProtoFiles;
use crate::record_schema::{RecordSchema, SchemaSource};
use crate::schema_file::{read_bytes, read_text};

/// What the keys are called that say where a schema is.
pub(crate) struct Names {
    avro_path: &'static str,
    avro_json: &'static str,
    proto_path: &'static str,
    proto_set: &'static str,
    proto_message: &'static str,
    proto_folders: &'static str,
    flatbuffer_path: &'static str,
    flatbuffer_root: &'static str,
}

const OF_BLOCK: Names = Names {
    avro_path: "avro_schema_path",
    avro_json: "avro_schema_json",
    proto_path: "proto_schema_path",
    proto_set: "proto_descriptor_set",
    proto_message: "proto_message",
    proto_folders: "proto_include_paths",
    flatbuffer_path: "flatbuffer_schema_path",
    flatbuffer_root: "flatbuffer_root",
};

const OF_CONVERT: Names = Names {
    avro_path: "schema_path",
    avro_json: "schema_json",
    proto_path: "schema_path",
    proto_set: "descriptor_set",
    proto_message: "message_type",
    proto_folders: "include_paths",
    flatbuffer_path: "schema_path",
    flatbuffer_root: "root_table_name",
};

impl Names {
    /// Those of one schema, the first of which may hold it.
    fn of(&self, schema: Schema) -> Vec<&'static str> {
        match schema {
            Schema::Avro => vec![self.avro_path, self.avro_json],
            Schema::Proto => vec![self.proto_path, self.proto_set, self.proto_message, self.proto_folders],
            Schema::FlatBuffer => vec![self.flatbuffer_path, self.flatbuffer_root],
            Schema::Json | Schema::Raw | Schema::Text => Vec::new(),
        }
    }
}

/// The schema of a block. None where it has none, or where a finding says why not.
pub(crate) fn read_schema(cx: &mut Context<'_>, fields: &Fields, schema: Schema) -> Option<RecordSchema> {
    for of in Schema::ALL.into_iter().filter(|of| *of != schema) {
        for item in OF_BLOCK.of(of).into_iter().filter_map(|key| fields.get(key)) {
            let reason = format!("`{}` has no effect with schema = \"{schema}\"", item.place.name());
            let hint = format!("write schema = \"{of}\", or take the line out");
            cx.add(&item.place, Draft::error("config.no_effect", reason).hint(hint));
        }
    }
    let found = read(cx, fields, schema, &OF_BLOCK);
    if found.is_none() && is_unsaid(fields, schema, &OF_BLOCK) && !OF_BLOCK.of(schema).is_empty() {
        let place = fields.get("schema").map_or_else(|| fields.place.clone(), |item| item.place.clone());
        let reason =
            format!("without a schema only records that the plugin gives as {schema} pass this block");
        let hint = format!("write {} = \"…\"", OF_BLOCK.of(schema)[0]);
        // Only records that are in the schema already can pass a block without one.
        cx.add(&place, Draft::warning("config.no_schema", reason).hint(hint));
    }
    found
}

/// The schema of a convert transform. None where a finding says why not.
pub(crate) fn read_convert_schema(
    cx: &mut Context<'_>,
    fields: &Fields,
    schema: Schema,
) -> Option<RecordSchema> {
    let found = read(cx, fields, schema, &OF_CONVERT);
    if found.is_none() && is_unsaid(fields, schema, &OF_CONVERT) {
        let reason = "`schema_path` is missing: the transform needs the schema of what it converts";
        cx.add(&fields.place, Draft::error("config.missing_field", reason).hint("write schema_path = \"…\""));
    }
    found
}

fn read(cx: &mut Context<'_>, fields: &Fields, schema: Schema, names: &Names) -> Option<RecordSchema> {
    match schema {
        Schema::Avro => read_avro(cx, fields, names),
        Schema::Proto => read_proto(cx, fields, names),
        Schema::FlatBuffer => read_flatbuffer(cx, fields, names),
        Schema::Json | Schema::Raw | Schema::Text => None,
    }
}

/// Whether no key names the schema, not even one that has a finding.
fn is_unsaid(fields: &Fields, schema: Schema, names: &Names) -> bool {
    let keys = names.of(schema);
    let holding = keys.iter().take(if schema == Schema::FlatBuffer { 1 } else { 2 });
    holding.into_iter().all(|key| !fields.has_failed(key) && fields.get(key).is_none())
}

fn read_avro(cx: &mut Context<'_>, fields: &Fields, names: &Names) -> Option<RecordSchema> {
    if let (Some(_), Some((_, place))) = (fields.text(names.avro_path), fields.text(names.avro_json)) {
        both(cx, place, names.avro_path);
        return None;
    }
    if let Some((text, place)) = fields.text(names.avro_json) {
        let source = SchemaSource::Avro { text: text.to_owned() };
        return Some(of_key(cx, source, None, place));
    }
    let (file, place) = path(cx, fields, names.avro_path)?;
    let text = read_text(cx, &file, &place)?;
    Some(of_key(cx, SchemaSource::Avro { text }, Some(file), &place))
}

fn read_proto(cx: &mut Context<'_>, fields: &Fields, names: &Names) -> Option<RecordSchema> {
    let message =
        fields.text(names.proto_message).map(|(name, _)| name.to_owned()).filter(|name| !name.is_empty());
    if let (Some(_), Some((_, place))) = (fields.text(names.proto_path), fields.text(names.proto_set)) {
        both(cx, place, names.proto_path);
        return None;
    }
    if let Some((file, place)) = path(cx, fields, names.proto_set) {
        let bytes = read_bytes(cx, &file, &place)?;
        return Some(of_key(cx, SchemaSource::ProtoDescriptorSet { bytes, message }, Some(file), &place));
    }
    let (file, place) = path(cx, fields, names.proto_path)?;
    let folder = folder(cx);
    let texts = fields.list(names.proto_folders).iter();
    let texts =
        texts.filter_map(|item| if let Checked::Text(text) = &item.value { Some(text) } else { None });
    let folders: Vec<PathBuf> = texts.map(|text| folder.join(&text.resolved)).collect();
    let ProtoFiles { root, files } = ProtoFiles::read(cx, &file, &folders, &place)?;
    Some(of_key(cx, SchemaSource::ProtoFiles { root, files, message }, Some(file), &place))
}

fn read_flatbuffer(cx: &mut Context<'_>, fields: &Fields, names: &Names) -> Option<RecordSchema> {
    let (file, place) = path(cx, fields, names.flatbuffer_path)?;
    if file.extension().is_some_and(|extension| extension == "fbs") {
        let reason = format!("`{}` must be a binary schema (.bfbs), not its source", place.name());
        let hint = format!("run flatc --binary --schema {}", file.display());
        cx.add(&place, Draft::error("config.bad_schema", reason).hint(hint));
        return None;
    }
    let bytes = read_bytes(cx, &file, &place)?;
    let root =
        fields.text(names.flatbuffer_root).map(|(name, _)| name.to_owned()).filter(|name| !name.is_empty());
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

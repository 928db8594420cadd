//! A decoded message as JSON: fields under the names of the file, map keys in order, so that the same bytes are the same
//! text every time.

use std::collections::HashMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, ReflectMessage, SerializeOptions, Value};

use super::plan::is_well_known;
use crate::codec::text::{DEPTH_MAX, JsonText};
use crate::codec::trouble::Trouble;

pub(super) struct Printer<'a> {
    pub(super) json: JsonText<'a>,
    /// Whether 64-bit integers are strings, as protobuf's own JSON has them.
    pub(super) int64_as_string: bool,
}

/// On the wire as any other number, though prost-reflect takes it for the default.
fn is_minus_zero(value: &Value) -> bool {
    match value {
        Value::F32(number) => *number == 0.0 && number.is_sign_negative(),
        Value::F64(number) => *number == 0.0 && number.is_sign_negative(),
        Value::Bool(_) | Value::I32(_) | Value::I64(_) | Value::U32(_) | Value::U64(_) => false,
        Value::String(_) | Value::Bytes(_) | Value::EnumNumber(_) => false,
        Value::Message(_) | Value::List(_) | Value::Map(_) => false,
    }
}

impl Printer<'_> {
    pub(super) fn message(&mut self, message: &DynamicMessage, depth: usize) -> Result<(), Trouble> {
        if depth > DEPTH_MAX {
            return Err(Trouble::new(format!("the messages nest deeper than {DEPTH_MAX}")));
        }
        let descriptor = message.descriptor();
        if is_well_known(descriptor.full_name()) {
            return self.well_known(message);
        }
        self.json.raw("{")?;
        let mut fields: Vec<_> = descriptor.fields().collect();
        fields.sort_by_key(FieldDescriptor::number);
        let mut is_first = true;
        for field in fields {
            let value = message.get_field(&field);
            if !message.has_field(&field) && !is_minus_zero(&value) {
                continue;
            }
            self.json.comma(is_first)?;
            is_first = false;
            self.json.key(field.name())?;
            self.value(&field.kind(), &value, depth).map_err(|trouble| trouble.in_field(field.name()))?;
        }
        self.json.raw("}")
    }

    fn value(&mut self, kind: &Kind, value: &Value, depth: usize) -> Result<(), Trouble> {
        match value {
            Value::Bool(flag) => self.json.raw(if *flag { "true" } else { "false" }),
            Value::I32(number) => self.json.number(number),
            Value::U32(number) => self.json.number(number),
            Value::I64(number) if self.int64_as_string => self.json.string(&number.to_string()),
            Value::I64(number) => self.json.number(number),
            Value::U64(number) if self.int64_as_string => self.json.string(&number.to_string()),
            Value::U64(number) => self.json.number(number),
            Value::F32(number) => self.json.float(*number),
            Value::F64(number) => self.json.double(*number),
            Value::String(text) => self.json.string(text),
            Value::Bytes(bytes) => self.json.string(&BASE64_STANDARD.encode(bytes)),
            Value::EnumNumber(number) => self.enumeration(kind, *number),
            Value::Message(message) => self.message(message, depth + 1),
            Value::List(values) => {
                self.json.raw("[")?;
                for (index, value) in values.iter().enumerate() {
                    self.json.comma(index == 0)?;
                    self.value(kind, value, depth).map_err(|trouble| trouble.in_item(index))?;
                }
                self.json.raw("]")
            }
            Value::Map(values) => self.map(kind, values, depth),
        }
    }

    fn map(&mut self, kind: &Kind, values: &HashMap<MapKey, Value>, depth: usize) -> Result<(), Trouble> {
        let entry = kind.as_message().expect("a map is a field of entries");
        let kind = entry.map_entry_value_field().kind();
        let mut entries: Vec<_> = values.iter().collect();
        entries.sort_by_key(|(key, _)| *key);
        self.json.raw("{")?;
        for (index, (key, value)) in entries.into_iter().enumerate() {
            self.json.comma(index == 0)?;
            let name = match key {
                MapKey::Bool(flag) => flag.to_string(),
                MapKey::I32(number) => number.to_string(),
                MapKey::I64(number) => number.to_string(),
                MapKey::U32(number) => number.to_string(),
                MapKey::U64(number) => number.to_string(),
                MapKey::String(text) => text.clone(),
            };
            self.json.key(&name)?;
            self.value(&kind, value, depth).map_err(|trouble| trouble.in_field(&name))?;
        }
        self.json.raw("}")
    }

    /// A number without a name stays a number.
    fn enumeration(&mut self, kind: &Kind, number: i32) -> Result<(), Trouble> {
        let of = kind.as_enum().expect("its value is one of an enum");
        if of.full_name() == "google.protobuf.NullValue" {
            return self.json.raw("null");
        }
        match of.get_value(number) {
            Some(value) => self.json.string(value.name()),
            None => self.json.number(number),
        }
    }

    fn well_known(&mut self, message: &DynamicMessage) -> Result<(), Trouble> {
        let options = SerializeOptions::new()
            .stringify_64_bit_integers(self.int64_as_string)
            .use_proto_field_name(true);
        let mut text = Vec::new();
        let name = message.descriptor().full_name().to_owned();
        message
            .serialize_with_options(&mut serde_json::Serializer::new(&mut text), &options)
            .map_err(|error| Trouble::new(format!("it is no {name}: {error}")))?;
        self.json.raw(std::str::from_utf8(&text).expect("serde_json writes UTF-8"))
    }
}

//! JSON to protobuf's wire format, directly against the plan, fields in the order of their numbers.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use prost_reflect::prost::Message as _;
use prost_reflect::{DeserializeOptions, DynamicMessage, MessageDescriptor};

use super::plan::{Enum, Field, Id, Integer, Kind, Message, Plan, Shape};
use crate::codec::number::{as_bool, as_double, as_float, as_integer, as_text, mismatch, or_mismatch, whole};
use crate::codec::tape::{Json, Kind as JsonKind};
use crate::codec::trouble::Trouble;

/// No member of the object has the field's name.
const ABSENT: usize = usize::MAX;

const VARINT: u32 = 0;
const I64: u32 = 1;
const SIZED: u32 = 2;
const GROUP_START: u32 = 3;
const GROUP_END: u32 = 4;
const I32: u32 = 5;

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

pub(super) struct Encoder<'a> {
    pub(super) plan: &'a Plan,
    pub(super) out: &'a mut Vec<u8>,
    /// Where the fields of the messages under way stand in the tape.
    pub(super) slots: &'a mut Vec<usize>,
}

impl<'a> Encoder<'a> {
    /// Members that the message has no field for are left out; of a key that stands twice the last counts.
    pub(super) fn message(&mut self, id: Id, value: Json<'_>) -> Result<(), Trouble> {
        let plan = self.plan;
        let message = &plan.messages[id];
        if let Some(descriptor) = &message.well_known {
            return self.well_known(descriptor, value);
        }
        if value.kind() != JsonKind::Object {
            return Err(mismatch(value, "an object, for a message"));
        }
        let base = self.slots.len();
        self.slots.resize(base + message.fields.len(), ABSENT);
        for (key, member) in value.members() {
            let position = key.text().and_then(|name| message.positions.get(&*name));
            if let Some(position) = position {
                let is_absent =
                    member.kind() == JsonKind::Null && !self.takes_null(&message.fields[*position]);
                self.slots[base + position] = if is_absent { ABSENT } else { member.position() };
            }
        }
        self.one_of_each(message, base)?;
        for (index, field) in message.fields.iter().enumerate() {
            let outcome = match self.slots[base + index] {
                ABSENT if field.is_required => Err(Trouble::new("is required and not there")),
                ABSENT => Ok(()),
                position => self.field(field, value.at(position)),
            };
            outcome.map_err(|trouble| trouble.in_field(&field.name))?;
        }
        self.slots.truncate(base);
        Ok(())
    }

    /// Null is a value of `google.protobuf.Value` and `NullValue`; for all others it means absent.
    fn takes_null(&self, field: &Field) -> bool {
        let is_single = matches!(field.shape, Shape::Single { .. });
        is_single
            && match &field.of {
                Kind::Enum(of) => of.is_null,
                Kind::Message(id) => {
                    let descriptor = self.plan.messages[*id].well_known.as_ref();
                    descriptor.is_some_and(|descriptor| descriptor.full_name() == "google.protobuf.Value")
                }
                Kind::Double | Kind::Float | Kind::Bool | Kind::String | Kind::Bytes => false,
                Kind::Integer(_) | Kind::Group(_) => false,
            }
    }

    fn one_of_each(&self, message: &Message, base: usize) -> Result<(), Trouble> {
        for (index, oneof) in message.oneofs.iter().enumerate() {
            let is_set = |(position, field): &(usize, &Field)| {
                field.oneof == Some(index) && self.slots[base + position] != ABSENT
            };
            let mut set = message.fields.iter().enumerate().filter(is_set).map(|(_, field)| &field.name);
            if let (Some(first), Some(second)) = (set.next(), set.next()) {
                let reason = format!("{first} and {second} are both there, and only one of {oneof} may be");
                return Err(Trouble::new(reason));
            }
        }
        Ok(())
    }

    fn field(&mut self, field: &Field, value: Json<'_>) -> Result<(), Trouble> {
        match &field.shape {
            Shape::Single { is_explicit } => self.single(field, value, *is_explicit),
            Shape::Repeated { is_packed } => self.repeated(field, value, *is_packed),
            Shape::Map { keys } => self.map(field, keys, value),
        }
    }

    /// Written first and taken back if it says no more than its absence.
    fn single(&mut self, field: &Field, value: Json<'_>, is_explicit: bool) -> Result<(), Trouble> {
        let before = self.out.len();
        self.tag(field.number, &field.of);
        let start = self.out.len();
        self.value(field, value)?;
        let written = &self.out[start..];
        let is_default = written.iter().all(|byte| *byte == 0) && can_be_default(&field.of, written.len());
        if is_default && !is_explicit {
            self.out.truncate(before);
        }
        Ok(())
    }

    fn repeated(&mut self, field: &Field, value: Json<'_>, is_packed: bool) -> Result<(), Trouble> {
        if value.kind() != JsonKind::Array {
            return Err(mismatch(value, "an array, for a repeated field"));
        }
        let mut elements = value.elements().enumerate().peekable();
        if elements.peek().is_none() {
            return Ok(());
        }
        if is_packed {
            self.key(field.number, SIZED);
            let start = self.begin();
            for (index, element) in elements {
                self.value(field, element).map_err(|trouble| trouble.in_item(index))?;
            }
            self.end(start);
            return Ok(());
        }
        for (index, element) in elements {
            self.tag(field.number, &field.of);
            self.value(field, element).map_err(|trouble| trouble.in_item(index))?;
        }
        Ok(())
    }

    fn map(&mut self, field: &Field, keys: &Kind, value: Json<'_>) -> Result<(), Trouble> {
        if value.kind() != JsonKind::Object {
            return Err(mismatch(value, "an object, for a map"));
        }
        for (key, member) in value.members() {
            let name = or_mismatch(key.text(), key, "a key")?;
            self.key(field.number, SIZED);
            let start = self.begin();
            self.tag(1, keys);
            self.map_key(keys, key, &name)?;
            self.tag(2, &field.of);
            self.value(field, member).map_err(|trouble| trouble.in_field(&name))?;
            self.end(start);
        }
        Ok(())
    }

    /// Every key of a JSON object is a string, whatever it is in the map.
    fn map_key(&mut self, kind: &Kind, key: Json<'_>, name: &str) -> Result<(), Trouble> {
        let flag = match name {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        };
        match kind {
            Kind::String => self.bytes(name.as_bytes()),
            Kind::Bool => self.varint(u64::from(or_mismatch(flag, key, "true or false, as a key")?)),
            Kind::Integer(of) => self.integer(*of, key, name.parse().ok())?,
            Kind::Double | Kind::Float | Kind::Bytes | Kind::Enum(_) | Kind::Message(_) | Kind::Group(_) => {
                return Err(mismatch(key, "a key that protobuf knows"));
            }
        }
        Ok(())
    }

    /// The value itself, after its tag.
    fn value(&mut self, field: &Field, value: Json<'_>) -> Result<(), Trouble> {
        match &field.of {
            Kind::Double => {
                let number = as_double(value).or_else(|| of_text(value));
                self.out.extend_from_slice(&or_mismatch(number, value, "a double")?.to_le_bytes());
            }
            Kind::Float => {
                let number = as_float(value).or_else(|| of_text(value));
                self.out.extend_from_slice(&or_mismatch(number, value, "a float")?.to_le_bytes());
            }
            Kind::Bool => {
                let flag = or_mismatch(as_bool(value), value, "a boolean")?;
                self.out.push(u8::from(flag));
            }
            Kind::String => self.bytes(or_mismatch(as_text(value), value, "a string")?.as_bytes()),
            Kind::Bytes => {
                let bytes = as_text(value).and_then(|text| of_base64(&text));
                self.bytes(&or_mismatch(bytes, value, "bytes in base64")?);
            }
            Kind::Enum(of) => self.enumeration(of, value)?,
            Kind::Message(id) => {
                let start = self.begin();
                self.message(*id, value)?;
                self.end(start);
            }
            Kind::Group(id) => {
                self.message(*id, value)?;
                self.key(field.number, GROUP_END);
            }
            Kind::Integer(of) => self.integer(*of, value, number_of(value))?,
        }
        Ok(())
    }

    fn enumeration(&mut self, of: &Enum, value: Json<'_>) -> Result<(), Trouble> {
        let number = match value.kind() {
            JsonKind::String => value.text().and_then(|name| of.numbers.get(&*name).copied()),
            JsonKind::Number => as_integer(value),
            JsonKind::Null if of.is_null => Some(0),
            JsonKind::Null | JsonKind::Bool(_) | JsonKind::Array | JsonKind::Object => None,
        };
        self.varint(i64::from(or_mismatch(number, value, "a value of the enum")?) as u64);
        Ok(())
    }

    /// `found`: the number that stands there, whatever its range.
    fn integer(&mut self, kind: Integer, value: Json<'_>, found: Option<i128>) -> Result<(), Trouble> {
        match kind {
            Integer::Int32 => self.varint(i64::from(narrow::<i32>(found, value, "an int32")?) as u64),
            Integer::Int64 => self.varint(narrow::<i64>(found, value, "an int64")? as u64),
            Integer::Uint32 => self.varint(narrow::<u32>(found, value, "a uint32")?.into()),
            Integer::Uint64 => self.varint(narrow::<u64>(found, value, "a uint64")?),
            Integer::Sint32 => {
                let number = narrow::<i32>(found, value, "a sint32")?;
                self.varint(u64::from(((number << 1) ^ (number >> 31)) as u32));
            }
            Integer::Sint64 => {
                let number = narrow::<i64>(found, value, "a sint64")?;
                self.varint(((number << 1) ^ (number >> 63)) as u64);
            }
            Integer::Fixed32 => {
                let number = narrow::<u32>(found, value, "a fixed32")?;
                self.out.extend_from_slice(&number.to_le_bytes());
            }
            Integer::Fixed64 => {
                let number = narrow::<u64>(found, value, "a fixed64")?;
                self.out.extend_from_slice(&number.to_le_bytes());
            }
            Integer::Sfixed32 => {
                let number = narrow::<i32>(found, value, "an sfixed32")?;
                self.out.extend_from_slice(&number.to_le_bytes());
            }
            Integer::Sfixed64 => {
                let number = narrow::<i64>(found, value, "an sfixed64")?;
                self.out.extend_from_slice(&number.to_le_bytes());
            }
        }
        Ok(())
    }

    fn well_known(&mut self, descriptor: &MessageDescriptor, value: Json<'_>) -> Result<(), Trouble> {
        let mut json = serde_json::Deserializer::from_str(value.written());
        let options = DeserializeOptions::new();
        let message = DynamicMessage::deserialize_with_options(descriptor.clone(), &mut json, &options);
        let name = descriptor.full_name();
        let message =
            message.map_err(|error| Trouble::new(format!("{} is no {name}: {error}", value.shown())))?;
        message.encode_raw(self.out);
        Ok(())
    }

    fn tag(&mut self, number: u32, kind: &Kind) {
        let wire = match kind {
            Kind::Double => I64,
            Kind::Float => I32,
            Kind::Integer(Integer::Fixed64 | Integer::Sfixed64) => I64,
            Kind::Integer(Integer::Fixed32 | Integer::Sfixed32) => I32,
            Kind::Integer(Integer::Int32 | Integer::Int64 | Integer::Uint32 | Integer::Uint64) => VARINT,
            Kind::Integer(Integer::Sint32 | Integer::Sint64) | Kind::Bool | Kind::Enum(_) => VARINT,
            Kind::String | Kind::Bytes | Kind::Message(_) => SIZED,
            Kind::Group(_) => GROUP_START,
        };
        self.key(number, wire);
    }

    fn key(&mut self, number: u32, wire: u32) {
        self.varint(u64::from(number << 3 | wire));
    }

    fn varint(&mut self, number: u64) {
        varint(number, self.out);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.varint(bytes.len() as u64);
        self.out.extend_from_slice(bytes);
    }

    /// Begins what has its length before it, with one byte for that.
    fn begin(&mut self) -> usize {
        self.out.push(0);
        self.out.len()
    }

    /// Fills in the length of what began at `start`; a long one moves it.
    fn end(&mut self, start: usize) {
        let mut length = Vec::with_capacity(10);
        varint((self.out.len() - start) as u64, &mut length);
        self.out[start - 1] = length[0];
        if length.len() > 1 {
            self.out.splice(start..start, length.drain(1..));
        }
    }
}

/// Whether so many zero bytes may be a default: those of any number, but a string of one NUL is no empty string.
fn can_be_default(kind: &Kind, bytes: usize) -> bool {
    match kind {
        Kind::String | Kind::Bytes => bytes == 1,
        Kind::Message(_) | Kind::Group(_) => false,
        Kind::Double | Kind::Float | Kind::Integer(_) | Kind::Bool | Kind::Enum(_) => true,
    }
}

fn narrow<T: TryFrom<i128>>(found: Option<i128>, value: Json<'_>, needed: &str) -> Result<T, Trouble> {
    or_mismatch(found.and_then(|number| T::try_from(number).ok()), value, needed)
}

/// A whole number, also as a string, as protobuf's JSON has it for 64 bits.
fn number_of(value: Json<'_>) -> Option<i128> {
    match value.kind() {
        JsonKind::Number => whole(value.written()),
        JsonKind::String => value.text().and_then(|text| whole(&text)),
        JsonKind::Null | JsonKind::Bool(_) | JsonKind::Array | JsonKind::Object => None,
    }
}

/// A finite number in a string. The names of others are known before.
fn of_text<T: std::str::FromStr + Into<f64> + Copy>(value: Json<'_>) -> Option<T> {
    let number: T = as_text(value)?.parse().ok()?;
    number.into().is_finite().then_some(number)
}

fn of_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text)).ok()
}

pub(super) fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

//! JSON to Avro's binary encoding, directly against the plan.

use super::logical;
use super::plan::{Field, Id, Plan, Record, Type, UuidForm};
use crate::codec::number::{as_bool, as_double, as_float, as_integer, as_text, mismatch, or_mismatch};
use crate::codec::tape::{Json, Kind};
use crate::codec::trouble::Trouble;

/// No member of the object has the field's name.
const ABSENT: usize = usize::MAX;

/// Appends to `out`.
pub(super) struct Encoder<'a> {
    pub(super) plan: &'a Plan,
    pub(super) out: &'a mut Vec<u8>,
    /// Where the fields of the records under way stand in the tape.
    pub(super) slots: &'a mut Vec<usize>,
}

impl<'a> Encoder<'a> {
    pub(super) fn value(&mut self, of: Id, value: Json<'_>) -> Result<(), Trouble> {
        let plan = self.plan;
        match plan.get(of) {
            Type::Null if value.kind() == Kind::Null => {}
            Type::Null => return Err(mismatch(value, "null")),
            Type::Boolean => {
                let flag = or_mismatch(as_bool(value), value, "a boolean")?;
                self.out.push(u8::from(flag));
            }
            Type::Int => self.long(or_mismatch(as_integer::<i32>(value), value, "an int (32 bits)")?.into()),
            Type::Long => self.long(or_mismatch(as_integer(value), value, "a long (64 bits)")?),
            Type::Float => {
                let number = or_mismatch(as_float(value), value, "a float")?;
                self.out.extend_from_slice(&number.to_le_bytes());
            }
            Type::Double => {
                let number = or_mismatch(as_double(value), value, "a double")?;
                self.out.extend_from_slice(&number.to_le_bytes());
            }
            Type::String => self.bytes(or_mismatch(as_text(value), value, "a string")?.as_bytes()),
            Type::Bytes => self.bytes(&latin1(value)?),
            Type::Fixed(size) => self.fixed(value, *size)?,
            Type::Enum(symbols) => {
                let symbol = or_mismatch(as_text(value), value, "a symbol of the enum")?;
                let position = symbols.positions.get(&*symbol);
                let position = position.ok_or_else(|| mismatch(value, "a symbol of the enum"))?;
                self.long(*position as i64);
            }
            Type::Array(items) => self.array(*items, value)?,
            Type::Map(values) => self.map(*values, value)?,
            Type::Record(record) => self.record(record, value)?,
            Type::Union(branches) => self.union(branches, value)?,
            Type::Decimal { .. } | Type::Date | Type::Time(_) | Type::Timestamp { .. } => {
                self.logical(of, value)?
            }
            Type::Uuid(form) => self.uuid(*form, value)?,
            Type::Duration => self.out.extend_from_slice(&logical::duration(value)?),
        }
        Ok(())
    }

    fn logical(&mut self, of: Id, value: Json<'_>) -> Result<(), Trouble> {
        match self.plan.get(of) {
            Type::Decimal { precision, scale, size } => {
                let unscaled = logical::decimal(value, *precision, *scale)?;
                match size {
                    None => self.bytes(logical::shortest(&unscaled.to_be_bytes())),
                    Some(size) => logical::extend(unscaled, *size, self.out)?,
                }
            }
            Type::Date => {
                let days = logical::date(value)?;
                self.long(i64::from(days));
            }
            Type::Time(unit) => {
                let time = logical::time(value, *unit)?;
                self.long(time);
            }
            Type::Timestamp { unit, is_local } => {
                let time = logical::timestamp(value, *unit, *is_local)?;
                self.long(time);
            }
            Type::Null
            | Type::Boolean
            | Type::Int
            | Type::Long
            | Type::Float
            | Type::Double
            | Type::Bytes
            | Type::String
            | Type::Array(_)
            | Type::Map(_)
            | Type::Union(_)
            | Type::Record(_)
            | Type::Enum(_)
            | Type::Fixed(_)
            | Type::Uuid(_)
            | Type::Duration => unreachable!("`value` sends others elsewhere"),
        }
        Ok(())
    }

    fn long(&mut self, number: i64) {
        let mut rest = ((number << 1) ^ (number >> 63)) as u64;
        while rest >= 0x80 {
            self.out.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.out.push(rest as u8);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.long(bytes.len() as i64);
        self.out.extend_from_slice(bytes);
    }

    fn fixed(&mut self, value: Json<'_>, size: usize) -> Result<(), Trouble> {
        let bytes = latin1(value)?;
        if bytes.len() != size {
            return Err(Trouble::new(format!("{} bytes do not fit a fixed of {size}", bytes.len())));
        }
        self.out.extend_from_slice(&bytes);
        Ok(())
    }

    fn uuid(&mut self, form: UuidForm, value: Json<'_>) -> Result<(), Trouble> {
        let written = or_mismatch(as_text(value), value, "a uuid")?;
        let uuid = or_mismatch(uuid::Uuid::try_parse(&written).ok(), value, "a uuid")?;
        match form {
            UuidForm::Text => self.bytes(written.as_bytes()),
            UuidForm::Bytes => self.bytes(uuid.as_bytes()),
            UuidForm::Fixed => self.out.extend_from_slice(uuid.as_bytes()),
        }
        Ok(())
    }

    /// One block of all elements, and the empty block that ends an array.
    fn array(&mut self, items: Id, value: Json<'_>) -> Result<(), Trouble> {
        if value.kind() != Kind::Array {
            return Err(mismatch(value, "an array"));
        }
        let count = value.elements().count();
        if count > 0 {
            self.long(count as i64);
            for (index, element) in value.elements().enumerate() {
                self.value(items, element).map_err(|trouble| trouble.in_item(index))?;
            }
        }
        self.long(0);
        Ok(())
    }

    fn map(&mut self, values: Id, value: Json<'_>) -> Result<(), Trouble> {
        if value.kind() != Kind::Object {
            return Err(mismatch(value, "an object, for a map"));
        }
        let count = value.members().count();
        if count > 0 {
            self.long(count as i64);
            for (key, member) in value.members() {
                let name = or_mismatch(as_text(key), key, "a key")?;
                self.bytes(name.as_bytes());
                self.value(values, member).map_err(|trouble| trouble.in_field(&name))?;
            }
        }
        self.long(0);
        Ok(())
    }

    /// Members that the record has no field for are left out; of a key that stands twice the last counts.
    fn record(&mut self, record: &Record, value: Json<'_>) -> Result<(), Trouble> {
        if value.kind() != Kind::Object {
            return Err(mismatch(value, "an object, for a record"));
        }
        let base = self.slots.len();
        self.slots.resize(base + record.fields.len(), ABSENT);
        for (key, member) in value.members() {
            let position = key.text().and_then(|name| record.positions.get(&*name));
            if let Some(position) = position {
                self.slots[base + position] = member.position();
            }
        }
        for (index, field) in record.fields.iter().enumerate() {
            let outcome = match self.slots[base + index] {
                ABSENT => self.absent(field),
                position => self.value(field.of, value.at(position)),
            };
            outcome.map_err(|trouble| trouble.in_field(&field.name))?;
        }
        self.slots.truncate(base);
        Ok(())
    }

    /// The default; without one a nullable field becomes null.
    fn absent(&mut self, field: &Field) -> Result<(), Trouble> {
        if let Some(default) = &field.default {
            self.out.extend_from_slice(default);
            return Ok(());
        }
        let null = match self.plan.get(field.of) {
            Type::Union(branches) => {
                branches.iter().position(|branch| matches!(self.plan.get(*branch), Type::Null))
            }
            _ => None,
        };
        match null {
            Some(position) => self.long(position as i64),
            None => return Err(Trouble::new("is not there, and the schema has no default for it")),
        }
        Ok(())
    }

    fn union(&mut self, branches: &[Id], value: Json<'_>) -> Result<(), Trouble> {
        let fits = branches.iter().enumerate();
        let fits = fits.filter_map(|(position, branch)| Some((self.fit(*branch, value)?, position, *branch)));
        let Some((_, position, branch)) = fits.min() else {
            let reason = match value.kind() {
                Kind::Object => {
                    "an object fits no branch of the union (a record needs all its fields without a default)"
                        .to_owned()
                }
                Kind::Null | Kind::Bool(_) | Kind::Number | Kind::String | Kind::Array => {
                    format!("{} fits no branch of the union", value.shown())
                }
            };
            return Err(Trouble::new(reason));
        };
        self.long(position as i64);
        self.value(branch, value)
    }

    /// How well a branch suits a value, 0 best; None when it does not. Looks at the value alone, and at the names of an
    /// object's members, never deeper: a choice costs no more for nested unions.
    fn fit(&self, branch: Id, value: Json<'_>) -> Option<u8> {
        let (is_number, is_text) = (value.kind() == Kind::Number, value.kind() == Kind::String);
        let is_scalar = is_number || is_text;
        match self.plan.get(branch) {
            Type::Null => (value.kind() == Kind::Null).then_some(0),
            Type::Boolean => matches!(value.kind(), Kind::Bool(_)).then_some(0),
            Type::Int => as_integer::<i32>(value).is_some().then_some(0),
            Type::Long => as_integer::<i64>(value).is_some().then_some(0),
            Type::Date => (is_scalar && logical::date(value).is_ok()).then_some(0),
            Type::Time(unit) => (is_scalar && logical::time(value, *unit).is_ok()).then_some(0),
            Type::Timestamp { unit, is_local } => {
                (is_scalar && logical::timestamp(value, *unit, *is_local).is_ok()).then_some(0)
            }
            Type::Decimal { precision, scale, .. } => (is_scalar
                && logical::decimal(value, *precision, *scale).is_ok())
            .then_some(u8::from(is_number)),
            Type::Double => as_double(value).is_some().then_some(2),
            Type::Float => as_float(value).is_some().then_some(3),
            Type::String => (value.kind() == Kind::String).then_some(0),
            Type::Bytes => (is_text && latin1(value).is_ok()).then_some(0),
            Type::Fixed(size) => {
                (is_text && latin1(value).is_ok_and(|bytes| bytes.len() == *size)).then_some(0)
            }
            Type::Enum(symbols) => {
                as_text(value).is_some_and(|symbol| symbols.positions.contains_key(&*symbol)).then_some(0)
            }
            Type::Uuid(_) => {
                as_text(value).is_some_and(|text| uuid::Uuid::try_parse(&text).is_ok()).then_some(0)
            }
            Type::Duration => (value.kind() == Kind::Object && logical::duration(value).is_ok()).then_some(0),
            Type::Array(_) => (value.kind() == Kind::Array).then_some(0),
            Type::Map(_) => (value.kind() == Kind::Object).then_some(0),
            Type::Record(record) => {
                (value.kind() == Kind::Object && self.has_all(record, value)).then_some(0)
            }
            Type::Union(_) => None,
        }
    }

    /// Whether every field that cannot be absent is there.
    fn has_all(&self, record: &Record, value: Json<'_>) -> bool {
        let has = |name: &str| value.members().any(|(key, _)| key.text().is_some_and(|key| key == name));
        record.fields.iter().all(|field| self.can_be_absent(field) || has(&field.name))
    }

    fn can_be_absent(&self, field: &Field) -> bool {
        let is_null = |branch: &Id| matches!(self.plan.get(*branch), Type::Null);
        field.default.is_some()
            || matches!(self.plan.get(field.of), Type::Union(branches) if branches.iter().any(is_null))
    }
}

/// Avro's own text for bytes: one character from U+0000 to U+00FF for each.
fn latin1(value: Json<'_>) -> Result<Vec<u8>, Trouble> {
    let written = or_mismatch(as_text(value), value, "bytes, which are a string here")?;
    let bytes: Option<Vec<u8>> = written.chars().map(|character| u8::try_from(character).ok()).collect();
    or_mismatch(bytes, value, "bytes: each is one character up to U+00FF")
}

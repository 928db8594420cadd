//! Avro's binary encoding to JSON. Every length is held against what is left before it is used, and the JSON is bounded,
//! so that an array of a billion nulls is an error and not a gigabyte.

use super::logical::{self, DURATION_BYTES, Unit};
use super::plan::{Id, Plan, Record, Type, UuidForm};
use crate::codec::text::{DEPTH_MAX, JsonText};
use crate::codec::trouble::Trouble;

/// Reads one value after the other.
pub(super) struct Decoder<'a> {
    pub(super) plan: &'a Plan,
    pub(super) bytes: &'a [u8],
    pub(super) json: JsonText<'a>,
}

impl<'a> Decoder<'a> {
    /// One value, and nothing after it.
    pub(super) fn whole(mut self) -> Result<(), Trouble> {
        self.value(self.plan.root, 0)?;
        match self.bytes.len() {
            0 => Ok(()),
            left => {
                Err(Trouble::new(format!("{left} bytes are left after the value; the schema is another one")))
            }
        }
    }

    fn value(&mut self, of: Id, depth: usize) -> Result<(), Trouble> {
        if depth > DEPTH_MAX {
            return Err(Trouble::new(format!("the value nests deeper than {DEPTH_MAX}")));
        }
        let plan = self.plan;
        match plan.get(of) {
            Type::Null => self.json.raw("null"),
            Type::Boolean => match self.take(1)? {
                [0] => self.json.raw("false"),
                [1] => self.json.raw("true"),
                other => Err(Trouble::new(format!("{other:?} is no boolean"))),
            },
            Type::Int => {
                let number = self.int()?;
                self.json.number(number)
            }
            Type::Long => {
                let number = self.long()?;
                self.json.number(number)
            }
            Type::Float => {
                let number = f32::from_le_bytes(self.exactly()?);
                self.json.float(number)
            }
            Type::Double => {
                let number = f64::from_le_bytes(self.exactly()?);
                self.json.double(number)
            }
            Type::String => {
                let text = self.text()?;
                self.json.string(text)
            }
            Type::Bytes => {
                let bytes = self.sized()?;
                self.latin1(bytes)
            }
            Type::Fixed(size) => {
                let bytes = self.take(*size)?;
                self.latin1(bytes)
            }
            Type::Enum(symbols) => {
                let position = self.long()?;
                let name = usize::try_from(position).ok().and_then(|position| symbols.names.get(position));
                let name = name.ok_or_else(|| Trouble::new(format!("the enum has no symbol {position}")))?;
                self.json.string(name)
            }
            Type::Array(items) => self.array(*items, depth),
            Type::Map(values) => self.map(*values, depth),
            Type::Record(record) => self.record(record, depth),
            Type::Union(branches) => {
                let position = self.long()?;
                let branch = usize::try_from(position).ok().and_then(|position| branches.get(position));
                let branch =
                    branch.ok_or_else(|| Trouble::new(format!("the union has no branch {position}")))?;
                self.value(*branch, depth + 1)
            }
            Type::Decimal { scale, size, .. } => self.decimal(*scale, *size),
            Type::Uuid(form) => self.uuid(*form),
            Type::Date => {
                let days = self.int()?;
                self.named(logical::date_text(days), i64::from(days))
            }
            Type::Time(unit) => self.time(*unit),
            Type::Timestamp { unit, is_local } => {
                let number = self.long()?;
                self.named(logical::timestamp_text(number, *unit, *is_local), number)
            }
            Type::Duration => self.duration(),
        }
    }

    fn record(&mut self, record: &Record, depth: usize) -> Result<(), Trouble> {
        self.json.raw("{")?;
        for (index, field) in record.fields.iter().enumerate() {
            self.json.comma(index == 0)?;
            self.json.key(&field.name)?;
            self.value(field.of, depth + 1).map_err(|trouble| trouble.in_field(&field.name))?;
        }
        self.json.raw("}")
    }

    fn time(&mut self, unit: Unit) -> Result<(), Trouble> {
        let number = match unit {
            Unit::Millis => i64::from(self.int()?),
            Unit::Micros | Unit::Nanos => self.long()?,
        };
        self.named(logical::time_text(number, unit), number)
    }

    /// The number itself where it has no text.
    fn named(&mut self, text: Option<String>, number: i64) -> Result<(), Trouble> {
        match text {
            Some(text) => self.json.string(&text),
            None => self.json.number(number),
        }
    }

    fn array(&mut self, items: Id, depth: usize) -> Result<(), Trouble> {
        self.json.raw("[")?;
        let mut index = 0;
        loop {
            let count = self.block()?;
            if count == 0 {
                return self.json.raw("]");
            }
            for _ in 0..count {
                self.json.comma(index == 0)?;
                self.value(items, depth + 1).map_err(|trouble| trouble.in_item(index))?;
                index += 1;
            }
        }
    }

    fn map(&mut self, values: Id, depth: usize) -> Result<(), Trouble> {
        self.json.raw("{")?;
        let mut is_first = true;
        loop {
            let count = self.block()?;
            if count == 0 {
                return self.json.raw("}");
            }
            for _ in 0..count {
                self.json.comma(is_first)?;
                is_first = false;
                let name = self.text()?;
                self.json.key(name)?;
                self.value(values, depth + 1).map_err(|trouble| trouble.in_field(name))?;
            }
        }
    }

    /// How many elements the next block has. A negative count is followed by the block's bytes, which are not needed.
    fn block(&mut self) -> Result<u64, Trouble> {
        let count = self.long()?;
        if count < 0 {
            self.length()?;
        }
        Ok(count.unsigned_abs())
    }

    fn decimal(&mut self, scale: u32, size: Option<usize>) -> Result<(), Trouble> {
        let bytes = match size {
            Some(size) => self.take(size)?,
            None => self.sized()?,
        };
        let unscaled = logical::unscaled(bytes);
        let unscaled = unscaled.ok_or_else(|| Trouble::new("the decimal has more than 38 digits"))?;
        self.json.string(&logical::decimal_text(unscaled, scale))
    }

    fn uuid(&mut self, form: UuidForm) -> Result<(), Trouble> {
        let bytes = match form {
            UuidForm::Text => {
                let text = self.text()?;
                return self.json.string(text);
            }
            UuidForm::Bytes => self.sized()?,
            UuidForm::Fixed => self.take(16)?,
        };
        let uuid = uuid::Uuid::from_slice(bytes).ok();
        let uuid = uuid.ok_or_else(|| Trouble::new(format!("a uuid of {} bytes", bytes.len())))?;
        self.json.string(uuid.hyphenated().encode_lower(&mut uuid::Uuid::encode_buffer()))
    }

    fn duration(&mut self) -> Result<(), Trouble> {
        let bytes = self.take(DURATION_BYTES)?;
        self.json.raw("{")?;
        for (index, (name, number)) in logical::duration_parts(bytes).enumerate() {
            self.json.comma(index == 0)?;
            self.json.key(name)?;
            self.json.number(number)?;
        }
        self.json.raw("}")
    }

    fn latin1(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
        self.json.string(&text)
    }

    fn text(&mut self) -> Result<&'a str, Trouble> {
        let bytes = self.sized()?;
        std::str::from_utf8(bytes).map_err(|error| Trouble::new(format!("a string is not UTF-8: {error}")))
    }

    fn sized(&mut self) -> Result<&'a [u8], Trouble> {
        let length = self.length()?;
        self.take(length)
    }

    fn length(&mut self) -> Result<usize, Trouble> {
        let length = self.long()?;
        usize::try_from(length).ok().ok_or_else(|| Trouble::new(format!("{length} is no length")))
    }

    fn int(&mut self) -> Result<i32, Trouble> {
        let number = self.long()?;
        i32::try_from(number).ok().ok_or_else(|| Trouble::new(format!("{number} is not an int (32 bits)")))
    }

    /// A zigzag varint of at most ten bytes.
    fn long(&mut self) -> Result<i64, Trouble> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok((number >> 1) as i64 ^ -((number & 1) as i64));
            }
        }
        Err(Trouble::new("a number is longer than 64 bits"))
    }

    fn exactly<const N: usize>(&mut self) -> Result<[u8; N], Trouble> {
        let taken = self.take(N)?;
        Ok(taken.try_into().expect("it has that length"))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Trouble> {
        let Some((taken, rest)) = self.bytes.split_at_checked(length) else {
            let left = self.bytes.len();
            return Err(Trouble::new(format!("{length} bytes should follow, {left} are left")));
        };
        self.bytes = rest;
        Ok(taken)
    }
}

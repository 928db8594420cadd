//! Where a piece of text of a rule or template comes from, and how it is fetched from a record.

use std::fmt;
use std::num::NonZeroU32;

use pico_config::{FieldPath, HashOf, Value};
use picomq_connector_sdk::ffi::host::RecordView;

use crate::json::{Absence, FieldTree, Fields, Slot};
use crate::murmur2;

/// Kafka takes the sign off a hash before it divides.
const POSITIVE: u32 = 0x7fff_ffff;
/// Digits of the largest bucket number.
const BUCKET_DIGITS_MAX: usize = 10;

/// One place of a record that gives text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Field { path: FieldPath, slot: Slot },
    Header(Box<str>),
    Key,
    Hash { of: Box<Origin>, buckets: NonZeroU32 },
}

/// Text fetched from a record.
#[derive(Debug)]
pub(crate) enum Text<'a> {
    Bytes(&'a [u8]),
    Bucket(Digits),
}

/// A number in decimal digits, without an allocation.
#[derive(Debug)]
pub(crate) struct Digits {
    buffer: [u8; BUCKET_DIGITS_MAX],
    start: usize,
}

/// The record that is being looked at, with the fields already read from its payload.
#[derive(Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) record: RecordView<'a>,
    /// The record's payload after its transforms.
    pub(crate) payload: Option<&'a [u8]>,
    /// Whether they changed it.
    pub(crate) is_changed: bool,
    pub(crate) fields: &'a Fields,
}

impl Origin {
    /// Where the value of a rule comes from; its paths are added to what is read of each payload.
    pub(crate) fn of_value(value: &Value, tree: &mut FieldTree) -> Origin {
        match value {
            Value::Field(path) => Origin::of_field(path, tree),
            Value::Header(name) => Origin::Header(name.as_str().into()),
            Value::Key => Origin::Key,
            Value::Hash { of, buckets } => {
                let of = match of {
                    HashOf::Field(path) => Origin::of_field(path, tree),
                    HashOf::Header(name) => Origin::Header(name.as_str().into()),
                    HashOf::Key => Origin::Key,
                };
                Origin::Hash { of: Box::new(of), buckets: *buckets }
            }
        }
    }

    /// The field at `path`, which is then read of each payload.
    pub(crate) fn of_field(path: &FieldPath, tree: &mut FieldTree) -> Origin {
        Origin::Field { path: path.clone(), slot: tree.slot(path.segments()) }
    }
}

/// As messages name it.
impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Field { path, .. } => write!(out, "field \"{path}\""),
            Origin::Header(name) => write!(out, "header {name:?}"),
            Origin::Key => out.write_str("the record key"),
            Origin::Hash { of, .. } => of.fmt(out),
        }
    }
}

impl<'a> Subject<'a> {
    /// What is missing, for messages. A field may be there in the plugin's record and not in this one.
    #[cold]
    pub(crate) fn absence(&self, origin: &Origin, why: Absence) -> String {
        let is_field = match origin {
            Origin::Field { .. } => true,
            Origin::Header(_) | Origin::Key => false,
            Origin::Hash { of, .. } => matches!(**of, Origin::Field { .. }),
        };
        let moment = if is_field && self.is_changed { " after the transforms" } else { "" };
        format!("{origin} {why}{moment}")
    }

    /// The text at `origin`.
    pub(crate) fn text(&self, origin: &Origin) -> Result<Text<'a>, Absence> {
        match origin {
            Origin::Field { slot, .. } => {
                let payload = self.payload.unwrap_or_default();
                self.fields.text(*slot, payload).map(Text::Bytes)
            }
            Origin::Header(name) => self.record.header(name).map(Text::Bytes).ok_or(Absence::NotThere),
            Origin::Key => self.record.key.map(Text::Bytes).ok_or(Absence::NotThere),
            Origin::Hash { of, buckets } => {
                let hash = murmur2(self.text(of)?.as_bytes()) & POSITIVE;
                Ok(Text::Bucket(Digits::of(hash % buckets.get())))
            }
        }
    }
}

impl Text<'_> {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Text::Bytes(bytes) => bytes,
            Text::Bucket(digits) => &digits.buffer[digits.start..],
        }
    }
}

impl Digits {
    fn of(mut number: u32) -> Digits {
        let mut digits = Digits { buffer: [b'0'; BUCKET_DIGITS_MAX], start: BUCKET_DIGITS_MAX };
        loop {
            digits.start -= 1;
            digits.buffer[digits.start] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                return digits;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_number() {
        for number in [0, 7, 10, 1_234_567, u32::MAX] {
            assert_eq!(Text::Bucket(Digits::of(number)).as_bytes(), number.to_string().as_bytes());
        }
    }
}

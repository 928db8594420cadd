//! Which form Debezium gives a type, and what stands for a value of it that the stream left out.

use crate::value::{Catalog, Kind, Root};

/// The precision of a `timestamptz` without one.
const TIMESTAMP_DIGITS: u8 = 6;

/// How the text of a type becomes JSON, with `decimal.handling.mode=string`, `time.precision.mode=isostring` and
/// `binary.handling.mode=base64`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As in the other envelopes; so are the types that Debezium leaves out.
    Plain(Kind),
    /// As Java writes a `double`: `1.0E10`.
    Float,
    /// A string, with `NAN` and `POSITIVE_INFINITY` for what is no number.
    Numeric,
    /// A string of the number alone.
    Money,
    /// `2024-02-29Z`
    Date,
    /// `2024-02-29T23:59:59.5Z`
    Timestamp,
    /// The same with as many digits of a second as the column has.
    TimestampTz {
        digits: u8,
    },
    /// `12:34:56.789Z`
    Time,
    /// The same, moved to UTC.
    TimeTz,
    /// Microseconds, a month having 30.4375 days.
    Interval,
    /// A bit string of one bit: a boolean.
    Flag,
    /// Base64 of the bits, the last one first.
    Bits,
    /// An object of `x`, `y` and `wkb`.
    Point,
    /// A string that holds a JSON object.
    Hstore,
    Array {
        element: Box<Form>,
        delimiter: u8,
    },
}

impl Form {
    /// The form of a column of the type `oid`, with its `modifier` (-1 without one).
    pub(crate) fn of(catalog: &Catalog, oid: u32, modifier: i32) -> Form {
        let root = catalog.root(oid, modifier);
        of_root(&root).unwrap_or_else(|| Form::Plain(catalog.kind(oid)))
    }
}

/// `None` for a type that has no form of its own.
fn of_root(root: &Root) -> Option<Form> {
    if let Some((element, delimiter)) = &root.element {
        return match of_root(element)? {
            // Debezium has no arrays of these, so they stay what they are elsewhere.
            Form::Interval | Form::Flag | Form::Bits | Form::Point | Form::Money => None,
            element => Some(Form::Array { element: Box::new(element), delimiter: *delimiter }),
        };
    }
    if root.is_hstore {
        return Some(Form::Hstore);
    }
    Some(match root.oid {
        // json and jsonb: a string of what stands there.
        114 | 3802 => Form::Plain(Kind::Text),
        700 | 701 => Form::Float,
        1700 => Form::Numeric,
        790 => Form::Money,
        1082 => Form::Date,
        1083 => Form::Time,
        1266 => Form::TimeTz,
        1114 => Form::Timestamp,
        1184 => Form::TimestampTz { digits: digits(root.modifier) },
        1186 => Form::Interval,
        1560 | 1562 if root.modifier == 1 => Form::Flag,
        1560 | 1562 => Form::Bits,
        600 => Form::Point,
        _ => return None,
    })
}

fn digits(modifier: i32) -> u8 {
    u8::try_from(modifier).ok().filter(|digits| *digits <= TIMESTAMP_DIGITS).unwrap_or(TIMESTAMP_DIGITS)
}

/// What Debezium writes for a large value that the stream left out. `None` where it writes null: there we write nothing, since
/// null is a value.
pub(crate) fn unavailable(catalog: &Catalog, oid: u32) -> Option<&'static [u8]> {
    const TEXT: &[u8] = b"\"__debezium_unavailable_value\"";
    const TEXTS: &[u8] = b"[\"__debezium_unavailable_value\"]";
    const HSTORE: &[u8] = b"\"{\\\"__debezium_unavailable_value\\\":\\\"__debezium_unavailable_value\\\"}\"";
    /// The letters of the text as numbers.
    const NUMBERS: &[u8] = b"[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]";
    /// The UUID (version 3) of the text.
    const UUIDS: &[u8] = b"[\"b68a35a7-17ad-35b3-af2a-ae46edb4545a\"]";
    let root = catalog.root(oid, -1);
    if let Some((element, _)) = &root.element {
        return match element.oid {
            25 | 1042 | 1043 | 114 | 3802 => Some(TEXTS),
            20 | 23 => Some(NUMBERS),
            2950 => Some(UUIDS),
            _ => None,
        };
    }
    match root.oid {
        _ if root.is_hstore => Some(HSTORE),
        _ if root.name == "citext" => Some(TEXT),
        // Texts, json, xml, numeric, tsvector, ranges.
        25 | 1042 | 1043 | 114 | 3802 | 142 | 1700 | 3614 => Some(TEXT),
        3904 | 3906 | 3908 | 3910 | 3912 | 3926 => Some(TEXT),
        _ => None,
    }
}

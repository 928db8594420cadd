//! Where a document stands in the order of reading, exactly: no number passes through a float.

use std::fmt;

use serde::de::{Deserializer, Visitor};
use serde::{Deserialize, Serialize};

/// One value of a sort, as the server gave it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Point {
    /// Milliseconds, nanoseconds, or a number of the document.
    Int(i64),
    /// A keyword; the server orders them by their UTF-8 bytes, as Rust does.
    Text(Box<str>),
    /// Not there, or not of a kind that can be a cursor.
    None,
}

impl Point {
    /// What the server sorts last stands for "no value": the document lacks the field.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Point::None | Point::Int(i64::MAX | i64::MIN))
    }

    /// As it stands in a search.
    pub(crate) fn json(&self) -> serde_json::Value {
        match self {
            Point::Int(number) => (*number).into(),
            Point::Text(text) => (**text).into(),
            Point::None => serde_json::Value::Null,
        }
    }
}

/// The place of a document: its timestamp (or its sequence number alone, in a snapshot), then the tie-break.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) at: Point,
    pub(crate) tie: Point,
}

/// What the first value of a [`Key`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    /// Since the Unix epoch: a `date`.
    Millis,
    /// Since the Unix epoch: a `date_nanos`, or dates of both kinds under one pattern.
    Nanos,
    /// A number that is no date.
    Number,
    /// A keyword.
    Text,
    /// The sequence number: a snapshot.
    Sequence,
}

const NANOS_A_MILLI: i64 = 1_000_000;

impl Unit {
    /// Whether it is a time.
    pub(crate) fn is_time(self) -> bool {
        matches!(self, Unit::Millis | Unit::Nanos)
    }

    /// In nanoseconds since the Unix epoch, if it is a time that fits.
    pub(crate) fn nanos(self, at: &Point) -> Option<i64> {
        match (self, at) {
            (Unit::Millis, Point::Int(millis)) => millis.checked_mul(NANOS_A_MILLI),
            (Unit::Nanos, Point::Int(nanos)) => Some(*nanos),
            _ => None,
        }
    }

    /// `nanos` nanoseconds in this unit.
    pub(crate) fn of_nanos(self, nanos: i64) -> i64 {
        match self {
            Unit::Millis => nanos.div_euclid(NANOS_A_MILLI),
            Unit::Nanos | Unit::Number | Unit::Text | Unit::Sequence => nanos,
        }
    }

    /// `at`, counted in `other` from now on; None when the two do not count the same thing.
    pub(crate) fn convert(self, at: &Point, other: Unit) -> Option<Point> {
        match (self, other, at) {
            (from, to, _) if from == to => Some(at.clone()),
            (Unit::Millis, Unit::Nanos, Point::Int(millis)) => {
                Some(Point::Int(millis.saturating_mul(NANOS_A_MILLI)))
            }
            (Unit::Nanos, Unit::Millis, Point::Int(nanos)) => {
                Some(Point::Int(nanos.div_euclid(NANOS_A_MILLI)))
            }
            _ => None,
        }
    }

    /// `at` for people.
    pub(crate) fn show(self, at: &Point) -> String {
        match (self.nanos(at), at) {
            (Some(nanos), _) => match jiff::Timestamp::from_nanosecond(i128::from(nanos)) {
                Ok(time) => time.to_string(),
                Err(_) => nanos.to_string(),
            },
            (None, Point::Int(number)) => number.to_string(),
            (None, Point::Text(text)) => text.to_string(),
            (None, Point::None) => "none".to_owned(),
        }
    }
}

impl<'de> Deserialize<'de> for Point {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Point, D::Error> {
        from.deserialize_any(PointVisitor)
    }
}

struct PointVisitor;

impl Visitor<'_> for PointVisitor {
    type Value = Point;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a sort value: a whole number, a text or null")
    }

    fn visit_i64<E>(self, number: i64) -> Result<Point, E> {
        Ok(Point::Int(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Point, E> {
        // An unsigned_long beyond the signed range: no cursor can count on it.
        Ok(i64::try_from(number).map_or(Point::None, Point::Int))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Point, E> {
        Ok(Point::None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Point, E> {
        Ok(Point::None)
    }

    fn visit_unit<E>(self) -> Result<Point, E> {
        Ok(Point::None)
    }

    fn visit_str<E>(self, text: &str) -> Result<Point, E> {
        Ok(Point::Text(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sort_values_keep_every_digit_b099() {
        let read = |text: &str| serde_json::from_str::<Point>(text).unwrap();
        assert_eq!(read("1767225600123456781"), Point::Int(1_767_225_600_123_456_781));
        assert_eq!(read("9007199254740993"), Point::Int(9_007_199_254_740_993));
        assert_eq!(read("-1"), Point::Int(-1));
        assert_eq!(read("\"a\\u0000\""), Point::Text("a\0".into()));
    }

    #[test]
    fn what_stands_for_no_value_is_missing_b097() {
        for text in ["9223372036854775807", "-9223372036854775808", "null", "1.5", "18446744073709551615"] {
            assert!(serde_json::from_str::<Point>(text).unwrap().is_missing(), "{text}");
        }
        assert!(!Point::Int(0).is_missing() && !Point::Text("".into()).is_missing());
    }

    #[test]
    fn milliseconds_become_nanoseconds_and_back_without_passing_a_document() {
        let at = Point::Int(-1);
        assert_eq!(Unit::Millis.convert(&at, Unit::Nanos), Some(Point::Int(-1_000_000)));
        // Rounded down, so that nothing after it is taken for read.
        assert_eq!(Unit::Nanos.convert(&at, Unit::Millis), Some(Point::Int(-1)));
        assert_eq!(Unit::Nanos.convert(&Point::Int(1_999_999), Unit::Millis), Some(Point::Int(1)));
        assert_eq!(Unit::Text.convert(&Point::Text("a".into()), Unit::Millis), None);
        assert_eq!(Unit::Millis.nanos(&Point::Int(i64::MAX / 2)), None);
    }

    #[test]
    fn a_time_is_shown_as_people_write_it() {
        assert_eq!(Unit::Millis.show(&Point::Int(1_767_225_600_001)), "2026-01-01T00:00:00.001Z");
        assert_eq!(
            Unit::Nanos.show(&Point::Int(1_767_225_600_123_456_781)),
            "2026-01-01T00:00:00.123456781Z"
        );
        assert_eq!(Unit::Number.show(&Point::Int(7)), "7");
    }
}

//! An Avro schema made ready: its types in one list, which name each other by number. `compile.rs` makes it.

use std::collections::HashMap;

use super::logical::Unit;

/// Position of a type in its plan.
pub(super) type Id = u32;

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) types: Vec<Type>,
    pub(super) root: Id,
}

/// One type; logical types stand for themselves.
#[derive(Debug)]
pub(super) enum Type {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    String,
    Array(Id),
    Map(Id),
    Union(Vec<Id>),
    Record(Record),
    Enum(Symbols),
    Fixed(usize),
    /// `size` of a fixed; None: bytes.
    Decimal {
        precision: u32,
        scale: u32,
        size: Option<usize>,
    },
    Uuid(UuidForm),
    Date,
    Time(Unit),
    /// `is_local`: no time zone.
    Timestamp {
        unit: Unit,
        is_local: bool,
    },
    Duration,
}

/// How a uuid lies on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) enum UuidForm {
    Text,
    Bytes,
    Fixed,
}

#[derive(Debug)]
pub(super) struct Record {
    pub(super) name: Box<str>,
    pub(super) fields: Vec<Field>,
    pub(super) positions: HashMap<Box<str>, usize>,
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: Box<str>,
    pub(super) of: Id,
    /// What stands for an absent value, encoded.
    pub(super) default: Option<Box<[u8]>>,
}

#[derive(Debug)]
pub(super) struct Symbols {
    pub(super) names: Vec<Box<str>>,
    pub(super) positions: HashMap<Box<str>, usize>,
}

impl Unit {
    pub(super) fn nanos(self) -> i128 {
        match self {
            Unit::Millis => 1_000_000,
            Unit::Micros => 1_000,
            Unit::Nanos => 1,
        }
    }
}

impl Plan {
    pub(super) fn get(&self, id: Id) -> &Type {
        &self.types[id as usize]
    }
}

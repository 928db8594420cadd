//! A value's text, as PostgreSQL writes it, into JSON. One way for the stream, the snapshot and polling.
//!
//! Pure, and exact: digits are copied, never converted; what JSON has no form for becomes a string.

mod array;
mod hstore;
mod json;
mod kind;
mod out;

pub(crate) use array::write_array;
pub(crate) use json::write;
pub(crate) use kind::{Catalog, Kind, Root, TypeRow};
pub(crate) use out::{Fault, Out, write_utf8};

/// What a user may choose about the form of values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Forms {
    /// `numeric = "number"`: digits as a JSON number instead of a string.
    pub(crate) is_numeric_a_number: bool,
    /// `int8 = "string"`: for readers that keep numbers as floats.
    pub(crate) is_int8_a_string: bool,
}

#[cfg(test)]
mod tests;

//! A column of a table: as the server describes it, and as records see it.

use crate::value::Kind;

/// A column before it is written down.
#[derive(Clone, Debug)]
pub(crate) struct ColumnDraft<'a> {
    pub(crate) name: &'a str,
    /// What records call it.
    pub(crate) label: &'a str,
    pub(crate) oid: u32,
    /// What stands in parentheses behind the type, -1 for nothing.
    pub(crate) modifier: i32,
    pub(crate) is_key: bool,
    pub(crate) is_identity: bool,
}

/// A column as records see it.
#[derive(Clone, Debug)]
pub(crate) struct ShapeColumn {
    pub(crate) name: String,
    /// `"name":`
    pub(crate) label: Vec<u8>,
    pub(crate) kind: Kind,
    /// Part of the record key.
    pub(crate) is_key: bool,
    /// Part of the replica identity, so its value is there in an old key.
    pub(crate) is_identity: bool,
    pub(crate) is_excluded: bool,
}

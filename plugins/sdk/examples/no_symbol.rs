//! A library, but not a plugin.

/// Keeps the crate from being empty.
pub const NOTHING: () = ();

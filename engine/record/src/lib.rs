//! What happens to a record between a plugin and the broker.
#![forbid(unsafe_code)]

mod json;
mod murmur;

pub use murmur::murmur2;

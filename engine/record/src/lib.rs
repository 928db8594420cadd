//! What happens to a record between the plugin and the broker: it is checked, given a topic by each `[[topics]]`
//! block, and leaves with its key and headers. Pure: no I/O, no clock, no task.
//!
//! [`RecordPath`] is compiled from the blocks of a definition once per opening. It turns a guest's batch into a
//! [`Routed`] one, in steps ([`Routing`]) or at once.
//!
//! Invariants: a record goes to every block or its batch is refused whole; payload bytes are never changed, and JSON
//! is never turned into a tree; within a topic the order of the plugin is kept; nothing is allocated for a record
//! (serde_json alone does so, where a string at an asked path has escapes or objects nest beside it).

#![forbid(unsafe_code)]

mod chooser;
mod draft;
mod error;
mod json;
mod murmur;
mod origin;
mod path;
mod pattern;
mod routed;
mod routing;
mod shorten;
mod topics;

pub use chooser::Clash;
pub use error::{RouteFailure, RuleError};
pub use murmur::murmur2;
pub use path::{Provenance, RecordPath};
pub use routed::{Group, Outgoing, Routed};
pub use routing::{Routing, Step};

//! What happens to a record between the plugin and the broker: it is checked and transformed, given a topic by each
//! `[[topics]]` block, and leaves with its key and headers. Pure: no I/O, no task.
//!
//! [`RecordPath`] is compiled from a definition once per opening. It turns a guest's batch into a [`Routed`] one, in
//! steps ([`Routing`]) or at once. For each record: `chain` (transforms) → for each block of `path`: topic, key,
//! headers, encoding → an entry of `draft`. A record that fails at any stage (`fault`) leaves nothing in the draft; what
//! becomes of it then is `policy`'s.
//!
//! Invariants: a record goes to every block or to none; payload bytes that nothing is asked to change leave as they
//! came; within a topic the order of the plugin is kept; without transforms nothing is allocated for a record
//! (serde_json alone does so, where a string at an asked path has escapes or objects nest beside it).

#![forbid(unsafe_code)]

mod block;
mod chain;
mod chooser;
pub mod codec;
mod condition;
mod convert;
mod document;
mod draft;
mod encoder;
mod error;
mod fault;
mod field_step;
mod json;
mod mask;
mod matching;
mod murmur;
mod origin;
mod path;
mod pattern;
mod policy;
mod program;
mod routed;
mod routing;
mod shorten;
mod surroundings;
mod target;
mod topics;

pub use block::Provenance;
pub use chooser::Clash;
pub use error::{RouteFailure, RuleError};
pub use fault::Stage;
pub use murmur::murmur2;
pub use path::RecordPath;
pub use policy::{Ceiling, Moment, RecordFault, error_header};
pub use routed::{Group, Outgoing, Routed};
pub use routing::{Routing, Step};
pub use surroundings::{Surroundings, System};

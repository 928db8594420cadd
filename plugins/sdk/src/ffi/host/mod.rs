//! The engine's side of the border. Only the plugin port of the actors, the listing of plugins
//! and `dry-run` use it.

mod batch;
mod calls;
mod describe;
mod error;
mod functions;
mod instance;
mod library;
mod loading;
mod open;
mod sink;

pub use batch::{GuestBatch, RecordView};
pub use error::{CommandError, LoadError, OpenError, PollError, ResolveError};
pub use instance::{Closed, Instance};
pub use library::{LOADED_WITHIN, Library, PluginInfo};
pub use open::OpenRequest;
pub use sink::{TracingSink, emit};

pub use crate::host::{HostSink, LogEvent};
pub use crate::report::{Check, CheckStatus, Gauge, Report};
pub use crate::{Capabilities, Limits, Mode};

#[cfg(test)]
mod tests;

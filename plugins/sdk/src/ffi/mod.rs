//! The border between engine and plugin, and the only place with unsafe code.
//!
//! [`abi`] says what crosses; [`guest`] is the side compiled into every plugin, [`host`] the side compiled into the
//! engine. Calls are started and completed, never waited for inside a call; whoever allocated frees; nothing
//! unwinds across.

#![allow(unsafe_code)]

use std::time::Duration;

pub mod abi;
pub mod guest;
pub mod host;
mod slots;

/// How long a call has to end after it was asked to, before its future is dropped; and how long after that, before
/// the host gives the instance up as hung.
pub const GRACE: Duration = Duration::from_secs(5);

/// How long the author's `close` may take.
pub const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The command of every plugin that holds settings against [`Source::check`](crate::Source::check). A plugin built with
/// an older SDK does not know it, which says nothing against its settings.
pub const CHECK: &str = "check";

/// How long a command may take.
pub const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// The longest error text or log message that is taken over; the rest is cut. A plugin may quote a whole answer of
/// its upstream.
pub const TEXT_BYTES_MAX: usize = 8 * 1024;

/// The largest candidate state that is taken over. It is written with every batch, so even a thousandth of it is large.
pub const STATE_BYTES_MAX: usize = 16 * 1024 * 1024;

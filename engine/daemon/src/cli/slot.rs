//! What may be typed behind `slot`.

use clap::{Args, Subcommand};

/// Arguments of `slot`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct SlotArguments {
    #[command(subcommand)]
    pub(crate) act: SlotAct,
}

/// What to do with a slot.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum SlotAct {
    /// Drop it, while the source is stopped: the server may free its log, and the saved state is worthless afterwards
    Drop(DropArguments),
}

/// Of `slot drop`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct DropArguments {
    /// Key of the source
    pub(crate) key: String,
    /// Drop the publication too
    #[arg(long)]
    pub(crate) publication: bool,
    /// Also a slot that no saved state says is the source's own, and a publication that is not
    #[arg(long)]
    pub(crate) foreign: bool,
    /// Do it without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Load the plugin here, although a daemon might answer; it must not run this source
    #[arg(long)]
    pub(crate) offline: bool,
}

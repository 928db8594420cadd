//! What may be typed to ask a running daemon about its sources, or something of one of them.

use clap::{Args, Subcommand, ValueEnum};

/// What to ask.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum AskVerb {
    /// Show one source: its error, its topics, each check with what to do
    Describe(OneSource),
    /// Show records of a source as they pass
    #[command(visible_alias = "tap")]
    Tail(TailArguments),
    /// Watch the sources: the table of `status`, drawn again and again
    Top(TopArguments),
    /// Show lines of the daemon's log
    Logs(LogsArguments),
    /// Ask a source for no polls; its plugin stays open
    Pause(OrderArguments),
    /// Let a paused source poll again
    Resume(OrderArguments),
    /// Close a source and open it again from its saved state; resets its counters
    Restart(OrderArguments),
    /// Close a source for good, once what is in flight came to its verdict
    Stop(OrderArguments),
    /// Open a stopped source
    Start(OrderArguments),
    /// Let a PostgreSQL source read a table once more while it streams; without --table: show how that stands
    Backfill(BackfillArguments),
    /// End with 0 if the daemon serves; for container images
    Healthcheck(HealthcheckArguments),
}

/// Of a verb that is about one source.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct OneSource {
    /// Of the source
    #[arg(value_name = "KEY")]
    pub(crate) key: String,
}

/// Of `pause` and the like.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct OrderArguments {
    /// Of the source
    #[arg(value_name = "KEY")]
    pub(crate) key: String,
    /// Wait until the source got there, so many seconds at most
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "60", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub(crate) wait: Option<u32>,
}

/// Of `backfill`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct BackfillArguments {
    /// Of the source
    #[arg(value_name = "KEY")]
    pub(crate) key: String,
    /// Table to read, as in `tables` of the definition
    #[arg(long, value_name = "TABLE")]
    pub(crate) table: Option<String>,
    /// Call it off; what was read of it stays in the topics
    #[arg(long, requires = "table")]
    pub(crate) cancel: bool,
}

/// Of `tail`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct TailArguments {
    /// Of the source
    #[arg(value_name = "KEY")]
    pub(crate) key: String,
    /// Only topics that fit, such as 'orders.*'
    #[arg(long, value_name = "PATTERN")]
    pub(crate) topic: Option<String>,
    /// Where on their way records are looked at
    #[arg(long, value_name = "STAGE", value_enum, default_value = "transform")]
    pub(crate) after: After,
    /// End after so many records
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,
}

/// Where on their way records are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum After {
    /// As the plugin gave them; needs an admin key where there are keys.
    Poll,
    /// As they go to the broker.
    Transform,
    /// As they go to the broker, once they are acknowledged.
    Send,
}

/// Of `top`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct TopArguments {
    /// Seconds between two looks
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=3_600))]
    pub(crate) every: u32,
    /// End after so many looks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) looks: Option<u32>,
}

/// Of `logs`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct LogsArguments {
    /// Only of this source
    #[arg(value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// Begin with so many lines before now
    #[arg(long, value_name = "N", default_value = "20", value_parser = clap::value_parser!(u16).range(0..=1_000))]
    pub(crate) last: u16,
    /// Go on with new lines until told to end
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Changes of status, nacks and reloads too
    #[arg(long)]
    pub(crate) events: bool,
}

/// Of `healthcheck`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct HealthcheckArguments {
    /// Also that it may be sent work: definitions are loaded and the broker was reached
    #[arg(long)]
    pub(crate) ready: bool,
}

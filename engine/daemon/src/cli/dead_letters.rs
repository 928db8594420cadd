//! What may be typed after `dead-letters`.

use clap::{Args, Subcommand};

/// What to do with dead letters.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum DeadLetters {
    /// List the newest letters and how far their replay is
    List(ListArguments),
    /// Show one letter whole
    Show(ShowArguments),
    /// Send those that wait through today's definition; says first what it will do
    Replay(ReplayArguments),
}

/// Whose letters, or where they lie.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct WhereArguments {
    /// Key of the source, or its file
    #[arg(value_name = "KEY", required_unless_present = "topic")]
    pub(crate) key: Option<String>,
    /// Topic of the letters [default: the source's dead_letter_topic]
    #[arg(long, value_name = "TOPIC")]
    pub(crate) topic: Option<String>,
}

/// Arguments of `dead-letters list`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    pub(crate) place: WhereArguments,
    /// Letters to show, the newest
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) limit: u32,
}

/// Arguments of `dead-letters show`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct ShowArguments {
    #[command(flatten)]
    pub(crate) place: WhereArguments,
    /// Which one, as `list` names it
    #[arg(long, value_name = "PARTITION/OFFSET", value_parser = at)]
    pub(crate) at: At,
}

/// Arguments of `dead-letters replay`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct ReplayArguments {
    /// Key of the source, or its file
    #[arg(value_name = "KEY")]
    pub(crate) key: String,
    /// Topic of the letters [default: the source's dead_letter_topic]
    #[arg(long, value_name = "TOPIC")]
    pub(crate) topic: Option<String>,
    /// Letters to send at most
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) limit: u32,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

impl ReplayArguments {
    /// Where its letters lie.
    pub(crate) fn place(&self) -> WhereArguments {
        WhereArguments { key: Some(self.key.clone()), topic: self.topic.clone() }
    }
}

/// Place of a letter in its topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct At {
    pub(crate) partition: i32,
    pub(crate) offset: i64,
}

fn at(text: &str) -> Result<At, String> {
    let right = || format!("{text:?} is no PARTITION/OFFSET, such as 0/17");
    let (partition, offset) = text.split_once('/').unwrap_or(("0", text));
    match (partition.parse(), offset.parse()) {
        (Ok(partition), Ok(offset)) if partition >= 0 && (0..i64::MAX).contains(&offset) => {
            Ok(At { partition, offset })
        }
        (Ok(_) | Err(_), Ok(_) | Err(_)) => Err(right()),
    }
}

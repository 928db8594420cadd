//! What may be typed behind `state`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Arguments of `state`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct StateArguments {
    #[command(subcommand)]
    pub(crate) act: Act,
    /// Work on the store itself, although a daemon might answer; it must not run this source
    #[arg(long, global = true)]
    pub(crate) offline: bool,
}

/// What to do with a state.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum Act {
    /// Show what is saved of a source, in its plugin's words
    Show {
        /// Key of the source
        key: String,
    },
    /// Write what is saved as a document that `import` takes
    Export {
        /// Key of the source
        key: String,
        /// File to write, readable by its owner alone [default: standard output]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Put an exported state in the place of what is saved, while the source is stopped
    Import {
        /// Key of the source
        key: String,
        /// What `export` wrote; - for standard input
        #[arg(required_unless_present = "from_debezium", conflicts_with = "from_debezium")]
        file: Option<PathBuf>,
        /// Take the offset of a Debezium connector instead: what GET /connectors/NAME/offsets of Kafka Connect answers, lines of its
        /// offsets topic, or the offset file of a standalone worker; - for standard input
        #[arg(long, value_name = "FILE")]
        from_debezium: Option<PathBuf>,
        /// Which one, where the file has offsets of several: Debezium's topic.prefix or the name of the connector
        #[arg(long, value_name = "NAME", requires = "from_debezium")]
        server: Option<String>,
        /// Do it without asking
        #[arg(short, long)]
        yes: bool,
    },
    /// Forget what is saved, while the source is stopped: it begins afresh
    Reset {
        /// Key of the source
        key: String,
        /// Do it without asking
        #[arg(short, long)]
        yes: bool,
    },
    /// Ask whether the server of [state.http] keeps what docs/state-http.md demands of it
    CheckServer,
}

//! What may be typed to get something that helps: a definition to begin with, schemas, completions, pages.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use clap_complete::Shell;
use pico_config::SourceKey;

/// What to make.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum MakeVerb {
    /// Write something to begin with
    #[command(subcommand)]
    New(NewVerb),
    /// Print the JSON Schema of definitions, of config.toml, or of a plugin's settings
    Schema(SchemaArguments),
    /// Print completions for a shell
    Completions(CompletionsArguments),
    /// Print the manual page, or write one for each verb
    Man(ManArguments),
}

/// What to begin with.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum NewVerb {
    /// Write a definition with every setting of a plugin and what it means
    Source(NewSourceArguments),
}

/// Of `new source`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct NewSourceArguments {
    /// Of the plugin, as `plugins` lists it
    #[arg(value_name = "PLUGIN")]
    pub(crate) plugin: String,
    /// Of the source; it names its state and its file
    #[arg(long, value_name = "KEY", value_parser = key)]
    pub(crate) key: SourceKey,
    /// Folder to write to [default: where `run` reads definitions]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Print it and write nothing
    #[arg(long, conflicts_with = "dir")]
    pub(crate) print: bool,
}

/// Of `schema`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct SchemaArguments {
    /// `definition`, `config`, or the name of a plugin
    #[arg(value_name = "WHAT", default_value = "definition")]
    pub(crate) what: String,
}

/// Of `completions`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct CompletionsArguments {
    /// Which shell
    #[arg(value_name = "SHELL", value_enum)]
    pub(crate) shell: Shell,
}

/// Of `man`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct ManArguments {
    /// Write a page for the program and one for each verb there
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}

fn key(text: &str) -> Result<SourceKey, String> {
    SourceKey::parse(text).map_err(|error| error.reason)
}

//! The verbs that print or write something that helps: a definition to begin with, schemas, completions, pages.

mod definition;
mod new_source;
mod pages;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use clap_complete::Shell;
use pico_config::{Env, SourceKey};

use crate::cli::{self, Cli};
use crate::error::Error;
use crate::leave::Exit;
use crate::output::{self, Stream};

/// Name of the program in what is generated.
const PROGRAM: &str = "pico-connectors";

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

/// Makes it.
pub(crate) fn run(cli: &Cli, verb: &MakeVerb) -> Result<Exit, Error> {
    match verb {
        MakeVerb::New(NewVerb::Source(arguments)) => new_source::run(cli, arguments),
        MakeVerb::Schema(arguments) => schema(cli, &arguments.what),
        MakeVerb::Completions(arguments) => {
            let mut text = Vec::new();
            clap_complete::generate(arguments.shell, &mut cli::command(), PROGRAM, &mut text);
            output::write(Stream::Stdout, &String::from_utf8_lossy(&text));
            Ok(Exit::Ok)
        }
        MakeVerb::Man(arguments) => pages::run(arguments.dir.as_deref()),
    }
}

/// JSON whatever the format is.
fn schema(cli: &Cli, what: &str) -> Result<Exit, Error> {
    let schema = match what {
        "definition" => pico_config::definition_schema(),
        "config" => pico_config::engine_schema(),
        plugin => {
            let env = Env::from_process();
            let (engine, _findings) =
                pico_config::load_engine(cli.config.as_deref(), &env).map_err(Error::Config)?;
            new_source::find(&engine, plugin)?.config_schema
        }
    };
    output::write_json(&schema);
    Ok(Exit::Ok)
}

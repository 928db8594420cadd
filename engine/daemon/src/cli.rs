//! The command line: what may be typed, and nothing about what it does.

pub(crate) mod ask;
mod dead_letters;
pub(crate) mod make;
pub(crate) mod slot;
pub(crate) mod state;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use self::ask::AskVerb;
pub(crate) use self::dead_letters::{
    DeadLetters, ListArguments, ReplayArguments, ShowArguments, WhereArguments,
};
use self::make::MakeVerb;
use self::slot::SlotArguments;
use self::state::StateArguments;
use crate::leave::Exit;
use crate::library;
use crate::output::{self, Stream};

/// Where a daemon is looked for when nobody says otherwise: the default of `[http] address`.
pub(crate) const URL_DEFAULT: &str = "http://127.0.0.1:8081";

/// What was asked for, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cli {
    /// What to do.
    pub(crate) verb: Verb,
    /// `config.toml`, where it was named.
    pub(crate) config: Option<PathBuf>,
    /// Base URL of the daemon to talk to.
    pub(crate) url: String,
    format: Format,
}

impl Cli {
    /// How answers are printed.
    pub(crate) fn format(&self) -> Format {
        self.format
    }
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verb {
    /// Say which version this is.
    Version,
    /// Run the sources.
    Run(RunArguments),
    /// Try it without a broker.
    Dev(DevArguments),
    /// Look for mistakes in files.
    Check(CheckArguments),
    /// Run the tests of definitions.
    Test(TestArguments),
    /// Show what would become of the next records of a source.
    DryRun(DryRunArguments),
    /// Look at the records that were set aside, and send them once more.
    DeadLetters(DeadLetters),
    /// List the plugins that can be found.
    Plugins,
    /// Ask a daemon how its sources are.
    Status,
    /// Ask a daemon what a reload would change.
    Plan(PlanArguments),
    /// Reload, if the plan is still the one that was looked at.
    Apply(ApplyArguments),
    /// Reload whatever changed.
    Reload,
    /// Look at what a source remembers, or change it.
    State(StateArguments),
    /// Give up what a source holds upstream.
    Slot(SlotArguments),
    /// Ask a daemon something else.
    Ask(AskVerb),
    /// Look for what keeps sources from running.
    Doctor(DoctorArguments),
    /// Print something that helps to write files.
    Make(MakeVerb),
    /// Load this library, and end with it if it is so.
    TryLibrary(PathBuf),
}

/// How answers are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Human,
    /// For programs: one JSON document, or one a line where there is a stream.
    Json,
    /// Annotations of GitHub's CI; of `check` only.
    Github,
}

#[derive(Debug, Parser)]
#[command(
    name = "pico-connectors",
    about = "Moves data from other systems into topics of a Kafka-protocol broker",
    disable_version_flag = true,
    arg_required_else_help = true,
    after_help = "Exit codes: 0 ok, 1 failed while running, 2 configuration, 3 environment, 4 needs confirmation\n\
                  A daemon with API keys: PICOMQ_CONNECTORS_API_KEY holds the one to use"
)]
struct Raw {
    #[command(subcommand)]
    verb: Option<RawVerb>,
    /// Configuration of the daemon [default: config.toml in this folder, if there is one]
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = "PICOMQ_CONNECTORS_CONFIG_PATH",
        hide_env_values = true
    )]
    config: Option<OsString>,
    /// Daemon to talk to
    #[arg(long, global = true, value_name = "URL", env = "PICOMQ_CONNECTORS_URL", hide_env_values = true, default_value = URL_DEFAULT)]
    url: String,
    /// How to print answers
    #[arg(long, global = true, value_enum, default_value = "human")]
    format: Format,
    /// Short for --format json
    #[arg(long, global = true, conflicts_with = "format")]
    json: bool,
    /// Print the version and leave
    #[arg(short = 'V', long)]
    version: bool,
}

#[derive(Debug, Subcommand)]
enum RawVerb {
    /// Run the sources until told to stop
    Run(RunArguments),
    /// Try a source with a broker inside this process; nothing is kept
    Dev(DevArguments),
    /// Look for mistakes in configuration and definitions, without a network
    #[command(visible_aliases = ["validate", "lint"])]
    Check(CheckArguments),
    /// Run the [[tests]] of definitions, without plugin and broker
    Test(TestArguments),
    /// Show what would become of the next records of a source; nothing is produced, created or saved
    DryRun(DryRunArguments),
    /// List, show and replay the records that [errors] set aside
    #[command(subcommand, visible_alias = "dlq")]
    DeadLetters(DeadLetters),
    /// List the plugins that can be found
    Plugins,
    /// Ask a daemon how its sources are
    Status,
    /// Show what a reload would change, and change nothing
    Plan(PlanArguments),
    /// Reload, if what would change is still the plan that was looked at
    Apply(ApplyArguments),
    /// Take changed definitions up now
    Reload,
    /// Show, take out, put back or forget what a source remembers
    State(StateArguments),
    /// Give up the replication slot of a PostgreSQL source
    Slot(SlotArguments),
    #[command(flatten)]
    Ask(AskVerb),
    /// Look for what keeps sources from running: files, plugins, broker, daemon; each with what to do
    Doctor(DoctorArguments),
    #[command(flatten)]
    Make(MakeVerb),
    /// Load a library and end: what the engine does with each before it loads it itself
    #[command(name = library::VERB, hide = true)]
    TryLibrary { path: PathBuf },
}

/// Arguments of `run`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct RunArguments {}

/// How long `dev` runs; `None`: until it is told to end. A name of its own, since an empty variable is an absent one.
pub(crate) type Limit = Option<Duration>;

/// Arguments of `dev`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct DevArguments {
    /// Definitions to run [default: the random source that comes with the program]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Keep topics and checkpoints in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// End by itself after so many seconds
    #[arg(long, value_name = "N", env = "DEMO_SECONDS", hide_env_values = true, value_parser = limit, default_value = "", hide_default_value = true)]
    pub(crate) seconds: Limit,
}

/// Arguments of `check`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct CheckArguments {
    /// Files and folders [default: what `run` would read]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
}

/// Arguments of `dry-run`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct DryRunArguments {
    /// Key of the source, or its file
    #[arg(value_name = "KEY")]
    pub(crate) key: String,
    /// Records to look at
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) records: u32,
    /// How long to wait for them, in seconds
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub(crate) seconds: u32,
}

/// Of `doctor`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct DoctorArguments {
    /// Only this source
    #[arg(value_name = "KEY")]
    pub(crate) key: Option<String>,
}

/// Arguments of `test`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct TestArguments {
    /// Files and folders [default: what `run` would read]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
}

/// Arguments of `plan`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct PlanArguments {
    /// Folder or file of definitions to plan instead of the daemon's own folder
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
}

/// Arguments of `apply`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct ApplyArguments {
    /// Folder of definitions that must be what the daemon's own folder holds
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// Name of the plan that was looked at; without it the plan is shown and nothing is done
    #[arg(long, value_name = "HASH")]
    pub(crate) plan: Option<String>,
}

/// Reads the arguments of this process. `Err` when all was said already: help was asked for, or something typed
/// cannot be understood.
pub(crate) fn parse() -> Result<Cli, Exit> {
    parse_from(std::env::args_os()).map_err(|error| {
        let is_asked = !error.use_stderr();
        let text = error.render().to_string();
        output::write(if is_asked { Stream::Stdout } else { Stream::Stderr }, &text);
        if is_asked { Exit::Ok } else { Exit::Config }
    })
}

/// Reads these arguments, the name of the program first.
pub(crate) fn parse_from<T: Into<OsString> + Clone>(
    arguments: impl IntoIterator<Item = T>,
) -> Result<Cli, clap::Error> {
    let raw = Raw::try_parse_from(arguments)?;
    let verb = match (raw.version, raw.verb) {
        (true, _) => Verb::Version,
        (false, Some(RawVerb::Run(arguments))) => Verb::Run(arguments),
        (false, Some(RawVerb::Dev(arguments))) => Verb::Dev(arguments),
        (false, Some(RawVerb::Check(arguments))) => Verb::Check(arguments),
        (false, Some(RawVerb::Test(arguments))) => Verb::Test(arguments),
        (false, Some(RawVerb::DryRun(arguments))) => Verb::DryRun(arguments),
        (false, Some(RawVerb::DeadLetters(what))) => Verb::DeadLetters(what),
        (false, Some(RawVerb::Plugins)) => Verb::Plugins,
        (false, Some(RawVerb::Status)) => Verb::Status,
        (false, Some(RawVerb::Plan(arguments))) => Verb::Plan(arguments),
        (false, Some(RawVerb::Apply(arguments))) => Verb::Apply(arguments),
        (false, Some(RawVerb::Reload)) => Verb::Reload,
        (false, Some(RawVerb::State(arguments))) => Verb::State(arguments),
        (false, Some(RawVerb::Slot(arguments))) => Verb::Slot(arguments),
        (false, Some(RawVerb::Ask(verb))) => Verb::Ask(verb),
        (false, Some(RawVerb::Doctor(arguments))) => Verb::Doctor(arguments),
        (false, Some(RawVerb::Make(verb))) => Verb::Make(verb),
        (false, Some(RawVerb::TryLibrary { path })) => Verb::TryLibrary(path),
        (false, None) => return Err(refusal("a verb is missing, such as `run` or `check`")),
    };
    let format = if raw.json { Format::Json } else { raw.format };
    if format == Format::Github && !matches!(verb, Verb::Check(_)) {
        return Err(refusal("`--format github` is of `check` only"));
    }
    // An empty variable says nothing.
    let config = raw.config.filter(|path| !path.is_empty()).map(PathBuf::from);
    let url = if raw.url.is_empty() { URL_DEFAULT.to_owned() } else { raw.url };
    Ok(Cli { verb, config, url, format })
}

/// The whole command line, for its completions and its pages.
pub(crate) fn command() -> clap::Command {
    use clap::CommandFactory as _;
    Raw::command()
}

fn refusal(reason: &str) -> clap::Error {
    use clap::CommandFactory as _;
    Raw::command().error(clap::error::ErrorKind::InvalidValue, reason)
}

fn limit(text: &str) -> Result<Limit, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let right = || format!("{text:?} is not a number of seconds above 0");
    let seconds: f64 = text.parse().map_err(|_| right())?;
    let limit = Duration::try_from_secs_f64(seconds).ok().filter(|limit| !limit.is_zero());
    limit.map(Some).ok_or_else(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Cli, clap::Error> {
        parse_from(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn validate_and_lint_are_other_words_for_check() {
        for word in ["check", "validate", "lint"] {
            let cli = parsed(&format!("pico-connectors {word} a.toml --json")).unwrap();
            assert_eq!(cli.verb, Verb::Check(CheckArguments { paths: vec!["a.toml".into()] }));
            assert_eq!(cli.format(), Format::Json);
        }
    }

    #[test]
    fn version_needs_no_verb_and_takes_a_format() {
        let cli = parsed("pico-connectors --version --json").unwrap();
        assert_eq!((cli.verb.clone(), cli.format()), (Verb::Version, Format::Json));
    }

    #[test]
    fn github_annotations_are_refused_outside_check() {
        assert!(parsed("pico-connectors check --format github").is_ok());
        let error = parsed("pico-connectors status --format github").unwrap_err();
        assert!(error.to_string().contains("`check` only"), "{error}");
    }

    #[test]
    fn no_verb_and_zero_seconds_are_refused() {
        assert!(parsed("pico-connectors --json").is_err());
        assert!(parsed("pico-connectors dev --seconds 0").is_err());
        assert!(parsed("pico-connectors dev --seconds NaN").is_err());
        assert!(parsed("pico-connectors dev --seconds 0.5").is_ok());
    }

    #[test]
    fn empty_settings_are_absent_ones() {
        let cli = parsed("pico-connectors --config= --url= dev --seconds=").unwrap();
        assert_eq!((cli.config.as_deref(), cli.url.as_str()), (None, URL_DEFAULT));
        let arguments = DevArguments { files: Vec::new(), data: None, seconds: None };
        assert_eq!(cli.verb, Verb::Dev(arguments));
    }
}

//! `pico-connectors`: the daemon and its command line. A map of the binary; every verb is the file of its name.
//!
//! The daemon decides nothing: it turns files into definitions (`pico-config`), gives each its doors (`wiring`),
//! hands them to the supervision tree (`pico-actors`) and lets people look at it (`api`, `status`, `dev`).
#![forbid(unsafe_code)]

mod api;
mod ask;
mod check;
mod chosen;
mod cli;
mod client;
mod dead_letters;
mod definition_check;
mod dev;
mod doctor;
mod dry_run;
mod error;
mod events;
mod findings;
mod leave;
mod library;
mod maintain;
mod make;
mod output;
mod plugin_check;
mod plugins;
mod process;
mod reach;
mod registry;
mod reload;
mod reload_verbs;
mod run;
mod runtime;
mod service_manager;
mod signals;
mod slot;
mod state;
mod status;
mod targets;
mod telemetry;
mod terminal;
mod test;
mod version;
mod wiring;

use cli::{Cli, Verb};
use error::Error;
use leave::Exit;

/// Memory that a plugin allocated is freed by the plugin (through the border), so the two may differ.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    pico_broker::bound_allocator();
    // Reads FAILPOINTS, in a build for chaos runs only.
    #[cfg(feature = "failpoints")]
    let _scenario = fail::FailScenario::setup();
    let exit = match cli::parse() {
        Ok(cli) => dispatch(&cli).unwrap_or_else(|error| error::report(&error, cli.format())),
        Err(exit) => exit,
    };
    leave::leave(exit)
}

fn dispatch(cli: &Cli) -> Result<Exit, Error> {
    match &cli.verb {
        Verb::Version => version::print(cli.format()),
        Verb::Run(arguments) => run::run(cli, arguments),
        Verb::Dev(arguments) => dev::run(cli, arguments),
        Verb::Check(arguments) => check::run(cli, arguments),
        Verb::Test(arguments) => test::run(cli, arguments),
        Verb::DryRun(arguments) => dry_run::run(cli, arguments),
        Verb::DeadLetters(what) => dead_letters::run(cli, what),
        Verb::Plugins => plugins::run(cli),
        Verb::Status => status::run(cli),
        Verb::State(arguments) => state::run(cli, arguments),
        Verb::Plan(arguments) => reload_verbs::plan(cli, arguments),
        Verb::Apply(arguments) => reload_verbs::apply(cli, arguments),
        Verb::Reload => reload_verbs::reload(cli),
        Verb::Slot(arguments) => slot::run(cli, arguments),
        Verb::Ask(verb) => ask::run(cli, verb),
        Verb::Doctor(arguments) => doctor::run(cli, arguments),
        Verb::Make(verb) => make::run(cli, verb),
        Verb::TryLibrary(path) => Ok(library::attempt(path)),
    }
}

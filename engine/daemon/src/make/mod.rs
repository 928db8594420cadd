//! The verbs that print or write something that helps: a definition to begin with, schemas, completions, pages.

mod definition;
mod new_source;
mod pages;

use pico_config::Env;

use crate::cli::make::{MakeVerb, NewVerb};
use crate::cli::{self, Cli};
use crate::error::Error;
use crate::leave::Exit;
use crate::output::{self, Stream};

/// Name of the program in what is generated.
const PROGRAM: &str = "pico-connectors";

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

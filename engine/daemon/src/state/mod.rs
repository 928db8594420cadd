//! `state`: what a source remembers, looked at, taken out, put back, forgotten.
//!
//! Through the daemon when one answers; else on the store itself, whose lock keeps a daemon out meanwhile.

mod debezium;
mod desk;
mod document;
mod plugin;
mod server_check;
mod text;
mod trouble;
mod way;

use std::fs::{OpenOptions, Permissions};
use std::io::{IsTerminal as _, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

pub(crate) use desk::Desk;
pub(crate) use document::{Change, Document, Wanted, parse};
pub(crate) use plugin::Reader;
pub(crate) use trouble::Trouble;

use crate::cli::state::{Act, StateArguments};
use crate::cli::{Cli, Format};
use crate::error::Error;
use crate::leave::Exit;
use crate::output::{self, Stream};
use crate::runtime;
use way::Way;

/// Largest document that is read: the largest state, in base64, and what is said about it.
const DOCUMENT_BYTES_MAX: u64 = 96 << 20;

/// Does what was asked.
pub(crate) fn run(cli: &Cli, arguments: &StateArguments) -> Result<Exit, Error> {
    match &arguments.act {
        Act::Show { key } => show(cli, arguments, key),
        Act::Export { key, output } => export(cli, arguments, key, output.as_deref()),
        Act::Import { key, file, from_debezium, server, yes } => {
            let (state, from) = match (file, from_debezium) {
                (_, Some(from)) => (foreign(from, server.as_deref())?, from),
                (Some(file), None) => (exported(file, key)?, file),
                (None, None) => return Err(Error::environment("state.no_file", "no file is named")),
            };
            change(cli, arguments, key, (Wanted::State(state), *yes, from.as_os_str() != "-"))
        }
        Act::Reset { key, yes } => change(cli, arguments, key, (Wanted::Nothing, *yes, true)),
        Act::CheckServer => server_check::run(cli),
    }
}

/// The state in a file that `export` wrote.
fn exported(file: &Path, key: &str) -> Result<Vec<u8>, Error> {
    let (state, of) = parse(&read(file)?).map_err(way::error_of)?;
    if let Some(of) = of.filter(|of| !of.eq_ignore_ascii_case(key)) {
        output::write(Stream::Stderr, &format!("the state in the file is that of {of:?}\n"));
    }
    Ok(state)
}

/// The offset of a Debezium connector, which the plugin takes in the place of a state.
fn foreign(file: &Path, server: Option<&str>) -> Result<Vec<u8>, Error> {
    let taken = debezium::take(&read(file)?, server).map_err(|reason| {
        Error::environment("state.bad_document", format!("{}: {reason}", file.display())).with_hint(
            "save what GET /connectors/NAME/offsets of Kafka Connect answers while the connector is stopped",
        )
    })?;
    output::write(Stream::Stderr, &taken.said);
    Ok(taken.state)
}

async fn find(cli: &Cli, arguments: &StateArguments, key: &str) -> Result<Way, Error> {
    let way = Way::find(cli, key, arguments.offline).await?;
    if way.is_offline() {
        output::write(Stream::Stderr, "no daemon is asked: this works on the store itself\n");
    }
    Ok(way)
}

fn show(cli: &Cli, arguments: &StateArguments, key: &str) -> Result<Exit, Error> {
    let document = runtime::block_on(async { find(cli, arguments, key).await?.look().await })?;
    match cli.format() {
        Format::Json => output::write_json(&document),
        Format::Human | Format::Github => output::write(Stream::Stdout, &text::of_document(&document)),
    }
    Ok(Exit::Ok)
}

fn export(cli: &Cli, arguments: &StateArguments, key: &str, file: Option<&Path>) -> Result<Exit, Error> {
    let document = runtime::block_on(async { find(cli, arguments, key).await?.look().await })?;
    if document.saved.is_some() && document.state.is_none() {
        return Err(Error::environment(
            "state.read_only_key",
            "this API key may read what a state means, not its bytes",
        )
        .with_hint("use a key with role = \"admin\""));
    }
    match file {
        None => output::write_json(&document),
        Some(file) => {
            let text = serde_json::to_string_pretty(&document).expect("what we print has text keys only");
            written(file, &text).map_err(|cause| {
                Error::environment("state.not_written", format!("cannot write {}", file.display()))
                    .with_hint("name another file with --output, in a folder that you may write to")
                    .because(cause)
            })?;
        }
    }
    Ok(Exit::Ok)
}

/// Writes `text`, readable by its owner alone, also where a file was there before: a state may hold data of the upstream.
fn written(file: &Path, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(file)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    writeln!(file, "{text}")
}

/// Says what the change means, asks, and makes it.
fn change(
    cli: &Cli,
    arguments: &StateArguments,
    key: &str,
    (wanted, is_yes, may_ask): (Wanted, bool, bool),
) -> Result<Exit, Error> {
    runtime::block_on(async {
        let way = find(cli, arguments, key).await?;
        let change = way.weigh(&wanted).await?;
        let is_json = cli.format() == Format::Json;
        if !is_json || !is_yes {
            output::write(Stream::Stderr, &text::of_change(&change));
        }
        if !is_yes && !is_confirmed(key, may_ask) {
            output::write(
                Stream::Stderr,
                "nothing was changed; confirm with --yes, or type the key where it is asked for\n",
            );
            return Ok(Exit::Confirmation);
        }
        way.carry_out(wanted).await?;
        match is_json {
            true => output::write_json(&change),
            false => {
                output::write(Stream::Stdout, &format!("done; start it with `pico-connectors start {key}`\n"))
            }
        }
        Ok(Exit::Ok)
    })
}

/// Whether a person at a terminal typed the key.
fn is_confirmed(key: &str, may_ask: bool) -> bool {
    if !may_ask || !std::io::stdin().is_terminal() {
        return false;
    }
    output::write(Stream::Stderr, &format!("type {key} to confirm: "));
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).is_ok() && line.trim() == key
}

/// A file, or standard input.
fn read(file: &Path) -> Result<Vec<u8>, Error> {
    let mut text = Vec::new();
    let outcome = match file.as_os_str() == "-" {
        true => std::io::stdin().lock().take(DOCUMENT_BYTES_MAX).read_to_end(&mut text),
        false => {
            std::fs::File::open(file).and_then(|file| file.take(DOCUMENT_BYTES_MAX).read_to_end(&mut text))
        }
    };
    outcome.map_err(|cause| {
        Error::environment("state.no_file", format!("cannot read {}", file.display()))
            .with_hint("name a file that `state export` wrote, or - for standard input")
            .because(cause)
    })?;
    Ok(text)
}

//! `dead-letters`: lists, shows and replays the records that `[errors]` set aside.

mod letter;
mod pile;
mod replay;
mod show;

use pico_broker::{Extent, Letter};
use pico_config::Env;

use crate::cli::{Cli, DeadLetters, Format, ListArguments, ShowArguments};
use crate::error::Error;
use crate::leave::Exit;
use crate::output::{self, Stream};
use pile::{Pile, broken};

/// Does what was asked.
pub(crate) fn run(cli: &Cli, what: &DeadLetters) -> Result<Exit, Error> {
    let env = Env::from_process();
    match what {
        DeadLetters::List(arguments) => list(cli, arguments, &env),
        DeadLetters::Show(arguments) => show(cli, arguments, &env),
        DeadLetters::Replay(arguments) => replay::run(cli, arguments, &env),
    }
}

fn list(cli: &Cli, arguments: &ListArguments, env: &Env) -> Result<Exit, Error> {
    let place = Pile::find(cli, &arguments.place, env)?;
    let reader = place.reader()?;
    let extents = reader.extents().map_err(broken)?;
    let mut letters: Vec<(Letter, show::State)> = Vec::new();
    for (partition, extent) in &extents {
        let from = extent.first.max(extent.end - i64::from(arguments.limit));
        let state = |letter: &Letter| state(letter, extent, place.definition.is_some());
        reader
            .read(*partition, from..extent.end, |letter| {
                let state = state(&letter);
                letters.push((letter, state));
                true
            })
            .map_err(broken)?;
    }
    letters.sort_by_key(|(letter, _)| (letter.timestamp_ms, letter.partition, letter.offset));
    let beyond = letters.len().saturating_sub(arguments.limit as usize);
    letters.drain(..beyond);
    let all: i64 = extents.values().map(|extent| extent.end - extent.first).sum();
    match cli.format() {
        Format::Json => output::write_json(&show::list_document(&place.topic, &letters)),
        Format::Human | Format::Github => {
            output::write(Stream::Stdout, &show::list_text(&place.topic, &letters, all));
        }
    }
    Ok(Exit::Ok)
}

fn state(letter: &Letter, extent: &Extent, is_known: bool) -> show::State {
    match (is_known, extent.place.left.contains(&letter.offset)) {
        (false, _) => show::State::Unknown,
        (true, true) => show::State::Left,
        (true, false) if letter.offset < extent.place.next => show::State::Done,
        (true, false) => show::State::Waits,
    }
}

fn show(cli: &Cli, arguments: &ShowArguments, env: &Env) -> Result<Exit, Error> {
    let place = Pile::find(cli, &arguments.place, env)?;
    let reader = place.reader()?;
    let (partition, offset) = (arguments.at.partition, arguments.at.offset);
    let mut found = None;
    reader
        .read(partition, offset..offset + 1, |letter| {
            found = Some(letter);
            false
        })
        .map_err(broken)?;
    let Some(letter) = found.filter(|letter| letter.offset == offset) else {
        let reason = format!("there is no letter {partition}/{offset} in {:?}", place.topic);
        return Err(Error::environment("dead_letters.not_there", reason)
            .with_hint("`dead-letters list` shows those there are"));
    };
    match cli.format() {
        Format::Json => output::write_json(&show::document(&letter)),
        Format::Human | Format::Github => output::write(Stream::Stdout, &show::text(&letter)),
    }
    Ok(Exit::Ok)
}

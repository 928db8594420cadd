//! `dead-letters replay`: sends letters once more, through today's definition. It says first what it will do, sends
//! only what today's definition takes, and keeps its place after each delivered piece, so that the next replay does
//! not send these again. A replay that is killed repeats at most its last piece.

mod plan;

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _};
use std::sync::mpsc;

use pico_actors::fault;
use pico_actors::ports::{BrokerPort as _, Cause, DeliveryEvent};
use pico_broker::{Admin, BrokerSettings, Extent, KafkaBroker, Letter, LetterReader, Place};
use pico_config::{Definition, Engine, Env};
use pico_record::RecordPath;

use super::pile::{Pile, broken};
use crate::cli::{Cli, Format, ReplayArguments};
use crate::definition_check;
use crate::error::Error;
use crate::leave::Exit;
use crate::output::{self, Stream};
use crate::registry::SchemaIds;
use crate::runtime;
use plan::{Item, Outlook, Plan, batch, route};

/// Letters between two places that are kept.
const PIECE: usize = 500;

/// Replays; exit code 4 when nobody said yes, 1 when letters fail again or cannot be delivered.
pub(super) fn run(cli: &Cli, arguments: &ReplayArguments, env: &Env) -> Result<Exit, Error> {
    let pile = Pile::find(cli, &arguments.place(), env)?;
    let definition = pile.definition.clone().expect("the key is required, so a definition was found");
    let reader = pile.reader()?;
    let extents = reader.extents().map_err(broken)?;
    let (letters, has_more) = waiting(&reader, &extents, &pile.engine, arguments.limit as usize)?;
    let ids = schema_ids(&definition)?;
    let mut path = record_path(&definition, &pile.engine, Some(&ids))?;
    let plan = Plan::new(letters, &extents, definition.key.as_str(), &mut path, has_more);
    if cli.format() != Format::Json {
        output::write(Stream::Stdout, &plan.text(&pile.topic));
    }
    if plan.sendable() > 0 && !arguments.yes && !is_confirmed(&definition, cli.format()) {
        return Ok(refused(cli, &plan, &pile.topic));
    }
    let outcome = Sending::new(&pile.engine, &definition, path)?.send(&reader, &plan, extents);
    let failure = outcome.as_ref().err().map(ToString::to_string);
    match cli.format() {
        Format::Json => output::write_json(&plan.document(&pile.topic, true, failure.as_deref())),
        Format::Human | Format::Github => output::write(Stream::Stdout, &plan.ending(failure.as_deref())),
    }
    Ok(if failure.is_none() && plan.failing() == 0 { Exit::Ok } else { Exit::Runtime })
}

fn refused(cli: &Cli, plan: &Plan, topic: &str) -> Exit {
    match cli.format() {
        Format::Json => output::write_json(&plan.document(topic, false, None)),
        Format::Human | Format::Github => {
            output::write(Stream::Stdout, "nothing was sent; say --yes to send them\n");
        }
    }
    Exit::Confirmation
}

/// Asks, where there is somebody to ask.
fn is_confirmed(definition: &Definition, format: Format) -> bool {
    if format == Format::Json || !std::io::stdin().is_terminal() || !Stream::Stdout.is_terminal() {
        return false;
    }
    output::write(Stream::Stdout, &format!("type {} to send them: ", definition.key));
    std::io::stdout().flush().ok();
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).is_ok() && answer.trim() == definition.key.as_str()
}

/// The letters that no replay sent, as many as fit, and whether there are more.
fn waiting(
    reader: &LetterReader,
    extents: &BTreeMap<i32, Extent>,
    engine: &Engine,
    limit: usize,
) -> Result<(Vec<Letter>, bool), Error> {
    let (mut letters, mut bytes, mut has_more) = (Vec::new(), 0, false);
    for (partition, Extent { end, place, .. }) in extents {
        let from = place.left.first().copied().unwrap_or(place.next).min(place.next);
        let take = |letter: Letter| {
            if letter.offset < place.next && !place.left.contains(&letter.offset) {
                return true;
            }
            let size = letter.payload.as_ref().map_or(0, Vec::len) + letter.key.as_ref().map_or(0, Vec::len);
            bytes += size as u64;
            if letters.len() >= limit || bytes > engine.limits.batch_bytes {
                has_more = true;
                return false;
            }
            letters.push(letter);
            true
        };
        reader.read(*partition, from..*end, take).map_err(broken)?;
    }
    Ok((letters, has_more))
}

/// Today's way of the records. One that fails is not sent, whatever `[errors]` says: it lies among the dead already.
fn record_path(
    definition: &Definition,
    engine: &Engine,
    ids: Option<&[Option<u32>]>,
) -> Result<RecordPath, Error> {
    definition_check::record_path(definition, &engine.limits, ids)
        .map_err(|cause| Error::Config(vec![definition_check::rule(definition, &cause)]))
}

/// The ids of the definition's schemas, from their registries where it names some.
fn schema_ids(definition: &Definition) -> Result<Vec<Option<u32>>, Error> {
    let ids = SchemaIds::of(&definition.topics);
    runtime::block_on(async move {
        ids.get().await.map_err(|failure| {
            Error::environment(failure.cause.code, "the schema registry cannot be used")
                .with_hint("look at [topics.schema_registry] of the definition; nothing was sent")
                .because(failure.cause)
        })
    })
}

/// The source's own producer, with its blocks and their rights to make topics.
struct Sending {
    port: KafkaBroker,
    path: RecordPath,
}

impl Sending {
    fn new(engine: &Engine, definition: &Definition, path: RecordPath) -> Result<Sending, Error> {
        let admin = Admin::open(&engine.kafka).map_err(broken)?;
        let settings = BrokerSettings::new(&engine.kafka, &engine.limits, definition);
        Ok(Sending { port: KafkaBroker::new(admin, settings), path })
    }

    /// Piece after piece: deliver, then keep the place.
    fn send(
        mut self,
        reader: &LetterReader,
        plan: &Plan,
        extents: BTreeMap<i32, Extent>,
    ) -> Result<(), Error> {
        let mut places: BTreeMap<i32, Place> =
            extents.into_iter().map(|(partition, extent)| (partition, extent.place)).collect();
        let mut outcome = Ok(());
        for piece in plan.items.chunks(PIECE) {
            outcome = self.deliver(piece).map_err(|cause| {
                Error::runtime(cause.code, "not delivered, so its place is not kept").because(cause)
            });
            if outcome.is_err() {
                break;
            }
            fault::point("replay_delivered");
            piece.iter().for_each(|item| item.move_place(&mut places));
            outcome = reader.keep(&places).map_err(broken);
            if outcome.is_err() {
                break;
            }
        }
        runtime::block_on(async {
            self.port.close().await;
            Ok(())
        })?;
        outcome
    }

    fn deliver(&mut self, piece: &[Item]) -> Result<(), Cause> {
        let good: Vec<&Item> = piece.iter().filter(|item| matches!(item.outlook, Outlook::Goes(_))).collect();
        for run in good.chunk_by(|one, other| one.schema == other.schema) {
            let Some(schema) = run[0].schema else { continue };
            let routed = route(&mut self.path, batch(schema, run.iter().map(|item| &item.letter)))
                .map_err(|failure| Cause::new(failure.code, failure.message))?;
            let (sender, events) = mpsc::channel();
            self.port.deliver(1, routed, Box::new(move |event| drop(sender.send(event))));
            let mut failed = None;
            // Ends: the port settles every batch, at the latest when its deadline is over.
            while let Ok(event) = events.recv() {
                match event {
                    DeliveryEvent::Enqueued => {}
                    DeliveryEvent::Failed(failure) => failed = Some(failure.cause),
                    DeliveryEvent::Settled => break,
                }
                if failed.is_some() {
                    break;
                }
            }
            if let Some(cause) = failed {
                return Err(cause);
            }
        }
        Ok(())
    }
}

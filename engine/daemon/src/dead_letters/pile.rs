//! Where dead letters lie, and whose they are.

use pico_broker::{BrokerError, LetterReader};
use pico_config::{Definition, Engine, Env, Finding, Location, OnRecordError, Severity};

use crate::chosen;
use crate::cli::{Cli, WhereArguments};
use crate::error::Error;
use crate::targets::Target;

/// Where letters lie, and whose they are if a source was named.
pub(super) struct Pile {
    pub(super) engine: Engine,
    pub(super) definition: Option<Definition>,
    pub(super) topic: String,
}

impl Pile {
    pub(super) fn find(cli: &Cli, place: &WhereArguments, env: &Env) -> Result<Pile, Error> {
        let (engine, definition) = match &place.key {
            Some(key) => {
                let (engine, definition) = chosen::definition(cli, key, env)?;
                (engine, Some(definition))
            }
            None => {
                let loaded = Target::configured(cli.config.as_deref()).load(env);
                (loaded.engine, None)
            }
        };
        let own = definition.as_ref().and_then(|definition| match &definition.errors.on_record_error {
            OnRecordError::DeadLetter { topic } => Some(topic.clone()),
            OnRecordError::Nack | OnRecordError::Skip => None,
        });
        match place.topic.clone().or(own) {
            Some(topic) => Ok(Pile { engine, definition, topic }),
            None => Err(no_topic(&engine, definition.as_ref())),
        }
    }

    pub(super) fn reader(&self) -> Result<LetterReader, Error> {
        LetterReader::open(&self.engine.kafka, &self.topic, &self.group()).map_err(broken)
    }

    /// Its places are those of the source's replays.
    pub(super) fn group(&self) -> String {
        let key = self.definition.as_ref().map_or("", |definition| definition.key.as_str());
        format!("pico-connectors.replay.{key}")
    }
}

fn no_topic(engine: &Engine, definition: Option<&Definition>) -> Error {
    let (file, reason) = match definition {
        Some(definition) => {
            let reason = format!("the source `{}` has no dead_letter_topic", definition.key);
            (definition.file.clone(), reason)
        }
        None => (engine.connectors.config_dir.clone(), "neither a source nor a topic was named".to_owned()),
    };
    let finding = Finding::new("dead_letters.no_topic", Severity::Error, Location::File(file), reason);
    Error::Config(vec![finding.with_hint("name the topic with --topic")])
}

/// The broker did not do its part.
pub(super) fn broken(cause: BrokerError) -> Error {
    Error::environment(cause.code(), "the dead letters cannot be reached")
        .with_hint("look at [kafka] and at the rights of its user: reading the topic, and the group pico-connectors.replay.KEY")
        .because(cause)
}

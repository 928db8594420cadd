//! Confluent schema registries: the id of each block's schema, asked for when a source opens.
//!
//! Three requests are known: which id a schema has under a subject (`POST /subjects/S`), registering it
//! (`POST /subjects/S/versions`, only with `register = true`), and the newest version of a subject
//! (`GET /subjects/S/versions/latest`), for JSON, whose blocks have no schema of their own. An id never changes in a
//! registry, so what was answered once holds for as long as the definition runs: a registry that is down does
//! not keep a source from opening again.

mod answer;
mod client;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

use pico_actors::ports::{Cause, OpenFailure, OpenKind};
use pico_config::{Schema, SchemaRegistry, TopicBlock};
use pico_record::codec::registered;

use answer::{Refusal, Wanted};
use client::Client;

/// The ids of one definition's schemas, by the positions of its blocks.
#[derive(Clone, Debug)]
pub(crate) struct SchemaIds {
    asked: Arc<[Option<Asked>]>,
    known: Arc<OnceLock<Vec<Option<u32>>>>,
}

/// What one block asks of its registry.
#[derive(Debug)]
struct Asked {
    registry: SchemaRegistry,
    wanted: Result<Wanted, String>,
}

impl SchemaIds {
    /// Asks nothing yet.
    pub(crate) fn of(blocks: &[TopicBlock]) -> SchemaIds {
        let asked = |block: &TopicBlock| {
            let registry = block.schema_registry.clone()?;
            Some(Asked { wanted: wanted(block, &registry), registry })
        };
        SchemaIds { asked: blocks.iter().map(asked).collect(), known: Arc::default() }
    }

    /// Asks for all of them, unless they are known.
    pub(crate) async fn get(&self) -> Result<Vec<Option<u32>>, OpenFailure> {
        if let Some(known) = self.known.get() {
            return Ok(known.clone());
        }
        let mut ids = Vec::with_capacity(self.asked.len());
        for asked in self.asked.iter() {
            ids.push(match asked {
                Some(asked) => Some(asked.get().await?),
                None => None,
            });
        }
        Ok(self.known.get_or_init(|| ids).clone())
    }
}

fn wanted(block: &TopicBlock, registry: &SchemaRegistry) -> Result<Wanted, String> {
    match (&block.record_schema, block.schema) {
        (Some(schema), Schema::Avro | Schema::Proto) => {
            let schema = registered(&schema.source).map_err(|error| error.to_string())?;
            Ok(if registry.register { Wanted::Registered(schema) } else { Wanted::Found(schema) })
        }
        (None, Schema::Avro) => Ok(Wanted::Newest("AVRO")),
        (None, Schema::Proto) => {
            Err("the block needs its schema: which message it is stands in the frame".to_owned())
        }
        (_, Schema::Json) => Ok(Wanted::Newest("JSON")),
        (_, Schema::Raw | Schema::Text | Schema::FlatBuffer) => {
            Err(format!("no registry knows {}", block.schema))
        }
    }
}

impl Asked {
    async fn get(&self) -> Result<u32, OpenFailure> {
        let wanted =
            self.wanted.as_ref().map_err(|reason| self.failure(Refusal::definite(reason.clone())))?;
        let client = Client::new(&self.registry).map_err(|refusal| self.failure(refusal))?;
        client.ask(wanted).await.map_err(|refusal| self.failure(refusal))
    }

    fn failure(&self, refusal: Refusal) -> OpenFailure {
        let kind = if refusal.is_definite { OpenKind::Config } else { OpenKind::Passing };
        let (url, subject) = (&self.registry.url, &self.registry.subject);
        let message = format!("schema registry {url}, subject {subject:?}: {}", refusal.reason);
        OpenFailure { kind, cause: Cause::new(refusal.code, message) }
    }
}

//! Avro: JSON to and from the binary encoding, by one schema.
//!
//! apache-avro parses the schema and holds it against the specification; values are written and read here, straight
//! between JSON text and bytes, because its own way over a value tree picks the first branch of a union that a
//! number can be bent into, knows no JSON path and reads numbers through a float.

mod compile;
mod decode;
mod encode;
mod logical;
mod plan;
#[cfg(test)]
mod tests;

use apache_avro::Schema;

use decode::Decoder;
use encode::Encoder;
use plan::Plan;

use super::tape::Tape;
use super::text::JsonText;
use super::trouble::{Trouble, chain};

/// One schema, made ready.
#[derive(Debug)]
pub(crate) struct Avro {
    plan: Plan,
    slots: Vec<usize>,
}

impl Avro {
    /// # Errors
    /// In words, with line and column where it is no JSON.
    pub(crate) fn compile(text: &str) -> Result<Avro, String> {
        // apache-avro says of broken JSON only that it is broken.
        serde_json::from_str::<serde::de::IgnoredAny>(text)
            .map_err(|error| format!("it is not JSON: {error}"))?;
        let schema = Schema::parse_str(text).map_err(|error| chain(&error))?;
        Ok(Avro { plan: Plan::compile(&schema)?, slots: Vec::new() })
    }

    pub(crate) fn encode(&mut self, json: &[u8], tape: &mut Tape, out: &mut Vec<u8>) -> Result<(), Trouble> {
        self.slots.clear();
        let value = tape.note(json)?;
        Encoder { plan: &self.plan, out, slots: &mut self.slots }.value(self.plan.root, value)
    }

    pub(crate) fn decode(&self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Trouble> {
        Decoder { plan: &self.plan, bytes, json: JsonText::new(out) }.whole()
    }
}

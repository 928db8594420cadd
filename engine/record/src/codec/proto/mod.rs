//! Protobuf: JSON to and from the wire format, by one message.
//!
//! protox compiles `.proto` files without protoc; prost-reflect reads the wire, and knows the JSON of the well-known
//! types. Writing is ours: prost-reflect's way either refuses members that the message has no field for, or drops
//! unknown names of enums without a word, and cannot say at which path a value did not fit.

mod encode;
mod plan;
mod print;
mod source;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use prost_reflect::{DynamicMessage, MessageDescriptor};

use encode::Encoder;
use plan::Plan;
use print::Printer;
pub(super) use source::of_descriptor_set;

use super::tape::Tape;
use super::text::JsonText;
use super::trouble::{Trouble, chain};

/// One message, made ready.
#[derive(Debug)]
pub(crate) struct Proto {
    plan: Plan,
    message: MessageDescriptor,
    slots: Vec<usize>,
    int64_as_string: bool,
}

impl Proto {
    /// `root` is one of `files`.
    ///
    /// # Errors
    /// In words, with file, line and column where there are some.
    pub(crate) fn compile(
        root: &str,
        files: &BTreeMap<String, String>,
        message: Option<&str>,
    ) -> Result<Proto, String> {
        Ok(Proto::of(source::of_files(root, files, message)?))
    }

    /// # Errors
    /// In words.
    pub(crate) fn of_descriptor_set(bytes: &[u8], message: Option<&str>) -> Result<Proto, String> {
        Ok(Proto::of(of_descriptor_set(bytes, message)?))
    }

    fn of(message: MessageDescriptor) -> Proto {
        Proto { plan: Plan::compile(&message), message, slots: Vec::new(), int64_as_string: false }
    }

    /// Decoding gives 64-bit integers as strings.
    pub(crate) fn with_int64_as_string(self, yes: bool) -> Proto {
        Proto { int64_as_string: yes, ..self }
    }

    pub(crate) fn encode(&mut self, json: &[u8], tape: &mut Tape, out: &mut Vec<u8>) -> Result<(), Trouble> {
        self.slots.clear();
        let value = tape.note(json)?;
        Encoder { plan: &self.plan, out, slots: &mut self.slots }.message(0, value)
    }

    pub(crate) fn decode(&self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Trouble> {
        let message = DynamicMessage::decode(self.message.clone(), bytes);
        let message = message.map_err(|error| Trouble::new(chain(&error)))?;
        Printer { json: JsonText::new(out), int64_as_string: self.int64_as_string }.message(&message, 0)
    }

    /// Which message of its file it is: its position, after those of the messages around it.
    pub(crate) fn indexes(&self) -> Vec<i32> {
        // The path is pairs of a field's number in descriptor.proto and a position.
        self.message.path().iter().skip(1).step_by(2).copied().collect()
    }
}

//! FlatBuffers: JSON to and from binary, by a binary schema (`.bfbs`) that flatc made.
//!
//! All of it is ours: the `flatbuffers` crate knows only types generated when a program is built, and reads
//! without a schema only through unsafe code. Here every access is checked by the schema before it is made.

mod bytes;
mod decode;
mod encode;
mod layout;
#[cfg(test)]
mod tests;

use bytes::Bytes;
use decode::Decoder;
use encode::Encoder;
use layout::Layout;

use super::tape::Tape;
use super::text::JsonText;
use super::trouble::Trouble;

/// One root table, made ready.
#[derive(Debug)]
pub(crate) struct FlatBuffer {
    layout: Layout,
}

impl FlatBuffer {
    /// `root`: the table, with or without its namespace; None: the schema's `root_type`.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn compile(schema: &[u8], root: Option<&str>) -> Result<FlatBuffer, String> {
        let layout = Layout::read(schema, root).map_err(|trouble| trouble.to_string())?;
        Ok(FlatBuffer { layout })
    }

    pub(crate) fn encode(&self, json: &[u8], tape: &mut Tape, out: &mut Vec<u8>) -> Result<(), Trouble> {
        let value = tape.note(json)?;
        let base = out.len();
        Encoder { layout: &self.layout, out, base, vtables: Vec::new() }.whole(value)
    }

    pub(crate) fn decode(&self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Trouble> {
        Decoder { layout: &self.layout, bytes: Bytes::new(bytes), json: JsonText::new(out) }.whole()
    }
}

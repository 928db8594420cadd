//! Between JSON and the binary schemas: Avro, protobuf, FlatBuffers. Pure, bytes to bytes; a schema is compiled once for
//! a source and knows nothing of where its files came from.
//!
//! Encoding reads the JSON text as it is written, so that integers and decimals keep their digits; an object's members
//! that the schema has no place for are left out; of a key that stands twice the last counts. Decoding trusts no byte:
//! what is damaged, too deep or too large is an error that says where, and never a panic.

mod avro;
mod flatbuffer;
mod frame;
mod number;
mod proto;
mod registered;
mod tape;
mod text;
mod trouble;

use pico_config::SchemaSource;

pub use frame::Frame;
pub use registered::{Registered, registered};
pub use trouble::Trouble;

use avro::Avro;
use flatbuffer::FlatBuffer;
use proto::Proto;
use tape::Tape;

/// Why a schema cannot be used: a person has to change it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SchemaError(String);

/// One schema, ready to write and read payloads.
#[derive(Debug)]
pub struct Codec {
    form: Form,
    tape: Tape,
}

#[derive(Debug)]
enum Form {
    Avro(Avro),
    Proto(Proto),
    FlatBuffer(FlatBuffer),
}

impl Codec {
    /// Compiles a schema.
    ///
    /// # Errors
    /// In words, with line and column where the schema is text.
    pub fn compile(source: &SchemaSource) -> Result<Codec, SchemaError> {
        let form = match source {
            SchemaSource::Avro { text } => Avro::compile(text).map(Form::Avro),
            SchemaSource::ProtoFiles { root, files, message } => {
                Proto::compile(root, files, message.as_deref()).map(Form::Proto)
            }
            SchemaSource::ProtoDescriptorSet { bytes, message } => {
                Proto::of_descriptor_set(bytes, message.as_deref()).map(Form::Proto)
            }
            SchemaSource::FlatBuffer { bytes, root } => {
                FlatBuffer::compile(bytes, root.as_deref()).map(Form::FlatBuffer)
            }
        };
        Ok(Codec { form: form.map_err(SchemaError)?, tape: Tape::default() })
    }

    /// Decoding protobuf gives 64-bit integers as strings, as protobuf's own JSON has them; without, as numbers. For the
    /// other schemas it changes nothing.
    pub fn with_int64_as_string(self, yes: bool) -> Codec {
        let form = match self.form {
            Form::Proto(proto) => Form::Proto(proto.with_int64_as_string(yes)),
            Form::Avro(_) | Form::FlatBuffer(_) => self.form,
        };
        Codec { form, ..self }
    }

    /// Appends the encoding of one JSON text to `out`, which stays as it was after an error.
    ///
    /// # Errors
    /// The first value that does not fit, with its path.
    pub fn encode(&mut self, json: &[u8], out: &mut Vec<u8>) -> Result<(), Trouble> {
        let before = out.len();
        let outcome = match &mut self.form {
            Form::Avro(avro) => avro.encode(json, &mut self.tape, out),
            Form::Proto(proto) => proto.encode(json, &mut self.tape, out),
            Form::FlatBuffer(flatbuffer) => flatbuffer.encode(json, &mut self.tape, out),
        };
        outcome.inspect_err(|_| out.truncate(before))
    }

    /// Appends what `bytes` hold as JSON to `out`, which stays as it was after an error.
    ///
    /// # Errors
    /// When the bytes are no value of the schema, or would become more than 16 MiB.
    pub fn decode(&self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Trouble> {
        let before = out.len();
        let outcome = match &self.form {
            Form::Avro(avro) => avro.decode(bytes, out),
            Form::Proto(proto) => proto.decode(bytes, out),
            Form::FlatBuffer(flatbuffer) => flatbuffer.decode(bytes, out),
        };
        outcome.inspect_err(|_| out.truncate(before))
    }

    /// What stands before the payloads of this schema in Confluent's wire format.
    pub fn frame(&self, id: u32) -> Frame {
        match &self.form {
            Form::Proto(proto) => Frame::of_message(id, &proto.indexes()),
            Form::Avro(_) | Form::FlatBuffer(_) => Frame::new(id),
        }
    }
}

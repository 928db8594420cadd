//! What a block does to a payload of another schema, and what it puts before it.

use pico_config::SchemaConversion;
use picomq_connector_sdk::Schema;

use crate::codec::{Codec, Frame, SchemaError, Trouble};
use crate::convert::{Convert, ConvertFailure};

/// The encoder of a block: its codec, and the frame of its registry once the id is known.
#[derive(Debug)]
pub(crate) struct Encoder {
    to: Schema,
    codec: Option<Codec>,
    frame: Option<Frame>,
    /// What the payloads of the batch under way are; those of `to` leave as they came.
    given: Schema,
}

impl Encoder {
    pub(crate) fn new(to: Schema, codec: Option<Codec>) -> Encoder {
        Encoder { to, codec, frame: None, given: to }
    }

    /// Puts the frame of this schema id before every payload.
    pub(crate) fn set_id(&mut self, id: u32) {
        let frame = self.codec.as_ref().map_or_else(|| Frame::new(id), |codec| codec.frame(id));
        self.frame = Some(frame);
    }
}

impl Convert for Encoder {
    fn schema_after(&self, from: Schema) -> Option<Schema> {
        match (from, &self.codec) {
            (Schema::Json, Some(_)) => Some(self.to),
            (from, Some(_) | None) => Some(from),
        }
    }

    fn begin(&mut self, from: Schema) {
        self.given = from;
    }

    fn convert(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), ConvertFailure> {
        if let Some(frame) = &self.frame {
            out.extend_from_slice(frame.as_bytes());
        }
        match &mut self.codec {
            Some(codec) if self.given != self.to => codec.encode(payload, out).map_err(encode_failure),
            Some(_) | None => {
                out.extend_from_slice(payload);
                Ok(())
            }
        }
    }
}

/// A convert transform: one codec in one direction.
#[derive(Debug)]
pub(crate) struct Conversion {
    from: Schema,
    to: Schema,
    codec: Codec,
}

impl Conversion {
    pub(crate) fn new(of: &SchemaConversion) -> Result<Conversion, SchemaError> {
        let codec = Codec::compile(&of.schema.source)?.with_int64_as_string(of.int64_as_string);
        Ok(Conversion { from: of.from, to: of.to, codec })
    }
}

impl Convert for Conversion {
    fn schema_after(&self, from: Schema) -> Option<Schema> {
        (from == self.from).then_some(self.to)
    }

    fn convert(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), ConvertFailure> {
        if self.from == Schema::Json {
            self.codec.encode(payload, out).map_err(encode_failure)
        } else {
            self.codec.decode(payload, out).map_err(decode_failure)
        }
    }
}

#[cold]
fn encode_failure(trouble: Trouble) -> ConvertFailure {
    let code = if trouble.is_not_json() { "payload_not_json" } else { "encode_failed" };
    ConvertFailure { code, reason: trouble.to_string() }
}

#[cold]
fn decode_failure(trouble: Trouble) -> ConvertFailure {
    ConvertFailure { code: "decode_failed", reason: trouble.to_string() }
}

//! The encodings a payload may have. A batch carries one; a `[[topics]]` block asks for one.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the bytes of a payload are to be read.
///
/// A plugin labels each batch with what its payloads *are*; the engine turns them into what the block of the
/// definition asks for, or refuses the pair when the definition is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Schema {
    /// One JSON text (RFC 8259) a record.
    Json,
    /// Opaque bytes; nothing is read from them.
    Raw,
    /// UTF-8 text.
    Text,
    /// One Protocol Buffers message, without a length prefix.
    Proto,
    /// One FlatBuffers root table.
    #[serde(alias = "flat_buffer")]
    FlatBuffer,
    /// One Avro datum, without container or registry framing.
    Avro,
}

impl Schema {
    /// Every schema, in the order of the documentation.
    pub const ALL: [Schema; 6] =
        [Schema::Json, Schema::Raw, Schema::Text, Schema::Proto, Schema::FlatBuffer, Schema::Avro];

    /// The word used in definitions, messages and labels.
    pub const fn as_str(self) -> &'static str {
        match self {
            Schema::Json => "json",
            Schema::Raw => "raw",
            Schema::Text => "text",
            Schema::Proto => "proto",
            Schema::FlatBuffer => "flatbuffer",
            Schema::Avro => "avro",
        }
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_of_a_schema_is_the_one_serde_reads_and_writes() {
        for schema in Schema::ALL {
            let quoted = format!("\"{schema}\"");
            assert_eq!(serde_json::to_string(&schema).unwrap(), quoted);
            assert_eq!(serde_json::from_str::<Schema>(&quoted).unwrap(), schema);
        }
    }

    #[test]
    fn flat_buffer_is_accepted_as_the_existing_runtimes_write_it() {
        assert_eq!(serde_json::from_str::<Schema>("\"flat_buffer\"").unwrap(), Schema::FlatBuffer);
    }
}

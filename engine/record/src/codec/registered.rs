//! What a registry is asked about: a schema in the form and text that registries take.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use pico_config::SchemaSource;
use prost_reflect::prost::Message;

use super::SchemaError;
use super::proto;

/// A schema as a registry takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// `AVRO` or `PROTOBUF`, as the registry's API names it.
    pub kind: &'static str,
    /// The schema: Avro's JSON, a `.proto` file, or a file's descriptor in base64.
    pub text: String,
}

/// How a registry is asked about this schema.
///
/// # Errors
/// For a FlatBuffers schema, which registries do not know, and for a `.proto` that imports other files than those that
/// come with protobuf: these would have to be registered first.
pub fn registered(source: &SchemaSource) -> Result<Registered, SchemaError> {
    match source {
        SchemaSource::Avro { text } => Ok(Registered { kind: "AVRO", text: text.clone() }),
        SchemaSource::ProtoFiles { root, files, .. } => {
            let others: Vec<&str> = files.keys().filter(|name| *name != root).map(String::as_str).collect();
            alone(root, &others)?;
            Ok(Registered { kind: "PROTOBUF", text: files.get(root).cloned().unwrap_or_default() })
        }
        SchemaSource::ProtoDescriptorSet { bytes, message } => {
            let message = proto::of_descriptor_set(bytes, message.as_deref()).map_err(SchemaError)?;
            let file = message.parent_file();
            let imports: Vec<String> = file.dependencies().map(|file| file.name().to_owned()).collect();
            let others =
                imports.iter().map(String::as_str).filter(|name| !name.starts_with("google/protobuf/"));
            alone(file.name(), &others.collect::<Vec<_>>())?;
            let text = BASE64_STANDARD.encode(file.file_descriptor_proto().encode_to_vec());
            Ok(Registered { kind: "PROTOBUF", text })
        }
        SchemaSource::FlatBuffer { .. } => {
            Err(SchemaError("a schema registry knows avro, proto and json, but no flatbuffer".to_owned()))
        }
    }
}

fn alone(root: &str, others: &[&str]) -> Result<(), SchemaError> {
    if others.is_empty() {
        return Ok(());
    }
    Err(SchemaError(format!(
        "{root} imports {}, and references between registered schemas are not built yet; put the messages into one file",
        others.join(", ")
    )))
}

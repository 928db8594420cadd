//! The binary schema of a block or of a convert transform, with the content of its files.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use picomq_connector_sdk::Schema;

use crate::finding::Location;
use crate::secret::Secret;

/// A schema, read when the definition was: what the files held then is part of the definition, so that a changed file
/// is a changed definition. Equality leaves out where it stands.
#[derive(Debug, Clone)]
pub struct RecordSchema {
    /// What it says.
    pub source: SchemaSource,
    /// Its file; None: it stands in the definition.
    pub file: Option<PathBuf>,
    /// Of the key that names it.
    pub location: Location,
    /// The key that names it, for findings.
    pub path: String,
}

impl PartialEq for RecordSchema {
    fn eq(&self, other: &RecordSchema) -> bool {
        let RecordSchema { source, file: _, location: _, path: _ } = self;
        *source == other.source
    }
}

/// The content of a schema, not compiled.
#[derive(Clone, PartialEq, Eq)]
pub enum SchemaSource {
    /// An Avro schema, JSON.
    Avro {
        /// The schema.
        text: String,
    },
    /// `.proto` files.
    ProtoFiles {
        /// The name of the file that was asked for, among `files`.
        root: String,
        /// It and all that it imports, by the names under which they are imported; without those that come with
        /// protobuf itself.
        files: BTreeMap<String, String>,
        /// The message; None: the root's only one.
        message: Option<String>,
    },
    /// What `protoc --include_imports --descriptor_set_out` wrote.
    ProtoDescriptorSet {
        /// A `FileDescriptorSet`.
        bytes: Vec<u8>,
        /// The message; None: the only one.
        message: Option<String>,
    },
    /// A binary FlatBuffers schema (`.bfbs`).
    FlatBuffer {
        /// The file.
        bytes: Vec<u8>,
        /// The table; None: the schema's `root_type`.
        root: Option<String>,
    },
}

impl SchemaSource {
    /// Which schema it is.
    pub fn schema(&self) -> Schema {
        match self {
            SchemaSource::Avro { .. } => Schema::Avro,
            SchemaSource::ProtoFiles { .. } | SchemaSource::ProtoDescriptorSet { .. } => Schema::Proto,
            SchemaSource::FlatBuffer { .. } => Schema::FlatBuffer,
        }
    }
}

/// Sizes alone.
impl fmt::Debug for SchemaSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SchemaSource::Avro { text } => write!(out, "Avro({} bytes)", text.len()),
            SchemaSource::ProtoFiles { root, files, message } => {
                write!(out, "ProtoFiles({root:?} of {}, {message:?})", files.len())
            }
            SchemaSource::ProtoDescriptorSet { bytes, message } => {
                write!(out, "ProtoDescriptorSet({} bytes, {message:?})", bytes.len())
            }
            SchemaSource::FlatBuffer { bytes, root } => {
                write!(out, "FlatBuffer({} bytes, {root:?})", bytes.len())
            }
        }
    }
}

/// A Confluent schema registry and what a block wants of it.
#[derive(Debug, Clone, PartialEq)]
pub struct SchemaRegistry {
    /// Without a slash at its end; http or https, no user in it.
    pub url: String,
    /// Under which the schema is registered: `subject`, else `<topic>-value`.
    pub subject: String,
    /// Whether the schema is registered when it is not (false).
    pub register: bool,
    /// How we say who we are.
    pub login: RegistryLogin,
    /// Certificates in PEM that its own must come from; None: those of the system.
    pub ca_pem: Option<Vec<u8>>,
    /// For one request (5 s).
    pub timeout: Duration,
    /// Who wrote `url`.
    pub origin: UrlOrigin,
}

/// Who wrote a URL, which decides where it may lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlOrigin {
    /// Whoever writes the files: anywhere but to a [forbidden address](crate::forbidden_address).
    Operator,
    /// A client of the API, where `[limits] private_urls` is false: over https, and to no
    /// [private address](crate::private_address) either.
    Api,
}

/// Who asks a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegistryLogin {
    /// Anybody.
    Nobody,
    /// HTTP basic authentication.
    Basic {
        /// The user.
        username: String,
        /// The password.
        password: Secret,
    },
    /// A bearer token.
    Token(Secret),
}

//! What is asked of a registry, and what its answers mean. By the public API of Confluent's Schema Registry.

use pico_record::codec::Registered;
use serde_json::{Value, json};

/// What a block wants of its subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The id of a schema that is there.
    Found(Registered),
    /// The id of a schema, which is registered if it is not there.
    Registered(Registered),
    /// The id of the newest version, which must be of this kind.
    Newest(&'static str),
}

/// Why there is no id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: &'static str,
    /// Asking again cannot help: a person has to change something.
    pub(super) is_definite: bool,
    pub(super) reason: String,
}

/// The most of a registry's own words that a message shows.
const SHOWN_MAX: usize = 300;

impl Refusal {
    pub(super) fn definite(reason: impl Into<String>) -> Refusal {
        Refusal { code: "registry.refused", is_definite: true, reason: reason.into() }
    }

    pub(super) fn passing(reason: impl Into<String>) -> Refusal {
        Refusal { code: "registry.unreachable", is_definite: false, reason: reason.into() }
    }
}

impl Wanted {
    /// The parts of the path after the registry's own.
    pub(super) fn path<'a>(&self, subject: &'a str) -> Vec<&'a str> {
        match self {
            Wanted::Found(_) => vec!["subjects", subject],
            Wanted::Registered(_) => vec!["subjects", subject, "versions"],
            Wanted::Newest(_) => vec!["subjects", subject, "versions", "latest"],
        }
    }

    /// The body of a POST; None: it is a GET.
    pub(super) fn body(&self) -> Option<Value> {
        match self {
            Wanted::Found(schema) | Wanted::Registered(schema) => Some(match schema.kind {
                // The kind that registries had before they knew kinds; the oldest refuse the key.
                "AVRO" => json!({ "schema": schema.text }),
                kind => json!({ "schema": schema.text, "schemaType": kind }),
            }),
            Wanted::Newest(_) => None,
        }
    }

    /// The id in an answer.
    pub(super) fn id(&self, status: u16, body: &[u8]) -> Result<u32, Refusal> {
        let document: Value = serde_json::from_slice(body).unwrap_or_default();
        if status != 200 {
            return Err(self.refusal(status, &document));
        }
        if let Wanted::Newest(kind) = self {
            let given = document["schemaType"].as_str().unwrap_or("AVRO");
            if given != *kind {
                let reason = format!("its newest version is of type {given}, and the block is {kind}");
                return Err(Refusal::definite(reason));
            }
        }
        let id = document["id"].as_u64().and_then(|id| u32::try_from(id).ok());
        id.ok_or_else(|| Refusal::passing("the answer has no id; is this a schema registry?"))
    }

    fn refusal(&self, status: u16, document: &Value) -> Refusal {
        let words: String =
            document["message"].as_str().unwrap_or_default().chars().take(SHOWN_MAX).collect();
        let told =
            if words.is_empty() { format!("status {status}") } else { format!("status {status}: {words}") };
        let fix = match (status, self) {
            (401 | 403, _) => "check username and password, or the token",
            (404, Wanted::Found(_)) => "register the schema there, or write register = true",
            (404, Wanted::Registered(_) | Wanted::Newest(_)) => "check url and subject",
            (409, _) => "the schema is not compatible with those registered before",
            (422, _) => "the registry does not take the schema",
            (300..=399, _) => "redirects are not followed; write the address it leads to",
            (408 | 429 | 500.., _) => return Refusal::passing(format!("{told}; asked again soon")),
            (_, _) => "check url and subject",
        };
        Refusal::definite(format!("{told}; {fix}"))
    }
}

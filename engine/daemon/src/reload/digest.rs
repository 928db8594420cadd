//! Names a set of definitions by what they resolve to, secrets included, in a way that tells nothing of them: the key
//! is of this process alone.

use pico_actors::handle::RunningSource;
use pico_config::{Definition, Location};
use ring::{hmac, rand};

use super::set::Wanted;
use crate::error::Error;

/// Of the hexadecimal name of a plan. A person types it; it guards against mistakes, not against an attacker.
const HASH_CHARACTERS: usize = 12;

/// Makes the names.
pub(crate) struct Hasher(hmac::Key);

impl Hasher {
    /// With a random key.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(crate) fn new() -> Result<Hasher, Error> {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &rand::SystemRandom::new());
        let key = key.map_err(|_unspecified| {
            Error::environment("process.no_random", "the system has no random numbers")
                .with_hint("allow the system call getrandom, or make /dev/urandom readable")
        })?;
        Ok(Hasher(key))
    }

    /// The name of the step from `running` to `wanted`.
    pub(crate) fn plan(&self, running: &[RunningSource], wanted: &Wanted) -> String {
        let mut context = hmac::Context::with_key(&self.0);
        let mut all: Vec<Vec<u8>> = running
            .iter()
            .map(|source| part(b"runs", &source.key, source.definition.as_deref(), ""))
            .collect();
        all.extend(wanted.definitions().map(|wanted| part(b"good", wanted.key.as_str(), Some(wanted), "")));
        all.extend(wanted.bad().map(|bad| {
            let reasons: Vec<&str> = bad.findings.iter().map(|finding| finding.reason.as_str()).collect();
            part(b"bad", &bad.key, None, &reasons.join("\n"))
        }));
        // Names of files decide the order of a set, and nothing else.
        all.sort_unstable();
        for part in all {
            context.update(&(part.len() as u64).to_le_bytes());
            context.update(&part);
        }
        let tag = context.sign();
        let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        hex.chars().take(HASH_CHARACTERS).collect()
    }
}

fn part(kind: &[u8], key: &str, definition: Option<&Definition>, reasons: &str) -> Vec<u8> {
    let mut part = Vec::new();
    let mut add = |bytes: &[u8]| {
        part.extend((bytes.len() as u64).to_le_bytes());
        part.extend(bytes);
    };
    add(kind);
    add(key.as_bytes());
    add(reasons.as_bytes());
    if let Some(definition) = definition {
        let nowhere = Location::File(Default::default());
        let neutral = Definition {
            file: Default::default(),
            path_location: nowhere,
            tests: Vec::new(),
            ..definition.clone()
        };
        // Everything but secrets, then these; what is written beside what it stands for, so that a guess at a
        // secret never has the name of the reference to it.
        add(format!("{neutral:?}").as_bytes());
        add(definition.written.expose_json().as_bytes());
        add(definition.plugin_config.expose_json().as_bytes());
        for (name, value) in definition.topics.iter().flat_map(|block| block.properties.iter()) {
            add(name.as_bytes());
            add(value.as_bytes());
        }
    }
    part
}

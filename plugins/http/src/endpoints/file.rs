//! The file of the endpoints made at run time.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use picomq_connector_sdk::Error;
use serde::{Deserialize, Serialize};

use crate::auth::Family;
use crate::config::EndpointConfig;
use crate::secret::Secret;

const VERSION: u32 = 1;

/// One endpoint as it is kept.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stored {
    pub(super) name: Option<String>,
    pub(super) auth_type: Family,
    pub(super) auth_secret: Option<String>,
    pub(super) auth_secret_previous: Option<String>,
    pub(super) hmac_header: Option<String>,
    pub(super) hmac_prefix: Option<String>,
    pub(super) expires_at: Option<i64>,
    pub(super) is_deleted: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    version: u32,
    endpoints: BTreeMap<String, Stored>,
}

impl Stored {
    /// As if it stood in a definition.
    pub(super) fn configuration(&self, id: &str) -> EndpointConfig {
        EndpointConfig {
            endpoint_id: id.to_owned(),
            name: self.name.clone(),
            auth_type: self.auth_type,
            auth_secret: self.auth_secret.clone().map(Secret::new),
            auth_secret_previous: self.auth_secret_previous.clone().map(Secret::new),
            hmac_header: self.hmac_header.clone(),
            hmac_prefix: self.hmac_prefix.clone(),
            expires_at: self.expires_at,
        }
    }
}

/// What the file holds; nothing when there is none. An unreadable one is refused, never begun anew.
pub(super) fn read(path: &Path) -> Result<BTreeMap<String, Stored>, Error> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(Error::transient(named("cannot read", path)).with_cause(error)),
    };
    let contents: Contents = serde_json::from_slice(&text).map_err(|error| {
        // Where, but not what: it holds secrets.
        let place = format!(" (line {}, column {})", error.line(), error.column());
        Error::config(named("cannot understand", path) + &place + "; restore it, or move it away")
    })?;
    if contents.version > VERSION {
        return Err(Error::config(named("a newer version wrote", path)));
    }
    Ok(contents.endpoints)
}

/// Its bytes.
pub(super) fn encode(endpoints: &BTreeMap<String, Stored>) -> Result<Vec<u8>, Error> {
    let contents = Contents { version: VERSION, endpoints: endpoints.clone() };
    serde_json::to_vec_pretty(&contents)
        .map_err(|error| Error::serialization("the endpoints cannot be written down").with_cause(error))
}

/// Replaces it: beside it first, synced, then renamed, then the folder synced.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    replace(path, bytes).map_err(|error| Error::transient(named("cannot write", path)).with_cause(error))
}

fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let folder = path.parent().unwrap_or(Path::new("/"));
    // What a crash or somebody else left there may be open to others, or lead elsewhere.
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    File::open(folder)?.sync_all()
}

fn named(what: &str, path: &Path) -> String {
    format!("{what} endpoints_file {}", path.display())
}

//! The paths of one source: those of its definition, and those made at run time.
//!
//! What is made at run time is kept in a file of its own (`endpoints_file`): synced before anybody is told, readable by
//! its owner alone, with the secrets that checking signatures needs. A deleted id stays known for ever and never opens
//! again.

mod change;
mod file;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use picomq_connector_sdk::Error;
use serde_json::{Value, json};

use crate::auth::Family;
use crate::settings::{Settings, Target, target_of_endpoint};
use change::Change;
use file::Stored;

/// Most endpoints made at run time, deleted ones counted.
const ENDPOINTS_MAX: usize = 10_000;

/// The paths of one source.
pub(crate) struct Endpoints {
    defined: HashMap<String, Arc<Target>>,
    made: RwLock<Made>,
    /// One change at a time.
    changing: tokio::sync::Mutex<()>,
    file: Option<PathBuf>,
    tolerance: Duration,
    /// Beyond loopback nothing may be open to anybody.
    is_local: bool,
    /// Without it no path may sign the time: what was captured could be sent again.
    knows_repeats: bool,
}

#[derive(Default)]
struct Made {
    stored: BTreeMap<String, Stored>,
    targets: HashMap<String, Arc<Target>>,
}

impl Endpoints {
    /// Those of the definition and those of the file. Blocking.
    pub(crate) fn open(settings: &Settings) -> Result<Endpoints, Error> {
        let defined = settings.targets.iter().map(|target| (target.path.clone(), Arc::new(target.clone())));
        let mut endpoints = Endpoints {
            defined: defined.collect(),
            made: RwLock::default(),
            changing: tokio::sync::Mutex::new(()),
            file: settings.endpoints_file.clone(),
            tolerance: settings.tolerance,
            is_local: settings.is_local(),
            knows_repeats: settings.knows_repeats(),
        };
        if let Some(file) = &endpoints.file {
            let made = endpoints.compiled(file::read(file)?)?;
            endpoints.made = RwLock::new(made);
        }
        Ok(endpoints)
    }

    /// The target of a path.
    pub(crate) fn target(&self, path: &str) -> Option<Arc<Target>> {
        if let Some(target) = self.defined.get(path) {
            return Some(Arc::clone(target));
        }
        self.made.read().unwrap_or_else(PoisonError::into_inner).targets.get(path).cloned()
    }

    /// All of them, without secrets.
    pub(crate) fn list(&self) -> Value {
        let made = self.made.read().unwrap_or_else(PoisonError::into_inner);
        let defined = self.defined.values().filter(|target| target.name.is_some()).map(|target| {
            json!({
                "endpoint_id": target.path.trim_start_matches("/e/"), "name": target.name,
                "auth_type": target.credentials.family(), "expires_at": target.expires_at, "origin": "definition",
            })
        });
        let living = made.stored.iter().filter(|(_, stored)| !stored.is_deleted);
        let made = living.map(|(id, stored)| {
            json!({
                "endpoint_id": id, "name": stored.name, "auth_type": stored.auth_type,
                "has_previous_secret": stored.auth_secret_previous.is_some(),
                "expires_at": stored.expires_at, "origin": "run time",
            })
        });
        let mut all: Vec<Value> = defined.chain(made).collect();
        all.sort_by_key(|one| one["endpoint_id"].as_str().map(str::to_owned));
        Value::Array(all)
    }

    /// Makes, changes or deletes an endpoint; durable when it answers.
    ///
    /// # Errors
    /// [`Error::Config`] when it cannot be as asked, [`Error::Transient`] when the file cannot be written.
    pub(crate) async fn change(&self, name: &str, arguments: Value) -> Result<Option<Value>, Error> {
        let Some(change) = Change::read(name, arguments)? else { return Ok(None) };
        let Some(path) = self.file.clone() else {
            return Err(Error::config(
                "there is no endpoints_file to keep endpoints in; set it in the definition",
            ));
        };
        let _alone = self.changing.lock().await;
        let mut stored = self.made.read().unwrap_or_else(PoisonError::into_inner).stored.clone();
        let answer = change.apply(&mut stored)?;
        if stored.len() > ENDPOINTS_MAX {
            return Err(Error::config(format!(
                "there are {ENDPOINTS_MAX} endpoints already, deleted ones counted"
            )));
        }
        let made = self.compiled(stored)?;
        let written = file::encode(&made.stored)?;
        tokio::task::spawn_blocking(move || file::write(&path, &written))
            .await
            .map_err(|error| Error::transient("the endpoints file was not written").with_cause(error))??;
        *self.made.write().unwrap_or_else(PoisonError::into_inner) = made;
        Ok(Some(answer))
    }

    fn compiled(&self, stored: BTreeMap<String, Stored>) -> Result<Made, Error> {
        let mut targets = HashMap::new();
        for (id, one) in stored.iter().filter(|(_, one)| !one.is_deleted) {
            if one.auth_type == Family::None && !self.is_local {
                return Err(Error::config(format!(
                    "endpoint {id} would take posts from anybody beyond this machine; give it an auth_type"
                )));
            }
            if one.auth_type.signs_time() && !self.knows_repeats {
                return Err(Error::config(format!(
                    "endpoint {id} of auth_type {} would take a captured post a second time: dedupe_window must be at \
                     least twice timestamp_tolerance and dedupe_capacity above 0",
                    one.auth_type
                )));
            }
            let target = target_of_endpoint(&one.configuration(id), "", self.tolerance)?;
            if self.defined.contains_key(&target.path) {
                return Err(Error::config(format!("endpoint {id} stands in the definition already")));
            }
            targets.insert(target.path.clone(), Arc::new(target));
        }
        Ok(Made { stored, targets })
    }
}

#[cfg(test)]
mod tests;

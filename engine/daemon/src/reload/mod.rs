//! Taking up changed definitions while the sources run. There is one way: load and check everything, hold it against
//! what runs, hand the whole new set to the root. What cannot be used keeps what ran for it.
//!
//! Whoever asks (a signal, the API, the watch over the files) goes through [`Reloads`], one after the other.

mod configs;
mod digest;
mod foreign;
mod last;
mod look;
mod plan;
mod set;
mod told;
mod version_files;
mod versions;
mod watch;

use std::path::PathBuf;
use std::sync::Arc;

use pico_actors::handle::{Engine as Running, RunningSource};
use pico_actors::telemetry::ReloadOutcome;
use pico_config::{Definition, DefinitionFile, Definitions, Engine, Env, Finding, Owners};
use tokio::sync::Mutex;

use crate::definition_check;
use crate::error::Error;
use crate::plugins::Catalog;
use crate::service_manager;
use crate::wiring::Wiring;
pub(crate) use configs::{NotDone, Version};
use digest::Hasher;
pub(crate) use last::Last;
use look::Look;
pub(crate) use plan::{Action, Change, Changed, Plan};
pub(crate) use set::Texts;
use set::{Ground, Wanted};
use version_files::VersionFiles;
use versions::Adopted;

/// Who asks for a reload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// A file changed.
    Watch,
    /// SIGHUP.
    Signal,
    /// `POST /reload`.
    Api,
}

impl Trigger {
    /// A person who asks wants what failed to be tried again; a change of one file is no reason to try another.
    fn retries_failed(self) -> bool {
        match self {
            Trigger::Watch => false,
            Trigger::Signal | Trigger::Api => true,
        }
    }
}

/// Why nothing was reloaded at all.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The folder of the definitions cannot be read: that says nothing about any source.
    Unreadable(Box<Finding>),
    /// Another plan was confirmed than the one that would be carried out now.
    Outdated {
        /// What would be carried out now.
        now: Box<Plan>,
    },
    /// The process ends.
    Ending,
}

/// The one way to reload.
#[derive(Clone)]
pub(crate) struct Reloads {
    shared: Arc<Shared>,
}

struct Shared {
    config: Engine,
    env: Env,
    running: Running,
    wiring: Wiring,
    catalog: Catalog,
    hasher: Hasher,
    files: VersionFiles,
    last: Mutex<Last>,
}

/// What runs, and how it is made.
pub(crate) struct Parts {
    /// As it was at the start; a change of it needs a restart.
    pub(crate) config: Engine,
    /// As it was at the start.
    pub(crate) env: Env,
    /// The sources.
    pub(crate) running: Running,
    /// Their doors.
    pub(crate) wiring: Wiring,
    /// Knows which libraries are used.
    pub(crate) catalog: Catalog,
    /// What was loaded for the start.
    pub(crate) last: Last,
}

impl Reloads {
    /// For a running engine.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(crate) fn new(parts: Parts) -> Result<Reloads, Error> {
        let Parts { config, env, running, wiring, catalog, last } = parts;
        let hasher = Hasher::new()?;
        begin_counting();
        let (files, last) = (VersionFiles::of(&config), Mutex::new(last));
        let shared = Shared { config, env, running, wiring, catalog, hasher, files, last };
        Ok(Reloads { shared: Arc::new(shared) })
    }

    /// Keeps an eye on the files until the process ends.
    pub(crate) fn watch(&self) {
        tokio::spawn(watch::watch(self.clone()));
    }

    /// What a reload would change now, or what it would if these were the files.
    ///
    /// # Errors
    /// Nothing can be said.
    pub(crate) async fn plan(&self, texts: Texts) -> Result<Plan, Refused> {
        let last = self.shared.last.lock().await;
        let running = self.running().await?;
        let (_, plan) = self.prepare(&last, running, texts, true).await?;
        Ok(plan)
    }

    /// Loads everything and makes the running sources equal to it. With `expected`, only if that is still the plan.
    /// Goes on when the caller goes away.
    ///
    /// # Errors
    /// Nothing was changed.
    pub(crate) async fn reload(&self, trigger: Trigger, expected: Option<String>) -> Result<Plan, Refused> {
        let reloads = self.clone();
        let carried_out = tokio::spawn(async move { reloads.carry_out(trigger, expected).await });
        carried_out.await.unwrap_or(Err(Refused::Ending))
    }

    async fn carry_out(&self, trigger: Trigger, expected: Option<String>) -> Result<Plan, Refused> {
        let mut last = self.shared.last.lock().await;
        service_manager::reloading();
        let outcome = self.carry_out_alone(trigger, expected, &mut last).await;
        service_manager::ready(last.owners.len());
        told::tell(trigger, &outcome);
        outcome
    }

    async fn carry_out_alone(
        &self,
        trigger: Trigger,
        expected: Option<String>,
        last: &mut Last,
    ) -> Result<Plan, Refused> {
        let running = self.running().await?;
        let shows_refusal = running.iter().any(|source| source.has_reload_failed);
        let prepared = self.prepare(last, running, Texts::Files, trigger.retries_failed()).await;
        let (wanted, plan) = prepared.inspect_err(say_refused)?;
        if expected.is_some_and(|expected| expected != plan.hash) {
            ReloadOutcome::Conflict.counter().increment(1);
            return Err(Refused::Outdated { now: Box::new(plan) });
        }
        *last = wanted.last(last);
        plan.say(trigger);
        // A file that says again what runs changes nothing, but what was said against it is over.
        if plan.is_empty() && trigger == Trigger::Watch && !shows_refusal {
            return Ok(plan);
        }
        self.shared.catalog.learn(wanted.definitions());
        for adopted in &wanted.adopted {
            self.shared.files.adopt(adopted);
        }
        let entries = wanted.entries(&self.shared.wiring);
        let applied = self.shared.running.apply(entries, trigger.retries_failed()).await;
        applied.map_err(|_ending| Refused::Ending)?;
        plan.outcome().counter().increment(1);
        Ok(plan)
    }

    async fn running(&self) -> Result<Vec<RunningSource>, Refused> {
        self.shared.running.running().await.map_err(|_ending| Refused::Ending)
    }

    /// Reads, checks and compares, on a blocking thread: libraries may have to be loaded.
    async fn prepare(
        &self,
        last: &Last,
        running: Vec<RunningSource>,
        texts: Texts,
        retries_failed: bool,
    ) -> Result<(Wanted, Plan), Refused> {
        let (shared, last) = (self.shared.clone(), last.clone());
        let prepared = tokio::task::spawn_blocking(move || {
            let check = |definition: &Definition| definition_check::findings(definition, &shared.config);
            let (config, env) = (&shared.config, &shared.env);
            let files = &shared.files;
            let ground = Ground { config, env, files, last: &last, running: &running, check: &check };
            let wanted = Wanted::load(&ground, texts)?;
            let plan = plan::plan(&running, &wanted, &shared.hasher, retries_failed);
            Ok((wanted, plan))
        });
        match prepared.await {
            Ok(outcome) => outcome.map_err(Refused::Unreadable),
            Err(_panicked) => Err(Refused::Ending),
        }
    }

    /// What the files look like now, and what they looked like at the last load.
    async fn look(&self) -> (Option<Look>, Look) {
        let last = self.shared.last.lock().await.clone();
        let shared = self.shared.clone();
        let referenced = last.referenced.clone();
        let look = move || Look::now(&shared.config, &shared.files, &referenced);
        let now = tokio::task::spawn_blocking(look).await;
        (last.look, now.unwrap_or_default())
    }
}

fn say_refused(refused: &Refused) {
    ReloadOutcome::Refused.counter().increment(1);
    match refused {
        Refused::Unreadable(finding) => {
            let reason = finding.summary();
            tracing::error!(code = finding.code, reason, "not reloaded; everything runs on as it is");
        }
        Refused::Outdated { .. } | Refused::Ending => {}
    }
}

/// Every series is there from the start: an increase from nothing to one is none to Prometheus.
fn begin_counting() {
    for outcome in ReloadOutcome::ALL {
        outcome.counter().increment(0);
    }
}

/// The definitions that are in force when the process begins. A pointer that cannot be read stops the sources that have
/// versions, each of which says so, and no other.
pub(crate) fn at_start(config: &Engine, env: &Env) -> Definitions {
    load(config, env, &|files, adopted| files.adopt(adopted))
}

/// The same, for a look that changes nothing.
pub(crate) fn in_force(config: &Engine, env: &Env) -> Definitions {
    load(config, env, &|_files, _adopted| ())
}

fn load(config: &Engine, env: &Env, adopt: &dyn Fn(&VersionFiles, &Adopted)) -> Definitions {
    let files = VersionFiles::of(config);
    match files.choose(config) {
        Ok(chosen) => {
            chosen.adopted.iter().for_each(|adopted| adopt(&files, adopted));
            set::load_chosen(chosen, config, env, &Owners::new())
        }
        Err(finding) => {
            let unsure = files.read(config).map(|files| versions::choose_unsure(files, &finding));
            let mut loaded = match unsure {
                Ok(chosen) => set::load_chosen(chosen, config, env, &Owners::new()),
                // The folder itself cannot be read.
                Err(_) => pico_config::load_definitions(config, env),
            };
            loaded.warnings.push(*finding);
            loaded
        }
    }
}

/// Files whose texts come from elsewhere.
pub(crate) fn named(files: Vec<(String, String)>) -> Vec<DefinitionFile> {
    let file = |(name, text): (String, String)| DefinitionFile { file: PathBuf::from(name), text: Ok(text) };
    files.into_iter().map(file).collect()
}

//! What the daemon holds: starts the root, asks it, ends it.

use std::sync::Arc;
use std::time::Duration;

use pico_config::Definition;
use ractor::{Actor, ActorRef, call_t};

use crate::lifecycle::Asked;
use crate::ports::{Cause, DeliveryFactory, PluginFactory};
use crate::root::{RootActor, RootArgs, RootMsg};
use crate::status::{Health, SourceDetail, SourceView, Totals};

/// A reply of the root is a look into its own memory; past this something is badly wrong.
const REPLY_TIMEOUT_MS: u64 = 5_000;

/// One source to keep: a definition with its doors, or a file that could not be read as one.
pub enum Entry {
    /// A checked definition.
    Good(Box<SourceSpec>),
    /// Listed with status `error` so that nobody looks for it in vain.
    Bad(BadSource),
}

/// A checked definition with its doors.
#[derive(Clone)]
pub struct SourceSpec {
    /// The definition.
    pub definition: Arc<Definition>,
    /// Opens instances of its plugin.
    pub plugin: Arc<dyn PluginFactory>,
    /// Opens its store and broker.
    pub delivery: Arc<dyn DeliveryFactory>,
    /// Keeps what a person asked for.
    pub asked: Arc<dyn AskedStore>,
}

/// A file that could not be read as a definition.
#[derive(Debug, Clone)]
pub struct BadSource {
    /// Key in the file, else its stem.
    pub key: String,
    /// Library it names, empty when it names none.
    pub path: String,
    /// The findings, in one line each.
    pub cause: Cause,
}

/// Keeps what a person asked for beside the state. Blocking and small: called from a blocking thread.
pub trait AskedStore: Send + Sync + 'static {
    /// What was asked last; `Running` when nothing was, or when it cannot be kept.
    fn load(&self) -> Result<Asked, Cause>;
    /// Keeps it.
    fn save(&self, asked: Asked) -> Result<(), Cause>;
}

/// What a person may ask of one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Open; resets the counters.
    Start,
    /// No polls; the plugin stays open.
    Pause,
    /// Poll again.
    Resume,
    /// Close and open again; resets the counters.
    Restart,
    /// Close for good.
    Stop,
}

/// Why a command was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// No source has this key.
    #[error("no source has the key `{0}`")]
    UnknownSource(String),
    /// The file is not a definition, or the definition is switched off.
    #[error("{0}")]
    NotRunnable(String),
    /// The root is gone; the process is ending.
    #[error("the engine is shutting down")]
    Ending,
}

/// Settings of the process that every source shares.
#[derive(Debug, Clone)]
pub struct EngineSettings {
    /// Limits of one source and of all together.
    pub limits: pico_config::Limits,
    /// What a stop waits for batches in flight.
    pub grace: Duration,
}

/// The running engine.
#[derive(Clone)]
pub struct Engine {
    root: ActorRef<RootMsg>,
    ended: tokio::sync::watch::Receiver<bool>,
}

impl Engine {
    /// Starts the root and every enabled source.
    pub async fn start(settings: EngineSettings, entries: Vec<Entry>) -> Result<Engine, Cause> {
        let (end, ended) = tokio::sync::watch::channel(false);
        let (root, task) = Actor::spawn(None, RootActor, RootArgs { settings, entries })
            .await
            .map_err(|error| Cause::new("engine.start_failed", error.to_string()))?;
        tokio::spawn(async move {
            // The root ends only when told to, or by a fault of ours: either way the process must know.
            task.await.ok();
            end.send_replace(true);
        });
        Ok(Engine { root, ended })
    }

    /// All sources, in the order of their files.
    pub async fn list(&self) -> Vec<SourceView> {
        call_t!(self.root, RootMsg::List, REPLY_TIMEOUT_MS).unwrap_or_default()
    }

    /// One source.
    pub async fn get(&self, key: &str) -> Option<SourceDetail> {
        let key = key.to_owned();
        call_t!(self.root, RootMsg::Get, REPLY_TIMEOUT_MS, key).ok().flatten()
    }

    /// Counts per source since the process started.
    pub async fn totals(&self) -> Vec<(String, Totals)> {
        call_t!(self.root, RootMsg::Totals, REPLY_TIMEOUT_MS).unwrap_or_default()
    }

    /// Whether any source is degraded.
    pub async fn health(&self) -> Health {
        call_t!(self.root, RootMsg::Health, REPLY_TIMEOUT_MS)
            .unwrap_or(Health { status: "degraded", degraded: Vec::new() })
    }

    /// Sets the gauges from what the sources report now; call it before the metrics are rendered.
    pub async fn set_gauges(&self) {
        call_t!(self.root, RootMsg::Gauges, REPLY_TIMEOUT_MS).ok();
    }

    /// Asks something of one source; returns once it was taken, not once it is done.
    pub async fn command(&self, key: &str, command: Command) -> Result<(), CommandError> {
        let key = key.to_owned();
        call_t!(self.root, RootMsg::Command, REPLY_TIMEOUT_MS, key, command)
            .unwrap_or(Err(CommandError::Ending))
    }

    /// Stops every source within `grace`. `true` when all drained: no batch was given up.
    pub async fn shutdown(&self, grace: Duration) -> bool {
        let wait = grace + crate::supervisor::END_SLACK;
        match self.root.call(|reply| RootMsg::Shutdown { grace, reply }, Some(wait)).await {
            Ok(ractor::rpc::CallResult::Success(has_drained)) => has_drained,
            Ok(ractor::rpc::CallResult::Timeout | ractor::rpc::CallResult::SenderError) | Err(_) => false,
        }
    }

    /// Resolves when the root ended, told to or not.
    pub async fn ended(&mut self) {
        self.ended.wait_for(|ended| *ended).await.ok();
    }
}

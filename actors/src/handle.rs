//! What the daemon holds: starts the root, asks it, ends it.

use std::sync::Arc;
use std::time::Duration;

use ractor::rpc::CallResult;
use ractor::{Actor, ActorRef, RpcReplyPort, call_t};
use tokio::sync::broadcast;

use crate::ask::Ask;
use crate::cause::Cause;
pub use crate::command::{AskError, Command, CommandError};
pub use crate::difference::{Item, Step, difference};
use crate::news::{News, Newsroom};
use crate::root::{RootActor, RootArgs, RootMsg};
pub use crate::source::{AskedStore, BadSource, EngineSettings, Entry, RunningSource, SourceSpec};
use crate::status::{Health, SourceDetail, SourceView, Totals};
use crate::supervisor::END_SLACK;
use crate::tap::Tap;

/// A reply of the root is a look into its own memory; past this something is badly wrong.
const REPLY_TIMEOUT_MS: u64 = 5_000;

/// What a command of a plugin may take.
const PLUGIN_TIMEOUT: Duration = Duration::from_secs(30);
/// To begin every step of an apply takes milliseconds a source; there may be thousands.
const APPLY_TIMEOUT: Duration = Duration::from_secs(60);

/// The running engine.
#[derive(Clone)]
pub struct Engine {
    root: ActorRef<RootMsg>,
    newsroom: Newsroom,
    ended: tokio::sync::watch::Receiver<bool>,
}

impl Engine {
    /// Starts the root and every enabled source.
    pub async fn start(settings: EngineSettings, entries: Vec<Entry>) -> Result<Engine, Cause> {
        let (end, ended) = tokio::sync::watch::channel(false);
        let newsroom = Newsroom::new();
        let arguments = RootArgs { settings, entries, newsroom: newsroom.clone() };
        let (root, task) = Actor::spawn(None, RootActor, arguments)
            .await
            .map_err(|error| Cause::new("engine.start_failed", error.to_string()))?;
        tokio::spawn(async move {
            // The root ends only when told to, or by a fault of ours: either way the process must know.
            task.await.ok();
            end.send_replace(true);
        });
        Ok(Engine { root, newsroom, ended })
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

    /// Whether the engine still answers; `false` after five seconds without.
    pub async fn responds(&self) -> bool {
        call_t!(self.root, RootMsg::Health, REPLY_TIMEOUT_MS).is_ok()
    }

    /// Sets the gauges from what the sources report now; call it before the metrics are rendered.
    pub async fn set_gauges(&self) {
        call_t!(self.root, RootMsg::Gauges, REPLY_TIMEOUT_MS).ok();
    }

    /// What runs, as a reload finds it, in the order of the list.
    ///
    /// # Errors
    /// [`CommandError::Ending`] when the root is gone.
    pub async fn running(&self) -> Result<Vec<RunningSource>, CommandError> {
        call_t!(self.root, RootMsg::Running, REPLY_TIMEOUT_MS).map_err(|_gone| CommandError::Ending)
    }

    /// Makes the running set equal to `entries`, whose keys are unique ignoring case: starts what is new, drains and
    /// forgets what is missing, reloads what changed, leaves alone what is equal. Returns once every step was begun;
    /// what comes of it shows in the list. With `retries_failed` a definition whose last reload failed is tried again
    /// although it is equal.
    ///
    /// # Errors
    /// [`CommandError::Ending`] when the process ends; nothing was changed then.
    pub async fn apply(&self, entries: Vec<Entry>, retries_failed: bool) -> Result<(), CommandError> {
        let message = |reply| RootMsg::Apply { entries, retries_failed, reply };
        match self.root.call(message, Some(APPLY_TIMEOUT)).await {
            Ok(CallResult::Success(answer)) => answer,
            Ok(CallResult::Timeout | CallResult::SenderError) | Err(_) => Err(CommandError::Ending),
        }
    }

    /// Asks something of one source; returns once it was taken, not once it is done.
    pub async fn command(&self, key: &str, command: Command) -> Result<(), CommandError> {
        let key = key.to_owned();
        call_t!(self.root, RootMsg::Command, REPLY_TIMEOUT_MS, key, command)
            .unwrap_or(Err(CommandError::Ending))
    }

    /// What happens to the sources from now on.
    pub fn news(&self) -> broadcast::Receiver<News> {
        self.newsroom.listen()
    }

    /// Where the records of a source can be looked at. The place is gone when the source is taken down.
    ///
    /// # Errors
    /// No such source, or it cannot run.
    pub async fn tap(&self, key: &str) -> Result<Arc<Tap>, AskError> {
        self.ask(key, PLUGIN_TIMEOUT, Ask::Tap).await
    }

    /// A command of the source's plugin, JSON in and out.
    ///
    /// # Errors
    /// No such source, its plugin is not open, knows no such command, fails, or does not answer in 30 s.
    pub async fn ask_plugin(&self, key: &str, name: &str, arguments_json: &str) -> Result<String, AskError> {
        let (name, arguments) = (name.to_owned(), arguments_json.to_owned());
        self.ask(key, PLUGIN_TIMEOUT, |reply| Ask::Plugin { name, arguments, reply }).await
    }

    async fn ask<T: Send + 'static>(
        &self,
        key: &str,
        within: Duration,
        ask: impl FnOnce(RpcReplyPort<Result<T, AskError>>) -> Ask,
    ) -> Result<T, AskError> {
        let key = key.to_owned();
        match self.root.call(|reply| RootMsg::Ask(key, ask(reply)), Some(within)).await {
            Ok(CallResult::Success(answer)) => answer,
            Ok(CallResult::Timeout) => Err(AskError::Silent),
            // Its supervisor ended with the question unanswered.
            Ok(CallResult::SenderError) => Err(AskError::NotOpen),
            Err(_gone) => Err(CommandError::Ending.into()),
        }
    }

    /// Stops every source within `grace`. `true` when all drained: no batch was given up.
    pub async fn shutdown(&self, grace: Duration) -> bool {
        let wait = grace + END_SLACK;
        match self.root.call(|reply| RootMsg::Shutdown { grace, reply }, Some(wait)).await {
            Ok(CallResult::Success(has_drained)) => has_drained,
            Ok(CallResult::Timeout | CallResult::SenderError) | Err(_) => false,
        }
    }

    /// Resolves when the root ended, told to or not.
    pub async fn ended(&mut self) {
        self.ended.wait_for(|ended| *ended).await.ok();
    }
}

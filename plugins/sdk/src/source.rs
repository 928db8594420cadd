//! The trait a plugin implements.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Batch, Capabilities, Error, OpenContext, State, Verdict};

/// One outside system, read in batches.
///
/// The engine calls `poll`, delivers the batch, saves its state, then tells the verdict. So a source keeps two
/// states: the *committed* one, which changes on `Ack` only, and the *candidate* of each batch. Nothing upstream
/// changes before the `Ack`; what was owed when the process died is done again by `open`.
/// [`Staged`](crate::Staged) keeps both, and the conformance kit checks the rest.
pub trait Source: Send + Sync + Sized + 'static {
    /// `[plugin_config]`. Derive `Deserialize` with `deny_unknown_fields`, and `JsonSchema` for `check`.
    type Config: DeserializeOwned + JsonSchema + Send + 'static;

    /// The word in logs and lists, for example `random`.
    const NAME: &'static str;

    /// What it can do beyond the minimum.
    const CAPABILITIES: Capabilities = Capabilities { pipelined: false, listener: false, own_runtime: false };

    /// Refuses settings that no [`open`](Source::open) would take, although each has its type: values out of bounds, or
    /// two that exclude each other. `pico-connectors check` and a reload ask before anything is opened. It asks
    /// nobody outside; a message that begins with the name of the setting is shown at its line.
    ///
    /// # Errors
    /// [`Error::Config`]: what is wrong, and what would be right.
    fn check(config: Self::Config, context: &OpenContext) -> Result<(), Error> {
        let _ = (config, context);
        Ok(())
    }

    /// Connects, reads the saved state and applies what it says is owed. Called once, before everything else. Past
    /// `open_timeout` its future is dropped, so work that may wait for others belongs in `poll`.
    ///
    /// # Errors
    /// [`Error::Config`], [`Error::State`] and [`Error::Permanent`] halt the source; others are tried again.
    fn open(config: Self::Config, context: OpenContext) -> impl Future<Output = Result<Self, Error>> + Send;

    /// Returns the next batch, after waiting for as long as the source likes. It changes nothing upstream. Never
    /// two at a time. Staging the candidate is its last statement, with no await after it.
    ///
    /// # Errors
    /// Counted and retried after a growing wait, [`Error::Permanent`] every 30 s; never a Nack.
    fn poll(&self) -> impl Future<Output = Result<Batch, Error>> + Send;

    /// Tells what became of the oldest batch not told about yet. On `Ack` promote its candidate and perform its side
    /// effects; on `Nack` drop every candidate and read again from the committed state. An Ack may come while a
    /// poll runs, a Nack never does.
    ///
    /// # Errors
    /// Any error ends the instance: it is destroyed and opened again from the saved state, which already holds
    /// the batch. So retry inside, within `verdict_timeout`.
    fn on_batch_result(&self, verdict: Verdict) -> impl Future<Output = Result<(), Error>> + Send;

    /// Ends connections and tasks in good order. Called at most once, when nothing else runs; never after a panic.
    /// Dropped after five seconds.
    fn close(&self) -> impl Future<Output = ()> + Send;

    /// Does something a person asked for by name. May run beside a poll.
    ///
    /// # Errors
    /// `Ok(None)` says that there is no such command; an error says that it failed.
    fn command(
        &self,
        name: &str,
        arguments: Value,
    ) -> impl Future<Output = Result<Option<Value>, Error>> + Send {
        let _ = (name, arguments);
        async { Ok(None) }
    }

    /// Does something a person asked for by name while the source is stopped, such as giving up what it holds upstream.
    /// Needs no instance: settings and saved state come along. With [`Mode::Inspect`](crate::Mode::Inspect) it only says
    /// what it sees and would do, perhaps beside a running instance; with `Run` nobody else runs the source meanwhile.
    ///
    /// # Errors
    /// As of [`command`](Source::command). Dropped after a minute.
    fn maintain(
        config: Self::Config,
        context: OpenContext,
        name: &str,
        arguments: Value,
    ) -> impl Future<Output = Result<Option<Value>, Error>> + Send {
        let _ = (config, context, name, arguments);
        async { Ok(None) }
    }

    /// Shows a saved state to people. Needs no instance.
    ///
    /// # Errors
    /// [`Error::State`] when it cannot be read.
    fn describe_state(state: &State) -> Result<Value, Error> {
        state.describe()
    }
}

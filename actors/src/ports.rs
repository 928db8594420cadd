//! The three doors of a source: plugin, broker, state store. The actors know these traits and no library behind
//! them; `engine/broker` and `engine/state` implement two, the plugin's is implemented over `sdk::ffi::host`.
//!
//! Invariants every adapter keeps:
//! - no method blocks its caller: whatever waits, waits in the returned future or on a thread of the adapter;
//! - a future that is dropped gives up the *answer*, never the accounting: a write under way is still owned by
//!   its lease, a record in the client is still counted;
//! - a failure is a value with a code for machines and a message for people, which names no secret.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use pico_record::Routed;
use picomq_connector_sdk::Verdict;
use picomq_connector_sdk::ffi::host::GuestBatch;

pub use crate::cause::{Cause, OpenFailure, OpenKind};
use crate::command::AskError;
use crate::status::Check;

/// A future that owns all it needs, so that an actor may spawn it and go on.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send + 'static>>;

/// Opens broker and store of one source together, so that one object may one day be both.
pub trait DeliveryFactory: Send + Sync + 'static {
    /// Claims the state of this source, waits for what a dead tree of this process left under way, loads, and
    /// makes durable what it loaded. Called once per opening, before the plugin is opened.
    fn open(&self) -> BoxFuture<Result<OpenedDelivery, OpenFailure>>;
}

/// What an opening of broker and store gives.
pub struct OpenedDelivery {
    /// Lease and store of the source's state.
    pub store: Arc<dyn StorePort>,
    /// The source's own producer, perhaps not connected yet.
    pub broker: Arc<dyn BrokerPort>,
    /// Random name of this opening, in the state file and in the `picomq.batch` header.
    pub life: u64,
    /// Number of the newest batch whose state was saved; 0 when there is none or the store keeps none.
    pub number: u64,
    /// The saved state; `None` when nothing was ever saved (I8: damaged is an error, not this).
    pub state: Option<Vec<u8>>,
    /// Conditions to show beside the status, such as `unfenced`.
    pub conditions: Vec<&'static str>,
    /// By the positions of the blocks: the id of its schema, where a block has a registry.
    pub schema_ids: Vec<Option<u32>>,
}

/// Lease and store of one source's state.
pub trait StorePort: Send + Sync + 'static {
    /// Saves `state` durably under `number`, which is greater than any saved before. Retries inside.
    fn save(&self, number: u64, state: Vec<u8>) -> BoxFuture<Result<(), SaveFailure>>;

    /// The failed save once more, so that the store takes a write again; `Ok` when it landed. Called only after
    /// a failed save, one at a time.
    fn probe(&self) -> BoxFuture<Result<(), SaveFailure>>;

    /// Waits for a write under way and gives the lease back; nothing is saved afterwards.
    fn release(&self) -> BoxFuture<()>;

    /// Conditions to show beside the status as of the newest answer of the store, such as `unfenced`.
    fn conditions(&self) -> Vec<&'static str> {
        Vec::new()
    }
}

/// Why a state was not saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaveFailure {
    /// The store could not; whether the write landed need not be known: the probe settles it.
    Failed(Cause),
    /// Somebody else owns the state now: nothing is saved any more by this opening.
    Fenced(Cause),
}

/// The producer of one source.
pub trait BrokerPort: Send + Sync + 'static {
    /// Connects ahead of the first record, for a source that is expected to send at once.
    fn warm(&self);

    /// Marks the start of a batch; does nothing until batches are transactions.
    fn begin(&self, _number: u64) {}

    /// Takes one batch. Records enter the client in the order of the calls; what becomes of the batch is told to
    /// `events`, which sees `Enqueued` and `Failed` at most once each and then `Settled` exactly once. Once a batch
    /// failed, the port sends nothing more of its `epoch`, whenever it is delivered: nothing overtakes it.
    fn deliver(&self, epoch: u64, batch: Routed, events: DeliveryEvents);

    /// Drops the client: every outstanding report ends, as a failure. Records may still land (a late copy).
    fn drop_client(&self) -> BoxFuture<()>;

    /// Ends the port for good; waits for the client's threads.
    fn close(&self) -> BoxFuture<()>;
}

/// Where a batch's delivery is reported; called from threads of the broker adapter, never blocks.
pub type DeliveryEvents = Box<dyn Fn(DeliveryEvent) + Send + Sync + 'static>;

/// What happened to a batch in the broker's hands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryEvent {
    /// Every record is in the client and the guest batch is released.
    Enqueued,
    /// The first failure of the batch: a refused record, a topic that cannot be had, silence past the deadline.
    Failed(DeliveryFailure),
    /// No report of the batch is outstanding any more. Without a `Failed` before it, every record is in the log.
    Settled,
}

/// Why a batch was not delivered whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryFailure {
    /// What to tell people; names topic and record where there is one.
    pub cause: Cause,
    /// The client can no longer be used (silence, fatal error): the supervisor drops it.
    pub is_client_lost: bool,
    /// Trying again by itself cannot help (authentication, a record too large for the broker).
    pub needs_human: bool,
}

/// What a plugin says about itself.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// A check of its own.
    Check(Check),
    /// How far behind its upstream it is, in seconds.
    LagSeconds(f64),
    /// The same in bytes.
    LagBytes(f64),
}

/// Where that goes; called from any thread, never blocks.
pub type CheckSink = Arc<dyn Fn(Told) + Send + Sync + 'static>;

/// Opens instances of one source's plugin.
pub trait PluginFactory: Send + Sync + 'static {
    /// Opens an instance on the saved state, once the former one was destroyed (I4). Once `unwanted` returns, the opening ends soon,
    /// mostly with a failure; until then nobody else may open the source.
    fn open(
        &self,
        state: Option<Vec<u8>>,
        checks: CheckSink,
        unwanted: BoxFuture<()>,
    ) -> BoxFuture<Result<Arc<dyn PluginPort>, OpenFailure>>;
}

/// One live instance of a plugin.
pub trait PluginPort: Send + Sync + 'static {
    /// Whether the next poll may begin before the verdict of the last batch.
    fn is_pipelined(&self) -> bool;

    /// Asks for the next batch. One poll at a time; may take for ever.
    fn poll(&self) -> BoxFuture<PollOutcome>;

    /// Tells the verdict of the oldest batch. One at a time, in order; a `Nack` never while a poll runs.
    fn resolve(&self, verdict: Verdict) -> BoxFuture<Result<(), CallFailure>>;

    /// Asks the running poll to return soon; sticky until it did.
    fn interrupt(&self);

    /// A command of the plugin's own, JSON in and out. It may run beside everything else.
    fn command(&self, _name: &str, _arguments_json: &str) -> BoxFuture<Result<String, AskError>> {
        Box::pin(async { Err(AskError::Unknown("this plugin has no commands".to_owned())) })
    }

    /// Ends the instance: the author's `close` when `is_orderly`, else only the value is dropped. Waits for a
    /// running poll. `true` means leaked: a call never came back, the source is not reopened in this process.
    fn end(&self, is_orderly: bool) -> BoxFuture<bool>;
}

/// What a poll gave.
pub enum PollOutcome {
    /// A batch, perhaps empty.
    Batch(GuestBatch),
    /// Interrupted; no batch.
    Ended,
    /// The author's error.
    Failed {
        /// It will not pass by itself (slot lost): status error, polled again every 30 s.
        is_permanent: bool,
        /// What to tell people.
        cause: Cause,
    },
    /// The plugin panicked or broke the border's rules: only `end` may follow.
    Broken(Cause),
}

/// A verdict the plugin did not take: the instance is ended and the source reopened from saved state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallFailure {
    /// What to tell people.
    pub cause: Cause,
}

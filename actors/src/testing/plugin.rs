//! A plugin that counts: record n holds the text of n, the state is the next number. It stages and applies as a
//! well-behaved source does, and checks on its side what it may rely on.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use picomq_connector_sdk::ffi::host::GuestBatch;
use picomq_connector_sdk::{Batch, Record, Schema, State, Verdict};
use tokio::sync::Notify;

use super::{Faults, locked};
use crate::command::AskError;
use crate::ports::{
    BoxFuture, CallFailure, Cause, CheckSink, OpenFailure, OpenKind, PluginFactory, PluginPort, PollOutcome,
};

/// What may go wrong with a call, or what a poll gives instead of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginFault {
    /// The opening fails like this.
    Open(OpenKind),
    /// The opening takes until it is called off, and so much longer.
    OpenUntilCalledOff {
        /// In milliseconds.
        then_ms: u64,
    },
    /// The poll gives nothing.
    Empty,
    /// The poll gives a state and no records; the position does not move.
    Watermark,
    /// The poll gives an error that passes.
    PollError,
    /// The poll gives an error that does not pass by itself.
    PermanentPollError,
    /// The plugin panics in the poll.
    Panic,
    /// The batch is one record with this payload.
    Poisoned(Vec<u8>),
    /// The first record of the batch has this payload instead of its number, the others are good.
    PoisonedFirst(Vec<u8>),
    /// The poll works; a place in the queue.
    Works,
}

/// The record of a batch that is none of the numbers.
enum Poison {
    None,
    Alone(Vec<u8>),
    First(Vec<u8>),
}

/// What the plugin was told, over all openings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PluginLog {
    /// Openings, with the position each began at.
    pub openings: Vec<u64>,
    /// Verdicts, in order.
    pub verdicts: Vec<Verdict>,
    /// Openings that ended because nobody wanted them any more.
    pub called_off: u32,
    /// Polls begun.
    pub polls: u64,
    /// Orderly closes.
    pub closes: u32,
    /// Position the plugin was told is delivered.
    pub committed: u64,
}

/// Opens counting instances.
#[derive(Clone)]
pub struct CountingPlugin {
    batch: u64,
    total: u64,
    faults: Faults<PluginFault>,
    verdict_faults: Faults<bool>,
    log: Arc<Mutex<PluginLog>>,
    live: Arc<Mutex<u32>>,
}

impl CountingPlugin {
    /// Gives `total` records in batches of `batch`; afterwards a poll waits until it is interrupted.
    pub fn new(batch: u64, total: u64) -> CountingPlugin {
        CountingPlugin {
            batch,
            total,
            faults: Faults::default(),
            verdict_faults: Faults::default(),
            log: Arc::default(),
            live: Arc::default(),
        }
    }

    /// The next openings and polls go as `faults` say.
    #[must_use]
    pub fn with_faults(mut self, faults: impl IntoIterator<Item = PluginFault>) -> CountingPlugin {
        self.faults = Faults::of(faults);
        self
    }

    /// Whether each of the next verdicts is taken.
    #[must_use]
    pub fn with_verdicts_taken(mut self, taken: impl IntoIterator<Item = bool>) -> CountingPlugin {
        self.verdict_faults = Faults::of(taken);
        self
    }

    /// The next openings and polls go as `faults` say, whatever was queued before.
    pub fn fail_next(&self, faults: impl IntoIterator<Item = PluginFault>) {
        *locked(&self.faults.0) = faults.into_iter().collect();
    }

    /// What the plugin was told so far.
    pub fn log(&self) -> PluginLog {
        locked(&self.log).clone()
    }
}

impl PluginFactory for CountingPlugin {
    fn open(
        &self,
        state: Option<Vec<u8>>,
        _: CheckSink,
        unwanted: BoxFuture<()>,
    ) -> BoxFuture<Result<Arc<dyn PluginPort>, OpenFailure>> {
        let plugin = self.clone();
        Box::pin(async move {
            let first = locked(&plugin.faults.0).front().cloned();
            let refused = match first {
                Some(PluginFault::Open(kind)) => Some(kind),
                Some(PluginFault::OpenUntilCalledOff { then_ms }) => {
                    unwanted.await;
                    tokio::time::sleep(Duration::from_millis(then_ms)).await;
                    locked(&plugin.log).called_off += 1;
                    Some(OpenKind::Passing)
                }
                Some(
                    PluginFault::Empty
                    | PluginFault::Watermark
                    | PluginFault::PollError
                    | PluginFault::PermanentPollError
                    | PluginFault::Panic
                    | PluginFault::Poisoned(_)
                    | PluginFault::PoisonedFirst(_)
                    | PluginFault::Works,
                )
                | None => None,
            };
            if let Some(kind) = refused {
                plugin.faults.next();
                return Err(OpenFailure { kind, cause: Cause::new("test.open", format!("{kind:?}")) });
            }
            let position = state.map_or(0, |bytes| decode(&bytes));
            locked(&plugin.log).openings.push(position);
            let mut live = locked(&plugin.live);
            assert_eq!(*live, 0, "I4: two live instances of one source");
            *live += 1;
            drop(live);
            let instance = CountingInstance { plugin: plugin.clone(), inner: Arc::default() };
            let mut inner = locked(&instance.inner);
            inner.committed = position;
            inner.head = position;
            drop(inner);
            Ok(Arc::new(instance) as Arc<dyn PluginPort>)
        })
    }
}

struct CountingInstance {
    plugin: CountingPlugin,
    inner: Arc<Mutex<Instance>>,
}

#[derive(Default)]
struct Instance {
    committed: u64,
    head: u64,
    staged: VecDeque<Option<u64>>,
    is_polling: bool,
    is_ended: bool,
    woken: Arc<Notify>,
}

impl Drop for CountingInstance {
    /// A supervisor that dies lets go of its instance without ending it.
    fn drop(&mut self) {
        let mut inner = locked(&self.inner);
        if !inner.is_ended {
            inner.is_ended = true;
            *locked(&self.plugin.live) -= 1;
        }
    }
}

impl CountingInstance {
    fn next(&self) -> Option<PollOutcome> {
        let fault = self.plugin.faults.next().unwrap_or(PluginFault::Works);
        let mut inner = locked(&self.inner);
        let cause = |what: &str| Cause::new("test.poll", what);
        let outcome = match fault {
            PluginFault::Works | PluginFault::Open(_) | PluginFault::OpenUntilCalledOff { .. } => {
                return self.records(&mut inner, Poison::None);
            }
            PluginFault::Poisoned(payload) => return self.records(&mut inner, Poison::Alone(payload)),
            PluginFault::PoisonedFirst(payload) => {
                return self.records(&mut inner, Poison::First(payload));
            }
            PluginFault::Empty => {
                inner.staged.push_back(None);
                PollOutcome::Batch(GuestBatch::from_batch(Batch::new(Schema::Json)))
            }
            PluginFault::Watermark => {
                let head = inner.head;
                inner.staged.push_back(Some(head));
                PollOutcome::Batch(GuestBatch::from_batch(Batch::new(Schema::Json).with_state(encode(head))))
            }
            PluginFault::PollError => {
                PollOutcome::Failed { is_permanent: false, cause: cause("unreachable") }
            }
            PluginFault::PermanentPollError => {
                PollOutcome::Failed { is_permanent: true, cause: cause("slot lost") }
            }
            PluginFault::Panic => PollOutcome::Broken(cause("panicked: on purpose")),
        };
        Some(outcome)
    }

    fn records(&self, inner: &mut Instance, poison: Poison) -> Option<PollOutcome> {
        let end = (inner.head + self.plugin.batch).min(self.plugin.total);
        if inner.head == end {
            return None;
        }
        let mut batch = Batch::new(Schema::Json);
        let numbers = match poison {
            Poison::None => inner.head..end,
            Poison::First(payload) => {
                batch.push(Record::new(payload));
                inner.head + 1..end
            }
            Poison::Alone(payload) => {
                batch.push(Record::new(payload));
                end..end
            }
        };
        for n in numbers {
            batch.push(Record::new(n.to_string().into_bytes()));
        }
        inner.head = end;
        inner.staged.push_back(Some(end));
        Some(PollOutcome::Batch(GuestBatch::from_batch(batch.with_state(encode(end)))))
    }
}

impl PluginPort for CountingInstance {
    fn is_pipelined(&self) -> bool {
        true
    }

    fn poll(&self) -> BoxFuture<PollOutcome> {
        let woken = {
            let mut inner = locked(&self.inner);
            assert!(!inner.is_polling, "one poll at a time");
            assert!(!inner.is_ended, "no call after the end");
            inner.is_polling = true;
            inner.woken.clone()
        };
        locked(&self.plugin.log).polls += 1;
        let outcome = self.next();
        let inner = self.inner.clone();
        Box::pin(async move {
            let outcome = match outcome {
                Some(outcome) => outcome,
                None => {
                    woken.notified().await;
                    PollOutcome::Ended
                }
            };
            locked(&inner).is_polling = false;
            outcome
        })
    }

    fn resolve(&self, verdict: Verdict) -> BoxFuture<Result<(), CallFailure>> {
        let mut inner = locked(&self.inner);
        let mut log = locked(&self.plugin.log);
        log.verdicts.push(verdict);
        match verdict {
            Verdict::Ack => {
                let staged = inner.staged.pop_front().expect("an Ack for a batch that was returned");
                inner.committed = staged.unwrap_or(inner.committed);
                log.committed = inner.committed;
            }
            Verdict::Nack => {
                assert!(!inner.is_polling, "a Nack never comes while a poll runs");
                inner.staged.clear();
                inner.head = inner.committed;
            }
        }
        let is_taken = self.plugin.verdict_faults.next().unwrap_or(true);
        let refused = CallFailure { cause: Cause::new("test.verdict", "refused the verdict") };
        Box::pin(async move { if is_taken { Ok(()) } else { Err(refused) } })
    }

    fn interrupt(&self) {
        let inner = locked(&self.inner);
        if inner.is_polling {
            inner.woken.notify_one();
        }
    }

    /// `echo` answers its arguments, `fail` fails, `hang` never answers.
    fn command(&self, name: &str, arguments_json: &str) -> BoxFuture<Result<String, AskError>> {
        let (name, arguments) = (name.to_owned(), arguments_json.to_owned());
        Box::pin(async move {
            match name.as_str() {
                "echo" => Ok(arguments),
                "fail" => Err(AskError::Failed("it failed on purpose".to_owned())),
                "hang" => std::future::pending().await,
                _ => Err(AskError::Unknown(format!("there is no command {name:?}"))),
            }
        })
    }

    fn end(&self, is_orderly: bool) -> BoxFuture<bool> {
        let mut inner = locked(&self.inner);
        if !inner.is_ended {
            inner.is_ended = true;
            *locked(&self.plugin.live) -= 1;
        }
        if is_orderly {
            locked(&self.plugin.log).closes += 1;
        }
        Box::pin(async { false })
    }
}

fn encode(position: u64) -> State {
    State::from_bytes(position.to_le_bytes().to_vec())
}

fn decode(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("the state this plugin wrote"))
}

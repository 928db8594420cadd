//! What a supervisor can be told, and the handle by which the children of its tree tell it.

use std::sync::Arc;
use std::time::Duration;

use pico_config::SourceKey;
use ractor::{ActorCell, ActorRef, RpcReplyPort};
use tokio::time::Instant;

use crate::ask::Ask;
use crate::batch::{Counts, Timing};
use crate::cause::OpenFailure;
use crate::command::CommandError;
use crate::lifecycle::{Ended, Event, Order, Token};
use crate::opening::Opened;
use crate::ports::{StorePort, Told};
use crate::source::SourceSpec;
use crate::tap::Tap;
use crate::telemetry::SourceMetrics;

pub(crate) type SupervisorRef = ActorRef<SupervisorMsg>;

pub(crate) enum SupervisorMsg {
    /// A person or the root wants something; replied to once it is kept.
    Command { order: Order, reply: Option<RpcReplyPort<Result<(), CommandError>>> },
    /// The definition changed, or is again the one in force.
    Reload(Box<SourceSpec>),
    /// The process ends, or the source was removed: drain within the grace, then end this actor.
    Shutdown { grace: Duration },
    /// Something the tree has to say.
    Event { epoch: u64, event: Event },
    /// Counts of a batch whose state was saved, told right before its `Saved`.
    Saved { number: u64, saved: SavedBatch },
    /// An opening ended.
    Opened { epoch: u64, outcome: Result<Opened, OpenFailure> },
    /// The tree is down.
    Ended { ended: Ended, lease: Option<Arc<dyn StorePort>> },
    /// A wait of the lifecycle ended.
    Wake(Token),
    /// The bytes of all sources went over or under their limit.
    Total { is_over: bool },
    /// Time to see whether anything moved.
    StallCheck,
    /// The plugin reports something about itself.
    Told(Told),
    /// Something is asked of the source beside its lifecycle.
    Ask(Ask),
}

/// What is told of a saved batch when its Ack was taken.
#[derive(Clone, Copy)]
pub(crate) struct SavedBatch {
    pub(crate) counts: Counts,
    pub(crate) timing: Timing,
    pub(crate) save: Duration,
}

/// What the children hold of their supervisor.
#[derive(Clone)]
pub(crate) struct SupervisorHandle {
    supervisor: SupervisorRef,
    key: Arc<SourceKey>,
    metrics: Arc<SourceMetrics>,
    tap: Arc<Tap>,
    began: Instant,
}

impl SupervisorHandle {
    /// Of a supervisor that begins now.
    pub(crate) fn new(supervisor: SupervisorRef, key: SourceKey) -> SupervisorHandle {
        let metrics = Arc::new(SourceMetrics::new(key.as_str()));
        SupervisorHandle {
            supervisor,
            key: Arc::new(key),
            metrics,
            tap: Arc::default(),
            began: Instant::now(),
        }
    }

    /// For calls that the supervisor itself starts, and whose outcome comes back to it.
    pub(crate) fn supervisor(&self) -> SupervisorRef {
        self.supervisor.clone()
    }

    /// Time since the supervisor began; it goes on over openings.
    pub(crate) fn steady(&self) -> Duration {
        self.began.elapsed()
    }

    pub(crate) fn event(&self, epoch: u64, event: Event) {
        self.supervisor.cast(SupervisorMsg::Event { epoch, event }).ok();
    }

    pub(crate) fn saved(&self, number: u64, saved: SavedBatch) {
        self.supervisor.cast(SupervisorMsg::Saved { number, saved }).ok();
    }

    pub(crate) fn metrics(&self) -> &SourceMetrics {
        &self.metrics
    }

    pub(crate) fn key(&self) -> &SourceKey {
        &self.key
    }

    /// Only when somebody looks.
    pub(crate) fn tap(&self) -> Option<&Tap> {
        self.tap.is_wanted().then_some(&*self.tap)
    }

    /// The same, for whoever wants to begin to look.
    pub(crate) fn shared_tap(&self) -> Arc<Tap> {
        self.tap.clone()
    }

    pub(crate) fn cell(&self) -> ActorCell {
        self.supervisor.get_cell()
    }
}

//! One per source: feeds the lifecycle and carries out what it decides. Owns instance, client and lease.
//!
//! Every handler only starts things; what came of them comes back as a message. A dead child brings the whole tree
//! down, and the lifecycle decides when it is opened again from the saved state.

mod asked;
mod carry_out;
mod observe;
mod reload;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pico_config::Definition;
use pico_record::Ceiling;
use ractor::{Actor, ActorCell, ActorProcessingErr, RpcReplyPort, SupervisionEvent};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::Span;

use crate::cause::Cause;
use crate::checks::Checks;
use crate::clock::now_ms;
use crate::command::CommandError;
use crate::lifecycle::{Asked, Input, Lifecycle, Limits, Order};
use crate::news::Newsroom;
use crate::ports::StorePort;
use crate::rate::Rate;
use crate::source::SourceSpec;
use crate::status::{Lag, LastError, Report, Totals};
use crate::supervisor_handle::{SavedBatch, SupervisorHandle, SupervisorMsg, SupervisorRef};
use crate::total::TotalBytes;
use crate::tree::Tree;

/// What closing may take past the grace, before the process gives up on it.
pub(crate) const END_SLACK: Duration = Duration::from_secs(4);

pub(crate) struct SupervisorActor;

pub(crate) struct SupervisorArgs {
    pub(crate) spec: SourceSpec,
    pub(crate) limits: pico_config::Limits,
    pub(crate) grace: Duration,
    pub(crate) asked: Asked,
    pub(crate) total: Arc<TotalBytes>,
    pub(crate) report: watch::Sender<Report>,
    pub(crate) newsroom: Newsroom,
}

pub(crate) struct SupervisorState {
    /// In force.
    spec: Arc<SourceSpec>,
    /// Changed, and not in force yet.
    next: Option<Arc<SourceSpec>>,
    /// In force before, kept until the present one opened.
    former: Option<Arc<SourceSpec>>,
    limits: pico_config::Limits,
    grace: Duration,
    lifecycle: Lifecycle,
    handle: SupervisorHandle,
    tree: Option<Tree>,
    opening: Option<Arc<Notify>>,
    closing_opening: Option<bool>,
    lease: Option<Arc<dyn StorePort>>,
    /// Of records that `[errors]` sets aside: an opening does not begin to count anew.
    ceiling: Ceiling,
    timers: JoinSet<()>,
    total: Arc<TotalBytes>,
    bytes_told: u64,
    saved: BTreeMap<u64, SavedBatch>,
    openings: u32,
    is_ending: bool,
    has_given_up: bool,
    last_progress: Instant,
    has_stall_timer: bool,
    is_stalled: bool,
    totals: Totals,
    rate: Rate,
    lag: Lag,
    newsroom: Newsroom,
    checkpointed: Option<std::time::Instant>,
    delivered_ms: Option<u64>,
    checks: Checks,
    last_error: Option<LastError>,
    since: (crate::lifecycle::Status, u64),
    report: watch::Sender<Report>,
    span: Span,
}

impl SupervisorState {
    fn new(myself: SupervisorRef, args: SupervisorArgs) -> SupervisorState {
        let SupervisorArgs { spec, limits, grace, asked, total, report, newsroom } = args;
        let lifecycle = Lifecycle::new(limits_of(&spec.definition, &limits), asked);
        let span = tracing::info_span!("source", key = spec.definition.key.as_str());
        let mut timers = JoinSet::new();
        timers.spawn(watch_total(myself.clone(), total.watch()));
        let since = (lifecycle.status(), now_ms());
        SupervisorState {
            handle: SupervisorHandle::new(myself, spec.definition.key.clone()),
            spec: Arc::new(spec),
            next: None,
            former: None,
            limits,
            grace,
            lifecycle,
            tree: None,
            opening: None,
            closing_opening: None,
            lease: None,
            ceiling: Ceiling::default(),
            timers,
            total,
            bytes_told: 0,
            saved: BTreeMap::new(),
            openings: 0,
            is_ending: false,
            has_given_up: false,
            last_progress: Instant::now(),
            has_stall_timer: false,
            is_stalled: false,
            totals: Totals::default(),
            rate: Rate::new(std::time::Instant::now()),
            lag: Lag::default(),
            newsroom,
            checkpointed: None,
            delivered_ms: None,
            checks: Checks::new(),
            last_error: None,
            since,
            report,
            span,
        }
    }

    fn command(&mut self, order: Order, reply: Option<RpcReplyPort<Result<(), CommandError>>>) {
        let before = self.lifecycle.asked();
        tracing::info!(?order, "command");
        self.step(Input::Order(order));
        let asked = self.lifecycle.asked();
        if asked == before {
            answer(reply);
            return;
        }
        let store = self.spec.asked.clone();
        let span = self.span.clone();
        self.timers.spawn(async move {
            let kept = tokio::task::spawn_blocking(move || store.save(asked)).await;
            if let Ok(Err(cause)) = kept {
                span.in_scope(|| tracing::warn!(%cause, "what was asked is not kept over a restart"));
            }
            answer(reply);
        });
    }

    fn shut_down(&mut self, grace: Duration) {
        self.grace = grace;
        self.is_ending = true;
        self.step(Input::Order(Order::Shutdown));
    }

    fn child_lost(&mut self, child: &ActorCell, why: String) {
        if self.tree.as_ref().is_some_and(|tree| tree.has(child.get_id())) {
            tracing::error!(why, "an actor of the source died; its tree is rebuilt from the saved state");
            let cause = Cause::new("source.actor_died", format!("an actor of the source died: {why}"));
            let epoch = self.lifecycle.epoch();
            self.step(Input::ChildLost { epoch, cause });
        }
    }

    fn take(&mut self, message: SupervisorMsg) {
        match message {
            SupervisorMsg::Command { order, reply } => self.command(order, reply),
            SupervisorMsg::Reload(spec) => self.reload(*spec),
            SupervisorMsg::Shutdown { grace } => self.shut_down(grace),
            SupervisorMsg::Event { epoch, event } => self.event(epoch, event),
            SupervisorMsg::Saved { number, saved } => {
                self.saved.insert(number, saved);
            }
            SupervisorMsg::Opened { .. } => {}
            SupervisorMsg::Ended { ended, lease } => self.ended(ended, lease),
            SupervisorMsg::Wake(token) => self.step(Input::Wake(token)),
            SupervisorMsg::Total { is_over } => self.step(Input::Total { is_over }),
            SupervisorMsg::StallCheck => self.check_stall(),
            SupervisorMsg::Told(told) => self.told(told),
            SupervisorMsg::Ask(ask) => self.ask(ask),
        }
    }
}

/// What the lifecycle needs to know of a definition.
fn limits_of(definition: &Definition, limits: &pico_config::Limits) -> Limits {
    Limits {
        window: definition.max_in_flight as usize,
        in_flight_bytes: limits.in_flight_bytes,
        nack_limit: definition.supervision.nack_limit,
        restarts: definition.supervision.restart_after.is_some(),
    }
}

fn answer(reply: Option<RpcReplyPort<Result<(), CommandError>>>) {
    if let Some(reply) = reply {
        reply.send(Ok(())).ok();
    }
}

async fn watch_total(supervisor: SupervisorRef, mut over: watch::Receiver<bool>) {
    while over.changed().await.is_ok() {
        let is_over = *over.borrow_and_update();
        supervisor.cast(SupervisorMsg::Total { is_over }).ok();
    }
}

impl Actor for SupervisorActor {
    type Msg = SupervisorMsg;
    type State = SupervisorState;
    type Arguments = SupervisorArgs;

    async fn pre_start(
        &self,
        myself: SupervisorRef,
        args: SupervisorArgs,
    ) -> Result<SupervisorState, ActorProcessingErr> {
        let state = SupervisorState::new(myself, args);
        state.publish();
        Ok(state)
    }

    async fn handle(
        &self,
        myself: SupervisorRef,
        message: SupervisorMsg,
        state: &mut SupervisorState,
    ) -> Result<(), ActorProcessingErr> {
        // Growing a tree waits for nothing but the spawning of actors.
        if let SupervisorMsg::Opened { epoch, outcome } = message {
            // On the heap while it lasts: its place would else be kept for the life of every supervisor, some 12 KiB.
            Box::pin(state.opened(epoch, outcome)).await?;
        } else {
            let span = state.span.clone();
            span.in_scope(|| state.take(message));
        }
        if state.is_over() {
            myself.stop(None);
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _: SupervisorRef,
        event: SupervisionEvent,
        state: &mut SupervisorState,
    ) -> Result<(), ActorProcessingErr> {
        let span = state.span.clone();
        span.in_scope(|| match event {
            SupervisionEvent::ActorFailed(child, panic) => state.child_lost(&child, panic.to_string()),
            SupervisionEvent::ActorTerminated(child, _, why) => {
                state.child_lost(&child, why.unwrap_or_else(|| "it ended".to_owned()));
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        });
        Ok(())
    }
}

//! One per process: keeps the running sources equal to the definitions, and answers for them.

mod apply;
mod changes;
mod slot;
mod view;

use std::sync::Arc;
use std::time::Duration;

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent};

use crate::ask::Ask;
use crate::command::{Command, CommandError};
use crate::news::Newsroom;
use crate::source::{EngineSettings, Entry, RunningSource};
use crate::status::{Health, SourceDetail, SourceView, Totals};
use crate::supervisor::END_SLACK;
use crate::telemetry;
use crate::total::TotalBytes;
use slot::Slot;

pub(crate) struct RootActor;

pub(crate) enum RootMsg {
    /// All sources as the API shows them.
    List(RpcReplyPort<Vec<SourceView>>),
    /// One source.
    Get(String, RpcReplyPort<Option<SourceDetail>>),
    /// Counts of every source.
    Totals(RpcReplyPort<Vec<(String, Totals)>>),
    /// Whether any source is degraded.
    Health(RpcReplyPort<Health>),
    /// Sets the gauges from what the sources report; asked for before they are read.
    Gauges(RpcReplyPort<()>),
    /// What runs, as far as a reload depends on it.
    Running(RpcReplyPort<Vec<RunningSource>>),
    /// Makes the running set equal to these; answered once every step was begun.
    Apply { entries: Vec<Entry>, retries_failed: bool, reply: RpcReplyPort<Result<(), CommandError>> },
    /// Asks something of one source.
    Command(String, Command, RpcReplyPort<Result<(), CommandError>>),
    /// Asks something of one source beside its lifecycle.
    Ask(String, Ask),
    /// Stop every source; `true` when all drained.
    Shutdown { grace: Duration, reply: RpcReplyPort<bool> },
    /// The grace and its slack are over.
    GiveUp,
    /// Start a supervisor that died once more; by the id of its slot.
    Respawn(u32),
}

pub(crate) struct RootArgs {
    pub(crate) settings: EngineSettings,
    pub(crate) entries: Vec<Entry>,
    pub(crate) newsroom: Newsroom,
}

pub(crate) struct RootState {
    settings: EngineSettings,
    slots: Vec<Slot>,
    next_id: u32,
    total: Arc<TotalBytes>,
    newsroom: Newsroom,
    ending: Option<RpcReplyPort<bool>>,
}

impl RootState {
    async fn start(myself: &ActorRef<RootMsg>, args: RootArgs) -> Result<RootState, ActorProcessingErr> {
        let RootArgs { settings, entries, newsroom } = args;
        let total = Arc::new(TotalBytes::new(settings.limits.in_flight_bytes_total));
        let mut state = RootState { settings, slots: Vec::new(), next_id: 1, total, newsroom, ending: None };
        for entry in entries {
            state.add(myself, entry).await?;
        }
        Ok(state)
    }

    async fn add(&mut self, myself: &ActorRef<RootMsg>, entry: Entry) -> Result<(), ActorProcessingErr> {
        let id = self.next_id;
        self.next_id += 1;
        self.slots.push(Slot::new(id, entry));
        self.spawn(myself, self.slots.len() - 1).await
    }

    async fn spawn(&mut self, myself: &ActorRef<RootMsg>, index: usize) -> Result<(), ActorProcessingErr> {
        let Some(slot) = self.slots.get_mut(index) else { return Ok(()) };
        if self.ending.is_none() {
            slot.spawn(myself.get_cell(), &self.settings, self.total.clone(), self.newsroom.clone()).await?;
        }
        Ok(())
    }

    fn find(&self, key: &str) -> Option<&Slot> {
        self.slots.iter().find(|slot| slot.has_key(key))
    }

    fn command(&self, key: &str, command: Command, reply: RpcReplyPort<Result<(), CommandError>>) {
        match self.find(key) {
            None => {
                reply.send(Err(CommandError::UnknownSource(key.to_owned()))).ok();
            }
            Some(slot) => slot.command(command, reply),
        }
    }

    fn health(&self) -> Health {
        let degraded: Vec<String> =
            self.slots.iter().filter(|slot| slot.is_degraded()).map(|slot| slot.key().to_owned()).collect();
        let status = if degraded.is_empty() { "healthy" } else { "degraded" };
        Health { status, degraded }
    }

    fn set_gauges(&self) {
        let total = self.slots.iter().filter(|slot| slot.is_counted()).count();
        let running = self.slots.iter().filter(|slot| slot.is_running()).count();
        metrics::gauge!(telemetry::SOURCES_TOTAL).set(total as f64);
        metrics::gauge!(telemetry::SOURCES_RUNNING).set(running as f64);
        for slot in &self.slots {
            slot.set_gauges();
        }
    }

    fn shut_down(&mut self, myself: &ActorRef<RootMsg>, grace: Duration, reply: RpcReplyPort<bool>) {
        self.ending = Some(reply);
        for slot in &self.slots {
            slot.shut_down(grace);
        }
        myself.send_after(grace + END_SLACK / 2, || RootMsg::GiveUp);
        self.end_if_all_did(myself);
    }

    fn end_if_all_did(&mut self, myself: &ActorRef<RootMsg>) {
        if self.slots.iter().all(|slot| !slot.is_alive()) {
            let has_drained = self.slots.iter().all(|slot| !slot.has_given_up());
            self.end(myself, has_drained);
        }
    }

    fn end(&mut self, myself: &ActorRef<RootMsg>, has_drained: bool) {
        if let Some(reply) = self.ending.take() {
            reply.send(has_drained).ok();
            myself.stop(None);
        }
    }

    /// A supervisor is gone: as told when the process ends, else by a fault of ours, and then it is started again.
    async fn lost(
        &mut self,
        myself: &ActorRef<RootMsg>,
        child: ractor::ActorId,
        why: &str,
    ) -> Result<(), ActorProcessingErr> {
        let Some(index) = self.slots.iter().position(|slot| slot.is_supervised_by(child)) else {
            return Ok(());
        };
        let Some(slot) = self.slots.get_mut(index) else { return Ok(()) };
        slot.forget_supervisor();
        if self.ending.is_some() {
            self.end_if_all_did(myself);
            return Ok(());
        }
        if slot.is_leaving() {
            return self.left(myself, index).await;
        }
        let (wait, id) = (slot.count_death(), slot.id());
        let wait_ms = wait.as_millis() as u64;
        tracing::error!(source = slot.key(), why, wait_ms, "a supervisor died; it is started again");
        myself.send_after(wait, move || RootMsg::Respawn(id));
        Ok(())
    }

    async fn respawn(&mut self, myself: &ActorRef<RootMsg>, id: u32) -> Result<(), ActorProcessingErr> {
        // Removed or replaced meanwhile: nothing to start.
        match self.slots.iter().position(|slot| slot.id() == id && !slot.is_alive()) {
            Some(index) => self.spawn(myself, index).await,
            None => Ok(()),
        }
    }
}

impl Actor for RootActor {
    type Msg = RootMsg;
    type State = RootState;
    type Arguments = RootArgs;

    async fn pre_start(
        &self,
        myself: ActorRef<RootMsg>,
        args: RootArgs,
    ) -> Result<RootState, ActorProcessingErr> {
        RootState::start(&myself, args).await
    }

    async fn handle(
        &self,
        myself: ActorRef<RootMsg>,
        message: RootMsg,
        state: &mut RootState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            RootMsg::List(reply) => {
                reply.send(state.slots.iter().map(Slot::view).collect()).ok();
            }
            RootMsg::Get(key, reply) => {
                reply.send(state.find(&key).map(Slot::detail)).ok();
            }
            RootMsg::Totals(reply) => {
                reply
                    .send(state.slots.iter().map(|slot| (slot.key().to_owned(), slot.totals())).collect())
                    .ok();
            }
            RootMsg::Health(reply) => {
                reply.send(state.health()).ok();
            }
            RootMsg::Gauges(reply) => {
                state.set_gauges();
                reply.send(()).ok();
            }
            RootMsg::Running(reply) => {
                reply.send(state.slots.iter().filter_map(Slot::running).collect()).ok();
            }
            RootMsg::Apply { entries, retries_failed, reply } => {
                state.apply(&myself, entries, retries_failed).await?;
                reply.send(state.is_serving()).ok();
            }
            RootMsg::Command(key, command, reply) => state.command(&key, command, reply),
            RootMsg::Ask(key, ask) => match state.find(&key) {
                None => ask.refuse(CommandError::UnknownSource(key).into()),
                Some(slot) => slot.ask(ask),
            },
            RootMsg::Shutdown { grace, reply } => state.shut_down(&myself, grace, reply),
            RootMsg::GiveUp => state.end(&myself, false),
            RootMsg::Respawn(id) => state.respawn(&myself, id).await?,
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<RootMsg>,
        event: SupervisionEvent,
        state: &mut RootState,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(child, panic) => {
                state.lost(&myself, child.get_id(), &panic.to_string()).await?;
            }
            SupervisionEvent::ActorTerminated(child, _, why) => {
                state.lost(&myself, child.get_id(), why.as_deref().unwrap_or("it ended")).await?;
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        Ok(())
    }
}

//! The tree of one opening: how it is opened, grown and brought down. The supervisor owns it.

use std::sync::Arc;
use std::time::Duration;

use pico_record::{Ceiling, RecordPath};
use ractor::{Actor, ActorCell, ActorId};

use crate::ask::AskError;
use crate::checkpointer::{CheckpointerActor, CheckpointerArgs, CheckpointerRef};
use crate::handle::SourceSpec;
use crate::poller::{PollerActor, PollerArgs, PollerRef};
use crate::ports::{
    BoxFuture, BrokerPort, Cause, CheckSink, OpenFailure, OpenKind, OpenedDelivery, PluginPort, StorePort,
};
use crate::producer::{ProducerActor, ProducerArgs, ProducerRef};
use crate::router::{RouterActor, RouterArgs};
use crate::supervisor::SupervisorHandle;

/// How long a child may take to end once told to; its handlers only start calls, so this is generous.
const CHILD_END_MAX: Duration = Duration::from_secs(5);

/// Everything an opening gave, before the actors stand.
pub(crate) struct Opened {
    delivery: OpenedDelivery,
    plugin: Arc<dyn PluginPort>,
    path: RecordPath,
    window: usize,
}

impl Opened {
    pub(crate) fn number(&self) -> u64 {
        self.delivery.number
    }

    pub(crate) fn window(&self) -> usize {
        self.window
    }
}

/// How an opening is called off, where the opened plugin's checks go, and what outlives it.
pub(crate) struct OpeningLink {
    pub(crate) signal: Arc<tokio::sync::Notify>,
    pub(crate) checks: CheckSink,
    pub(crate) ceiling: Ceiling,
}

/// Opens store, broker and plugin, in this order, unless called off.
pub(crate) async fn open(
    spec: &SourceSpec,
    lease: Option<Arc<dyn StorePort>>,
    is_paused: bool,
    limits: &pico_config::Limits,
    link: &OpeningLink,
) -> Result<Opened, OpenFailure> {
    if let Some(lease) = lease {
        lease.release().await;
    }
    let definition = &spec.definition;
    let mut path = RecordPath::new(&definition.topics, limits)
        .and_then(|path| path.with_errors(&definition.errors, definition.key.as_str(), link.ceiling.clone()))
        .and_then(|path| path.with_transforms(&definition.transforms))
        .map_err(|error| config_failure("config.rule", error.to_string()))?;
    let delivery = tokio::select! {
        opened = spec.delivery.open() => opened?,
        // What the store has under way is waited for by the next opening.
        () = link.signal.notified() => return Err(passing("source.open_cancelled", "the opening was called off")),
    };
    if let Err(error) = path.set_schema_ids(&definition.topics, &delivery.schema_ids) {
        give_back(&delivery).await;
        return Err(config_failure("config.rule", error.to_string()));
    }
    if delivery.state.is_some() && !is_paused {
        // It had records before, so it is expected to send at once: connect while the plugin opens.
        delivery.broker.warm();
    }
    let opening = spec.plugin.open(delivery.state.clone(), link.checks.clone());
    let plugin = tokio::select! {
        opened = opening => opened,
        () = link.signal.notified() => Err(passing("source.open_cancelled", "the opening was called off")),
    };
    let plugin = match plugin {
        Ok(plugin) => plugin,
        Err(failure) => {
            give_back(&delivery).await;
            return Err(failure);
        }
    };
    match window(spec, &delivery, plugin.as_ref()) {
        Ok(window) => Ok(Opened { delivery, plugin, path, window }),
        Err(failure) => {
            plugin.end(true).await;
            give_back(&delivery).await;
            Err(failure)
        }
    }
}

async fn give_back(delivery: &OpenedDelivery) {
    delivery.broker.close().await;
    delivery.store.release().await;
}

/// More than one batch in flight needs a plugin that declares it can, and a broker that keeps order on errors.
fn window(
    spec: &SourceSpec,
    delivery: &OpenedDelivery,
    plugin: &dyn PluginPort,
) -> Result<usize, OpenFailure> {
    let wanted = spec.definition.max_in_flight as usize;
    if wanted > 1 && !plugin.is_pipelined() {
        let message = format!(
            "max_in_flight = {wanted} needs a plugin that declares `pipelined`, and {} does not; remove the line",
            spec.definition.path
        );
        return Err(config_failure("plugin.not_pipelined", message));
    }
    let is_unordered = delivery.conditions.contains(&"unordered_on_error");
    Ok(if is_unordered { 1 } else { wanted })
}

fn config_failure(code: &'static str, message: String) -> OpenFailure {
    OpenFailure { kind: OpenKind::Config, cause: Cause::new(code, message) }
}

fn passing(code: &'static str, message: &str) -> OpenFailure {
    OpenFailure { kind: OpenKind::Passing, cause: Cause::new(code, message) }
}

/// Four children in a line and the doors they hold.
pub(crate) struct Tree {
    pub(crate) poller: PollerRef,
    pub(crate) producer: ProducerRef,
    pub(crate) checkpointer: CheckpointerRef,
    pub(crate) conditions: Vec<&'static str>,
    children: [ActorCell; 4],
    plugin: Arc<dyn PluginPort>,
    broker: Arc<dyn BrokerPort>,
    store: Arc<dyn StorePort>,
}

impl Tree {
    /// Spawns the line from its end, so that each child knows the next.
    pub(crate) async fn grow(
        opened: Opened,
        supervisor: &SupervisorHandle,
    ) -> Result<Tree, ractor::SpawnErr> {
        let Opened { delivery, plugin, path, .. } = opened;
        let OpenedDelivery { store, broker, life, conditions, .. } = delivery;
        let parent = supervisor.cell();
        let args = CheckpointerArgs { store: store.clone(), supervisor: supervisor.clone() };
        let (checkpointer, _) = Actor::spawn_linked(None, CheckpointerActor, args, parent.clone()).await?;
        let args = ProducerArgs {
            broker: broker.clone(),
            checkpointer: checkpointer.clone(),
            supervisor: supervisor.clone(),
        };
        let (producer, _) = Actor::spawn_linked(None, ProducerActor, args, parent.clone()).await?;
        let args = RouterArgs { path, life, producer: producer.clone(), supervisor: supervisor.clone() };
        let (router, _) = Actor::spawn_linked(None, RouterActor, args, parent.clone()).await?;
        let args =
            PollerArgs { plugin: plugin.clone(), router: router.clone(), supervisor: supervisor.clone() };
        let (poller, _) = Actor::spawn_linked(None, PollerActor, args, parent).await?;
        let children = [poller.get_cell(), router.get_cell(), producer.get_cell(), checkpointer.get_cell()];
        Ok(Tree { poller, producer, checkpointer, conditions, children, plugin, broker, store })
    }

    pub(crate) fn has(&self, child: ActorId) -> bool {
        self.children.iter().any(|cell| cell.get_id() == child)
    }

    /// Starts a command of the plugin.
    pub(crate) fn command(&self, name: &str, arguments_json: &str) -> BoxFuture<Result<String, AskError>> {
        self.plugin.command(name, arguments_json)
    }

    /// What the store has to show, as of now.
    pub(crate) fn store_conditions(&self) -> Vec<&'static str> {
        self.store.conditions()
    }

    pub(crate) fn store(&self) -> Arc<dyn StorePort> {
        self.store.clone()
    }

    /// Ends children, client and instance; the lease too unless it is kept. `true` when the instance leaked.
    pub(crate) async fn end(self, is_orderly: bool, keeps_lease: bool) -> bool {
        for child in self.children {
            // A child that is gone already has ended as asked.
            if is_orderly {
                child.stop_and_wait(None, Some(CHILD_END_MAX)).await.ok();
            } else {
                child.kill_and_wait(Some(CHILD_END_MAX)).await.ok();
            }
        }
        end_ports(self.plugin, self.broker, self.store, (is_orderly, keeps_lease)).await
    }
}

/// Brings down an opening whose actors never stood.
pub(crate) async fn end_opened(opened: Opened, is_orderly: bool) -> bool {
    let Opened { delivery, plugin, .. } = opened;
    end_ports(plugin, delivery.broker, delivery.store, (is_orderly, false)).await
}

async fn end_ports(
    plugin: Arc<dyn PluginPort>,
    broker: Arc<dyn BrokerPort>,
    store: Arc<dyn StorePort>,
    (is_orderly, keeps_lease): (bool, bool),
) -> bool {
    let ((), is_leaked) = tokio::join!(broker.close(), plugin.end(is_orderly));
    if !keeps_lease {
        store.release().await;
    }
    is_leaked
}

//! The tree of one opening: how it is grown and brought down. The supervisor owns it.

use std::sync::Arc;
use std::time::Duration;

use ractor::{Actor, ActorCell, ActorId};

use crate::checkpointer::{CheckpointerActor, CheckpointerArgs, CheckpointerRef};
use crate::command::AskError;
use crate::opening::{Opened, end_ports};
use crate::poller::{PollerActor, PollerArgs, PollerRef};
use crate::ports::{BoxFuture, BrokerPort, OpenedDelivery, PluginPort, StorePort};
use crate::producer::{ProducerActor, ProducerArgs, ProducerRef};
use crate::router::{RouterActor, RouterArgs};
use crate::supervisor_handle::SupervisorHandle;

/// How long a child may take to end once told to; its handlers only start calls, so this is generous.
const CHILD_END_MAX: Duration = Duration::from_secs(5);

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

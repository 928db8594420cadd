//! The actions of the model: every next message, everything the outside may do, every fault and every order, and
//! when each is possible.

use super::explore::Model;
use super::laws;
use super::world::{Budget, Item, Sent, Tree, World};
use crate::lifecycle::{Lifecycle, Limits, Order, Phase, Probe, Token};

/// What the state store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Http,
}

/// Something the protocol leans on that is taken away, to see that it was needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    Nothing,
    /// An opening does not make durable what it loaded (trap 4).
    LoadIsNotSynced,
    /// An opening does not wait for the write of a dead tree (trap 8).
    OpenDoesNotWait,
    /// The broker accepts what follows a refused record (trap 19).
    BrokerTakesTheNext,
}

/// One configuration of the search.
#[derive(Debug, Clone)]
pub(super) struct Protocol {
    pub(super) script: &'static [Item],
    pub(super) window: usize,
    pub(super) nack_limit: u32,
    pub(super) kind: Kind,
    pub(super) left: Budget,
    pub(super) orders: &'static [Order],
    pub(super) broken: Broken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Supervisor,
    Poller,
    Router,
    Producer,
    Checkpointer,
    /// The next batch, whatever the script has there.
    PollReturns,
    PollReturnsEmpty,
    PollJumps,
    PollEnds,
    PollFails,
    PluginPanics,
    VerdictTaken,
    VerdictFails,
    RouterFails,
    Appended(u8),
    Reported(u8),
    Refused(u8),
    ClientLost,
    ClientDropped,
    WriteHasEffect,
    WriteAnswered,
    WriteFails,
    LateWriteLands,
    Loaded,
    Opened,
    OpenFails,
    Ended,
    Woken(Token),
    Asked(Order),
    ChildLost,
    Killed,
    PowerLost,
}

impl Model for Protocol {
    type State = World;
    type Action = Action;

    fn initial(&self) -> World {
        let limits =
            Limits { window: self.window, in_flight_bytes: 100, nack_limit: self.nack_limit, restarts: true };
        World::new(limits, self.left)
    }

    fn actions(&self, world: &World) -> Vec<Action> {
        let mut actions = Vec::new();
        if !world.inbox.is_empty() {
            actions.push(Action::Supervisor);
        }
        if let Some(tree) = &world.tree {
            self.messages(tree, &mut actions);
            self.plugin(world, tree, &mut actions);
            self.client(world, tree, &mut actions);
        }
        self.store(world, &mut actions);
        self.supervision(world, &mut actions);
        actions
    }

    fn apply(&self, world: &World, action: Action) -> Result<World, String> {
        let mut next = world.clone();
        self.act(&mut next, action)?;
        laws::always(self, &next)?;
        Ok(next)
    }

    fn is_progress(&self, action: Action) -> bool {
        match action {
            Action::Supervisor
            | Action::Poller
            | Action::Router
            | Action::Producer
            | Action::Checkpointer => true,
            Action::PollReturns | Action::PollEnds | Action::VerdictTaken => true,
            Action::Appended(_) | Action::Reported(_) | Action::ClientDropped => true,
            Action::WriteHasEffect | Action::WriteAnswered | Action::LateWriteLands => true,
            Action::Loaded | Action::Opened | Action::Ended | Action::Woken(_) => true,
            Action::PollReturnsEmpty | Action::PollJumps | Action::Asked(_) => false,
            Action::PollFails | Action::PluginPanics | Action::VerdictFails | Action::RouterFails => false,
            Action::Refused(_) | Action::ClientLost | Action::WriteFails | Action::OpenFails => false,
            Action::ChildLost | Action::Killed | Action::PowerLost => false,
        }
    }

    fn is_goal(&self, world: &World) -> bool {
        match world.life.phase() {
            Phase::Active => {
                let last = self.script.len() as u8;
                let is_acked = world.tree.as_ref().is_some_and(|tree| tree.plugin.committed == last);
                is_acked && world.store.durable.position == last && world.life.in_flight() == 0
            }
            Phase::Paused => world.may_be_paused,
            Phase::Stopped => world.may_be_stopped,
            Phase::Opening | Phase::Waiting { .. } | Phase::Rewinding { .. } => false,
            Phase::Halted { .. } | Phase::Closing { .. } => false,
        }
    }
}

/// What may happen next.
impl Protocol {
    fn messages(&self, tree: &Tree, actions: &mut Vec<Action>) {
        let waiting = [
            (!tree.to_poller.is_empty(), Action::Poller),
            (!tree.to_router.is_empty(), Action::Router),
            (!tree.to_producer.is_empty(), Action::Producer),
            (!tree.to_checkpointer.is_empty(), Action::Checkpointer),
        ];
        actions.extend(waiting.into_iter().filter(|(is_waiting, _)| *is_waiting).map(|(_, action)| action));
    }

    fn plugin(&self, world: &World, tree: &Tree, actions: &mut Vec<Action>) {
        let has_faults = world.left.faults > 0;
        if let Some(poll) = tree.poll {
            if usize::from(tree.plugin.head) < self.script.len() {
                actions.push(Action::PollReturns);
                if tree.plugin.may_jump && world.left.jumps > 0 {
                    actions.push(Action::PollJumps);
                }
            }
            if poll.is_interrupted {
                actions.push(Action::PollEnds);
            }
            if world.left.empties > 0 {
                actions.push(Action::PollReturnsEmpty);
            }
            if has_faults {
                actions.extend([Action::PollFails, Action::PluginPanics]);
            }
        }
        if tree.verdict.is_some() {
            actions.push(Action::VerdictTaken);
            if has_faults {
                actions.push(Action::VerdictFails);
            }
        }
        if has_faults && !tree.to_router.is_empty() {
            actions.push(Action::RouterFails);
        }
    }

    fn client(&self, world: &World, tree: &Tree, actions: &mut Vec<Action>) {
        let has_faults = world.left.faults > 0;
        for partition in 0..2 {
            let of = |sent: &&Sent| sent.partition == partition;
            let first = tree.client.sent.iter().find(of);
            let unsettled =
                tree.client.sent.iter().find(|sent| of(sent) && !sent.is_appended && !sent.is_refused);
            if unsettled.is_some() {
                actions.push(Action::Appended(partition));
                if has_faults && !tree.client.is_silent {
                    actions.push(Action::Refused(partition));
                }
            }
            if !tree.client.is_silent && first.is_some_and(|sent| sent.is_appended || sent.is_refused) {
                actions.push(Action::Reported(partition));
            }
        }
        if has_faults && !tree.client.is_silent && !tree.client.sent.is_empty() {
            actions.push(Action::ClientLost);
        }
        if !tree.client.dying.is_empty() {
            actions.push(Action::ClientDropped);
        }
    }

    fn store(&self, world: &World, actions: &mut Vec<Action>) {
        if let Some(write) = world.store.write {
            let is_refused = self.kind == Kind::Http && write.tag != world.store.tag;
            if !write.has_effect && !is_refused {
                actions.push(Action::WriteHasEffect);
            }
            if write.has_effect || is_refused {
                actions.push(Action::WriteAnswered);
            }
            if world.left.faults > 0 {
                actions.push(Action::WriteFails);
            }
        }
        if world.store.late.is_some() {
            actions.push(Action::LateWriteLands);
        }
    }

    fn supervision(&self, world: &World, actions: &mut Vec<Action>) {
        let has_faults = world.left.faults > 0;
        match world.opening {
            Some((_, None)) if world.store.write.is_none() || self.broken == Broken::OpenDoesNotWait => {
                actions.push(Action::Loaded);
                if has_faults {
                    actions.push(Action::OpenFails);
                }
            }
            Some((_, Some(_))) => actions.push(Action::Opened),
            Some((_, None)) | None => {}
        }
        if world.is_closing {
            actions.push(Action::Ended);
        }
        actions.extend(tokens(&world.life).into_iter().flatten().map(Action::Woken));
        if world.left.orders > 0 {
            actions.extend(self.orders.iter().copied().map(Action::Asked));
        }
        if has_faults {
            if world.tree.is_some() {
                actions.push(Action::ChildLost);
            }
            actions.push(Action::Killed);
            if world.store.visible != world.store.durable {
                actions.push(Action::PowerLost);
            }
        }
    }
}

/// The waits that would still do something.
fn tokens(life: &Lifecycle) -> [Option<Token>; 4] {
    let phase = match life.phase {
        Phase::Waiting { token } => Some(token),
        Phase::Halted { restart } => restart,
        Phase::Stopped | Phase::Opening | Phase::Active | Phase::Rewinding { .. } => None,
        Phase::Paused | Phase::Closing { .. } => None,
    };
    let probe = match life.probe {
        Probe::Owed { token } => token,
        Probe::None | Probe::Running => None,
    };
    [phase, probe, life.hold, life.stop_deadline]
}

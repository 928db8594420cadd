//! What becomes of each action: the plugin, the client and the broker, the store, and what kills.

use super::explore::Model;
use super::laws;
use super::protocol::{Action, Broken, Kind, Protocol};
use super::stages::{Answer, failed};
use super::world::{Budget, Item, Load, Returned, Tree, World, cause};
use crate::lifecycle::{Ended, Event, Input, Lifecycle, Order, PolledKind, Stage};
use crate::ports::{OpenFailure, OpenKind};

impl Protocol {
    pub(super) fn act(&self, world: &mut World, action: Action) -> Result<(), String> {
        if !self.is_progress(action) {
            spend(&mut world.left, action);
        }
        match action {
            Action::Supervisor => world.supervisor_takes(),
            Action::Poller => world.poller_takes(),
            Action::Checkpointer => world.checkpointer_takes(),
            Action::PollReturns => self.returns(world, false),
            Action::PollJumps => self.returns(world, true),
            Action::PollReturnsEmpty => self.returns_empty(world),
            Action::VerdictTaken => world.verdict_is_taken(),
            Action::Appended(partition) => self.append(world, partition),
            Action::WriteAnswered => self.answer(world),
            Action::WriteFails => world.stored(Answer::Failed),
            Action::Ended => end(world),
            Action::Woken(token) => world.step(Input::Wake(token)),
            Action::Asked(order) => world.order(order),
            Action::ChildLost => world.step(Input::ChildLost { epoch: world.life.epoch(), cause: cause() }),
            Action::Killed => self.kill(world),
            Action::PowerLost => {
                world.store.visible = world.store.durable;
                self.kill(world)
            }
            Action::Router
            | Action::RouterFails
            | Action::Producer
            | Action::PollEnds
            | Action::PollFails
            | Action::PluginPanics
            | Action::VerdictFails
            | Action::Reported(_)
            | Action::Refused(_)
            | Action::ClientLost
            | Action::ClientDropped
            | Action::WriteHasEffect
            | Action::LateWriteLands
            | Action::Loaded
            | Action::Opened
            | Action::OpenFails => {
                self.happen(world, action);
                Ok(())
            }
        }
    }

    /// What by itself can break no law.
    fn happen(&self, world: &mut World, action: Action) {
        match action {
            Action::Router => world.router_takes(false),
            Action::RouterFails => world.router_takes(true),
            Action::Producer => world.producer_takes(),
            Action::PollEnds => poll_ends(world, Some(Event::PollEnded)),
            Action::PollFails => {
                poll_ends(world, Some(Event::PollFailed { is_permanent: false, cause: cause() }));
            }
            Action::PluginPanics => panics(world),
            Action::VerdictFails => fail_verdict(world),
            Action::Reported(partition) => report(world, partition),
            Action::Refused(partition) => self.refuse(world, partition),
            Action::ClientLost => lose_client(world),
            Action::ClientDropped => end_dying(world),
            Action::WriteHasEffect => self.take_effect(world),
            Action::LateWriteLands => land_late(world),
            Action::Loaded => self.load(world),
            Action::Opened => self.open(world),
            Action::OpenFails => fail_open(world),
            Action::Supervisor
            | Action::Poller
            | Action::Checkpointer
            | Action::PollReturns
            | Action::PollJumps
            | Action::PollReturnsEmpty
            | Action::VerdictTaken
            | Action::Appended(_)
            | Action::WriteAnswered
            | Action::WriteFails
            | Action::Ended
            | Action::Woken(_)
            | Action::Asked(_)
            | Action::ChildLost
            | Action::Killed
            | Action::PowerLost => unreachable!("`act` does this"),
        }
    }

    fn returns(&self, world: &mut World, is_jump: bool) -> Result<(), String> {
        let tree = world.tree();
        let at = tree.plugin.head;
        let item = if is_jump { Item::Watermark } else { self.script[usize::from(at)] };
        let state = if matches!(item, Item::Stateless(_)) { None } else { Some(at + 1) };
        tree.plugin.head += 1;
        let has_records = item != Item::Watermark;
        let partitions = item.partitions();
        tree.plugin.returned.push_back(Returned { at, partitions, state, has_records });
        laws::batch_is_returned(world, self.window)?;
        let tree = world.tree();
        let poll = tree.poll.expect("enabled with a poll");
        let kind = match (has_records, poll.refuse_watermark) {
            (true, _) => PolledKind::Records,
            (false, true) => PolledKind::Refused,
            (false, false) => PolledKind::Watermark,
        };
        let is_dropped = tree.quiesced.is_some();
        if !is_dropped && kind != PolledKind::Refused {
            tree.to_router.push_back(Load { id: poll.batch, at, partitions, state });
        }
        let event = Event::Polled { number: poll.batch.number, kind, records: 1, bytes: 1 };
        poll_ends(world, (!is_dropped).then_some(event));
        Ok(())
    }

    fn returns_empty(&self, world: &mut World) -> Result<(), String> {
        let tree = world.tree();
        let poll = tree.poll.expect("enabled with a poll");
        let at = tree.plugin.head;
        tree.plugin.returned.push_back(Returned { at, partitions: 0, state: None, has_records: false });
        laws::batch_is_returned(world, self.window)?;
        let event =
            Event::Polled { number: poll.batch.number, kind: PolledKind::Empty, records: 0, bytes: 0 };
        let is_dropped = world.tree().quiesced.is_some();
        poll_ends(world, (!is_dropped).then_some(event));
        Ok(())
    }

    fn append(&self, world: &mut World, partition: u8) -> Result<(), String> {
        let sent = world.tree().client.sent.iter_mut();
        let first = sent
            .filter(|sent| sent.partition == partition)
            .find(|sent| !sent.is_appended && !sent.is_refused)
            .expect("enabled with a record");
        first.is_appended = true;
        let at = first.at;
        laws::record_is_appended(world, self.script, at, partition)
    }

    /// The broker refuses a record, and with it all that follow it in the client, in its partition.
    fn refuse(&self, world: &mut World, partition: u8) {
        let only_first = self.broken == Broken::BrokerTakesTheNext;
        let sent = world.tree().client.sent.iter_mut();
        let mut behind =
            sent.filter(|sent| sent.partition == partition && !sent.is_appended && !sent.is_refused);
        for sent in behind.by_ref().take(if only_first { 1 } else { usize::MAX }) {
            sent.is_refused = true;
        }
    }

    fn take_effect(&self, world: &mut World) {
        let write = world.store.write.as_mut().expect("enabled with a write");
        write.has_effect = true;
        world.store.visible = write.value;
        if self.kind == Kind::Http {
            world.store.durable = write.value;
            world.store.tag += 1;
            world.store.known_tag = world.store.tag;
        }
    }

    fn answer(&self, world: &mut World) -> Result<(), String> {
        let write = world.store.write.expect("enabled with a write");
        if !write.has_effect {
            return world.stored(Answer::Fenced);
        }
        world.store.durable = write.value;
        world.stored(Answer::Landed)
    }

    fn load(&self, world: &mut World) {
        // A request of this process whose outcome is unknown is repeated until it is definite.
        if let Some(failed) = world.store.failed.take()
            && self.kind == Kind::Http
            && failed.tag == world.store.tag
        {
            world.store.visible = failed.value;
            world.store.durable = failed.value;
            world.store.tag += 1;
        }
        world.store.known_tag = world.store.tag;
        if self.broken != Broken::LoadIsNotSynced {
            world.store.durable = world.store.visible;
        }
        let loaded = world.store.visible;
        if let Some((_, found)) = &mut world.opening {
            *found = Some(loaded);
        }
    }

    fn open(&self, world: &mut World) {
        let Some((epoch, Some(loaded))) = world.opening.take() else { return };
        // What was owed is applied again.
        world.pruned = world.pruned.max(loaded.position);
        world.tree = Some(Tree::new(self.script, loaded.position));
        let number = if self.kind == Kind::File { loaded.number } else { 0 };
        world.store.newest = number;
        world.tell(epoch, Event::Opened { number, window: self.window });
    }

    /// The process is gone, and comes back. What a person asked is kept.
    fn kill(&self, world: &mut World) -> Result<(), String> {
        world.count_incident();
        let mut next = World::new(self.initial().life.limits, world.left);
        next.life = Lifecycle::new(next.life.limits, world.life.asked());
        next.opening = None;
        next.log = world.log;
        next.pruned = world.pruned;
        (next.copies, next.copies_allowed) = (world.copies, world.copies_allowed);
        (next.may_be_stopped, next.may_be_paused) = (world.may_be_stopped, world.may_be_paused);
        next.store = world.store.clone();
        next.store.failed = None;
        if let Some(write) = next.store.write.take()
            && self.kind == Kind::Http
            && !write.has_effect
        {
            next.store.late = Some(write);
        }
        *world = next;
        world.step(Input::Order(Order::Launch))
    }
}

fn end(world: &mut World) -> Result<(), String> {
    world.is_closing = false;
    world.step(Input::Ended(Ended { is_leaked: false }))
}

fn fail_verdict(world: &mut World) {
    let (epoch, _) = world.tree().verdict.take().expect("enabled with a verdict");
    world.tell(epoch, Event::ResolveFailed(cause()));
}

fn spend(left: &mut Budget, action: Action) {
    let purse = if action == Action::PollReturnsEmpty {
        &mut left.empties
    } else if action == Action::PollJumps {
        &mut left.jumps
    } else if matches!(action, Action::Asked(_)) {
        &mut left.orders
    } else {
        &mut left.faults
    };
    *purse -= 1;
}

/// The poll came back; unless the poller was told to drop it, the supervisor learns what it gave.
fn poll_ends(world: &mut World, event: Option<Event>) {
    let tree = world.tree();
    let poll = tree.poll.take().expect("enabled with a poll");
    let is_dropped = tree.quiesced.is_some();
    if let Some(event) = event.filter(|_| !is_dropped) {
        world.tell(poll.batch.epoch, event);
    }
    world.poller_is_quiet();
}

fn panics(world: &mut World) {
    let poll = world.tree().poll.take().expect("enabled with a poll");
    world.tell(poll.batch.epoch, Event::Broken(cause()));
}

fn report(world: &mut World, partition: u8) {
    let sent = &mut world.tree().client.sent;
    let first = sent.iter().position(|sent| sent.partition == partition).expect("enabled with a record");
    let record = sent.remove(first).expect("found above");
    world.reported(record, record.is_refused, false);
}

/// Silence past the deadline, or a fatal error: no report comes until the client is dropped.
fn lose_client(world: &mut World) {
    let tree = world.tree();
    tree.client.is_silent = true;
    let id = tree.client.sent.front().expect("enabled with a record").id;
    if let Some(oldest) = tree.deliveries.fail(id.epoch, id.number, true) {
        world.tell(id.epoch, failed(oldest, Stage::Producer, true));
    }
}

fn end_dying(world: &mut World) {
    while let Some(sent) = world.tree().client.dying.pop_front() {
        world.reported(sent, true, false);
    }
}

fn land_late(world: &mut World) {
    let store = &mut world.store;
    let write = store.late.take().expect("enabled with a late write");
    if write.tag == store.tag {
        store.visible = write.value;
        store.durable = write.value;
        store.tag += 1;
    }
}

fn fail_open(world: &mut World) {
    if let Some((epoch, _)) = world.opening.take() {
        world.tell(epoch, Event::OpenFailed(OpenFailure { kind: OpenKind::Passing, cause: cause() }));
    }
}

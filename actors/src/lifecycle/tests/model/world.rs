//! One source and everything around it as one value: the real [`Lifecycle`], the real stage rules of
//! [`crate::line`], a mailbox an actor, and what plugin, client, broker and store would hold.

use std::collections::VecDeque;

use picomq_connector_sdk::Verdict;

use super::laws;
use crate::lifecycle::{Asked, BatchId, Effect, Event, Input, Lifecycle, Limits, Order};
use crate::line::{Deliveries, Intake, Saves};
use crate::ports::Cause;

/// Positions of the upstream; a state is the position it resumes at.
pub(super) type Position = u8;

/// What lies at one position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Item {
    /// One record for each partition of the mask, and a candidate.
    Records(u8),
    /// Records without a candidate: a later batch carries the state.
    Stateless(u8),
    /// Records of which none is left to send.
    Filtered,
    /// No records, a candidate.
    Watermark,
}

impl Item {
    pub(super) fn partitions(self) -> u8 {
        match self {
            Item::Records(mask) | Item::Stateless(mask) => mask,
            Item::Filtered | Item::Watermark => 0,
        }
    }
}

/// A batch on its way down the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Load {
    pub(super) id: BatchId,
    pub(super) at: Position,
    pub(super) partitions: u8,
    pub(super) state: Option<Position>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum ToPoller {
    Poll { batch: BatchId, refuse_watermark: bool },
    Resolve { epoch: u64, verdict: Verdict },
    Interrupt,
    Quiesce { epoch: u64, from: u64 },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum ToProducer {
    Deliver(Load),
    DropClient { epoch: u64 },
    Quiesce { epoch: u64, from: u64 },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum ToCheckpointer {
    Save(Load),
    Probe { epoch: u64 },
    Quiesce { epoch: u64, from: u64 },
}

/// A batch the plugin returned and was not told about yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Returned {
    pub(super) at: Position,
    pub(super) partitions: u8,
    pub(super) state: Option<Position>,
    pub(super) has_records: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Plugin {
    pub(super) script: &'static [Item],
    pub(super) committed: Position,
    pub(super) head: Position,
    pub(super) returned: VecDeque<Returned>,
    /// Told Nack of records since the last Ack of any: it may name a position past them.
    pub(super) may_jump: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Poll {
    pub(super) batch: BatchId,
    pub(super) refuse_watermark: bool,
    pub(super) is_interrupted: bool,
}

/// One record in the client, or in one that is being dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Sent {
    pub(super) id: BatchId,
    pub(super) at: Position,
    pub(super) partition: u8,
    pub(super) is_appended: bool,
    pub(super) is_refused: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Client {
    pub(super) sent: VecDeque<Sent>,
    /// Dropped, but its reports have not ended yet.
    pub(super) dying: VecDeque<Sent>,
    pub(super) is_silent: bool,
}

/// The actors of one opening and what they hold.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Tree {
    pub(super) to_poller: VecDeque<ToPoller>,
    pub(super) poll: Option<Poll>,
    pub(super) quiesced: Option<(u64, u64)>,
    pub(super) verdict: Option<(u64, Verdict)>,
    pub(super) to_router: VecDeque<Load>,
    pub(super) intake: Intake,
    pub(super) to_producer: VecDeque<ToProducer>,
    pub(super) deliveries: Deliveries,
    pub(super) carried: Vec<Load>,
    pub(super) to_checkpointer: VecDeque<ToCheckpointer>,
    pub(super) saves: Saves<Position>,
    pub(super) plugin: Plugin,
    pub(super) client: Client,
}

impl Tree {
    pub(super) fn new(script: &'static [Item], position: Position) -> Tree {
        Tree {
            to_poller: VecDeque::new(),
            poll: None,
            quiesced: None,
            verdict: None,
            to_router: VecDeque::new(),
            intake: Intake::default(),
            to_producer: VecDeque::new(),
            deliveries: Deliveries::default(),
            carried: Vec::new(),
            to_checkpointer: VecDeque::new(),
            saves: Saves::new(),
            plugin: Plugin {
                script,
                committed: position,
                head: position,
                returned: VecDeque::new(),
                may_jump: false,
            },
            client: Client::default(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Saved {
    pub(super) position: Position,
    pub(super) number: u64,
}

/// Who waits for a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Writer {
    Save,
    Probe {
        epoch: u64,
    },
    /// The tree that began it is gone.
    Nobody,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Write {
    pub(super) value: Saved,
    pub(super) writer: Writer,
    /// Renamed, or applied by the server; not yet synced, or not yet answered.
    pub(super) has_effect: bool,
    /// Entity tag it is conditional on; files have none.
    pub(super) tag: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Store {
    /// What a kill leaves.
    pub(super) visible: Saved,
    /// What a power loss leaves, or `visible`.
    pub(super) durable: Saved,
    pub(super) write: Option<Write>,
    /// The save that failed, for the probe.
    pub(super) failed: Option<Write>,
    /// HTTP: tag of the resource, tag the present opening knows, and a request of a killed process under way.
    pub(super) tag: u8,
    pub(super) known_tag: u8,
    pub(super) late: Option<Write>,
    /// The newest number of this opening that was written; HTTP keeps none across openings.
    pub(super) newest: u64,
}

/// What may still go wrong or be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Budget {
    pub(super) faults: u8,
    pub(super) orders: u8,
    pub(super) empties: u8,
    pub(super) jumps: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) life: Lifecycle,
    /// Events of every tree there was, in the order they were sent.
    pub(super) inbox: VecDeque<(u64, Event)>,
    pub(super) tree: Option<Tree>,
    /// Epoch of the opening under way, and what it loaded.
    pub(super) opening: Option<(u64, Option<Saved>)>,
    pub(super) is_closing: bool,
    pub(super) store: Store,
    /// Positions in the log, a mask for each partition.
    pub(super) log: [u8; 2],
    /// The upstream forgot everything below.
    pub(super) pruned: Position,
    /// Records that came twice, and how many may have, by what was in flight at each incident.
    pub(super) copies: u8,
    pub(super) copies_allowed: u8,
    pub(super) left: Budget,
    /// The last order about it was a stop, or a pause.
    pub(super) may_be_stopped: bool,
    pub(super) may_be_paused: bool,
}

pub(super) fn cause() -> Cause {
    Cause { code: "", message: String::new() }
}

impl World {
    pub(super) fn new(limits: Limits, left: Budget) -> World {
        let mut world = World {
            life: Lifecycle::new(limits, Asked::Running),
            inbox: VecDeque::new(),
            tree: None,
            opening: None,
            is_closing: false,
            store: Store::default(),
            log: [0; 2],
            pruned: 0,
            copies: 0,
            copies_allowed: 0,
            left,
            may_be_stopped: false,
            may_be_paused: false,
        };
        world.step(Input::Order(Order::Launch)).expect("nothing runs yet");
        world
    }

    pub(super) fn order(&mut self, order: Order) -> Result<(), String> {
        match order {
            Order::Stop | Order::Shutdown => self.may_be_stopped = true,
            // A process that ends starts nothing any more.
            Order::Start | Order::Restart | Order::Launch => self.may_be_stopped = self.life.is_shutting_down,
            Order::Pause => self.may_be_paused = true,
            Order::Resume => self.may_be_paused = false,
            Order::Reload(_) | Order::Keep => {}
        }
        self.step(Input::Order(order))
    }

    pub(super) fn tell(&mut self, epoch: u64, event: Event) {
        self.inbox.push_back((epoch, event));
    }

    /// The tree, for what only a tree can do.
    pub(super) fn tree(&mut self) -> &mut Tree {
        self.tree.as_mut().expect("only a tree does this")
    }

    /// The supervisor: one input, then every effect of it.
    pub(super) fn step(&mut self, input: Input) -> Result<(), String> {
        for effect in self.life.step(input) {
            self.carry_out(effect)?;
        }
        Ok(())
    }

    fn carry_out(&mut self, effect: Effect) -> Result<(), String> {
        match effect {
            Effect::Open { epoch, .. } => {
                if self.tree.is_some() || self.opening.is_some() || self.is_closing {
                    return Err("I4: opened beside a live instance".to_owned());
                }
                self.opening = Some((epoch, None));
            }
            Effect::Adopt { .. } | Effect::Revert => {
                if self.tree.is_some() || self.opening.is_some() || self.is_closing {
                    return Err("I4: a definition changed beside a live instance".to_owned());
                }
            }
            Effect::Close { is_orderly, .. } => {
                if is_orderly {
                    laws::closes_orderly(self)?;
                }
                self.lose_tree();
                self.opening = None;
                self.is_closing = true;
            }
            Effect::Wake { .. } | Effect::Acked { .. } | Effect::Nacked => {}
            Effect::Poll { .. }
            | Effect::Interrupt
            | Effect::Resolve { .. }
            | Effect::Quiesce { .. }
            | Effect::DropClient { .. }
            | Effect::Probe => {
                let epoch = self.life.epoch();
                let Some(tree) = &mut self.tree else { return Err(format!("no tree for {effect:?}")) };
                tree.order(effect, epoch);
            }
        }
        Ok(())
    }

    /// Whatever lives only in the actors, the client and the instance is gone.
    pub(super) fn lose_tree(&mut self) {
        self.count_incident();
        self.tree = None;
        if let Some(write) = &mut self.store.write {
            write.writer = Writer::Nobody;
        }
    }

    /// What was read and not committed may be read and sent once more.
    pub(super) fn count_incident(&mut self) {
        if let Some(tree) = &self.tree {
            let Plugin { script, committed, head, .. } = tree.plugin;
            let unsaved = &script[usize::from(committed)..usize::from(head)];
            self.copies_allowed +=
                unsaved.iter().map(|item| item.partitions().count_ones() as u8).sum::<u8>();
        }
    }
}

impl Tree {
    fn order(&mut self, effect: Effect, epoch: u64) {
        match effect {
            Effect::Poll { batch, refuse_watermark } => {
                self.to_poller.push_back(ToPoller::Poll { batch, refuse_watermark });
            }
            Effect::Interrupt => self.to_poller.push_back(ToPoller::Interrupt),
            Effect::Resolve { verdict } => self.to_poller.push_back(ToPoller::Resolve { epoch, verdict }),
            Effect::Quiesce { epoch, from } => {
                self.to_poller.push_back(ToPoller::Quiesce { epoch, from });
                self.to_producer.push_back(ToProducer::Quiesce { epoch, from });
                self.to_checkpointer.push_back(ToCheckpointer::Quiesce { epoch, from });
            }
            Effect::DropClient { epoch } => self.to_producer.push_back(ToProducer::DropClient { epoch }),
            Effect::Probe => self.to_checkpointer.push_back(ToCheckpointer::Probe { epoch }),
            Effect::Open { .. } | Effect::Adopt { .. } | Effect::Revert | Effect::Close { .. } => {}
            Effect::Wake { .. } | Effect::Acked { .. } | Effect::Nacked => {}
        }
    }
}

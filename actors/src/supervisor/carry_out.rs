//! What each effect of the lifecycle becomes: a call that is started, a message that is sent.

use std::sync::Arc;

use ractor::ActorProcessingErr;
use tokio::sync::Notify;

use super::SupervisorState;
use crate::backoff;
use crate::cause::OpenFailure;
use crate::checkpointer::CheckpointerMsg;
use crate::lifecycle::{Effect, Ended, Event, Input, Phase, Token, Wait};
use crate::opening::{self, Opened, OpeningLink};
use crate::poller::PollerMsg;
use crate::ports::StorePort;
use crate::producer::ProducerMsg;
use crate::supervisor_handle::SupervisorMsg;
use crate::tree::Tree;

impl SupervisorState {
    pub(super) fn step(&mut self, input: Input) {
        for effect in self.lifecycle.step(input) {
            self.carry_out(effect);
        }
        let bytes = self.lifecycle.bytes_in_flight();
        if bytes != self.bytes_told {
            self.total.replace(self.bytes_told, bytes);
            self.bytes_told = bytes;
        }
        self.arm_stall_timer();
        self.refresh();
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Open { epoch, is_paused } => self.open(epoch, is_paused),
            Effect::Adopt { keeps_former } => self.adopt(keeps_former),
            Effect::Revert => self.revert(),
            Effect::Poll { batch, refuse_watermark } => {
                self.tell_poller(PollerMsg::Poll { batch, refuse_watermark });
            }
            Effect::Interrupt => self.tell_poller(PollerMsg::Interrupt),
            Effect::Resolve { verdict } => {
                let epoch = self.lifecycle.epoch();
                self.tell_poller(PollerMsg::Resolve { epoch, verdict });
            }
            Effect::Quiesce { epoch, from } => self.quiesce(epoch, from),
            Effect::DropClient { epoch } => {
                if let Some(tree) = &self.tree {
                    tree.producer.cast(ProducerMsg::DropClient { epoch }).ok();
                }
            }
            Effect::Probe => {
                let epoch = self.lifecycle.epoch();
                if let Some(tree) = &self.tree {
                    tree.checkpointer.cast(CheckpointerMsg::Probe { epoch }).ok();
                }
            }
            Effect::Close { is_orderly, keeps_lease } => self.close(is_orderly, keeps_lease),
            Effect::Wake { token, wait } => self.wake_later(token, wait),
            Effect::Acked { .. } => self.handle.metrics().acks.increment(1),
            Effect::Nacked => self.nacked(),
        }
    }

    fn tell_poller(&self, message: PollerMsg) {
        if let Some(tree) = &self.tree {
            tree.poller.cast(message).ok();
        }
    }

    fn quiesce(&self, epoch: u64, from: u64) {
        let Some(tree) = &self.tree else { return };
        tree.poller.cast(PollerMsg::Quiesce { epoch, from }).ok();
        tree.producer.cast(ProducerMsg::Quiesce { epoch, from }).ok();
        tree.checkpointer.cast(CheckpointerMsg::Quiesce { epoch, from }).ok();
    }

    fn open(&mut self, epoch: u64, is_paused: bool) {
        self.openings += 1;
        if self.openings > 1 {
            self.handle.metrics().restarts.increment(1);
        }
        let signal = Arc::new(Notify::new());
        self.opening = Some(signal.clone());
        let (spec, limits, lease) = (self.spec.clone(), self.limits, self.lease.take());
        let supervisor = self.handle.supervisor();
        let watcher = supervisor.clone();
        let checks = Arc::new(move |told| {
            watcher.cast(SupervisorMsg::Told(told)).ok();
        });
        let ceiling = self.ceiling.clone();
        self.timers.spawn(async move {
            let link = OpeningLink { signal, checks, ceiling };
            let outcome = opening::open(&spec, lease, is_paused, &limits, &link).await;
            supervisor.cast(SupervisorMsg::Opened { epoch, outcome }).ok();
        });
    }

    /// The opening ended: grow the tree, unless it was called off meanwhile.
    pub(super) async fn opened(
        &mut self,
        epoch: u64,
        outcome: Result<Opened, OpenFailure>,
    ) -> Result<(), ActorProcessingErr> {
        self.opening = None;
        if let Some(is_orderly) = self.closing_opening.take() {
            self.end_called_off(outcome, is_orderly);
            return Ok(());
        }
        let span = self.span.clone();
        let event = match outcome {
            Ok(opened) => {
                let (number, window) = (opened.number(), opened.window());
                self.tree = Some(Tree::grow(opened, &self.handle).await?);
                span.in_scope(|| tracing::info!(number, window, "opened"));
                crate::fault::point("opened");
                Event::Opened { number, window }
            }
            Err(failure) => Event::OpenFailed(failure),
        };
        span.in_scope(|| self.event(epoch, event));
        Ok(())
    }

    fn end_called_off(&mut self, outcome: Result<Opened, OpenFailure>, is_orderly: bool) {
        let supervisor = self.handle.supervisor();
        self.timers.spawn(async move {
            let is_leaked = match outcome {
                Ok(opened) => opening::end_opened(opened, is_orderly).await,
                Err(_) => false,
            };
            supervisor.cast(SupervisorMsg::Ended { ended: Ended { is_leaked }, lease: None }).ok();
        });
    }

    fn close(&mut self, is_orderly: bool, keeps_lease: bool) {
        self.saved.clear();
        if self.is_ending && !is_orderly {
            self.has_given_up = true;
        }
        if let Some(opening) = &self.opening {
            opening.notify_one();
            self.closing_opening = Some(is_orderly);
            return;
        }
        let (tree, lease) = (self.tree.take(), self.lease.take());
        let supervisor = self.handle.supervisor();
        self.timers.spawn(async move {
            let (is_leaked, lease) = match tree {
                Some(tree) => {
                    let store = tree.store();
                    let is_leaked = tree.end(is_orderly, keeps_lease).await;
                    (is_leaked, keeps_lease.then_some(store))
                }
                None => (false, release_unless(keeps_lease, lease).await),
            };
            supervisor.cast(SupervisorMsg::Ended { ended: Ended { is_leaked }, lease }).ok();
        });
    }

    pub(super) fn ended(&mut self, ended: Ended, lease: Option<Arc<dyn StorePort>>) {
        self.lease = lease;
        if ended.is_leaked {
            tracing::error!("a call into the plugin never came back; its instance is left behind");
            self.has_given_up |= self.is_ending;
        }
        self.step(Input::Ended(ended));
        tracing::info!(phase = ?self.lifecycle.phase(), "closed");
    }

    fn wake_later(&mut self, token: Token, wait: Wait) {
        while self.timers.try_join_next().is_some() {}
        let length = backoff::length(wait, &self.spec.definition.supervision, self.grace, fastrand::f64());
        let supervisor = self.handle.supervisor();
        self.note_wait(wait, length);
        self.timers.spawn(async move {
            tokio::time::sleep(length).await;
            supervisor.cast(SupervisorMsg::Wake(token)).ok();
        });
    }

    /// Whether the process ends and nothing is left to do.
    pub(super) fn is_over(&self) -> bool {
        self.is_ending && self.lifecycle.phase() == Phase::Stopped
    }
}

async fn release_unless(keeps_lease: bool, lease: Option<Arc<dyn StorePort>>) -> Option<Arc<dyn StorePort>> {
    let lease = lease?;
    if keeps_lease {
        return Some(lease);
    }
    lease.release().await;
    None
}

//! What the actors do with their next message: the handlers of the real ones, as steps of the model. The decisions
//! in them are [`crate::line`]'s.

use picomq_connector_sdk::Verdict;

use super::laws;
use super::world::{
    Load, Poll, Saved, Sent, ToCheckpointer, ToPoller, ToProducer, Tree, World, Write, Writer, cause,
};
use crate::lifecycle::{Event, Input, Stage};
use crate::line::NextSave;

impl World {
    pub(super) fn supervisor_takes(&mut self) -> Result<(), String> {
        let (epoch, event) = self.inbox.pop_front().expect("enabled with a message");
        self.step(Input::Event { epoch, event })
    }

    pub(super) fn poller_takes(&mut self) -> Result<(), String> {
        match self.tree().to_poller.pop_front().expect("enabled with a message") {
            ToPoller::Poll { batch, refuse_watermark } => {
                laws::poll_begins(self)?;
                self.tree().poll = Some(Poll { batch, refuse_watermark, is_interrupted: false });
            }
            ToPoller::Resolve { epoch, verdict } => {
                laws::verdict_is_told(self, verdict)?;
                self.tree().verdict = Some((epoch, verdict));
            }
            ToPoller::Interrupt => self.interrupt(),
            ToPoller::Quiesce { epoch, from } => {
                self.tree().quiesced = Some((epoch, from));
                self.interrupt();
                self.poller_is_quiet();
            }
        }
        Ok(())
    }

    fn interrupt(&mut self) {
        if let Some(poll) = &mut self.tree().poll {
            poll.is_interrupted = true;
        }
    }

    pub(super) fn poller_is_quiet(&mut self) {
        let tree = self.tree();
        if tree.poll.is_none()
            && let Some((epoch, from)) = tree.quiesced.take()
        {
            self.tell(epoch, Event::Quiet { stage: Stage::Poller, from });
        }
    }

    /// The plugin takes the verdict that runs: side effects on the upstream happen here.
    pub(super) fn verdict_is_taken(&mut self) -> Result<(), String> {
        let (epoch, verdict) = self.tree().verdict.take().expect("enabled with a verdict");
        match verdict {
            Verdict::Ack => self.acked()?,
            Verdict::Nack => {
                self.count_incident();
                let plugin = &mut self.tree().plugin;
                plugin.may_jump |= plugin.returned.front().is_some_and(|first| first.has_records);
                plugin.returned.clear();
                plugin.head = plugin.committed;
            }
        }
        self.tell(epoch, Event::Resolved);
        Ok(())
    }

    fn acked(&mut self) -> Result<(), String> {
        let plugin = &mut self.tree().plugin;
        let Some(first) = plugin.returned.pop_front() else { return Err("I5: Ack of nothing".to_owned()) };
        plugin.may_jump &= !first.has_records;
        if let Some(position) = first.state {
            plugin.committed = position;
            self.pruned = self.pruned.max(position);
        }
        Ok(())
    }

    /// `fails` is the fault of this stage: a record that cannot be routed.
    pub(super) fn router_takes(&mut self, fails: bool) {
        let tree = self.tree();
        let load = tree.to_router.pop_front().expect("enabled with a message");
        if !tree.intake.take(load.id) {
            return;
        }
        if fails {
            tree.intake.close(load.id.epoch, load.id.number);
            self.tell(load.id.epoch, failed(load.id.number, Stage::Router, false));
        } else {
            tree.to_producer.push_back(ToProducer::Deliver(load));
        }
    }

    pub(super) fn producer_takes(&mut self) {
        let tree = self.tree();
        match tree.to_producer.pop_front().expect("enabled with a message") {
            ToProducer::Deliver(load) => self.deliver(load),
            ToProducer::DropClient { epoch } => {
                if tree.deliveries.may_drop_client(epoch) {
                    let sent = std::mem::take(&mut tree.client.sent);
                    tree.client.dying.extend(sent);
                    tree.client.is_silent = false;
                }
            }
            ToProducer::Quiesce { epoch, from } => {
                tree.deliveries.quiesce(epoch, from);
                self.producer_goes_on();
            }
        }
    }

    fn deliver(&mut self, load: Load) {
        let tree = self.tree();
        if !tree.deliveries.take(load.id) {
            return;
        }
        tree.carried.push(load);
        for partition in 0..2 {
            if load.partitions & (1 << partition) != 0 {
                // A client that has a refused record of the partition accepts nothing behind it.
                let is_refused =
                    tree.client.sent.iter().any(|sent| sent.partition == partition && sent.is_refused);
                let sent = Sent { id: load.id, at: load.at, partition, is_appended: false, is_refused };
                tree.client.sent.push_back(sent);
            }
        }
        if load.partitions == 0 {
            tree.deliveries.settle(load.id.epoch, load.id.number);
        }
        self.producer_goes_on();
    }

    /// Hands on what is wholly delivered, and says quiet when it is.
    pub(super) fn producer_goes_on(&mut self) {
        let tree = self.tree();
        while let Some(number) = tree.deliveries.hand_on() {
            let at = tree
                .carried
                .iter()
                .position(|load| load.id.number == number)
                .expect("carried until handed on");
            let load = tree.carried.remove(at);
            tree.to_checkpointer.push_back(ToCheckpointer::Save(load));
        }
        if let Some(from) = tree.deliveries.quiet() {
            tree.carried.retain(|load| load.id.number < from);
            let epoch = tree.deliveries.epoch();
            self.tell(epoch, Event::Quiet { stage: Stage::Producer, from });
        }
    }

    /// A report of `sent` came: failed, or good.
    pub(super) fn reported(&mut self, sent: Sent, has_failed: bool, is_client_lost: bool) {
        let (epoch, number) = (sent.id.epoch, sent.id.number);
        let tree = self.tree();
        if has_failed && let Some(oldest) = tree.deliveries.fail(epoch, number, is_client_lost) {
            self.tell(epoch, failed(oldest, Stage::Producer, is_client_lost));
        }
        let tree = self.tree();
        let mut outstanding = tree.client.sent.iter().chain(&tree.client.dying);
        if !outstanding.any(|other| other.id == sent.id) {
            tree.deliveries.settle(epoch, number);
        }
        self.producer_goes_on();
    }

    pub(super) fn checkpointer_takes(&mut self) -> Result<(), String> {
        match self.tree().to_checkpointer.pop_front().expect("enabled with a message") {
            ToCheckpointer::Save(load) => {
                let delivered = u32::from(load.partitions != 0);
                self.tree().saves.take(load.id, delivered, load.state);
                self.start_save()?;
            }
            ToCheckpointer::Probe { epoch } => self.start_probe(epoch)?,
            ToCheckpointer::Quiesce { epoch, from } => {
                self.tree().saves.quiesce(epoch, from);
                self.checkpointer_is_quiet();
            }
        }
        Ok(())
    }

    fn start_save(&mut self) -> Result<(), String> {
        match self.tree().saves.start() {
            NextSave::None => Ok(()),
            NextSave::Unchanged(batches) => {
                self.tell_saved(batches);
                Ok(())
            }
            NextSave::Write { number, state } => {
                let value = Saved { position: state, number };
                self.write(value, Writer::Save)
            }
        }
    }

    fn start_probe(&mut self, epoch: u64) -> Result<(), String> {
        let Some(failed) = self.store.failed else { return Err("a probe of nothing".to_owned()) };
        let value = Saved { position: failed.value.position, number: failed.value.number + 1 };
        self.write(value, Writer::Probe { epoch })
    }

    fn write(&mut self, value: Saved, writer: Writer) -> Result<(), String> {
        laws::write_begins(self, value)?;
        self.store.newest = value.number;
        let tag = self.store.known_tag;
        self.store.write = Some(Write { value, writer, has_effect: false, tag });
        Ok(())
    }

    pub(super) fn tell_saved(&mut self, batches: Vec<(u64, u32)>) {
        let epoch = self.tree().saves.epoch();
        for (number, delivered) in batches {
            self.tell(epoch, Event::Saved { number, delivered });
        }
    }

    pub(super) fn checkpointer_is_quiet(&mut self) {
        let tree = self.tree();
        if let Some(from) = tree.saves.quiet() {
            let epoch = tree.saves.epoch();
            self.tell(epoch, Event::Quiet { stage: Stage::Checkpointer, from });
        }
    }

    /// The save under way was answered.
    pub(super) fn stored(&mut self, answer: Answer) -> Result<(), String> {
        let write = self.store.write.take().expect("enabled with a write");
        if answer == Answer::Failed {
            self.store.failed = Some(write);
        }
        match write.writer {
            Writer::Nobody => Ok(()),
            Writer::Probe { epoch } => {
                let event = match answer {
                    Answer::Landed => Event::Probed { has_landed: true },
                    Answer::Failed => Event::Probed { has_landed: false },
                    Answer::Fenced => Event::Fenced { number: write.value.number, cause: cause() },
                };
                self.tell(epoch, event);
                Ok(())
            }
            Writer::Save => self.saved(answer),
        }
    }

    fn saved(&mut self, answer: Answer) -> Result<(), String> {
        match answer {
            Answer::Landed => {
                let batches = self.tree().saves.saved();
                self.tell_saved(batches);
            }
            Answer::Failed | Answer::Fenced => {
                let Some((epoch, number)) = self.tree().saves.failed() else {
                    return Err("a save failed that covers nothing".to_owned());
                };
                let event = if answer == Answer::Failed {
                    Event::SaveFailed { number, cause: cause() }
                } else {
                    Event::Fenced { number, cause: cause() }
                };
                self.tell(epoch, event);
            }
        }
        self.checkpointer_is_quiet();
        self.start_save()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Answer {
    Landed,
    Failed,
    Fenced,
}

pub(super) fn failed(number: u64, stage: Stage, is_client_lost: bool) -> Event {
    Event::Failed { number, stage, cause: cause(), is_client_lost, needs_human: false }
}

impl Tree {
    /// Whether a report of any record may still come.
    pub(super) fn has_reports_outstanding(&self) -> bool {
        !self.client.sent.is_empty() || !self.client.dying.is_empty()
    }
}

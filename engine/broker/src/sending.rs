//! How the courier finds the topics of a batch and puts its records in.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use pico_actors::fault;
use pico_actors::ports::DeliveryFailure;
use pico_record::{Group, Outgoing, Routed};
use rdkafka::types::RDKafkaErrorCode as Code;

use crate::admin::NewTopic;
use crate::courier::Courier;
use crate::error::{self, Refused};
use crate::message::Message;
use crate::slots::Ticket;
use crate::topics::{Look, Topic};

/// Records handed to librdkafka in one call.
pub(crate) const CHUNK: usize = 1_000;
/// One look at the broker's metadata.
const LOOK_WAIT_MS: i32 = 500;
/// Pause before another look: the broker could not be asked, or does not show a topic it just made.
const LOOK_PAUSE: Duration = Duration::from_millis(20);
/// As a timestamp: the time of producing.
const NOW: i64 = 0;
/// Pause while a client's queue is full.
const FULL_PAUSE: Duration = Duration::from_millis(1);

impl Courier {
    /// Makes every topic of the batch known to its client, creating those that may be. Nothing of the batch is sent
    /// before all are.
    pub(crate) fn find_topics(&mut self, batch: &Routed) -> Result<(), DeliveryFailure> {
        for at in 0..self.clients.len() {
            let wanted = self.unknown_topics(at, batch);
            if !wanted.is_empty() {
                self.find(at, batch, wanted)?;
            }
        }
        Ok(())
    }

    fn unknown_topics(&mut self, at: usize, batch: &Routed) -> Vec<Arc<str>> {
        let Some(client) = &mut self.clients[at] else { return Vec::new() };
        for stale in client.connection.shared.take_stale() {
            client.topics.forget(&stale);
        }
        let blocks = &self.desk.plan.blocks;
        let mine = batch.groups().iter().filter(|group| blocks[usize::from(group.block)].client == at);
        let unknown = mine.filter(|group| client.topics.get(&group.topic).is_none());
        unknown.map(|group| group.topic.clone()).collect()
    }

    fn find(&mut self, at: usize, batch: &Routed, wanted: Vec<Arc<str>>) -> Result<(), DeliveryFailure> {
        if let Some(client) = &mut self.clients[at] {
            client.topics.trim(|name| batch.groups().iter().any(|group| &*group.topic == name));
        }
        let mut missing = self.look(at, &wanted)?;
        if missing.is_empty() {
            return Ok(());
        }
        self.create(batch, &missing)?;
        let mut progress = Instant::now();
        loop {
            let before = missing.len();
            missing = self.look(at, &missing)?;
            let Some(hidden) = missing.first() else { return Ok(()) };
            if missing.len() < before {
                progress = Instant::now();
            }
            if progress.elapsed() > self.desk.plan.batch_deadline {
                return Err(error::not_visible(hidden, progress.elapsed()));
            }
            self.pause(LOOK_PAUSE)?;
        }
    }

    /// Asks until the broker answers which of these topics it does not know.
    fn look(&mut self, at: usize, wanted: &[Arc<str>]) -> Result<Vec<Arc<str>>, DeliveryFailure> {
        let started = Instant::now();
        loop {
            let client = self.clients[at].as_mut().expect("opened before its topics are looked for");
            let (producer, shared) = (client.connection.producer.clone(), client.connection.shared.clone());
            match client.topics.look(&producer, wanted, LOOK_WAIT_MS) {
                Ok(Look { refused: Some((topic, code)), .. }) => {
                    return Err(error::unavailable(&topic, code));
                }
                Ok(Look { missing, refused: None }) => return Ok(missing),
                Err(_) if started.elapsed() > self.desk.plan.batch_deadline => {
                    return Err(error::unreachable(started.elapsed(), shared.last_error()));
                }
                Err(_) => self.pause(LOOK_PAUSE)?,
            }
        }
    }

    /// Creates the missing topics in one request, if a block that names them may. Each result is looked at.
    fn create(&mut self, batch: &Routed, missing: &[Arc<str>]) -> Result<(), DeliveryFailure> {
        let desk = self.desk.clone();
        let mut topics = Vec::with_capacity(missing.len());
        for name in missing {
            let naming = batch.groups().iter().filter(|group| group.topic == *name);
            let mut blocks = naming.map(|group| &desk.plan.blocks[usize::from(group.block)]);
            let Some(block) = blocks.find(|block| block.create_topics) else {
                return Err(error::unavailable(name, Code::UnknownTopicOrPartition));
            };
            topics.push(NewTopic { name, settings: &block.topic_settings, replication: block.replication });
        }
        let deadline = Instant::now() + self.desk.plan.batch_deadline;
        let is_wanted = || Instant::now() < deadline && desk.drops_asked.load(Ordering::Acquire) == 0;
        let results = desk.admin.create(&topics, &is_wanted);
        let refused: Vec<_> =
            results.iter().filter_map(|(name, result)| Some((name, result.as_ref().err()?))).collect();
        desk.plan.topics_created.increment((results.len() - refused.len()) as u64);
        match refused.first() {
            Some((name, (code, words))) => Err(error::not_created(name, *code, words, refused.len() - 1)),
            None => Ok(()),
        }
    }

    /// Puts every record in, group after group, up to the first that is refused. The first ones of the groups at the
    /// positions `introduced` are in already.
    pub(crate) fn enqueue(
        &mut self,
        batch: &Routed,
        ticket: Ticket,
        introduced: &[usize],
    ) -> Result<(), DeliveryFailure> {
        let half = batch.outgoing() / 2;
        let mut chunk = Vec::with_capacity(CHUNK);
        let mut record = 0;
        for (position, group) in batch.groups().iter().enumerate() {
            let lane = self.lane(group, ticket)?;
            let mut is_sent = introduced.binary_search(&position).is_ok();
            for outgoing in batch.entries(group) {
                if record == half {
                    fault::point("half_enqueued");
                }
                if !std::mem::take(&mut is_sent) {
                    self.put_in(&lane, &mut chunk, record, &outgoing)?;
                }
                record += 1;
            }
            self.put(&lane, &mut chunk)?;
        }
        Ok(())
    }

    /// Puts one record in, or into the chunk that goes in together.
    pub(crate) fn put_in<'b>(
        &mut self,
        lane: &Lane,
        chunk: &mut Vec<Message<'b>>,
        record: u32,
        outgoing: &Outgoing<'b>,
    ) -> Result<(), DeliveryFailure> {
        let (payload, key) = (outgoing.payload, outgoing.key);
        self.measure(lane, record, payload.map_or(0, <[u8]>::len) + key.map_or(0, <[u8]>::len))?;
        let message = Message::new(payload, key, lane.ticket.opaque(record));
        if outgoing.timestamp_ms.is_none() && !outgoing.has_headers() {
            chunk.push(message);
            if chunk.len() == CHUNK { self.put(lane, chunk) } else { Ok(()) }
        } else {
            self.put(lane, chunk)?;
            self.put_one(lane, &message, outgoing)
        }
    }

    pub(crate) fn lane(&self, group: &Group, ticket: Ticket) -> Result<Lane, DeliveryFailure> {
        let at = self.desk.plan.blocks[usize::from(group.block)].client;
        let topic = self.clients[at].as_ref().and_then(|client| client.topics.get(&group.topic));
        let topic = topic.ok_or_else(|| error::unavailable(&group.topic, Code::UnknownTopicOrPartition))?;
        Ok(Lane { at, topic: topic.clone(), name: group.topic.clone(), ticket })
    }

    fn measure(&self, lane: &Lane, record: u32, bytes: usize) -> Result<(), DeliveryFailure> {
        let bytes_max = self.desk.plan.record_bytes_max;
        if bytes > bytes_max { Err(error::too_large(&lane.name, record, bytes, bytes_max)) } else { Ok(()) }
    }

    /// Puts a chunk in, waiting while the queue is full, and empties it.
    pub(crate) fn put(&mut self, lane: &Lane, chunk: &mut Vec<Message<'_>>) -> Result<(), DeliveryFailure> {
        let mut done = 0;
        let mut full_since = None;
        while done < chunk.len() {
            let admitted = self.wait_for_room_of(lane, chunk.len() - done)?;
            let rest = &mut chunk[done..done + admitted];
            self.expect(lane, rest.len() as u32);
            let (accepted, refused) = lane.topic.handle.produce(lane.topic.partition, rest);
            self.unexpect(lane, (rest.len() - accepted) as u32);
            done += accepted;
            if accepted > 0 {
                full_since = None;
            }
            match refused {
                None => {}
                Some(Code::QueueFull) => self.wait_for_room(&mut full_since)?,
                Some(code) => return Err(self.refused(lane, code)),
            }
        }
        chunk.clear();
        Ok(())
    }

    fn put_one(
        &mut self,
        lane: &Lane,
        message: &Message<'_>,
        outgoing: &Outgoing<'_>,
    ) -> Result<(), DeliveryFailure> {
        let mut full_since = None;
        self.wait_for_room_of(lane, 1)?;
        loop {
            self.expect(lane, 1);
            let place = (lane.topic.partition, outgoing.timestamp_ms.unwrap_or(NOW));
            let Err(code) = lane.topic.handle.produce_one(place, message, outgoing.headers()) else {
                return Ok(());
            };
            self.unexpect(lane, 1);
            match code {
                Code::QueueFull => self.wait_for_room(&mut full_since)?,
                code => return Err(self.refused(lane, code)),
            }
        }
    }

    /// Counts records before they go in: a report may be faster than the call that caused it.
    fn expect(&mut self, lane: &Lane, count: u32) {
        self.desk.slots.expect(lane.ticket, count);
        if let Some(client) = &mut self.clients[lane.at] {
            client.note_sent(u64::from(count));
        }
    }

    fn unexpect(&mut self, lane: &Lane, count: u32) {
        if count > 0 {
            self.desk.slots.release(lane.ticket, count);
            if let Some(client) = &mut self.clients[lane.at] {
                client.note_unsent(u64::from(count));
            }
        }
    }

    /// The queue is full: reports make room. It is a failure when none does until the deadline.
    fn wait_for_room(&mut self, full_since: &mut Option<Instant>) -> Result<(), DeliveryFailure> {
        let since = *full_since.get_or_insert_with(Instant::now);
        let waited = since.elapsed();
        if waited > self.desk.plan.batch_deadline {
            return Err(error::silent(waited, None));
        }
        self.pause(FULL_PAUSE)
    }

    /// A record was refused at the door; those behind it stay outside.
    fn refused(&self, lane: &Lane, code: Code) -> DeliveryFailure {
        if let Some(client) = &self.clients[lane.at]
            && error::is_stale(code)
        {
            client.connection.shared.note_stale(&lane.name);
        }
        error::refused(&Refused { code, topic: &lane.name, record: None })
    }
}

/// Where the records of one group go.
pub(crate) struct Lane {
    pub(crate) at: usize,
    pub(crate) topic: Rc<Topic>,
    name: Arc<str>,
    pub(crate) ticket: Ticket,
}

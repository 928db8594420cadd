//! The task that owns the replication connection: reads, keeps the connection alive, confirms what was saved.
//!
//! It is a task of its own because the server drops who is silent for `wal_sender_timeout`, and a poll may not come for longer.
//! It reads ahead by a few batches and then stops reading, so memory stays flat whatever the server has.

mod begin;

use std::collections::HashMap;
use std::time::Duration;

use bytes::Buf;
use picomq_connector_sdk::{Gauge, Host};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tracing::warn;

use crate::assembler::{Assembled, Assembler, Fed};
use crate::backfill::{self, Backfill, Filler, Moved};
use crate::client::{Connection, Purpose, frame};
use crate::error::Error;
use crate::lsn::Lsn;
use crate::peek::Peeking;
use crate::pgoutput::{self, Identity, Message, Streamed};
use crate::position::Position;
use crate::server;
use crate::settings::Settings;
use begin::{Began, begin, refuse_messages};

/// Batches that wait to be polled, beside the one being built.
const AHEAD: usize = 2;
/// A read of at least that much is followed by the next at once.
const LARGE_READ: usize = 64 << 10;
/// Confirmations are sent no more often.
const CONFIRM_EVERY: Duration = Duration::from_millis(100);
/// How often the slot is looked at from the server's side.
const WATCH_EVERY: Duration = Duration::from_secs(30);
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

/// What the task hands over.
#[derive(Debug)]
pub(crate) enum Item {
    /// A batch, and how far a table was read beside the stream when it is delivered.
    Records(Assembled, Option<Moved>),
    /// A table was found to be read, without records.
    Moved(Moved),
    /// Nothing to send up to here.
    Idle(Position),
}

/// The running task.
#[derive(Debug)]
pub(crate) struct Stream {
    items: mpsc::Receiver<Result<Item, Error>>,
    /// Dropped to ask the task to end.
    alive: Option<watch::Sender<()>>,
    task: JoinHandle<()>,
    filling: backfill::Handle,
    /// Where the next item begins.
    pub(crate) at: Position,
    /// What is left to be read beside the stream then.
    pub(crate) backfill: Backfill,
}

impl Stream {
    /// Starts to stream from `from` and returns once the server agreed.
    pub(crate) async fn start(
        (settings, host): (&Settings, &Host),
        replication: Option<Connection>,
        (from, backfill): (&Position, &Backfill),
        acked: watch::Receiver<Lsn>,
    ) -> Result<Stream, Error> {
        let mut sql = Connection::open(&settings.target, Purpose::Sql).await?;
        let mut assembler =
            Assembler::new(settings.tables.clone(), settings.records.clone(), settings.cut, from);
        assembler.set_types(server::types(&mut sql).await?);
        refuse_messages(settings, sql.version())?;
        let Began { connection, peeking, status_every, idle_every } =
            begin(settings, replication, from.commit_end).await?;
        let (sender, items) = mpsc::channel(AHEAD);
        let (alive, asked) = watch::channel(());
        let (filling, filler) = backfill::start(settings, host, backfill.clone());
        let now = Instant::now();
        let reader = Reader {
            connection,
            peeking,
            idle_every,
            sql,
            settings: settings.clone(),
            host: host.clone(),
            assembler,
            filler,
            keys: HashMap::new(),
            items: sender,
            acked,
            received: from.commit_end,
            sent: Lsn(0),
            status_every,
            next_status: now,
            next_confirm: now,
            next_idle: now + idle_every,
            next_watch: now,
            next_beat: settings.heartbeat_interval.map(|interval| now + interval),
            offered: None,
            last_read: now,
            pause_until: None,
            first_row: None,
        };
        let task = tokio::spawn(host.scope(reader.run(asked)));
        let (at, backfill) = (from.clone(), backfill.clone());
        Ok(Stream { items, alive: Some(alive), task, filling, at, backfill })
    }

    /// The next batch or position. May be dropped.
    pub(crate) async fn next(&mut self) -> Result<Item, Error> {
        tokio::select! {
            item = self.items.recv() => {
                item.unwrap_or_else(|| Err(Error::Lost(std::io::ErrorKind::BrokenPipe.into())))
            }
            moved = self.filling.told() => Ok(Item::Moved(moved)),
        }
    }

    /// What is left to be read beside the stream, as of the last item that was taken.
    pub(crate) fn set_backfill(&mut self, backfill: Backfill) {
        self.filling.set(&backfill);
        self.backfill = backfill;
    }

    /// Ends the task and its connection in good order.
    pub(crate) async fn close(mut self) {
        self.alive = None;
        self.items.close();
        if timeout(Duration::from_secs(2), &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Reader {
    connection: Connection,
    /// The other end of the connection, where nothing streams.
    peeking: Option<Peeking>,
    idle_every: Duration,
    /// For questions about tables, which the stream cannot answer.
    sql: Connection,
    settings: Settings,
    host: Host,
    assembler: Assembler,
    filler: Filler,
    /// Primary keys looked up for relations that do not show theirs, until the relation is read.
    keys: HashMap<u32, Vec<String>>,
    items: mpsc::Sender<Result<Item, Error>>,
    acked: watch::Receiver<Lsn>,
    /// The furthest position the server named.
    received: Lsn,
    /// The furthest one we confirmed.
    sent: Lsn,
    status_every: Duration,
    next_status: Instant,
    next_confirm: Instant,
    next_idle: Instant,
    next_watch: Instant,
    next_beat: Option<Instant>,
    /// The position that was handed over last. None at first: what is handed over then, be it nothing, shows that the server is
    /// there.
    offered: Option<Lsn>,
    last_read: Instant,
    pause_until: Option<Instant>,
    first_row: Option<Instant>,
}

/// Where reading the input stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drained {
    /// Every whole message was taken.
    Dry,
    /// The batch is full.
    Full,
    /// The key of this table must be looked up first.
    Key(u32),
}

impl Reader {
    async fn run(mut self, mut asked: watch::Receiver<()>) {
        let ended = tokio::select! {
            _ = asked.changed() => None,
            error = self.read() => Some(error),
        };
        match ended {
            Some(error) => {
                let why = match &mut self.peeking {
                    Some(peeking) => peeking.failure().await,
                    None => None,
                };
                drop(self.items.send(Err(why.unwrap_or(error))).await);
            }
            None => {
                tokio::join!(self.connection.close(), self.sql.close());
            }
        }
    }

    /// Runs until something fails.
    async fn read(&mut self) -> Error {
        loop {
            if let Err(error) = self.turn().await {
                return error;
            }
        }
    }

    /// Takes what was read, hands over what is ready, then waits for the next thing to happen.
    async fn turn(&mut self) -> Result<(), Error> {
        let drained = self.drain()?;
        if let Drained::Key(table) = drained {
            let key = match self.settings.records.debezium {
                Some(_) => server::debezium_key(&mut self.sql, table).await?,
                None => server::primary_key(&mut self.sql, table).await?,
            };
            self.keys.insert(table, key);
            return Ok(());
        }
        self.send_status().await?;
        self.watch().await?;
        self.beat().await?;
        let now = Instant::now();
        if self.assembler.has_records() {
            self.first_row.get_or_insert(now);
        }
        let is_full = drained == Drained::Full;
        let is_ready = is_full || self.is_batch_due(now) || self.filler.has_moved();
        let is_idle = !is_ready && self.is_idle_due(now);
        let pause_until = self.pause_until.filter(|until| *until > now);
        let linger_until =
            self.first_row.map(|first| first + self.settings.read_linger).filter(|_| !is_ready);
        let wake = [
            Some(self.next_status),
            Some(self.next_watch),
            self.next_beat,
            pause_until,
            linger_until,
            self.idle_at(),
        ];
        let wake = wake.into_iter().flatten().filter(|at| *at > now).min().unwrap_or(self.next_status);
        let wake = wake.min(self.confirm_at(now));
        let (items, mut acked) = (self.items.clone(), self.acked.clone());
        tokio::select! {
            biased;
            permit = items.reserve(), if is_ready || is_idle => {
                let permit = permit.map_err(|_| Error::Lost(std::io::ErrorKind::BrokenPipe.into()))?;
                let assembled = self.assembler.take();
                self.offered = Some(assembled.position.commit_end);
                self.next_idle = Instant::now() + self.idle_every;
                self.first_row = None;
                permit.send(Ok(if is_ready {
                    Item::Records(assembled, self.filler.moved())
                } else {
                    Item::Idle(assembled.position)
                }));
            }
            read = self.connection.fill(), if !is_full && pause_until.is_none() => {
                let count = read?;
                self.was_read(count)?;
            }
            changed = acked.wait_for(|acked| *acked > self.sent), if self.next_confirm <= now => {
                changed.map_err(|_| Error::Lost(std::io::ErrorKind::BrokenPipe.into()))?;
            }
            () = tokio::time::sleep_until(wake) => {}
        }
        Ok(())
    }

    /// When to look at confirmations again, if that is not at once.
    fn confirm_at(&self, now: Instant) -> Instant {
        if self.next_confirm > now { self.next_confirm } else { self.next_status }
    }

    /// Whether what was read is handed over now: its transaction ended and nothing more is here, or it waited long enough.
    fn is_batch_due(&self, now: Instant) -> bool {
        let Some(first) = self.first_row else { return false };
        !self.assembler.is_inside() || now >= first + self.settings.read_linger
    }

    fn is_idle_due(&self, now: Instant) -> bool {
        self.idle_at().is_some_and(|at| at <= now)
    }

    fn idle_at(&self) -> Option<Instant> {
        let is_news = !self.assembler.has_records()
            && !self.assembler.is_inside()
            && self.offered.is_none_or(|offered| self.assembler.position().commit_end > offered);
        is_news.then_some(self.next_idle)
    }

    /// After a short read of a busy stream, waits a little: the server then sends larger pieces, which costs both sides less.
    fn was_read(&mut self, count: usize) -> Result<(), Error> {
        let now = Instant::now();
        let linger = self.settings.read_linger;
        let is_busy = now.duration_since(self.last_read) < 2 * linger;
        let pauses = is_busy && count < LARGE_READ && self.connection.is_tcp();
        self.pause_until = pauses.then(|| now + linger);
        self.last_read = now;
        if pauses { self.connection.rest() } else { Ok(()) }
    }

    /// Takes whole messages off the input until there is none, or the batch is full.
    fn drain(&mut self) -> Result<Drained, Error> {
        let input = &self.connection.input;
        let mut consumed = 0;
        let mut drained = Drained::Dry;
        while let Some((tag, range)) = frame::first(&input[consumed..])? {
            let body = &input[consumed + range.start..consumed + range.end];
            match tag {
                frame::tag::COPY_DATA => match Streamed::parse(body)? {
                    Streamed::Keepalive { end, is_reply_wanted } => {
                        self.received = self.received.max(end);
                        self.assembler.idle(end);
                        if is_reply_wanted {
                            self.next_status = Instant::now();
                        }
                    }
                    Streamed::Data { end, bytes } => {
                        self.assembler.stand_at(end);
                        drained = take(&mut self.assembler, (&mut self.keys, &mut self.filler), bytes)?;
                        if drained != Drained::Dry {
                            break;
                        }
                        self.received = self.received.max(end);
                    }
                },
                frame::tag::ERROR => return Err(frame::server_error(body)),
                frame::tag::NOTICE | frame::tag::PARAMETER => {}
                frame::tag::COPY_DONE | frame::tag::COMMAND_COMPLETE => {
                    return Err(Error::Lost(std::io::Error::other(
                        "the server ended the stream: it is being shut down",
                    )));
                }
                other => {
                    return Err(Error::Protocol(format!("message `{}` in the stream", other.escape_ascii())));
                }
            }
            consumed += range.end;
        }
        self.connection.input.advance(consumed);
        self.refuse_giant()?;
        Ok(drained)
    }

    /// Refuses a row that no batch could hold before it fills the memory. Twice the limit, since a bytea is sent longer than it is
    /// written down.
    fn refuse_giant(&self) -> Result<(), Error> {
        let max = self.settings.cut.bytes_max.saturating_mul(2);
        match frame::declared(&self.connection.input).filter(|bytes| *bytes > max) {
            None => Ok(()),
            Some(bytes) => Err(Error::Refused(format!(
                "a change of {bytes} bytes follows {}, the limit of a batch is {} ([limits] batch_bytes); nothing was skipped: raise the \
                 limit, or leave the large column out of the publication",
                self.assembler.position().commit_end,
                self.settings.cut.bytes_max
            ))),
        }
    }

    /// Confirms what was saved when it moved, and says that we live when it is time to.
    async fn send_status(&mut self) -> Result<(), Error> {
        let now = Instant::now();
        // Never more than was received: the server believes whatever it is told, and skips it.
        let acked = (*self.acked.borrow()).min(self.received);
        let is_news = acked > self.sent && now >= self.next_confirm;
        if !is_news && now < self.next_status {
            return Ok(());
        }
        let flushed = is_news.then_some(acked);
        let message = pgoutput::status(self.received, flushed, now_us());
        self.connection.say_copy_data(&message)?;
        let sent = timeout(SEND_TIMEOUT, self.connection.flush()).await;
        sent.unwrap_or(Err(Error::Silent { what: "a confirmation", seconds: SEND_TIMEOUT.as_secs() }))?;
        if is_news {
            self.sent = acked;
            self.next_confirm = now + CONFIRM_EVERY;
        }
        self.next_status = now + self.status_every;
        self.host.gauge(Gauge::LagBytes, self.received.0.saturating_sub(acked.0) as f64);
        self.host.gauge(Gauge::LagSeconds, self.lag_seconds());
        Ok(())
    }

    /// How old the newest transaction is that was read and not handed over; zero when everything was.
    fn lag_seconds(&self) -> f64 {
        let is_behind =
            self.assembler.has_records() || self.assembler.is_inside() || self.items.capacity() < AHEAD;
        let age_us = now_us().saturating_sub(self.assembler.newest_us());
        if is_behind { (age_us.max(0) as f64) / 1e6 } else { 0.0 }
    }

    /// Writes a message of no meaning into the log, which needs no table and no right, so that positions move where nobody else writes.
    async fn beat(&mut self) -> Result<(), Error> {
        let now = Instant::now();
        let Some(interval) =
            self.settings.heartbeat_interval.filter(|_| self.next_beat.is_some_and(|at| at <= now))
        else {
            return Ok(());
        };
        self.next_beat = Some(now + interval);
        let sent =
            self.sql.simple("SELECT pg_catalog.pg_logical_emit_message(false, 'picomq', 'heartbeat')").await;
        match sent {
            Err(Error::Server(error)) => {
                // A standby, or a right that was taken away: the stream itself is not touched by it.
                warn!(%error, "no heartbeat could be written");
                Ok(())
            }
            other => other.map(drop),
        }
    }

    /// Tells, now and then, how much of the log the slot holds.
    async fn watch(&mut self) -> Result<(), Error> {
        let now = Instant::now();
        if now < self.next_watch {
            return Ok(());
        }
        self.next_watch = now + WATCH_EVERY;
        let held = server::held_wal(&mut self.sql, &self.settings.slot).await?;
        self.host.check(held.check(&self.settings.slot, self.settings.max_retained_wal));
        Ok(())
    }
}

/// Feeds one message of `pgoutput`.
fn take(
    assembler: &mut Assembler,
    (keys, filler): (&mut HashMap<u32, Vec<String>>, &mut Filler),
    bytes: &[u8],
) -> Result<Drained, Error> {
    let message = Message::parse(bytes)?;
    if let Message::Logical { is_transactional: false, lsn, prefix, content } = &message
        && !filler.take(assembler, (prefix, content), *lsn)?
    {
        return Ok(Drained::Full);
    }
    if let Message::Relation(relation) = &message {
        let hides_key = matches!(relation.identity, Identity::Full | Identity::Nothing);
        let is_asked = hides_key || assembler.asks_for_key(relation);
        if is_asked && !keys.contains_key(&relation.oid) {
            return Ok(Drained::Key(relation.oid));
        }
        assembler.relation(relation, &keys.remove(&relation.oid).unwrap_or_default());
        return Ok(Drained::Dry);
    }
    Ok(match assembler.feed(&message, bytes.len())? {
        Fed::Taken => Drained::Dry,
        Fed::Full => Drained::Full,
    })
}

/// Microseconds since 2000-01-01.
fn now_us() -> i64 {
    jiff::Timestamp::now().as_microsecond() - 946_684_800_000_000
}

//! `cdc_backend = "peek"`: the stream for servers that give no replication connection. The slot is peeked at with SQL, and what comes is
//! spoken to the reader as a walsender would, over a pipe inside this process: so the reader, its batches and its confirmations are
//! the same, and a confirmation becomes `pg_replication_slot_advance`.
//!
//! Invariants: the slot is advanced to what was confirmed and to nothing else; a position without changes is told only after a peek
//! that came to its end, and is one that the log had reached before that peek began.

use std::time::Duration;

use bytes::{Buf, BufMut, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::client::{Connection, Purpose, frame};
use crate::error::Error;
use crate::lsn::Lsn;
use crate::quote;
use crate::server;
use crate::settings::Settings;

/// About so many changes a peek: each begins to decode where the oldest open transaction began, so small ones cost the server most.
const CHANGES: u32 = 10_000;
/// What lies in the pipe at most; the server waits with the rest.
const PIPE_BYTES: usize = 256 << 10;
/// The wait after a peek that brought nothing; doubles up to the second.
const PACE_MIN: Duration = Duration::from_millis(50);
const PACE_MAX: Duration = Duration::from_secs(1);
/// As of the stream: a former connection of ours may hold the slot for a moment.
const IN_USE_WAIT: Duration = Duration::from_secs(3);
const IN_USE_RETRY: Duration = Duration::from_millis(50);

/// The other end of the reader's connection. Ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Peeking(JoinSet<Result<(), Error>>);

impl Peeking {
    /// Why it ended, if it did by itself.
    pub(crate) async fn failure(&mut self) -> Option<Error> {
        match tokio::time::timeout(IN_USE_WAIT, self.0.join_next()).await {
            Ok(Some(Ok(Err(error)))) => Some(error),
            Ok(Some(Ok(Ok(())) | Err(_)) | None) | Err(_) => None,
        }
    }
}

/// Starts to peek at the slot from where it stands; the answer is what the reader reads instead of a replication connection.
pub(crate) async fn start(settings: &Settings) -> Result<(Connection, Peeking), Error> {
    let sql = Connection::open(&settings.target, Purpose::Sql).await?;
    let version = sql.version();
    let (ours, readers) = tokio::io::duplex(PIPE_BYTES);
    let (input, output) = tokio::io::split(ours);
    let peeker = Peeker {
        sql,
        slot: settings.slot.clone(),
        publication: quote::identifier(&settings.publication),
        bytes_max: settings.cut.bytes_max.saturating_mul(2),
        wire: Wire { input, output, received: BytesMut::new(), confirmed: Lsn(0) },
        advanced: Lsn(0),
    };
    let mut tasks = JoinSet::new();
    tasks.spawn(peeker.run());
    Ok((Connection::over(readers, version), Peeking(tasks)))
}

struct Peeker {
    sql: Connection,
    slot: String,
    /// As an identifier.
    publication: String,
    bytes_max: usize,
    wire: Wire,
    /// Where we moved the slot to.
    advanced: Lsn,
}

/// The pipe to the reader.
struct Wire {
    input: ReadHalf<DuplexStream>,
    output: WriteHalf<DuplexStream>,
    received: BytesMut,
    /// The furthest position the reader confirmed.
    confirmed: Lsn,
}

/// What one peek brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Peeked {
    rows: u32,
    /// Where the last of them ends.
    last: Lsn,
}

impl Peeker {
    /// Ends without an error when the reader is gone.
    async fn run(mut self) -> Result<(), Error> {
        let mut pace = PACE_MIN;
        loop {
            let end = server::end_of_log(&mut self.sql).await?;
            let Some(peeked) = self.peek().await? else { return Ok(()) };
            if peeked.rows < CHANGES && !self.wire.send(&keepalive(end)).await {
                return Ok(());
            }
            let wanted = if peeked.rows == 0 { Lsn(0) } else { peeked.last };
            pace = if peeked.rows == 0 { (pace * 2).min(PACE_MAX) } else { PACE_MIN };
            if !self.wire.wait_for(wanted, pace).await {
                return Ok(());
            }
            self.advance().await?;
        }
    }

    /// Peeks once and hands every change on; `None` when the reader is gone.
    async fn peek(&mut self) -> Result<Option<Peeked>, Error> {
        let messages = if self.sql.version() >= 14 { ", 'messages', 'true'" } else { "" };
        let question = format!(
            "SELECT lsn, data FROM pg_catalog.pg_logical_slot_peek_binary_changes($1, NULL, {CHANGES}, 'proto_version', '1', \
             'publication_names', $2{messages})"
        );
        self.begin(&question).await?;
        let mut peeked = Peeked { rows: 0, last: Lsn(0) };
        while let Some(row) = self.sql.next_row_within(self.bytes_max).await? {
            let values = frame::values(&row)?;
            let [Some(lsn), Some(data)] = values.as_slice() else { return Err(no_change()) };
            peeked.rows += 1;
            peeked.last = Lsn(u64::from_be_bytes((*lsn).try_into().map_err(|_| no_change())?));
            if !self.wire.send(&change(peeked.last, data)).await {
                return Ok(None);
            }
        }
        Ok(Some(peeked))
    }

    async fn begin(&mut self, question: &str) -> Result<(), Error> {
        let until = Instant::now() + IN_USE_WAIT;
        loop {
            let parameters = [Some(self.slot.as_str()), Some(self.publication.as_str())];
            match self.sql.begin_binary_rows(question, &parameters).await {
                Err(error) if error.code() == Some("55006") && Instant::now() < until => {
                    sleep(IN_USE_RETRY).await
                }
                other => return other.map(drop),
            }
        }
    }

    /// Moves the slot to what was confirmed.
    async fn advance(&mut self) -> Result<(), Error> {
        let confirmed = self.wire.confirmed;
        if confirmed <= self.advanced {
            return Ok(());
        }
        let position = confirmed.to_string();
        let parameters = [Some(self.slot.as_str()), Some(position.as_str())];
        // A slot that stands there already would be an error.
        let statement = "SELECT pg_catalog.pg_replication_slot_advance(slot_name, $2::pg_lsn) FROM pg_catalog.pg_replication_slots \
                         WHERE slot_name = $1 AND confirmed_flush_lsn < $2::pg_lsn";
        self.sql.query(statement, &parameters).await?;
        self.advanced = confirmed;
        Ok(())
    }
}

impl Wire {
    /// Hands a message on, and takes confirmations meanwhile: the reader may wait for hours. False when it is gone.
    async fn send(&mut self, message: &[u8]) -> bool {
        let mut rest = message;
        while !rest.is_empty() {
            tokio::select! {
                written = self.output.write(rest) => match written {
                    Ok(count @ 1..) => rest = &rest[count..],
                    Ok(0) | Err(_) => return false,
                },
                read = self.input.read_buf(&mut self.received) => {
                    if !matches!(read, Ok(1..)) || !self.take() {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Waits until `wanted` is confirmed, and at least for `pace`. False when the reader is gone.
    async fn wait_for(&mut self, wanted: Lsn, pace: Duration) -> bool {
        let until = Instant::now() + pace;
        while self.confirmed < wanted || (wanted == Lsn(0) && Instant::now() < until) {
            tokio::select! {
                read = self.input.read_buf(&mut self.received) => {
                    if !matches!(read, Ok(1..)) || !self.take() {
                        return false;
                    }
                }
                () = tokio::time::sleep_until(until), if wanted == Lsn(0) => {}
            }
        }
        true
    }

    /// Takes the confirmations that came. False when the reader said goodbye, or what nobody understands.
    fn take(&mut self) -> bool {
        loop {
            match frame::take(&mut self.received) {
                Ok(Some(message)) if message.tag == frame::tag::COPY_DATA => {
                    self.confirmed = self.confirmed.max(flushed(&message.body).unwrap_or_default());
                }
                Ok(Some(_)) | Err(_) => return false,
                Ok(None) => return true,
            }
        }
    }
}

/// What a status update says is flushed; zero says nothing.
fn flushed(status: &[u8]) -> Option<Lsn> {
    let mut status = status;
    (status.len() == 34 && status.get_u8() == b'r').then(|| {
        status.advance(8);
        Lsn(status.get_u64())
    })
}

/// As a walsender says a change.
fn change(lsn: Lsn, data: &[u8]) -> BytesMut {
    let mut out = copy_data(25 + data.len());
    out.put_u8(b'w');
    out.put_u64(lsn.0);
    out.put_u64(lsn.0);
    out.put_u64(0);
    out.put_slice(data);
    out
}

/// As a walsender says where it has read to.
fn keepalive(end: Lsn) -> BytesMut {
    let mut out = copy_data(18);
    out.put_u8(b'k');
    out.put_u64(end.0);
    out.put_i64(0);
    out.put_u8(0);
    out
}

fn copy_data(bytes: usize) -> BytesMut {
    let mut out = BytesMut::with_capacity(5 + bytes);
    out.put_u8(frame::tag::COPY_DATA);
    // The server's own messages are shorter than a gigabyte.
    out.put_u32(u32::try_from(4 + bytes).unwrap_or(u32::MAX));
    out
}

fn no_change() -> Error {
    Error::Protocol("a peek that brought something else than positions and changes".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pgoutput::{Streamed, status};

    fn body(message: &[u8]) -> &[u8] {
        let (tag, range) = frame::first(message).unwrap().unwrap();
        assert_eq!((tag, range.end), (frame::tag::COPY_DATA, message.len()));
        &message[range]
    }

    #[test]
    fn the_reader_is_spoken_to_as_a_walsender_speaks() {
        let said = change(Lsn(7), b"C...");
        assert_eq!(Streamed::parse(body(&said)).unwrap(), Streamed::Data { end: Lsn(7), bytes: b"C..." });
        let said = keepalive(Lsn(9));
        let told = Streamed::Keepalive { end: Lsn(9), is_reply_wanted: false };
        assert_eq!(Streamed::parse(body(&said)).unwrap(), told);
    }

    #[test]
    fn only_what_is_flushed_moves_the_slot() {
        assert_eq!(flushed(&status(Lsn(900), Some(Lsn(7)), 0)), Some(Lsn(7)));
        assert_eq!(flushed(&status(Lsn(900), None, 0)), Some(Lsn(0)), "zero is below every position");
        assert_eq!(flushed(b"h"), None);
    }
}

//! The messages of `pgoutput`, protocol version 1, in text format (PostgreSQL manual, "Logical Replication Message Formats").
//!
//! Pure: bytes in, borrowed messages out. An unknown tag or kind of value is an error, never passed over.

use crate::client::frame::Reader;
use crate::error::Error;
use crate::lsn::Lsn;

/// One message of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message<'a> {
    Begin(Begin),
    Commit(Commit),
    Origin,
    Relation(Relation<'a>),
    Type(TypeName<'a>),
    Insert {
        relation: u32,
        new: Tuple<'a>,
    },
    Update {
        relation: u32,
        old: Option<Old<'a>>,
        new: Tuple<'a>,
    },
    Delete {
        relation: u32,
        old: Old<'a>,
    },
    Truncate {
        relations: Vec<u32>,
    },
    /// `pg_logical_emit_message`.
    Logical {
        is_transactional: bool,
        /// Where the message lies in the log.
        lsn: Lsn,
        prefix: &'a str,
        content: &'a [u8],
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Begin {
    /// Where the commit record begins.
    pub(crate) final_lsn: Lsn,
    /// Microseconds since 2000-01-01.
    pub(crate) time_us: i64,
    pub(crate) xid: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) commit_lsn: Lsn,
    /// Where the commit record ends: the position that covers the transaction.
    pub(crate) end_lsn: Lsn,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relation<'a> {
    pub(crate) oid: u32,
    pub(crate) schema: &'a str,
    pub(crate) name: &'a str,
    pub(crate) identity: Identity,
    pub(crate) columns: Vec<Column<'a>>,
}

/// `REPLICA IDENTITY` of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    /// The primary key, if there is one.
    Default,
    Nothing,
    Full,
    Index,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Column<'a> {
    /// Part of the replica identity.
    pub(crate) is_identity: bool,
    pub(crate) name: &'a str,
    pub(crate) oid: u32,
    /// What stands in parentheses behind the type, -1 for nothing.
    pub(crate) modifier: i32,
}

/// Comes before a relation that uses a type which is not built in. For a domain it names the base type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeName<'a> {
    pub(crate) oid: u32,
    /// Empty for `pg_catalog`.
    pub(crate) schema: &'a str,
    pub(crate) name: &'a str,
}

/// The row before the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Old<'a> {
    /// The columns of the identity; what else stands there is filler, not null.
    Key(Tuple<'a>),
    Full(Tuple<'a>),
}

/// A row, not yet cut into values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tuple<'a> {
    count: u16,
    bytes: &'a [u8],
}

/// One value of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Null,
    /// Stored out of line and not touched by the change, so not sent.
    Unchanged,
    Text(&'a [u8]),
}

impl<'a> Tuple<'a> {
    /// Cuts the values out; they were checked when the message was read.
    pub(crate) fn values(&self) -> impl Iterator<Item = Value<'a>> + use<'a> {
        let mut reader = Reader::new(self.bytes);
        (0..self.count).map_while(move |_| value(&mut reader).ok())
    }

    fn read(reader: &mut Reader<'a>) -> Result<Tuple<'a>, Error> {
        let count = reader.u16()?;
        let all = reader.rest();
        for _ in 0..count {
            value(reader)?;
        }
        Ok(Tuple { count, bytes: &all[..all.len() - reader.rest().len()] })
    }
}

fn value<'a>(reader: &mut Reader<'a>) -> Result<Value<'a>, Error> {
    match reader.u8()? {
        b'n' => Ok(Value::Null),
        b'u' => Ok(Value::Unchanged),
        b't' => {
            let length = reader.u32()?;
            reader.bytes(length as usize).map(Value::Text)
        }
        other => Err(Error::Protocol(format!("a value of kind `{}`", other.escape_ascii()))),
    }
}

impl<'a> Message<'a> {
    /// Reads one message, to its last byte.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Message<'a>, Error> {
        let mut reader = Reader::new(bytes);
        let message = match reader.u8()? {
            b'B' => Message::Begin(Begin {
                final_lsn: Lsn(reader.u64()?),
                time_us: reader.i64()?,
                xid: reader.u32()?,
            }),
            b'C' => {
                reader.u8()?;
                let commit = Commit { commit_lsn: Lsn(reader.u64()?), end_lsn: Lsn(reader.u64()?) };
                reader.i64()?;
                Message::Commit(commit)
            }
            b'O' => {
                reader.u64()?;
                reader.text()?;
                Message::Origin
            }
            b'R' => Message::Relation(relation(&mut reader)?),
            b'Y' => {
                Message::Type(TypeName { oid: reader.u32()?, schema: reader.text()?, name: reader.text()? })
            }
            b'I' => {
                let relation = reader.u32()?;
                new_follows(reader.u8()?)?;
                Message::Insert { relation, new: Tuple::read(&mut reader)? }
            }
            b'U' => update(&mut reader)?,
            b'D' => {
                let relation = reader.u32()?;
                let kind = reader.u8()?;
                let old = old(kind, &mut reader)?.ok_or_else(|| unknown("a deleted row", kind))?;
                Message::Delete { relation, old }
            }
            b'T' => {
                let count = reader.u32()?;
                reader.u8()?;
                let relations = (0..count).map(|_| reader.u32()).collect::<Result<_, _>>()?;
                Message::Truncate { relations }
            }
            b'M' => {
                let is_transactional = reader.u8()? & 1 == 1;
                let (lsn, prefix, length) = (Lsn(reader.u64()?), reader.text()?, reader.u32()?);
                let content = reader.bytes(length as usize)?;
                Message::Logical { is_transactional, lsn, prefix, content }
            }
            other => return Err(unknown("a change", other)),
        };
        if reader.is_empty() {
            Ok(message)
        } else {
            Err(Error::Protocol("a change with bytes behind its end".into()))
        }
    }
}

fn update<'a>(reader: &mut Reader<'a>) -> Result<Message<'a>, Error> {
    let relation = reader.u32()?;
    let kind = reader.u8()?;
    let old = old(kind, reader)?;
    if old.is_some() {
        new_follows(reader.u8()?)?;
    } else {
        new_follows(kind)?;
    }
    Ok(Message::Update { relation, old, new: Tuple::read(reader)? })
}

fn old<'a>(kind: u8, reader: &mut Reader<'a>) -> Result<Option<Old<'a>>, Error> {
    Ok(match kind {
        b'K' => Some(Old::Key(Tuple::read(reader)?)),
        b'O' => Some(Old::Full(Tuple::read(reader)?)),
        _ => None,
    })
}

fn new_follows(kind: u8) -> Result<(), Error> {
    if kind == b'N' { Ok(()) } else { Err(unknown("a new row", kind)) }
}

fn relation<'a>(reader: &mut Reader<'a>) -> Result<Relation<'a>, Error> {
    let oid = reader.u32()?;
    let schema = match reader.text()? {
        "" => "pg_catalog",
        schema => schema,
    };
    let name = reader.text()?;
    let identity = match reader.u8()? {
        b'd' => Identity::Default,
        b'n' => Identity::Nothing,
        b'f' => Identity::Full,
        b'i' => Identity::Index,
        other => return Err(unknown("a replica identity", other)),
    };
    let count = reader.u16()?;
    let mut columns = Vec::with_capacity(usize::from(count));
    for _ in 0..count {
        let is_identity = reader.u8()? & 1 == 1;
        let name = reader.text()?;
        let oid = reader.u32()?;
        let modifier = reader.i32()?;
        columns.push(Column { is_identity, name, oid, modifier });
    }
    Ok(Relation { oid, schema, name, identity, columns })
}

fn unknown(what: &str, tag: u8) -> Error {
    Error::Protocol(format!("{what} of kind `{}`", tag.escape_ascii()))
}

/// A message of the replication stream, inside `CopyData`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Streamed<'a> {
    /// A `pgoutput` message; `end` is how far the server has read, or zero.
    Data { end: Lsn, bytes: &'a [u8] },
    /// Where the server has read to; it may want an answer.
    Keepalive { end: Lsn, is_reply_wanted: bool },
}

impl<'a> Streamed<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Streamed<'a>, Error> {
        let mut reader = Reader::new(bytes);
        match reader.u8()? {
            b'w' => {
                reader.u64()?;
                let end = Lsn(reader.u64()?);
                reader.u64()?;
                Ok(Streamed::Data { end, bytes: reader.rest() })
            }
            b'k' => {
                let end = Lsn(reader.u64()?);
                reader.i64()?;
                Ok(Streamed::Keepalive { end, is_reply_wanted: reader.u8()? == 1 })
            }
            other => Err(unknown("a message of the stream", other)),
        }
    }
}

/// Our answer: `received` for the server's view, `flushed` when it advances, else zero, which means "unknown" and moves nothing. With
/// a value that stands still a server that shuts down would wait for us for ever.
pub(crate) fn status(received: Lsn, flushed: Option<Lsn>, time_us: i64) -> [u8; 34] {
    let flushed = flushed.unwrap_or_default();
    let mut out = [0; 34];
    out[0] = b'r';
    out[1..9].copy_from_slice(&received.0.to_be_bytes());
    out[9..17].copy_from_slice(&flushed.0.to_be_bytes());
    out[17..25].copy_from_slice(&flushed.0.to_be_bytes());
    out[25..33].copy_from_slice(&time_us.to_be_bytes());
    out
}

#[cfg(test)]
mod tests;

//! A change of a row: what happened, to which row, where and when.

use std::fmt::Write;

use jiff::Timestamp;

use crate::lsn::Lsn;
use crate::quote::TableName;
use crate::row::Row;

/// What happened to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Insert,
    Update,
    Delete,
    Truncate,
    /// Read by the snapshot.
    Read,
    /// Read by a poll.
    Select,
}

impl Verb {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Verb::Insert => "INSERT",
            Verb::Update => "UPDATE",
            Verb::Delete => "DELETE",
            Verb::Truncate => "TRUNCATE",
            Verb::Read => "READ",
            Verb::Select => "SELECT",
        }
    }
}

/// One change of one row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<'a> {
    pub(crate) verb: Verb,
    pub(crate) new: Option<Row<'a>>,
    pub(crate) old: Option<OldRow<'a>>,
}

/// The row before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OldRow<'a> {
    pub(crate) row: Row<'a>,
    /// Only the columns of the identity have values; the rest is filler.
    pub(crate) is_key_only: bool,
}

/// Where and when a record comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin<'a> {
    pub(crate) place: Place<'a>,
    pub(crate) time: &'a Moment,
}

impl Origin<'_> {
    /// Writes the id of a record, the same in every envelope: the commit position and the ordinal; of a row of a snapshot, the
    /// snapshot, the table and the key; of a row of a poll, the table and the cursor.
    pub(crate) fn identify(&self, id: &mut String, table: &TableName, key: &[u8]) {
        id.clear();
        // Writing to a string cannot fail.
        let _ = match self.place {
            Place::Change { lsn, ordinal, .. } => write!(id, "{lsn}:{ordinal}"),
            Place::Snapshot { .. } if key.is_empty() => Ok(()),
            Place::Snapshot { lsn } => write!(id, "{lsn}:{table}:{}", String::from_utf8_lossy(key)),
            Place::Poll { cursor } => write!(id, "{table}:{cursor}"),
        };
    }
}

/// Where a record comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place<'a> {
    /// The commit position, the transaction, and which change of it.
    Change {
        lsn: &'a str,
        /// Where the change itself stands.
        at: Lsn,
        /// The end of the transaction before.
        after: Lsn,
        xid: u32,
        ordinal: u64,
    },
    /// The position where the stream goes on.
    Snapshot { lsn: &'a str },
    /// The values that order the rows, as JSON.
    Poll { cursor: &'a str },
}

impl Origin<'_> {
    /// The id of a row of a poll.
    pub(crate) fn id_of_poll(&self, table: &TableName) -> String {
        match self.place {
            Place::Poll { cursor } => format!("{table}:{cursor}"),
            Place::Change { .. } | Place::Snapshot { .. } => String::new(),
        }
    }
}

/// A time, and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    text: String,
    at: Timestamp,
}

impl Moment {
    /// Microseconds since 2000-01-01, as PostgreSQL counts.
    pub(crate) fn from_postgres(time_us: i64) -> Moment {
        const EPOCH_2000_US: i64 = 946_684_800_000_000;
        let at = Timestamp::from_microsecond(time_us.saturating_add(EPOCH_2000_US));
        // The server's clock may stand anywhere; beyond the year 9999 it is a broken one.
        Moment::at(at.unwrap_or(Timestamp::UNIX_EPOCH))
    }

    pub(crate) fn now() -> Moment {
        Moment::at(Timestamp::now())
    }

    /// RFC 3339 with microseconds.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn as_millisecond(&self) -> i64 {
        self.at.as_millisecond()
    }

    pub(crate) fn as_microsecond(&self) -> i64 {
        self.at.as_microsecond()
    }

    pub(crate) fn as_nanosecond(&self) -> i64 {
        i64::try_from(self.at.as_nanosecond()).unwrap_or_default()
    }

    fn at(at: Timestamp) -> Moment {
        Moment { text: format!("{at:.6}"), at }
    }
}

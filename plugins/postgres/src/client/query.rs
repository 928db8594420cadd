//! Queries: simple ones for what has no parameters, extended ones with bound parameters; results as text.

use bytes::Bytes;
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;

use super::connection::Connection;
use super::frame::{self, Frame, ResultColumn, tag};
use crate::error::Error;

/// Code of the binary format.
const BINARY: i16 = 1;

/// A whole result.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    /// Bodies of `DataRow` messages.
    rows: Vec<Bytes>,
}

impl Table {
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The value as text; `None` when it is null, not there, or no UTF-8.
    pub(crate) fn text(&self, row: usize, column: usize) -> Option<&str> {
        let values = frame::values(self.rows.get(row)?).ok()?;
        std::str::from_utf8((*values.get(column)?)?).ok()
    }

    /// All values of one column that are text.
    pub(crate) fn texts(&self, column: usize) -> impl Iterator<Item = &str> {
        (0..self.len()).filter_map(move |row| self.text(row, column))
    }
}

/// A result that is read row by row.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) columns: Vec<ResultColumn>,
}

impl Connection {
    /// Runs statements without parameters; the answer is the last result that has columns.
    pub(crate) async fn simple(&mut self, sql: &str) -> Result<Table, Error> {
        self.say(|out| frontend::query(sql, out).map_err(text))?;
        self.flush().await?;
        let (mut table, mut failed) = (Table::default(), None);
        loop {
            let frame = match self.frame().await {
                Ok(frame) => frame,
                Err(error @ Error::Server(_)) => {
                    failed = Some(error);
                    continue;
                }
                Err(error) => return Err(error),
            };
            match frame.tag {
                tag::ROW_DESCRIPTION => table = Table::default(),
                tag::DATA_ROW => table.rows.push(frame.body),
                tag::COMMAND_COMPLETE | tag::EMPTY_QUERY => {}
                tag::READY => return failed.map_or(Ok(table), Err),
                _ => return Err(unexpected(&frame)),
            }
        }
    }

    /// Begins to stream; from now on everything is `CopyData`.
    pub(crate) async fn start_replication(&mut self, command: &str) -> Result<(), Error> {
        self.say(|out| frontend::query(command, out).map_err(text))?;
        self.flush().await?;
        let frame = self.answer().await?;
        if frame.tag == tag::COPY_BOTH { Ok(()) } else { Err(unexpected(&frame)) }
    }

    /// Puts one message of ours into the stream; `flush` sends it.
    pub(crate) fn say_copy_data(&mut self, message: &[u8]) -> Result<(), Error> {
        self.say(|out| {
            frontend::CopyData::new(message).map_err(text)?.write(out);
            Ok(())
        })
    }

    /// Runs one statement with parameters bound as text; the server takes each for the type its place asks for.
    pub(crate) async fn query(&mut self, sql: &str, parameters: &[Option<&str>]) -> Result<Table, Error> {
        self.begin_rows(sql, parameters).await?;
        let mut table = Table::default();
        while let Some(row) = self.next_row().await? {
            table.rows.push(row);
        }
        Ok(table)
    }

    /// Begins a statement whose rows are read one by one with [`next_row`](Connection::next_row), to the end.
    pub(crate) async fn begin_rows(&mut self, sql: &str, parameters: &[Option<&str>]) -> Result<Rows, Error> {
        self.begin(sql, parameters, &[]).await
    }

    /// As [`begin_rows`](Connection::begin_rows), with values in the binary format.
    pub(crate) async fn begin_binary_rows(
        &mut self,
        sql: &str,
        parameters: &[Option<&str>],
    ) -> Result<Rows, Error> {
        self.begin(sql, parameters, &[BINARY]).await
    }

    async fn begin(
        &mut self,
        sql: &str,
        parameters: &[Option<&str>],
        results: &[i16],
    ) -> Result<Rows, Error> {
        self.say(|out| {
            frontend::parse("", sql, [], out).map_err(text)?;
            let formats: [i16; 0] = [];
            let results = results.iter().copied();
            let bound = frontend::bind("", "", formats, parameters, put, results, out);
            bound.map_err(|_| Error::Protocol("a parameter is too long".into()))?;
            frontend::describe(b'P', "", out).map_err(text)?;
            frontend::execute("", 0, out).map_err(text)?;
            frontend::sync(out);
            Ok(())
        })?;
        self.flush().await?;
        loop {
            let frame = self.answer().await?;
            match frame.tag {
                tag::PARSE_COMPLETE | tag::BIND_COMPLETE => {}
                tag::ROW_DESCRIPTION => return Ok(Rows { columns: frame::columns(&frame.body)? }),
                tag::NO_DATA => return Ok(Rows { columns: Vec::new() }),
                _ => return Err(unexpected(&frame)),
            }
        }
    }

    /// The body of the next `DataRow`, or `None` when the statement is done.
    pub(crate) async fn next_row(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            let frame = self.answer().await?;
            match frame.tag {
                tag::DATA_ROW => return Ok(Some(frame.body)),
                tag::COMMAND_COMPLETE | tag::EMPTY_QUERY => {}
                tag::READY => return Ok(None),
                _ => return Err(unexpected(&frame)),
            }
        }
    }

    /// As [`next_row`](Connection::next_row), but a row of more than `bytes_max` is refused before it fills the memory.
    pub(crate) async fn next_row_within(&mut self, bytes_max: usize) -> Result<Option<Bytes>, Error> {
        while frame::first(&self.input)?.is_none() {
            if let Some(bytes) = frame::declared(&self.input).filter(|bytes| *bytes > bytes_max) {
                return Err(Error::Refused(format!(
                    "a change of {bytes} bytes comes, more than twice the limit of a batch ([limits] batch_bytes); nothing was \
                     skipped: raise the limit, or leave the large column out of the publication"
                )));
            }
            self.fill().await?;
        }
        self.next_row().await
    }

    /// The next message; after an error the rest of the answer is read too, so that the connection stays in step.
    async fn answer(&mut self) -> Result<Frame, Error> {
        match self.frame().await {
            Err(error @ Error::Server(_)) => {
                while self.frame().await?.tag != tag::READY {}
                Err(error)
            }
            other => other,
        }
    }
}

fn put(
    value: &Option<&str>,
    out: &mut bytes::BytesMut,
) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
    match value {
        None => Ok(IsNull::Yes),
        Some(text) => {
            out.extend_from_slice(text.as_bytes());
            Ok(IsNull::No)
        }
    }
}

fn unexpected(frame: &Frame) -> Error {
    Error::Protocol(format!("message `{}` in the answer to a query", (frame.tag as char).escape_default()))
}

fn text(error: std::io::Error) -> Error {
    Error::Protocol(error.to_string())
}

//! The side of the stream: sees the marks pass and puts chunks where their second mark stands.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;

use super::Moved;
use super::chunk::Chunk;
use super::marks::{Mark, PREFIX};
use crate::assembler::Assembler;
use crate::error::Error;
use crate::lsn::Lsn;
use crate::quote::TableName;

/// What both sides see.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Of the chunk that is being read.
    pub(super) table: Option<TableName>,
    /// Read, and waiting for its second mark to pass.
    pub(super) chunk: Option<Chunk>,
}

/// What became of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passed {
    /// Transactions are noted from here on.
    Begun,
    /// Rows were put into a batch; the columns of the table may have changed.
    Placed { is_described: bool },
    /// The chunk is to be read again.
    Again { is_described: bool },
    /// Noting must begin anew, then the chunk is to be read again.
    Anew,
}

/// In the hands of the task that reads the stream.
#[derive(Debug)]
pub(crate) struct Filler {
    pub(super) run: String,
    pub(super) shared: Arc<Mutex<Shared>>,
    pub(super) passed: mpsc::UnboundedSender<Passed>,
    /// True once the batch being built is delivered.
    pub(super) moved: Option<Moved>,
}

impl Filler {
    /// Takes a logical message outside any transaction; false when the batch must be handed over before it is taken.
    pub(crate) fn take(
        &mut self,
        assembler: &mut Assembler,
        (prefix, content): (&str, &[u8]),
        lsn: Lsn,
    ) -> Result<bool, Error> {
        if prefix != PREFIX {
            return Ok(true);
        }
        let Some(mark) = Mark::parse(content, &self.run) else { return Ok(true) };
        match mark {
            Mark::Begin => {
                assembler.window.begin();
                self.tell(Passed::Begun);
            }
            Mark::Low(_) => {
                if let Some(table) = self.shared().table.take() {
                    assembler.window.low(table);
                }
            }
            Mark::High(_) if assembler.has_records() || self.moved.is_some() => return Ok(false),
            Mark::High(number) => self.high(assembler, number, lsn)?,
        }
        Ok(true)
    }

    fn high(&mut self, assembler: &mut Assembler, number: u64, lsn: Lsn) -> Result<(), Error> {
        // An old mark must not take a newer chunk away.
        let chunk = self.shared().chunk.take_if(|chunk| chunk.number == number);
        let Some(chunk) = chunk else { return Ok(()) };
        let is_noting = assembler.window.is_noting();
        let Some(keys) = assembler.window.high(&chunk.sight) else {
            self.tell(if is_noting { Passed::Again { is_described: false } } else { Passed::Anew });
            return Ok(());
        };
        let is_described = keys.is_described();
        self.moved = chunk.place(&keys, &lsn.to_string(), &mut assembler.target())?;
        let is_placed = self.moved.is_some();
        self.tell(if is_placed { Passed::Placed { is_described } } else { Passed::Again { is_described } });
        Ok(())
    }

    /// What goes with the batch that is handed over.
    pub(crate) fn moved(&mut self) -> Option<Moved> {
        self.moved.take()
    }

    /// Whether something waits to be handed over.
    pub(crate) fn has_moved(&self) -> bool {
        self.moved.is_some()
    }

    fn tell(&self, passed: Passed) {
        // The other side may have ended: then nobody reads chunks any more.
        let _ = self.passed.send(passed);
    }

    fn shared(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

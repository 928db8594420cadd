//! What the harness did and saw, in order: the ledger's second input beside the log.
//!
//! Written to a file as it happens, one JSON object a line, so that a failed run can be judged again. The engine's
//! own log is evidence for people and never an input here.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A process is about to be started.
    Started {
        /// The clock of this machine, which the records of this process carry too.
        wall_ms: i64,
        /// How, for people: the fail point, the injection.
        how: String,
    },
    /// Something was broken: a kill, a pause, a fault switched on.
    Broken {
        /// What, for people.
        what: String,
        /// True when network bytes may have been held back, so that late copies are to be expected.
        holds_bytes: bool,
    },
    /// The last fault has ended; from here the time of the recovery counts.
    Mended,
    /// The saved state as it was read from the store.
    Saw {
        /// When it had been read.
        wall_ms: i64,
        /// What stood there.
        state: Saved,
    },
    /// The store was read and there was no state.
    SawNothing,
    /// The source is running again with nothing left to catch up.
    Recovered {
        /// Since the last [`Event::Mended`].
        after_ms: u64,
    },
}

/// The saved state of the random source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saved {
    /// The opening that wrote it.
    pub life: u64,
    /// The batch it covers.
    pub number: u64,
    /// Everything before it is delivered.
    pub position: u64,
}

#[derive(Serialize)]
struct Line<'a> {
    at_ms: u128,
    #[serde(flatten)]
    event: &'a Event,
}

/// The file.
#[derive(Debug)]
pub struct Journal {
    file: File,
    began: Instant,
}

impl Journal {
    /// A new file, in place of any that is there.
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(Error::io(format!("create {}", path.display())))?;
        Ok(Self { file, began: Instant::now() })
    }

    /// Appends one event with the time since the journal began.
    pub fn write(&mut self, event: &Event) -> Result<()> {
        let line = Line { at_ms: self.began.elapsed().as_millis(), event };
        let text = serde_json::to_string(&line).expect("events are plain data");
        writeln!(self.file, "{text}").map_err(Error::io("write the journal"))
    }
}

/// The clock of this machine in milliseconds since 1970.
///
/// # Panics
/// When the clock stands before 1970.
pub fn wall_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock stands after 1970");
    i64::try_from(since.as_millis()).expect("milliseconds fit until the year 292 million")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_with_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events");
        let state = Saved { life: u64::MAX, number: 2, position: 3 };
        let event = Event::Saw { wall_ms: 9, state };

        Journal::create(&path).unwrap().write(&event).unwrap();

        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 1);
        assert!(text.contains("\"event\":\"saw\"") && text.contains("\"at_ms\":"), "{text}");
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
    }
}

//! Where `dev` writes: a terminal with one status line at its end, plain lines, or JSON lines.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tracing_subscriber::fmt::MakeWriter;

use crate::output::{self, Stream};
use crate::terminal;

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// A terminal: colours, a status line that is written over, long lines cut.
    Live,
    /// One whole line after another.
    Plain,
    /// One JSON object after another.
    Json,
}

impl Look {
    /// What fits where standard output goes.
    pub(crate) fn of_stdout(is_json: bool) -> Look {
        match (is_json, Stream::Stdout.is_terminal()) {
            (true, _) => Look::Json,
            (false, true) => Look::Live,
            (false, false) => Look::Plain,
        }
    }
}

/// The one writer of `dev`, so that lines of records, of logs and of status never run into each other.
#[derive(Debug, Clone)]
pub(crate) struct Screen {
    look: Look,
    status: Arc<Mutex<String>>,
    is_closed: Arc<AtomicBool>,
}

impl Screen {
    /// Writes to standard output from now on.
    pub(crate) fn new(look: Look) -> Screen {
        Screen { look, status: Arc::default(), is_closed: Arc::default() }
    }

    /// How it writes.
    pub(crate) fn look(&self) -> Look {
        self.look
    }

    /// Whether nobody reads any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    fn put(&self, text: &str) {
        if !output::try_write(Stream::Stdout, text) {
            self.is_closed.store(true, Ordering::Relaxed);
        }
    }

    /// One line for people, cut where it would break; not written where programs read.
    pub(crate) fn line(&self, line: &str) {
        match self.look {
            Look::Json | Look::Plain => self.note(line),
            Look::Live => self.note(&cut(line, terminal::columns())),
        }
    }

    /// The same for a line that must be seen whole.
    pub(crate) fn note(&self, line: &str) {
        match self.look {
            Look::Json => {}
            Look::Plain => self.put(&format!("{line}\n")),
            Look::Live => {
                let status = self.status();
                self.put(&format!("\r\x1b[2K{line}\n{status}"));
            }
        }
    }

    /// Text of several lines for people, as it is.
    pub(crate) fn text(&self, text: &str) {
        if self.look != Look::Json {
            self.put(text);
        }
    }

    /// One object for programs.
    pub(crate) fn object(&self, object: &Value) {
        if self.look == Look::Json {
            self.put(&format!("{object}\n"));
        }
    }

    /// Replaces the line at the end of a terminal; an empty one removes it.
    pub(crate) fn set_status(&self, line: &str) {
        if self.look == Look::Live {
            let mut status = self.status();
            *status = cut(line, terminal::columns().saturating_sub(1));
            self.put(&format!("\r\x1b[2K{}", *status));
        }
    }

    fn status(&self) -> MutexGuard<'_, String> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first `columns` characters of a line; what is left out is marked. Escapes that change colour count for nothing.
fn cut(line: &str, columns: usize) -> String {
    let (mut seen, mut is_escape, mut text) = (0, false, String::new());
    for character in line.chars() {
        is_escape |= character == '\x1b';
        if !is_escape {
            seen += 1;
            if seen == columns && line.chars().count() > columns {
                text.push('…');
                continue;
            }
            if seen > columns {
                continue;
            }
        }
        text.push(character);
        is_escape &= character != 'm';
    }
    text
}

/// Log lines go above the status line too.
impl<'a> MakeWriter<'a> for Screen {
    type Writer = LogLine;

    fn make_writer(&'a self) -> LogLine {
        LogLine { screen: self.clone(), text: Vec::new() }
    }
}

/// One log line while it is formatted; written when it is dropped.
#[derive(Debug)]
pub(crate) struct LogLine {
    screen: Screen,
    text: Vec<u8>,
}

impl Write for LogLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for LogLine {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.text);
        match self.screen.look {
            Look::Live => text.lines().for_each(|line| self.screen.note(line)),
            // Standard output is for records there.
            Look::Plain | Look::Json => {
                output::write(Stream::Stderr, &text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_to_the_terminal_and_colours_do_not_count() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
        assert_eq!(cut("\x1b[2mabc\x1b[0mdefg", 6), "\x1b[2mabc\x1b[0mde…");
    }
}

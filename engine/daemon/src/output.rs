//! Text to the two streams of a terminal program. A reader that went away is no error: `check | head` is fine.

use std::io::{IsTerminal as _, Write as _};

/// One of the two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Answers.
    Stdout,
    /// Everything that is not the answer.
    Stderr,
}

impl Stream {
    /// Whether a person sees it.
    pub(crate) fn is_terminal(self) -> bool {
        match self {
            Stream::Stdout => std::io::stdout().is_terminal(),
            Stream::Stderr => std::io::stderr().is_terminal(),
        }
    }

    /// Whether colours and box drawing are welcome there (`NO_COLOR` switches them off).
    pub(crate) fn is_fancy(self) -> bool {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        self.is_terminal() && !refused
    }
}

/// Writes all of `text`. What cannot be written is lost: there is nobody left to tell.
pub(crate) fn write(stream: Stream, text: &str) {
    try_write(stream, text);
}

/// The same; `false` when the reader is gone.
pub(crate) fn try_write(stream: Stream, text: &str) -> bool {
    let written = match stream {
        Stream::Stdout => {
            let mut out = std::io::stdout().lock();
            out.write_all(text.as_bytes()).and_then(|()| out.flush())
        }
        Stream::Stderr => {
            let mut out = std::io::stderr().lock();
            out.write_all(text.as_bytes()).and_then(|()| out.flush())
        }
    };
    written.is_ok()
}

/// One JSON value as a document for programs.
pub(crate) fn write_json(value: &impl serde::Serialize) {
    let text = serde_json::to_string_pretty(value).expect("what we print has text keys only");
    write(Stream::Stdout, &format!("{text}\n"));
}

/// Text of others for a terminal: what would move the cursor or begin a new line is written out.
pub(crate) fn harmless(text: &str) -> String {
    let write = |mut shown: String, c: char| {
        if c.is_control() {
            shown.extend(c.escape_default())
        } else {
            shown.push(c)
        }
        shown
    };
    text.chars().fold(String::with_capacity(text.len()), write)
}

/// A table without the blanks at both ends of its lines, each line ended.
pub(crate) fn trimmed(table: &str) -> String {
    table.lines().map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line).trim_end())).collect()
}

/// Bytes as a member of a document: text, or base64 under a name that says so, or null.
pub(crate) fn put_bytes(object: &mut serde_json::Value, name: &str, bytes: Option<&[u8]>) {
    use base64::Engine as _;
    match bytes.map(std::str::from_utf8) {
        None => object[name] = serde_json::Value::Null,
        Some(Ok(text)) => object[name] = serde_json::Value::from(text),
        Some(Err(_not_text)) => {
            let encoded = base64::engine::general_purpose::STANDARD.encode(bytes.unwrap_or_default());
            object[format!("{name}_base64")] = serde_json::Value::from(encoded);
        }
    }
}

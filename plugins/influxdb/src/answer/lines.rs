//! Lines out of pieces.

use crate::error::Error;

/// Longest line: one chunk of an InfluxQL answer, or one row.
const LINE_BYTES_MAX: usize = 64 << 20;

/// The rest of a line that has not ended.
#[derive(Debug, Default)]
pub(super) struct Lines {
    rest: Vec<u8>,
}

impl Lines {
    /// Gives each whole line to `take`, without its end; empty ones are passed over.
    pub(super) fn feed(
        &mut self,
        mut bytes: &[u8],
        mut take: impl FnMut(&str) -> Result<(), Error>,
    ) -> Result<(), Error> {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, after) = (&bytes[..end], &bytes[end + 1..]);
            if self.rest.is_empty() {
                one(line, &mut take)?;
            } else {
                self.keep(line)?;
                let whole = std::mem::take(&mut self.rest);
                one(&whole, &mut take)?;
                self.rest = whole;
                self.rest.clear();
            }
            bytes = after;
        }
        self.keep(bytes)
    }

    /// The last line, which may have no end.
    pub(super) fn finish(&mut self, mut take: impl FnMut(&str) -> Result<(), Error>) -> Result<(), Error> {
        let rest = std::mem::take(&mut self.rest);
        one(&rest, &mut take)
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.rest.len() + bytes.len() > LINE_BYTES_MAX {
            return Err(Error::Malformed(format!("a line longer than {LINE_BYTES_MAX} bytes")));
        }
        self.rest.extend_from_slice(bytes);
        Ok(())
    }
}

fn one(line: &[u8], take: &mut impl FnMut(&str) -> Result<(), Error>) -> Result<(), Error> {
    let text = std::str::from_utf8(line).map_err(|_| Error::Malformed("no UTF-8".to_owned()))?;
    let text = text.trim_end_matches('\r');
    if text.is_empty() { Ok(()) } else { take(text) }
}

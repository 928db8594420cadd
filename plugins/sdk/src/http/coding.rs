//! The content coding of an answer, undone in small steps.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::write::GzDecoder;

/// Compressed bytes taken at once: gzip grows them a thousandfold at most, so a step makes four megabytes at most.
const STEP_BYTES: usize = 4096;

/// Takes an answer as it comes and gives it as it was meant.
#[derive(Debug)]
pub(super) enum Coding {
    Plain,
    Gzip { decoder: Box<GzDecoder<Vec<u8>>>, waiting: Bytes },
}

impl Coding {
    pub(super) fn gzip() -> Coding {
        Coding::Gzip { decoder: Box::new(GzDecoder::new(Vec::new())), waiting: Bytes::new() }
    }

    /// The next piece out of what was taken before, if it holds one.
    pub(super) fn next(&mut self) -> io::Result<Option<Bytes>> {
        let Coding::Gzip { decoder, waiting } = self else { return Ok(None) };
        while !waiting.is_empty() {
            let step = waiting.split_to(STEP_BYTES.min(waiting.len()));
            decoder.write_all(&step)?;
            let plain = std::mem::take(decoder.get_mut());
            if !plain.is_empty() {
                return Ok(Some(plain.into()));
            }
        }
        Ok(None)
    }

    /// Takes a piece of the answer; a plain one is given back at once.
    pub(super) fn take(&mut self, piece: Bytes) -> Option<Bytes> {
        match self {
            Coding::Plain => Some(piece),
            Coding::Gzip { waiting, .. } => {
                *waiting = piece;
                None
            }
        }
    }

    /// The answer ended: what is left, or an error when it ended too soon.
    pub(super) fn finish(&mut self) -> io::Result<Option<Bytes>> {
        let Coding::Gzip { decoder, .. } = self else { return Ok(None) };
        decoder.try_finish()?;
        let plain = std::mem::take(decoder.get_mut());
        Ok(if plain.is_empty() { None } else { Some(plain.into()) })
    }
}

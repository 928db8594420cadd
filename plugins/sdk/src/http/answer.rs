//! An answer whose body has not been read.

use std::sync::Arc;

use bytes::Bytes;
use reqwest::Response;

use super::coding::Coding;
use super::head::{Head, Place};
use super::outbound;
use crate::Error;

/// Whether a body was taken whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// It was.
    Whole,
    /// It is longer than the limit, and the connection was given up.
    TooLong,
}

/// The head of an answer and its body, which comes piece by piece.
#[derive(Debug)]
pub struct Answer {
    head: Head,
    place: Arc<Place>,
    response: Response,
    coding: Coding,
    is_over: bool,
}

impl Answer {
    pub(super) fn new(place: Arc<Place>, response: Response) -> Result<Answer, Error> {
        let head = Head::new(Arc::clone(&place), response.status(), response.headers().clone());
        let coding = match head.header(&reqwest::header::CONTENT_ENCODING) {
            None | Some("identity") => Coding::Plain,
            Some("gzip" | "x-gzip") => Coding::gzip(),
            Some(other) => {
                let text =
                    format!("{} answers with content coding {other}, which was not asked for", place.name);
                return Err(Error::permanent(text));
            }
        };
        Ok(Answer { head, place, response, coding, is_over: false })
    }

    /// Status and headers.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The next piece of the body, decompressed, four megabytes at most; `None` at its end. For answers that are worked
    /// on while they come; whoever collects the pieces has to count them.
    ///
    /// # Errors
    /// [`Error::Transient`] when the body breaks off, is damaged or stalls.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            if let Some(piece) = self.coding.next().map_err(|error| self.damaged(error))? {
                return Ok(Some(piece));
            }
            if self.is_over {
                return Ok(None);
            }
            match self.response.chunk().await.map_err(|error| self.broken(error))? {
                Some(piece) => {
                    if let Some(plain) = self.coding.take(piece) {
                        return Ok(Some(plain));
                    }
                }
                None => {
                    self.is_over = true;
                    return self.coding.finish().map_err(|error| self.damaged(error));
                }
            }
        }
    }

    /// Reads the body into `buffer`, which is emptied first and keeps its room: `limit` bytes at most, counted
    /// decompressed.
    ///
    /// # Errors
    /// [`Error::Transient`] when the body breaks off, is damaged or stalls.
    pub async fn read(mut self, buffer: &mut Vec<u8>, limit: usize) -> Result<(Head, Extent), Error> {
        buffer.clear();
        if self.response.content_length().is_some_and(|bytes| bytes > limit as u64) {
            return Ok((self.head, Extent::TooLong));
        }
        while let Some(piece) = self.piece().await? {
            if buffer.len() + piece.len() > limit {
                return Ok((self.head, Extent::TooLong));
            }
            buffer.extend_from_slice(&piece);
        }
        Ok((self.head, Extent::Whole))
    }

    fn broken(&self, error: reqwest::Error) -> Error {
        let text = if error.is_timeout() { "stalled" } else { "broke off" };
        Error::transient(format!("the answer of {} {text}", self.place.name))
            .with_cause(outbound::reason(error))
    }

    fn damaged(&self, error: std::io::Error) -> Error {
        Error::transient(format!("the answer of {} is damaged: gzip", self.place.name)).with_cause(error)
    }
}

//! A connection: messages to the server and from it.

use std::time::Duration;

use bytes::BytesMut;
use postgres_protocol::message::frontend;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::frame::{self, Frame, tag};
use super::socket::Io;
use crate::error::Error;

/// Room for one read.
const READ_BYTES: usize = 256 << 10;
/// Less room than that is not worth a read.
const READ_BYTES_MIN: usize = 16 << 10;

/// One connection to one server.
pub(crate) struct Connection {
    pub(super) io: Box<dyn Io>,
    pub(crate) input: BytesMut,
    pub(super) output: BytesMut,
    pub(super) is_tcp: bool,
    pub(super) version: u32,
    pub(super) place: String,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Connection({})", self.place)
    }
}

impl Connection {
    /// Over a pipe to something in this process that speaks as a server of `version` would.
    pub(crate) fn over(pipe: tokio::io::DuplexStream, version: u32) -> Connection {
        Connection {
            io: Box::new(pipe),
            input: BytesMut::new(),
            output: BytesMut::new(),
            is_tcp: false,
            version,
            place: "a pipe".to_owned(),
        }
    }

    /// The major version of the server, such as 15.
    pub(crate) fn version(&self) -> u32 {
        self.version
    }

    /// Whether waiting a little before reading pays: on TCP it does, on a Unix socket it costs.
    pub(crate) fn is_tcp(&self) -> bool {
        self.is_tcp
    }

    /// Puts a message into the output; `flush` sends it.
    pub(crate) fn say(
        &mut self,
        write: impl FnOnce(&mut BytesMut) -> Result<(), Error>,
    ) -> Result<(), Error> {
        write(&mut self.output)
    }

    /// Sends what was said. Not to be dropped half-way.
    pub(crate) async fn flush(&mut self) -> Result<(), Error> {
        self.io.write_all_buf(&mut self.output).await.map_err(Error::Lost)?;
        self.io.flush().await.map_err(Error::Lost)
    }

    /// Is woken by nothing that comes until something is read or said again.
    pub(crate) fn rest(&mut self) -> Result<(), Error> {
        self.io.rest().map_err(Error::Lost)
    }

    /// Reads what there is, at least a byte; may be dropped. The answer is how much it was.
    pub(crate) async fn fill(&mut self) -> Result<usize, Error> {
        if self.input.capacity() - self.input.len() < READ_BYTES_MIN {
            self.input.reserve(READ_BYTES);
        }
        match self.io.read_buf(&mut self.input).await.map_err(Error::Lost)? {
            0 => Err(Error::Lost(std::io::ErrorKind::UnexpectedEof.into())),
            count => Ok(count),
        }
    }

    /// The next message, whatever it is; may be dropped.
    pub(super) async fn raw_frame(&mut self) -> Result<Frame, Error> {
        loop {
            if let Some(frame) = frame::take(&mut self.input)? {
                return Ok(frame);
            }
            self.fill().await?;
        }
    }

    /// The next message that belongs to an answer. An `ErrorResponse` is an error.
    pub(crate) async fn frame(&mut self) -> Result<Frame, Error> {
        loop {
            let frame = self.raw_frame().await?;
            match frame.tag {
                tag::ERROR => return Err(frame::server_error(&frame.body)),
                tag::NOTICE | tag::NOTIFICATION | tag::PARAMETER => {}
                _ => return Ok(frame),
            }
        }
    }

    /// Says goodbye; errors no longer matter.
    pub(crate) async fn close(mut self) {
        frontend::terminate(&mut self.output);
        let _ = timeout(Duration::from_secs(1), async {
            self.flush().await?;
            self.io.shutdown().await.map_err(Error::Lost)
        })
        .await;
    }
}

//! Our own small client: one connection, in text format throughout, so that every value looks the same whether it comes
//! from a query or from the stream (docs/decisions say why no ready-made client).
//!
//! A connection whose call was dropped half-way is out of step: whoever may be dropped takes the connection out of its place
//! first and puts it back when the call is done.

mod auth;
mod certificate;
pub(crate) mod frame;
mod query;
mod socket;
mod tls;
mod window;

pub(crate) use query::Table;

use std::time::{Duration, Instant};

use bytes::BytesMut;
use postgres_protocol::message::frontend;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use crate::error::Error;
use crate::target::{Host, Target, TlsMode};
use auth::Transport;
use frame::{Frame, Reader, tag};
use socket::{Io, Socket};

/// Room for one read.
const READ_BYTES: usize = 256 << 10;
/// Less room than that is not worth a read.
const READ_BYTES_MIN: usize = 16 << 10;
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
/// What we send and nobody acknowledges for so long ends the connection.
#[cfg(target_os = "linux")]
const DEAD_AFTER: Duration = Duration::from_secs(60);

/// Every session says how it wants values written: databases and roles may have other defaults, and one column must look the
/// same in the stream, the snapshot and a poll.
const PINNED: &str = "SET datestyle TO 'ISO'; SET intervalstyle TO 'iso_8601'; SET timezone TO 'UTC'; \
     SET extra_float_digits TO 3; SET bytea_output TO 'hex'; SET lc_monetary TO 'C'; SET client_encoding TO 'UTF8'; \
     SET statement_timeout TO 0; SET lock_timeout TO 0; SET idle_in_transaction_session_timeout TO 0; \
     SET standard_conforming_strings TO on; SET xmlbinary TO 'base64'";
/// Known from 14 on.
const PINNED_14: &str = "SET idle_session_timeout TO 0";

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Sql,
    /// May also run the commands of the replication protocol.
    Replication,
}

/// One connection to one server.
pub(crate) struct Connection {
    io: Box<dyn Io>,
    pub(crate) input: BytesMut,
    output: BytesMut,
    is_tcp: bool,
    version: u32,
    place: String,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Connection({})", self.place)
    }
}

impl Connection {
    /// Connects to the first host that answers and fits.
    pub(crate) async fn open(target: &Target, purpose: Purpose) -> Result<Connection, Error> {
        let mut failed = None;
        for host in &target.hosts {
            let opening = timeout(target.connect_timeout, Connection::open_host(target, host, purpose));
            let seconds = target.connect_timeout.as_secs();
            match opening.await.unwrap_or(Err(Error::Silent { what: "connecting", seconds })) {
                Ok(connection) => return Ok(connection),
                Err(error) => failed = Some(error),
            }
        }
        Err(failed.expect("a target has a host"))
    }

    async fn open_host(target: &Target, host: &Host, purpose: Purpose) -> Result<Connection, Error> {
        let (io, transport) = transport(target, host, purpose).await?;
        let mut connection = Connection {
            io,
            input: BytesMut::new(),
            output: BytesMut::new(),
            is_tcp: !host.name.starts_with('/'),
            version: 0,
            place: host.to_string(),
        };
        connection.start(target, purpose, &transport).await?;
        connection.pin().await?;
        if target.is_writable_required {
            let answer = connection.simple("SHOW transaction_read_only").await?;
            if answer.text(0, 0) != Some("off") {
                return Err(Error::Connect {
                    place: connection.place,
                    cause: std::io::Error::other(
                        "it is read-only, and target_session_attrs asks for a writable server",
                    ),
                });
            }
        }
        Ok(connection)
    }

    async fn start(&mut self, target: &Target, purpose: Purpose, transport: &Transport) -> Result<(), Error> {
        let name = target.application_name.as_deref().unwrap_or("pico-connectors");
        let mut parameters = vec![
            ("user", target.user.as_str()),
            ("database", target.database.as_str()),
            ("application_name", name),
            ("client_encoding", "UTF8"),
        ];
        if let Some(options) = &target.options {
            parameters.push(("options", options));
        }
        if purpose == Purpose::Replication {
            parameters.push(("replication", "database"));
        }
        self.say(|out| {
            frontend::startup_message(parameters, out).map_err(|error| Error::Protocol(error.to_string()))
        })?;
        self.flush().await?;
        auth::prove(self, target, transport).await?;
        loop {
            let frame = self.raw_frame().await?;
            match frame.tag {
                tag::READY => return Ok(()),
                tag::ERROR => return Err(frame::server_error(&frame.body)),
                tag::PARAMETER => {
                    let mut reader = Reader::new(&frame.body);
                    if reader.text()? == "server_version" {
                        self.version = major(reader.text()?);
                    }
                }
                tag::KEY_DATA | tag::NOTICE | tag::NEGOTIATE => {}
                other => return Err(Error::Protocol(format!("message `{}` at the start", other as char))),
            }
        }
    }

    async fn pin(&mut self) -> Result<(), Error> {
        self.simple(PINNED).await?;
        if self.version >= 14 {
            self.simple(PINNED_14).await?;
        }
        Ok(())
    }

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
    async fn raw_frame(&mut self) -> Result<Frame, Error> {
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

/// Connects the socket, with TLS as `sslmode` says.
async fn transport(
    target: &Target,
    host: &Host,
    purpose: Purpose,
) -> Result<(Box<dyn Io>, Transport), Error> {
    let failed = |cause| Error::Connect { place: host.to_string(), cause };
    if host.name.starts_with('/') {
        let path = format!("{}/.s.PGSQL.{}", host.name, host.port);
        let socket = UnixStream::connect(&path).await.map_err(failed)?;
        return Ok((Box::new(socket), Transport { end_point: None, is_tls: false, is_private: true }));
    }
    let began = Instant::now();
    let mut tcp = TcpStream::connect((host.name.as_str(), host.port)).await.map_err(failed)?;
    if purpose == Purpose::Replication {
        window::narrow(&tcp, began.elapsed()).map_err(failed)?;
    }
    tcp.set_nodelay(true).map_err(failed)?;
    let socket = socket2::SockRef::from(&tcp);
    socket.set_tcp_keepalive(&socket2::TcpKeepalive::new().with_time(KEEPALIVE_IDLE)).map_err(failed)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(DEAD_AFTER)).map_err(failed)?;
    let plain = Transport { end_point: None, is_tls: false, is_private: false };
    if target.tls.mode == TlsMode::Disable {
        return Ok((Box::new(Socket::new(tcp)), plain));
    }
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    tcp.write_all(&request).await.map_err(failed)?;
    // One byte and no more: what follows belongs to the handshake, or to an attacker.
    match (tcp.read_u8().await.map_err(failed)?, target.tls.mode) {
        (b'S', _) => {
            let tls = tls::wrap(Socket::new(tcp), host, &target.tls).await?;
            let certificates = tls.get_ref().1.peer_certificates();
            let end_point = certificates.and_then(<[_]>::first).and_then(|one| certificate::end_point(one));
            Ok((Box::new(tls), Transport { end_point, is_tls: true, is_private: true }))
        }
        (b'N', TlsMode::Prefer) => Ok((Box::new(Socket::new(tcp)), plain)),
        (b'N', mode) => Err(Error::Refused(format!(
            "{host} has no TLS, and sslmode asks for it ({mode:?}): switch `ssl` on at the server, or set sslmode=disable"
        ))),
        (other, _) => Err(Error::Protocol(format!("`{}` in answer to a TLS request", other.escape_ascii()))),
    }
}

/// `15` of `15.18 (Debian 15.18-0+deb12u1)` and of `18beta1`.
fn major(text: &str) -> u32 {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_read_out_of_what_packagers_write() {
        assert_eq!(major("15.18 (Debian 15.18-0+deb12u1)"), 15);
        assert_eq!(major("18beta1"), 18);
        assert_eq!(major(""), 0);
    }
}

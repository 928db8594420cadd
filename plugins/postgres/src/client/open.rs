//! Opening a connection: the socket, TLS, the proof of who we are, and what every session says first.

use std::time::{Duration, Instant};

use bytes::BytesMut;
use postgres_protocol::message::frontend;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use super::auth::{self, Transport};
use super::connection::Connection;
use super::frame::{self, Reader, tag};
use super::socket::{Io, Socket};
use super::{certificate, tls, window};
use crate::error::Error;
use crate::target::{Host, Target, TlsMode};

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

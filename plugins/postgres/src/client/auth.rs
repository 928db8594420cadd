//! Proving who we are: trust, cleartext (only where nobody listens), MD5, SCRAM-SHA-256 with channel binding.

use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{
    ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256,
};
use postgres_protocol::message::frontend;

use super::connection::Connection;
use super::frame::{Frame, Reader, tag};
use crate::error::Error;
use crate::target::Target;

/// What the transport can offer.
#[derive(Debug)]
pub(super) struct Transport {
    /// The hash of the server's certificate, when the connection is TLS and defines one.
    pub(super) end_point: Option<Vec<u8>>,
    pub(super) is_tls: bool,
    /// TLS or a Unix socket.
    pub(super) is_private: bool,
}

/// Runs from the startup message to `AuthenticationOk`.
pub(super) async fn prove(
    connection: &mut Connection,
    target: &Target,
    transport: &Transport,
) -> Result<(), Error> {
    loop {
        let frame = connection.frame().await?;
        let (code, body) = request(&frame)?;
        match code {
            0 if target.is_binding_required => return Err(unbound()),
            0 => return Ok(()),
            3 | 5 if target.is_binding_required => return Err(unbound()),
            3 if !transport.is_private => {
                return Err(Error::Refused(
                    "the server asks for the password in clear text over a connection that is not encrypted: use \
                     sslmode=require or stronger, or scram-sha-256 in pg_hba.conf"
                        .into(),
                ));
            }
            3 => connection
                .say(|out| frontend::password_message(password(target)?.as_bytes(), out).map_err(text))?,
            5 => {
                let salt = Reader::new(body).bytes(4)?;
                let salt = salt.try_into().expect("four bytes were taken");
                let hash = md5_hash(target.user.as_bytes(), password(target)?.as_bytes(), salt);
                connection.say(|out| frontend::password_message(hash.as_bytes(), out).map_err(text))?;
            }
            10 => return scram(connection, target, transport, body).await,
            other => {
                return Err(Error::Refused(format!(
                    "the server asks for an authentication this build does not have (code {other}; Kerberos, GSSAPI and \
                     SSPI are not supported): use scram-sha-256 in pg_hba.conf"
                )));
            }
        }
        connection.flush().await?;
    }
}

async fn scram(
    connection: &mut Connection,
    target: &Target,
    transport: &Transport,
    mechanisms: &[u8],
) -> Result<(), Error> {
    let offers = |name: &str| mechanisms.split(|byte| *byte == 0).any(|one| one == name.as_bytes());
    let is_plus_offered = offers(SCRAM_SHA_256_PLUS);
    let (mechanism, binding) = match &transport.end_point {
        Some(hash) if is_plus_offered => {
            (SCRAM_SHA_256_PLUS, ChannelBinding::tls_server_end_point(hash.clone()))
        }
        _ if target.is_binding_required => return Err(unbound()),
        // "We could, you did not offer": the server then notices who took its offer away on the way here.
        Some(_) if transport.is_tls => (SCRAM_SHA_256, ChannelBinding::unrequested()),
        Some(_) | None => (SCRAM_SHA_256, ChannelBinding::unsupported()),
    };
    if !offers(mechanism) {
        return Err(Error::Refused("the server offers no SCRAM-SHA-256".into()));
    }
    let mut scram = ScramSha256::new(password(target)?.as_bytes(), binding);
    connection.say(|out| frontend::sasl_initial_response(mechanism, scram.message(), out).map_err(text))?;
    connection.flush().await?;
    let frame = connection.frame().await?;
    let body = expect(&frame, 11)?;
    scram.update(body).map_err(text)?;
    connection.say(|out| frontend::sasl_response(scram.message(), out).map_err(text))?;
    connection.flush().await?;
    let frame = connection.frame().await?;
    scram.finish(expect(&frame, 12)?).map_err(|error| {
        Error::Refused(format!("the server could not prove that it knows the password too: {error}"))
    })?;
    let frame = connection.frame().await?;
    expect(&frame, 0).map(drop)
}

fn request(frame: &Frame) -> Result<(u32, &[u8]), Error> {
    if frame.tag != tag::AUTHENTICATION {
        return Err(Error::Protocol(format!("message `{}` while authenticating", frame.tag as char)));
    }
    let mut reader = Reader::new(&frame.body);
    Ok((reader.u32()?, reader.rest()))
}

fn expect(frame: &Frame, code: u32) -> Result<&[u8], Error> {
    let (found, body) = request(frame)?;
    if found == code {
        Ok(body)
    } else {
        Err(Error::Protocol(format!("authentication step {found} instead of {code}")))
    }
}

fn password(target: &Target) -> Result<&str, Error> {
    target.password.as_deref().ok_or_else(|| {
        Error::Refused("the server asks for a password, and connection_string has none".into())
    })
}

fn unbound() -> Error {
    Error::Refused(
        "channel_binding=require, but the server does not bind authentication to this connection: it needs TLS and \
         scram-sha-256"
            .into(),
    )
}

fn text(error: std::io::Error) -> Error {
    Error::Protocol(error.to_string())
}

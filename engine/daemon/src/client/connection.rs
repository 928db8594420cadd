//! One request on a connection of its own, plain or over TLS.

use std::sync::Arc;

use axum::body::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::address::Address;
use crate::error::Error;

/// Variable with a PEM file of those to trust besides the system's, for https.
const CA_VARIABLE: &str = "PICOMQ_CONNECTORS_CA_FILE";

/// Sends the request; the body of the answer is still to be read.
///
/// # Errors
/// Nobody listens, nobody to be trusted, or the connection breaks.
pub(super) async fn exchange(
    address: &Address,
    request: Request<Full<Bytes>>,
) -> Result<Response<Incoming>, Error> {
    let stream = TcpStream::connect(&address.authority).await.map_err(|cause| {
        Error::environment("client.no_daemon", format!("no daemon answers at `{}`", address.url))
            .with_hint(
                "start one with `pico-connectors run`, or name another with --url or PICOMQ_CONNECTORS_URL",
            )
            .because(cause)
    })?;
    match address.is_tls {
        false => speak(address, stream, request).await,
        true => speak(address, encrypted(address, stream).await?, request).await,
    }
}

async fn speak(
    address: &Address,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Result<Response<Incoming>, Error> {
    let broken = |cause: hyper::Error| {
        let other = if address.is_tls { "http://" } else { "https://" };
        Error::environment("client.broken_connection", format!("{}: the connection broke", address.url))
            .with_hint(format!(
                "look at the daemon's log; if it speaks {other}, say so in --url or PICOMQ_CONNECTORS_URL"
            ))
            .because(cause)
    };
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    // Ends with the sender and the answer, at the latest when the verb does.
    tokio::spawn(connection);
    sender.send_request(request).await.map_err(broken)
}

async fn encrypted(
    address: &Address,
    stream: TcpStream,
) -> Result<tokio_rustls::client::TlsStream<TcpStream>, Error> {
    let untrusted = |reason: String| {
        Error::environment("client.not_trusted", format!("{}: {reason}", address.url)).with_hint(format!(
            "name the PEM file of who signed its certificate in {CA_VARIABLE}, and ask for the name that stands in it"
        ))
    };
    let roots = tokio::task::spawn_blocking(roots)
        .await
        .map_err(|panic| untrusted(panic.to_string()))?
        .map_err(untrusted)?;
    let name = ServerName::try_from(address.host().to_owned())
        .map_err(|_invalid| untrusted("the host is no name a certificate can bear".to_owned()))?;
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|cause| untrusted(cause.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(config));
    connector.connect(name, stream).await.map_err(|cause| untrusted(format!("no TLS connection: {cause}")))
}

/// Whom to trust: those of the system, and those of the file that a variable names. Blocks.
fn roots() -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    // What cannot be read there is not trusted; the connection then says so.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = std::env::var_os(CA_VARIABLE).filter(|path| !path.is_empty()) {
        let shown = std::path::Path::new(&path).display().to_string();
        let text = std::fs::read(&path).map_err(|cause| format!("{CA_VARIABLE}: {shown}: {cause}"))?;
        let own: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
        let own = own.ok().filter(|list| !list.is_empty());
        roots.add_parsable_certificates(
            own.ok_or_else(|| format!("{CA_VARIABLE}: {shown} holds no certificate in PEM"))?,
        );
    }
    Ok(roots)
}

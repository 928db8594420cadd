//! The listener: HTTP/1.1, plain or over TLS, with a limit for everything a client can hold on to.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use pico_config::Http;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio_io_timeout::TimeoutStream;

use super::guard::Peer;
use super::tls::Tls;
use crate::error::Error;

/// Clients served at once; a further one waits in the system's queue.
const CONNECTIONS_MAX: usize = 256;

/// How long a client may take to send a request's head; also how long a connection may idle between two.
const HEAD_WITHIN: Duration = Duration::from_secs(10);

/// How long a client may take to agree on keys.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);

/// How long a client may take nothing of what it is sent.
const TAKEN_WITHIN: Duration = Duration::from_secs(30);

/// Rest after a failed accept, which usually means that the process is out of file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// A bound listener that does not serve yet.
pub(crate) struct Listener {
    inner: TcpListener,
    address: SocketAddr,
    tls: Option<Tls>,
}

impl Listener {
    /// Binds the first address that `host:port` stands for.
    ///
    /// # Errors
    /// A part of it is no loopback address although there is no key; the port is taken; the certificate is no good.
    pub(crate) async fn bind(http: &Http) -> Result<Listener, Error> {
        let address = http.address.as_str();
        let resolved = tokio::net::lookup_host(address).await.map_err(|cause| {
            Error::environment("http.bad_address", format!("[http] address {address:?} cannot be resolved"))
                .with_hint("right is HOST:PORT, such as 127.0.0.1:8081")
                .because(cause)
        })?;
        let addresses: Vec<SocketAddr> = resolved.collect();
        let open = addresses.iter().find(|address| !address.ip().is_loopback());
        if let Some(open) = open.filter(|_| http.keys.is_empty()) {
            let reason =
                format!("[http] address {address:?} is {}, which other machines can reach", open.ip());
            return Err(Error::environment("http.not_loopback", reason)
                .with_hint("set [http] api_key, or listen on loopback, such as 127.0.0.1:8081"));
        }
        let tls = http.tls.as_ref().map(Tls::open).transpose()?;
        let inner = TcpListener::bind(addresses.as_slice()).await.map_err(|cause| {
            Error::environment("http.not_bound", format!("[http] address {address:?} cannot be listened on"))
                .with_hint("another daemon may run; choose another [http] address or PICOMQ_CONNECTORS_HTTP__ADDRESS")
                .because(cause)
        })?;
        let address = inner.local_addr().map_err(|cause| {
            Error::environment("http.not_bound", "the system does not tell the address it gave")
                .because(cause)
        })?;
        Ok(Listener { inner, address, tls })
    }

    /// Where it listens, with the port it really got.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The same as a URL.
    pub(crate) fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// Serves until the task is aborted or the process ends.
    pub(crate) fn serve(self, router: Router) -> JoinHandle<()> {
        tokio::spawn(accept(self, router))
    }
}

async fn accept(listener: Listener, router: Router) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let slot = slots.clone().acquire_owned().await.expect("the semaphore is never closed");
        match listener.inner.accept().await {
            Ok((stream, peer)) => {
                let client = Client { peer, router: router.clone(), _slot: slot };
                tokio::spawn(client.serve(stream, listener.tls.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "connection not accepted");
                tokio::time::sleep(ACCEPT_RETRY).await;
            }
        }
    }
}

/// One connection. Ends by itself: every wait for the other side has a limit.
struct Client {
    peer: SocketAddr,
    router: Router,
    _slot: OwnedSemaphorePermit,
}

impl Client {
    async fn serve(self, stream: TcpStream, tls: Option<Tls>) {
        let mut limited = TimeoutStream::new(stream);
        limited.set_write_timeout(Some(TAKEN_WITHIN));
        let limited = Box::pin(limited);
        let Some(tls) = tls else { return self.speak(limited).await };
        match tokio::time::timeout(HANDSHAKE_WITHIN, tls.accept(limited)).await {
            Ok(Ok(stream)) => self.speak(stream).await,
            Ok(Err(error)) => tracing::debug!(%error, "TLS was not agreed on with a client of the API"),
            Err(_elapsed) => tracing::debug!("a client of the API took too long to agree on TLS"),
        }
    }

    async fn speak(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let (router, peer) = (self.router.clone(), Peer(self.peer.ip()));
        let service = TowerToHyperService::new(tower::service_fn(move |request: Request<Incoming>| {
            let router = router.clone();
            async move { Ok::<_, Infallible>(answer(router, request, peer).await) }
        }));
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_WITHIN)
            .serve_connection(TokioIo::new(stream), service)
            .await;
        if let Err(error) = served {
            tracing::debug!(%error, "connection of the API ended early");
        }
    }
}

async fn answer(router: Router, request: Request<Incoming>, peer: Peer) -> axum::response::Response {
    use tower::ServiceExt as _;
    let mut request = request.map(axum::body::Body::new);
    request.extensions_mut().insert(peer);
    let Ok(response) = router.oneshot(request).await;
    response
}

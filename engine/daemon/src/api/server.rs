//! The listener: HTTP/1.1 on loopback, with a limit for everything a client can hold on to.

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
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

use crate::error::Error;

/// Clients served at once; a further one waits in the system's queue.
const CONNECTIONS_MAX: usize = 256;

/// How long a client may take to send a request's head; also how long a connection may idle between two.
const HEAD_WITHIN: Duration = Duration::from_secs(10);

/// Rest after a failed accept, which usually means that the process is out of file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// A bound listener that does not serve yet.
pub(crate) struct Listener {
    inner: TcpListener,
    address: SocketAddr,
}

impl Listener {
    /// Binds the first loopback address that `host:port` stands for.
    ///
    /// # Errors
    /// A part of it is no loopback address, which is refused until there are keys; or the port is taken.
    pub(crate) async fn bind(address: &str) -> Result<Listener, Error> {
        let resolved = tokio::net::lookup_host(address).await.map_err(|cause| {
            Error::environment("http.bad_address", format!("[http] address {address:?} cannot be resolved"))
                .because(cause)
        })?;
        let addresses: Vec<SocketAddr> = resolved.collect();
        if let Some(open) = addresses.iter().find(|address| !address.ip().is_loopback()) {
            let reason =
                format!("[http] address {address:?} is {}, which other machines can reach", open.ip());
            return Err(Error::environment("http.not_loopback", reason)
                .with_hint("without API keys only loopback is listened on, such as 127.0.0.1:8081"));
        }
        let inner = TcpListener::bind(addresses.as_slice()).await.map_err(|cause| {
            Error::environment("http.not_bound", format!("[http] address {address:?} cannot be listened on"))
                .with_hint("another daemon may run; choose another [http] address or PICOMQ_CONNECTORS_HTTP__ADDRESS")
                .because(cause)
        })?;
        let address = inner.local_addr().map_err(|cause| {
            Error::environment("http.not_bound", "the system does not tell the address it gave")
                .because(cause)
        })?;
        Ok(Listener { inner, address })
    }

    /// Where it listens, with the port it really got.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until the task is aborted or the process ends.
    pub(crate) fn serve(self, router: Router) -> JoinHandle<()> {
        tokio::spawn(accept(self.inner, router))
    }
}

async fn accept(listener: TcpListener, router: Router) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let slot = slots.clone().acquire_owned().await.expect("the semaphore is never closed");
        match listener.accept().await {
            Ok((stream, _peer)) => {
                tokio::spawn(connection(stream, router.clone(), slot));
            }
            Err(error) => {
                tracing::warn!(%error, "connection not accepted");
                tokio::time::sleep(ACCEPT_RETRY).await;
            }
        }
    }
}

/// One client. Ends by itself: every wait for the client has a limit.
async fn connection(stream: TcpStream, router: Router, slot: OwnedSemaphorePermit) {
    let service = TowerToHyperService::new(tower::service_fn(move |request: Request<Incoming>| {
        let router = router.clone();
        async move { Ok::<_, Infallible>(answer(router, request).await) }
    }));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "connection of the API ended early");
    }
    drop(slot);
}

async fn answer(router: Router, request: Request<Incoming>) -> axum::response::Response {
    use tower::ServiceExt as _;
    let Ok(response) = router.oneshot(request.map(axum::body::Body::new)).await;
    response
}

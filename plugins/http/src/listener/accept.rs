//! Accepts connections and serves each until it ends or the listener closes.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::pace::{Pace, Paced, Patience};
use super::{Desks, read};
use crate::receive::{self, Peer};
use crate::settings::Listening;

/// After an accept that failed, such as for want of file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);
/// What is under way when the listener closes has so long to end.
const FINISH_WITHIN: Duration = Duration::from_secs(3);
/// For one connection too many; it need not be understood.
const BUSY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// A bound listener.
pub(super) struct Accepting {
    pub(super) socket: TcpListener,
    pub(super) acceptor: Option<TlsAcceptor>,
    pub(super) listening: Listening,
    pub(super) desks: Desks,
}

/// What every connection needs.
struct Shared {
    acceptor: Option<TlsAcceptor>,
    listening: Listening,
    desks: Desks,
    stopping: watch::Receiver<bool>,
}

impl Accepting {
    /// Runs until it is told to stop, and then until every connection has ended.
    pub(super) async fn run(self, mut stopping: watch::Receiver<bool>) {
        let slots = Arc::new(Semaphore::new(self.listening.connections_max));
        let shared = Arc::new(Shared {
            acceptor: self.acceptor,
            listening: self.listening,
            desks: self.desks,
            stopping: stopping.clone(),
        });
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                biased;
                () = stopped(&mut stopping) => break,
                // So that what has ended takes no memory.
                Some(_) = connections.join_next() => {}
                accepted = self.socket.accept() => match accepted {
                    Ok((stream, from)) => match Arc::clone(&slots).try_acquire_owned() {
                        Ok(slot) => {
                            let shared = Arc::clone(&shared);
                            connections.spawn(async move {
                                shared.serve(stream, from).await;
                                drop(slot);
                            });
                        }
                        Err(_) => drop(stream.try_write(BUSY)),
                    },
                    Err(error) => {
                        tracing::warn!(%error, "connection not accepted");
                        sleep(ACCEPT_RETRY).await;
                    }
                },
            }
        }
        drop(self.socket);
        let ended = async { while connections.join_next().await.is_some() {} };
        let _ = timeout(FINISH_WITHIN, ended).await;
        connections.shutdown().await;
    }
}

impl Shared {
    /// One connection, to its end.
    async fn serve(&self, stream: TcpStream, from: SocketAddr) {
        let _ = stream.set_nodelay(true);
        match &self.acceptor {
            None => self.requests(stream, from).await,
            Some(acceptor) => match timeout(self.listening.header_timeout, acceptor.accept(stream)).await {
                Ok(Ok(stream)) => self.requests(stream, from).await,
                Ok(Err(error)) => tracing::debug!(%from, %error, "no TLS connection"),
                Err(_) => tracing::debug!(%from, "the TLS handshake took too long"),
            },
        }
    }

    async fn requests<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        &self,
        stream: S,
        from: SocketAddr,
    ) {
        let Listening { head_bytes_max, header_timeout, idle_timeout, .. } = self.listening;
        let (pace, peer) = (Arc::new(Pace::default()), Peer::new(from));
        let patience = Patience { head: header_timeout, idle: idle_timeout };
        let (stream, peer) = (Paced::new(stream, Arc::clone(&pace), patience), &peer);
        let service = service_fn(|request: hyper::Request<Incoming>| {
            // From here on and not from the first step of the answer: hyper looks for more to read before that, and what
            // it finds is no head that is late.
            let (desks, busy) = (read(&self.desks), pace.busy());
            async move {
                let answer = receive::answer(&desks, peer, request).await;
                drop(busy);
                Ok::<_, Infallible>(answer)
            }
        });
        let connection = http1::Builder::new()
            .header_read_timeout(None)
            .max_header_size(head_bytes_max)
            .max_buf_size(head_bytes_max.max(BUFFER_BYTES))
            .serve_connection(TokioIo::new(stream), service);
        tokio::pin!(connection);
        let mut stopping = self.stopping.clone();
        let served = tokio::select! {
            served = connection.as_mut() => Some(served),
            () = stopped(&mut stopping) => None,
        };
        let served = match served {
            Some(served) => served,
            None => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = served {
            tracing::debug!(%from, %error, "connection ended early");
        }
    }
}

/// Returns when the listener closes, or is gone.
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stop| *stop).await;
}

/// For bodies: what is read at once.
const BUFFER_BYTES: usize = 64 << 10;

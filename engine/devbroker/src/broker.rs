//! Starting, accepting connections and stopping.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use crate::config::Config;
use crate::connection;
use crate::error::Error;
use crate::handle::BrokerHandle;
use crate::node::Node;

/// How long open requests may take to finish once the broker stops.
const STOP_GRACE: Duration = Duration::from_secs(2);
/// How often groups are looked at for members that fell silent.
const GROUP_TICK: Duration = Duration::from_millis(100);
/// Rest after a failed accept, which usually means that the process is out of file handles.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// A running development broker. Dropping it stops it at once; [`DevBroker::shutdown`] does so in order.
#[derive(Debug)]
pub struct DevBroker {
    handle: BrokerHandle,
    acceptor: JoinHandle<()>,
}

/// Opens the data folder, binds the address and starts serving on the current tokio runtime.
///
/// Never for production: no replication, no authentication, no encryption, and data that survives a killed process but no
/// power loss.
pub async fn start(config: Config) -> Result<DevBroker, Error> {
    let address = config.address;
    let node = Arc::new(open(config).await?);
    let listener = TcpListener::bind(address).await.map_err(|source| Error::Bind { address, source })?;
    let local = listener.local_addr().map_err(|source| Error::Bind { address, source })?;
    let acceptor = tokio::spawn(serve(node.clone(), listener));
    tracing::info!(address = %local, "development broker started");
    Ok(DevBroker { handle: BrokerHandle::new(node, local), acceptor })
}

async fn open(config: Config) -> Result<Node, Error> {
    match tokio::task::spawn_blocking(|| Node::open(config)).await {
        Ok(opened) => opened,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

impl DevBroker {
    /// A handle to look inside and to inject faults. It does not keep the broker running.
    pub fn handle(&self) -> BrokerHandle {
        self.handle.clone()
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.handle.addr()
    }

    /// Lets open requests finish for a moment, closes all connections and hands the files to the disk.
    pub async fn shutdown(mut self) {
        self.handle.node().stop();
        // An error means the acceptor panicked, which was reported by the panic itself.
        let _ = (&mut self.acceptor).await;
        self.handle.node().blocking(|node| node.close()).await;
        tracing::info!("development broker stopped");
    }
}

impl Drop for DevBroker {
    fn drop(&mut self) {
        self.handle.node().stop();
        self.acceptor.abort();
    }
}

/// Owns all connection tasks; when it ends, none is left.
async fn serve(node: Arc<Node>, listener: TcpListener) {
    let mut connections = JoinSet::new();
    let mut ticks = interval(GROUP_TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => admit(&node, &mut connections, stream, peer),
                Err(error) => {
                    tracing::warn!(%error, "connection not accepted");
                    tokio::time::sleep(ACCEPT_RETRY).await;
                }
            },
            Some(_) = connections.join_next() => {}
            _ = ticks.tick() => node.groups().tick(Instant::now()),
            () = node.stopped() => break,
        }
    }
    drop(listener);
    let all_closed = async { while connections.join_next().await.is_some() {} };
    if timeout(STOP_GRACE, all_closed).await.is_err() {
        connections.shutdown().await;
    }
}

fn admit(node: &Arc<Node>, connections: &mut JoinSet<()>, stream: TcpStream, peer: SocketAddr) {
    if node.faults.refuses_connections() {
        return;
    }
    if connections.len() >= node.config.connections_max {
        tracing::warn!(%peer, connections_max = node.config.connections_max, "connection closed, there are too many");
        return;
    }
    connections.spawn(connection::run(node.clone(), stream, peer));
}

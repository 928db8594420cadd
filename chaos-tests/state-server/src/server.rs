//! The listener and its handle.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::task::{JoinHandle, JoinSet};

use crate::faulty_shelf::{Fault, Shared};
use crate::service;
use crate::shelf::{Condition, Entry, Tags};

/// Ports that are tried before a start gives up.
const PORTS_TRIED: u32 = 1_000;

/// A running server. Dropping it ends it.
#[derive(Debug)]
pub struct StateServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    /// None only while it is being dropped.
    runtime: Option<Runtime>,
    listening: Mutex<Option<JoinHandle<()>>>,
}

impl StateServer {
    /// On a free port of this machine.
    ///
    /// # Errors
    /// There is no free port, or no thread.
    pub fn start() -> io::Result<StateServer> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let listener = bind_free()?;
        let address = listener.local_addr()?;
        let server = StateServer {
            shared: Arc::default(),
            address,
            runtime: Some(runtime),
            listening: Mutex::new(None),
        };
        server.listen(listener)?;
        Ok(server)
    }

    /// What to write into `[state.http] url`.
    pub fn url(&self) -> String {
        format!("http://{}/checkpoints", self.address)
    }

    /// Refuses connections, and ends those there are.
    pub fn down(&self) {
        let task = self.listening.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            task.abort();
        }
    }

    /// Listens again, on the same port, with all that was saved.
    ///
    /// # Errors
    /// Another process took the port.
    pub fn up(&self) -> io::Result<()> {
        self.listen(bind(self.address)?)
    }

    fn listen(&self, listener: std::net::TcpListener) -> io::Result<()> {
        let runtime = self.runtime.as_ref().expect("it is there until the drop");
        let _inside = runtime.enter();
        let listener = TcpListener::from_std(listener)?;
        let task = runtime.spawn(accept(listener, self.shared.clone()));
        *self.listening.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
        Ok(())
    }

    /// What happens to the next saves.
    pub fn plan(&self, faults: impl IntoIterator<Item = Fault>) {
        self.shared.lock().saves.extend(faults);
    }

    /// What happens to the next loads.
    pub fn plan_loads(&self, faults: impl IntoIterator<Item = Fault>) {
        self.shared.lock().loads.extend(faults);
    }

    /// Forgets what was planned and did not happen.
    pub fn plan_nothing(&self) {
        let mut inner = self.shared.lock();
        inner.saves.clear();
        inner.loads.clear();
    }

    /// Which tags it gives from now on.
    pub fn give_tags(&self, tags: Tags) {
        self.shared.lock().tags = tags;
    }

    /// Breaks the contract: a repeated key is a new save.
    pub fn forget_keys(&self) {
        self.shared.lock().shelf.forgets_keys = true;
    }

    /// Says that every load is encoded so.
    pub fn claim_encoding(&self, encoding: &'static str) {
        self.shared.lock().encoding = Some(encoding);
    }

    /// Lets what is held take effect.
    pub fn release(&self) {
        self.shared.released.notify_waiters();
    }

    /// Requests that are held now.
    pub fn held(&self) -> usize {
        self.shared.lock().held
    }

    /// Requests that arrived so far.
    pub fn requests(&self) -> u64 {
        self.shared.lock().requests
    }

    /// The head of every request so far: method, path with query, and headers in lower case.
    pub fn heads(&self) -> Vec<String> {
        self.shared.lock().heads.clone()
    }

    /// What is saved for a source.
    pub fn saved(&self, source: &str) -> Option<Entry> {
        self.shared.lock().shelf.get(&path_of(source)).cloned()
    }

    /// All that was ever saved for a source, oldest first.
    pub fn history(&self, source: &str) -> Vec<Entry> {
        self.shared.lock().shelf.history(&path_of(source))
    }

    /// Saves as somebody else.
    pub fn put(&self, source: &str, state: impl Into<Bytes>) {
        self.shared.lock().shelf.put(&path_of(source), state.into());
    }

    /// Removes as somebody else.
    pub fn remove(&self, source: &str) {
        self.shared.lock().shelf.remove(&path_of(source), &Condition::None);
    }

    /// The client was killed, and the next one cannot know what it left.
    pub fn client_is_new(&self) {
        self.shared.lock().judge.client_is_new();
    }

    /// What its clients did that no client may do.
    pub fn faults_of_clients(&self) -> Vec<String> {
        self.shared.lock().judge.faults().to_vec()
    }
}

impl Drop for StateServer {
    fn drop(&mut self) {
        self.down();
        if let Some(runtime) = self.runtime.take() {
            // A runtime may not be waited for from inside another one.
            runtime.shutdown_background();
        }
    }
}

fn path_of(source: &str) -> String {
    format!("/checkpoints/source_{source}")
}

/// A port below those that the kernel takes for outgoing connections: it is still free when the server comes up again.
fn bind_free() -> io::Result<std::net::TcpListener> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let mut last = io::ErrorKind::AddrInUse.into();
    for _ in 0..PORTS_TRIED {
        let next = std::process::id().wrapping_mul(89).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        match bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 18_000 + (next % 13_000) as u16))) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn bind(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this task: the connections end with the listener.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        let shared = shared.clone();
        connections.spawn(async move {
            let service = service_fn(|request| service::answer(shared.clone(), request));
            // A connection that was cut on purpose ends in an error that nobody needs.
            http1::Builder::new().serve_connection(TokioIo::new(stream), service).await.ok();
        });
    }
}

//! The listeners of this library: one for each address, shared by the sources that name it.
//!
//! A source holds a [`Seat`]. The first one binds the address, the last one to leave closes it and waits for its
//! connections. The table is the one thing that sources of this library share; why stands in `docs/decisions`.

mod accept;
mod pace;
mod tls;

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use picomq_connector_sdk::{Error, Host};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::config::TlsConfig;
use crate::desk::Desk;
use crate::settings::Listening;

/// Connections have so long to take their answers once the listener closes.
const LEAVE_WITHIN: Duration = Duration::from_secs(4);

/// The sources behind one address. Changed when one comes or goes, read by each request.
pub(crate) type Desks = Arc<RwLock<Arc<[Arc<Desk>]>>>;

static LISTENERS: Mutex<Vec<Listener>> = Mutex::new(Vec::new());

struct Listener {
    listening: Listening,
    local: SocketAddr,
    desks: Desks,
    stop: watch::Sender<bool>,
    task: Option<JoinHandle<()>>,
}

/// The place of a source at its listener. Dropped, it is given up without waiting.
pub(crate) struct Seat {
    local: SocketAddr,
    desk: Arc<Desk>,
}

/// Whether certificate and key of a definition can be used.
///
/// # Errors
/// [`Error::Config`] naming the file.
pub(crate) fn certificate(tls: &TlsConfig) -> Result<(), Error> {
    tls::acceptor(tls).map(drop)
}

/// Takes a seat, binding the address if nobody has.
///
/// # Errors
/// [`Error::Config`] when another source has the address with other settings, or one of the paths;
/// [`Error::Transient`] when another process has it.
pub(crate) fn join(desk: &Arc<Desk>, host: &Host) -> Result<Seat, Error> {
    let listening = &desk.settings.listening;
    let mut listeners = table();
    // Port 0 is a port of one's own.
    let known = listeners
        .iter()
        .find(|one| one.listening.address == listening.address && listening.address.port() != 0);
    let local = match known {
        Some(listener) => {
            listener.check(desk)?;
            listener.set(|desks| desks.push(Arc::clone(desk)));
            listener.local
        }
        None => {
            let listener = Listener::bind(desk, host)?;
            let local = listener.local;
            listeners.push(listener);
            local
        }
    };
    Ok(Seat { local, desk: Arc::clone(desk) })
}

impl Listener {
    fn bind(desk: &Arc<Desk>, host: &Host) -> Result<Listener, Error> {
        let listening = desk.settings.listening.clone();
        let acceptor = listening.tls.as_ref().map(tls::acceptor).transpose()?;
        let failed = |error: std::io::Error| {
            Error::transient(format!("cannot listen on {}; it is tried again", listening.address))
                .with_cause(error)
        };
        let socket = TcpListener::bind(listening.address).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let local = socket.local_addr().map_err(failed)?;
        let socket = tokio::net::TcpListener::from_std(socket).map_err(failed)?;
        let desks: Desks = Arc::new(RwLock::new(Arc::from([Arc::clone(desk)])));
        let (stop, stopping) = watch::channel(false);
        let accepting =
            accept::Accepting { socket, acceptor, listening: listening.clone(), desks: Arc::clone(&desks) };
        let task = tokio::spawn(host.scope(accepting.run(stopping)));
        Ok(Listener { listening, local, desks, stop, task: Some(task) })
    }

    /// Whether another source fits behind this address.
    fn check(&self, desk: &Desk) -> Result<(), Error> {
        let settings = &desk.settings;
        if self.listening != settings.listening {
            return Err(Error::config(format!(
                "listen_addr = \"{}\" is shared with source {}, so max_head_bytes, header_timeout, idle_timeout, \
                 max_connections and tls must be the same in both",
                self.listening.address,
                self.names()
            )));
        }
        for other in read(&self.desks).iter() {
            if other.settings.name == settings.name {
                return Err(Error::config(format!(
                    "instance_name = \"{}\" is taken by another source on {}; give each its own",
                    settings.name, self.listening.address
                )));
            }
            if let Some(target) =
                settings.targets.iter().find(|target| other.endpoints.target(&target.path).is_some())
            {
                return Err(Error::config(format!(
                    "the path {} on {} is taken by source {}; give each its own topic_path and endpoint_id",
                    target.path, self.listening.address, other.settings.name
                )));
            }
        }
        Ok(())
    }

    fn names(&self) -> String {
        let names: Vec<String> = read(&self.desks).iter().map(|desk| desk.settings.name.clone()).collect();
        names.join(", ")
    }

    fn set(&self, change: impl FnOnce(&mut Vec<Arc<Desk>>)) {
        let mut desks = self.desks.write().unwrap_or_else(PoisonError::into_inner);
        let mut list = desks.to_vec();
        change(&mut list);
        *desks = Arc::from(list);
    }
}

impl Seat {
    /// Where it listens, the port a real one.
    pub(crate) fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Gives it up; with the last one the address is free again and every connection has ended.
    pub(crate) async fn leave(self) {
        let Some(task) = self.give_up() else { return };
        if timeout(LEAVE_WITHIN, task).await.is_err() {
            tracing::warn!(address = %self.local, "connections of the listener did not end in time");
        }
    }

    /// The task to wait for, if this was the last seat.
    fn give_up(&self) -> Option<JoinHandle<()>> {
        let mut listeners = table();
        let place = listeners.iter().position(|one| one.local == self.local)?;
        let listener = &listeners[place];
        listener.set(|desks| desks.retain(|desk| !Arc::ptr_eq(desk, &self.desk)));
        if !read(&listener.desks).is_empty() {
            return None;
        }
        let mut listener = listeners.remove(place);
        listener.stop.send_replace(true);
        listener.task.take()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        drop(self.give_up());
    }
}

/// The sources behind an address now.
pub(crate) fn read(desks: &Desks) -> Arc<[Arc<Desk>]> {
    Arc::clone(&desks.read().unwrap_or_else(PoisonError::into_inner))
}

/// The first source at an address.
#[cfg(test)]
pub(crate) fn desk_at(address: SocketAddr) -> Option<Arc<Desk>> {
    let listeners = table();
    let listener = listeners.iter().find(|one| one.local == address)?;
    read(&listener.desks).first().cloned()
}

fn table() -> MutexGuard<'static, Vec<Listener>> {
    LISTENERS.lock().unwrap_or_else(PoisonError::into_inner)
}

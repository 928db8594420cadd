//! A TCP proxy between the engine and its broker that does to connections what networks do.
//!
//! Faults are switched while it runs and hold for all its connections: bytes are held back and released *even after
//! the client has gone* (that is how late copies come about), connections are cut after a number of bytes, chunks
//! are delayed, answers are swallowed while requests go on. One fault knows Kafka's framing: the cut right after the
//! broker has appended a produce request and before the client hears of it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use crate::kafka::Proxied;
use crate::wait::pause;
use crate::{Error, Result};

mod frames;

use frames::{Requests, Responses};

const CHUNK: usize = 64 * 1024;

/// What the proxy does at the moment.
#[derive(Debug, Default)]
struct Faults {
    hold_requests: bool,
    swallow_responses: bool,
    delay: Duration,
    refuse: bool,
    cut_requests_after: Option<u64>,
    cut_responses_after: Option<u64>,
    /// Produce answers still to pass before one is cut.
    cut_after_append: Option<u32>,
    appended_and_cut: u32,
    open: Vec<TcpStream>,
    closing: bool,
}

#[derive(Debug, Default)]
struct Controls {
    faults: Mutex<Faults>,
    changed: Condvar,
}

impl Controls {
    fn lock(&self) -> MutexGuard<'_, Faults> {
        self.faults.lock().expect("no holder of this lock panics")
    }

    fn change(&self, change: impl FnOnce(&mut Faults)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    fn wait_released(&self) {
        let faults = self.lock();
        let guard = self.changed.wait_while(faults, |faults| faults.hold_requests && !faults.closing);
        drop(guard.expect("no holder of this lock panics"));
    }
}

/// A running proxy. Dropping it closes its port and every connection.
#[derive(Debug)]
pub struct Proxy {
    controls: Arc<Controls>,
    listen: u16,
}

impl Proxy {
    /// Listens where the broker sends its clients and passes on to where the broker listens.
    pub fn start(ports: Proxied) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", ports.listen))
            .map_err(Error::io(format!("listen on port {}", ports.listen)))?;
        let controls = Arc::new(Controls::default());
        let shared = Arc::clone(&controls);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if shared.lock().closing {
                    break;
                }
                accept(&shared, client, ports.upstream);
            }
        });
        Ok(Self { controls, listen: ports.listen })
    }

    /// From now on keeps what clients send, also from those that leave meanwhile.
    pub fn hold(&self) {
        self.controls.change(|faults| faults.hold_requests = true);
    }

    /// Sends what was held, each connection's bytes on the broker's side of that connection.
    pub fn release(&self) {
        self.controls.change(|faults| faults.hold_requests = false);
    }

    /// While on, requests reach the broker and its answers reach nobody.
    pub fn swallow_responses(&self, on: bool) {
        self.controls.change(|faults| faults.swallow_responses = on);
    }

    /// Every chunk of either direction waits this long; zero ends it.
    pub fn delay(&self, delay: Duration) {
        self.controls.change(|faults| faults.delay = delay);
    }

    /// While on, new connections are closed at once.
    pub fn refuse(&self, on: bool) {
        self.controls.change(|faults| faults.refuse = on);
    }

    /// Cuts the connection on which the `bytes`-th byte from now goes to the broker; that byte still arrives.
    pub fn cut_requests_after(&self, bytes: u64) {
        self.controls.change(|faults| faults.cut_requests_after = Some(bytes));
    }

    /// Cuts the connection on which the `bytes`-th byte from now goes to a client; that byte still arrives.
    pub fn cut_responses_after(&self, bytes: u64) {
        self.controls.change(|faults| faults.cut_responses_after = Some(bytes));
    }

    /// Cuts the connection in place of the `nth` produce answer from now (1 is the next): appended, not told.
    pub fn cut_after_append(&self, nth: u32) {
        self.controls.change(|faults| faults.cut_after_append = Some(nth));
    }

    /// How many times [`cut_after_append`](Self::cut_after_append) has struck.
    pub fn appends_cut(&self) -> u32 {
        self.controls.lock().appended_and_cut
    }

    /// Cuts every connection that is open.
    pub fn cut_all(&self) {
        let open = std::mem::take(&mut self.controls.lock().open);
        open.iter().for_each(close);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // First the connections, so that what is held is not sent by closing.
        self.cut_all();
        self.controls.change(|faults| faults.closing = true);
        self.cut_all();
        // The acceptor looks at `closing` only when somebody comes.
        let _ = TcpStream::connect(("127.0.0.1", self.listen));
    }
}

fn close(stream: &TcpStream) {
    // A stream that is closed already is what was wanted.
    let _ = stream.shutdown(Shutdown::Both);
}

fn accept(controls: &Arc<Controls>, client: TcpStream, upstream: u16) {
    if controls.lock().refuse {
        return;
    }
    // A broker that is down looks like a broker that is down: the client's connection is dropped.
    let Ok(server) = TcpStream::connect(("127.0.0.1", upstream)) else { return };
    let (Ok(client_copy), Ok(server_copy)) = (client.try_clone(), server.try_clone()) else { return };
    let _ = client.set_nodelay(true);
    let _ = server.set_nodelay(true);
    if let (Ok(one), Ok(other)) = (client.try_clone(), server.try_clone()) {
        controls.lock().open.extend([one, other]);
    }
    let requests = Arc::new(Mutex::new(Requests::default()));
    let (shared, seen) = (Arc::clone(controls), Arc::clone(&requests));
    thread::spawn(move || forward_requests(&shared, client, server, &seen));
    let shared = Arc::clone(controls);
    thread::spawn(move || forward_responses(&shared, server_copy, client_copy, &requests));
}

/// Client to broker. A read never waits for a release: held bytes pile up here, and the client may leave.
fn forward_requests(
    controls: &Arc<Controls>,
    mut client: TcpStream,
    mut server: TcpStream,
    requests: &Mutex<Requests>,
) {
    let (sender, receiver) = std::sync::mpsc::channel::<Vec<u8>>();
    let shared = Arc::clone(controls);
    let writer = thread::spawn(move || {
        for mut chunk in receiver {
            shared.wait_released();
            let cut = spend(&mut shared.lock().cut_requests_after, &mut chunk);
            if server.write_all(&chunk).is_err() || cut {
                break;
            }
        }
        // Only here does the broker learn that the client has gone: everything held was sent before.
        close(&server);
    });
    let mut buffer = vec![0; CHUNK];
    while let Ok(count) = client.read(&mut buffer) {
        if count == 0 {
            break;
        }
        wait_delay(controls);
        requests.lock().expect("no holder of this lock panics").take(&buffer[..count]);
        if sender.send(buffer[..count].to_vec()).is_err() {
            break;
        }
    }
    close(&client);
    drop(sender);
    // A writer that panicked has closed nothing that the broker would miss.
    let _ = writer.join();
}

/// Broker to client. Goes on reading when the client has gone, so that the broker can answer what was held.
fn forward_responses(
    controls: &Controls,
    mut server: TcpStream,
    mut client: TcpStream,
    requests: &Mutex<Requests>,
) {
    let mut responses = Responses::default();
    let mut buffer = vec![0; CHUNK];
    while let Ok(count) = server.read(&mut buffer) {
        if count == 0 {
            break;
        }
        wait_delay(controls);
        let produced = responses.take(&buffer[..count], &mut requests.lock().expect("no holder panics"));
        if cut_this_append(controls, produced) {
            close(&server);
            break;
        }
        let mut chunk = buffer[..count].to_vec();
        let (swallow, cut) = {
            let mut faults = controls.lock();
            (faults.swallow_responses, spend(&mut faults.cut_responses_after, &mut chunk))
        };
        if !swallow {
            let _ = client.write_all(&chunk);
        }
        if cut {
            close(&server);
            break;
        }
    }
    close(&client);
}

fn wait_delay(controls: &Controls) {
    let delay = controls.lock().delay;
    if !delay.is_zero() {
        pause(delay);
    }
}

/// Counts `produced` produce answers; true when the one to be cut is among them.
fn cut_this_append(controls: &Controls, produced: u32) -> bool {
    let mut faults = controls.lock();
    let Some(left) = faults.cut_after_append.filter(|_| produced > 0) else { return false };
    if produced < left {
        faults.cut_after_append = Some(left - produced);
        return false;
    }
    faults.cut_after_append = None;
    faults.appended_and_cut += 1;
    true
}

/// Takes the chunk off a byte budget; at its end shortens the chunk and says that the connection is to be cut.
fn spend(budget: &mut Option<u64>, chunk: &mut Vec<u8>) -> bool {
    let Some(left) = *budget else { return false };
    let count = chunk.len() as u64;
    if count < left {
        *budget = Some(left - count);
        return false;
    }
    chunk.truncate(usize::try_from(left).expect("not more than the chunk's length"));
    *budget = None;
    true
}

#[cfg(test)]
mod tests;

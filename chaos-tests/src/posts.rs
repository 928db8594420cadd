//! Senders of webhooks: each posts one number after the other, again and again until it is answered 2xx.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::wait::pause;

/// A listener that does not answer in this time is taken as gone; the number is posted again.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between two tries of one number.
const AGAIN: Duration = Duration::from_millis(20);

/// What the senders know, which is the upstream's side of the ledger.
#[derive(Debug, Default)]
struct Shared {
    next: AtomicU64,
    is_over: AtomicBool,
    answered: Mutex<BTreeSet<u64>>,
    refused: AtomicU64,
}

/// Threads that post to one path of 127.0.0.1.
#[derive(Debug)]
pub struct Senders {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// What was posted when the senders ended.
#[derive(Debug)]
pub struct Posted {
    /// Numbers that were answered 2xx.
    pub answered: BTreeSet<u64>,
    /// Every number below it was begun.
    pub begun: u64,
    /// Tries that were answered otherwise, or not at all.
    pub refused: u64,
}

/// The body of a number: long enough that a mix-up of two would show.
pub fn body(number: u64) -> String {
    format!("{{\"number\":{number},\"square\":\"{}\"}}", u128::from(number) * u128::from(number))
}

impl Senders {
    /// Starts `count` of them on `path` at `port`, each post named by its number in the header `x-id`.
    pub fn start(count: usize, port: u16, path: &str) -> Self {
        let shared = Arc::new(Shared::default());
        let start = |_| {
            let (shared, path) = (Arc::clone(&shared), path.to_owned());
            std::thread::spawn(move || send(&shared, port, &path))
        };
        let threads = (0..count).map(start).collect();
        Self { shared, threads }
    }

    /// How many numbers were answered 2xx by now.
    pub fn answered(&self) -> usize {
        self.shared.answered.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Lets each finish its number, which needs somebody who answers it.
    ///
    /// # Panics
    /// When one of the threads did.
    pub fn finish(self) -> Posted {
        self.shared.is_over.store(true, Ordering::SeqCst);
        for thread in self.threads {
            thread.join().expect("a sender does not panic");
        }
        let answered =
            std::mem::take(&mut *self.shared.answered.lock().unwrap_or_else(PoisonError::into_inner));
        Posted {
            answered,
            begun: self.shared.next.load(Ordering::SeqCst),
            refused: self.shared.refused.load(Ordering::SeqCst),
        }
    }
}

fn send(shared: &Shared, port: u16, path: &str) {
    while !shared.is_over.load(Ordering::SeqCst) {
        let number = shared.next.fetch_add(1, Ordering::SeqCst);
        while !matches!(post(port, path, number), Ok(200..=299)) {
            shared.refused.fetch_add(1, Ordering::SeqCst);
            pause(AGAIN);
        }
        shared.answered.lock().unwrap_or_else(PoisonError::into_inner).insert(number);
    }
}

/// Posts one number on a connection of its own; the status of the answer.
///
/// # Errors
/// When there was no whole answer.
pub fn post(port: u16, path: &str, number: u64) -> io::Result<u16> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let body = body(number);
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Id: {number}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    status.ok_or_else(|| io::Error::other("no status"))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_number_is_posted_until_it_is_answered_2xx() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let mut seen = Vec::new();
            for status in [503, 429, 200] {
                let (mut stream, _) = listener.accept().unwrap();
                let mut buffer = [0; 1024];
                let count = stream.read(&mut buffer).unwrap();
                seen.push(String::from_utf8_lossy(&buffer[..count]).into_owned());
                write!(stream, "HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n").unwrap();
            }
            seen
        });

        let senders = Senders::start(1, port, "/topics/a");
        let seen = server.join().unwrap();
        // The next number finds nobody; the story of a test ends here.
        let answered = loop {
            if senders.answered() > 0 {
                break senders.shared.answered.lock().unwrap().clone();
            }
            pause(Duration::from_millis(1));
        };

        assert_eq!(answered, BTreeSet::from([0]));
        assert!(
            seen.iter().all(|request| request.contains("X-Id: 0") && request.ends_with(&body(0))),
            "{seen:?}"
        );
    }
}

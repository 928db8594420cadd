//! What a service manager hears, and whether the files that are given to it are right.

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use rustix::process::Signal;

use crate::support::{Daemon, Folder};

/// The messages a service manager gets, one a line of theirs.
struct Heard {
    socket: UnixDatagram,
}

impl Heard {
    fn bind(folder: &Folder) -> (Heard, String) {
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        (Heard { socket }, path.to_str().unwrap().to_owned())
    }

    /// Everything up to the first message with this line.
    fn until(&self, line: &str) -> Vec<String> {
        let mut heard = Vec::new();
        while !heard.iter().any(|known| known == line) {
            let mut bytes = [0; 1024];
            let length =
                self.socket.recv(&mut bytes).unwrap_or_else(|error| panic!("{line}: {error}; {heard:?}"));
            heard.extend(String::from_utf8_lossy(&bytes[..length]).lines().map(str::to_owned));
        }
        heard
    }
}

#[test]
fn a_service_manager_hears_ready_once_it_serves_then_life_then_stopping() {
    let folder = Folder::new();
    let (heard, path) = Heard::bind(&folder);
    let variables = [("NOTIFY_SOCKET", path.as_str()), ("WATCHDOG_USEC", "200000")];
    let mut daemon = Daemon::start_in(&folder, "", &variables);

    let first = heard.until("READY=1");
    assert!(first.contains(&"STATUS=0 sources".to_owned()), "{first:?}");
    heard.until("WATCHDOG=1");
    heard.until("WATCHDOG=1");

    daemon.signal(Signal::TERM);
    heard.until("STOPPING=1");
    assert_eq!(daemon.wait().0, 0);
}

#[test]
fn without_a_service_manager_nothing_is_missed() {
    let folder = Folder::new();
    let mut daemon = Daemon::start_in(&folder, "", &[("NOTIFY_SOCKET", "/nowhere/at/all")]);
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.wait().0, 0);
}

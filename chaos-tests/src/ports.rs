//! Ports for servers that a test starts.

use std::net::TcpListener;

/// Below the range from which the kernel takes ports for outgoing connections, so that nobody takes one of ours in
/// the moment between this choice and the server's own bind.
const RANGE: std::ops::Range<u16> = 18_000..31_000;

/// A port of 127.0.0.1 that nobody listens on.
///
/// # Panics
/// When a thousand random ports of the range are all taken.
pub fn free_port() -> u16 {
    for _ in 0..1_000 {
        let port = fastrand::u16(RANGE);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no free port in {RANGE:?}");
}

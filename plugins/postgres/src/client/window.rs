//! The receive window of a stream that comes from close by.
//!
//! PostgreSQL sends each change with a call of its own. While the window is open, each becomes a packet, which costs the server
//! more than decoding the change; while it is closed, the kernel appends the change to what waits, and sends 64 KiB at a time. So
//! a window that the pauses of the reader fill makes the server faster: measured on loopback, half the server's CPU time
//! (`make bench`). It caps a connection at its size by the round trip, so only short round trips get one.

use std::io;
use std::time::Duration;

use socket2::SockRef;
use tokio::net::TcpStream;

/// Linux doubles it for its own bookkeeping. A window of this size in [`NEAR`] is more than a server decodes.
const BYTES: usize = 128 << 10;
/// A connection made in less.
const NEAR: Duration = Duration::from_micros(500);

/// Narrows the window when the other end is near: on this machine, or as fast as if it were. `connected_in` is at least a round trip.
pub(super) fn narrow(tcp: &TcpStream, connected_in: Duration) -> io::Result<()> {
    if cfg!(target_os = "linux") && (connected_in < NEAR || is_ours(tcp)?) {
        SockRef::from(tcp).set_recv_buffer_size(BYTES)?;
    }
    Ok(())
}

/// Whether both ends have one address, which is so on loopback too.
fn is_ours(tcp: &TcpStream) -> io::Result<bool> {
    Ok(tcp.peer_addr()?.ip() == tcp.local_addr()?.ip())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_connection_within_the_machine_is_narrow_however_long_it_took() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let tcp = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        narrow(&tcp, Duration::from_secs(1)).unwrap();
        assert_eq!(SockRef::from(&tcp).recv_buffer_size().unwrap(), 2 * BYTES);
    }
}

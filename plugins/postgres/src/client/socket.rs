//! A TCP socket that can stop listening for a while.
//!
//! PostgreSQL sends each change by itself. A socket that the runtime watches wakes a thread for each packet, even while nobody means
//! to read: measured from slot to broker, a fifth of the engine's CPU time. Resting, it is watched by nobody; the kernel gathers
//! what comes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::client::TlsStream;

/// What a connection runs over.
pub(super) trait Io: AsyncRead + AsyncWrite + Send + Sync + Unpin {
    /// Listens no more until something is read or written. Only what saves work does something here.
    ///
    /// # Errors
    /// The socket is of no use any more.
    fn rest(&mut self) -> io::Result<()>;
}

impl Io for UnixStream {
    fn rest(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The pipe in which a backend without a socket answers.
impl Io for DuplexStream {
    fn rest(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Io for Socket {
    fn rest(&mut self) -> io::Result<()> {
        if let State::Listening(_) = &self.0
            && let State::Listening(tcp) = std::mem::replace(&mut self.0, State::Lost)
        {
            self.0 = State::Resting(tcp.into_std()?);
        }
        Ok(())
    }
}

impl Io for TlsStream<Socket> {
    fn rest(&mut self) -> io::Result<()> {
        self.get_mut().0.rest()
    }
}

/// A TCP socket.
#[derive(Debug)]
pub(super) struct Socket(State);

#[derive(Debug)]
enum State {
    Listening(TcpStream),
    Resting(std::net::TcpStream),
    /// It could not change from one to the other.
    Lost,
}

impl Socket {
    pub(super) fn new(tcp: TcpStream) -> Socket {
        Socket(State::Listening(tcp))
    }

    /// The socket, listening again.
    fn listening(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        if let State::Resting(_) = &self.0
            && let State::Resting(tcp) = std::mem::replace(&mut self.0, State::Lost)
        {
            self.0 = State::Listening(TcpStream::from_std(tcp)?);
        }
        match &mut self.0 {
            State::Listening(tcp) => Ok(Pin::new(tcp)),
            State::Resting(_) | State::Lost => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.get_mut().listening()?.poll_read(task, into)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, task: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.get_mut().listening()?.poll_write(task, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().listening()?.poll_flush(task)
    }

    fn poll_shutdown(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        let tcp = self.get_mut().listening()?;
        ready!(tcp.poll_shutdown(task))?;
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    async fn pair() -> (Socket, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (Socket::new(ours), listener.accept().await.unwrap().0)
    }

    #[tokio::test]
    async fn what_came_while_it_rested_is_read_and_what_comes_later_too() {
        let (mut ours, mut theirs) = pair().await;
        for text in [b"one", b"two"] {
            ours.rest().unwrap();
            theirs.write_all(text).await.unwrap();
            let mut seen = [0; 3];
            ours.read_exact(&mut seen).await.unwrap();
            assert_eq!(&seen, text);
        }
        let mut seen = [0; 5];
        let reading = ours.read_exact(&mut seen);
        let (read, ()) = tokio::join!(reading, async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            theirs.write_all(b"three").await.unwrap();
        });
        read.unwrap();
        assert_eq!(&seen, b"three");
    }

    #[tokio::test]
    async fn it_can_be_written_to_while_it_rests_and_rest_twice() {
        let (mut ours, mut theirs) = pair().await;
        ours.rest().unwrap();
        ours.rest().unwrap();
        ours.write_all(b"status").await.unwrap();
        let mut seen = [0; 6];
        theirs.read_exact(&mut seen).await.unwrap();
        assert_eq!(&seen, b"status");
        ours.rest().unwrap();
        drop(theirs);
        assert_eq!(ours.read(&mut seen).await.unwrap(), 0, "the end is seen too");
    }
}

//! A connection whose other side must keep moving: there must be a request now and then, a head that was begun must be
//! whole in time, and what is written must be taken. Bodies have a limit of their own.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

/// An answer is a few hundred bytes: who does not take it within this does not read.
const WRITE_WITHIN: Duration = Duration::from_secs(30);

/// Which request is being answered, told by the service to the stream below it.
#[derive(Default)]
pub(super) struct Pace {
    active: AtomicUsize,
    started: AtomicUsize,
}

/// While it lives a request is being answered.
pub(super) struct Busy(Arc<Pace>);

impl Pace {
    pub(super) fn busy(self: &Arc<Self>) -> Busy {
        self.active.fetch_add(1, Ordering::Relaxed);
        self.started.fetch_add(1, Ordering::Relaxed);
        Busy(Arc::clone(self))
    }

    fn is_busy(&self) -> bool {
        self.active.load(Ordering::Relaxed) > 0
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How long the other side may take.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    /// For the rest of a head that was begun.
    pub(super) head: Duration,
    /// Without a request; up to a quarter more.
    pub(super) idle: Duration,
}

/// A stream under this rule.
pub(super) struct Paced<S> {
    stream: S,
    pace: Arc<Pace>,
    patience: Patience,
    /// Requests whose head was whole, as far as known here.
    started: usize,
    head: Head,
    /// Runs from [`Head::Since`] on, once the rest is waited for: most heads come in one piece and need no timer.
    late: Option<Pin<Box<Sleep>>>,
    idle: Idle,
    /// Runs while nothing can be written.
    write: Option<Pin<Box<Sleep>>>,
}

/// How far the next head is.
#[derive(Clone, Copy)]
enum Head {
    Absent,
    /// Something was read; most often that was all of it, and nobody need look at a clock.
    Begun,
    /// Something was read, and more is asked for since then.
    Since(Instant),
}

/// One timer for the life of a connection: set again for each request it would cost more than small requests do. It
/// runs for a quarter of the patience, and four in a row without a request end the connection.
struct Idle {
    quarter: Pin<Box<Sleep>>,
    /// Those that passed since the last request.
    passed: u32,
    /// The count of requests when the present one began.
    started: usize,
}

const QUARTERS: u32 = 4;

impl<S> Paced<S> {
    pub(super) fn new(stream: S, pace: Arc<Pace>, patience: Patience) -> Paced<S> {
        let quarter = Box::pin(sleep(patience.idle / QUARTERS));
        let idle = Idle { quarter, passed: 0, started: 0 };
        Paced { stream, pace, patience, started: 0, head: Head::Absent, late: None, idle, write: None }
    }

    fn written<T>(&mut self, context: &mut Context<'_>, done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if done.is_ready() {
            self.write = None;
            return done;
        }
        let wait = self.write.get_or_insert_with(|| Box::pin(sleep(WRITE_WITHIN)));
        wait.as_mut().poll(context).map(|()| Err(too_slow()))
    }

    /// Ready once there was no request for too long; never while one is answered.
    fn poll_idle(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let is_busy = self.pace.is_busy();
        let Idle { quarter, passed, started } = &mut self.idle;
        while quarter.as_mut().poll(context).is_ready() {
            *passed = if *started == self.started && !is_busy { *passed + 1 } else { 0 };
            *started = self.started;
            if *passed >= QUARTERS {
                return Poll::Ready(());
            }
            quarter.as_mut().reset(Instant::now() + self.patience.idle / QUARTERS);
        }
        Poll::Pending
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let started = self.pace.started.load(Ordering::Relaxed);
        if std::mem::replace(&mut self.started, started) != started || self.pace.is_busy() {
            (self.head, self.late) = (Head::Absent, None);
        }
        if matches!(self.head, Head::Begun) {
            self.head = Head::Since(Instant::now());
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if self.pace.is_busy() {
            // Nobody need read when the answer is given, so the timer has to run by then.
            if read.is_pending() {
                let _ = self.poll_idle(context);
            }
            return read;
        }
        match (self.head, read.is_ready()) {
            (Head::Absent | Head::Begun, true) => {
                if buffer.filled().len() > before {
                    self.head = Head::Begun;
                }
                read
            }
            (Head::Absent | Head::Begun, false) => self.poll_idle(context).map(|()| Err(too_slow())),
            (Head::Since(began), true) if began.elapsed() >= self.patience.head => {
                Poll::Ready(Err(too_slow()))
            }
            (Head::Since(_), true) => read,
            (Head::Since(began), false) => {
                let due = began + self.patience.head;
                let late = self.late.get_or_insert_with(|| Box::pin(sleep_until(due)));
                late.as_mut().poll(context).map(|()| Err(too_slow()))
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(context, done)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.written(context, done)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.stream).poll_flush(context);
        self.written(context, done)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.stream).poll_shutdown(context);
        self.written(context, done)
    }
}

fn too_slow() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the other side is too slow")
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::timeout;

    use super::*;

    /// As hyper does: it reads while it waits for the answer, and from then on only when something wakes it.
    #[tokio::test(start_paused = true)]
    async fn a_connection_without_a_request_ends_though_nobody_read_since_its_answer() {
        let (mut theirs, ours) = duplex(100);
        let pace = Arc::new(Pace::default());
        let patience = Patience { head: Duration::from_millis(50), idle: Duration::from_secs(1) };
        let mut paced = Paced::new(ours, Arc::clone(&pace), patience);
        theirs.write_all(b"a request").await.unwrap();
        let mut bytes = [0; 100];
        assert_eq!(paced.read(&mut bytes).await.unwrap(), 9);
        let mut busy = Some(pace.busy());

        let read = poll_fn(|context| {
            let polled = Pin::new(&mut paced).poll_read(context, &mut ReadBuf::new(&mut bytes));
            drop(busy.take());
            polled
        });

        let ended = timeout(Duration::from_secs(5), read).await.expect("it ends");
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_answer_is_no_idleness() {
        let (_theirs, ours) = duplex(100);
        let pace = Arc::new(Pace::default());
        let patience = Patience { head: Duration::from_millis(50), idle: Duration::from_secs(1) };
        let mut paced = Paced::new(ours, Arc::clone(&pace), patience);
        let _busy = pace.busy();
        let mut bytes = [0; 100];
        assert!(timeout(Duration::from_secs(60), paced.read(&mut bytes)).await.is_err());
    }
}

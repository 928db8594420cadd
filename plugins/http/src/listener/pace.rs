//! A connection whose other side must keep moving: a request head that was begun must be whole in time, and what is
//! written must be taken. Bodies have a limit of their own, and a connection without a request hyper's.

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

/// A stream under this rule.
pub(super) struct Paced<S> {
    stream: S,
    pace: Arc<Pace>,
    head_within: Duration,
    /// Requests whose head was whole, as far as known here.
    started: usize,
    /// When the first byte of a head came.
    head_began: Option<Instant>,
    /// Runs from then on, once the rest is waited for: most heads come in one piece and need no timer.
    head: Option<Pin<Box<Sleep>>>,
    /// Runs while nothing can be written.
    write: Option<Pin<Box<Sleep>>>,
}

impl<S> Paced<S> {
    pub(super) fn new(stream: S, pace: Arc<Pace>, head_within: Duration) -> Paced<S> {
        Paced { stream, pace, head_within, started: 0, head_began: None, head: None, write: None }
    }

    fn written<T>(&mut self, context: &mut Context<'_>, done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if done.is_ready() {
            self.write = None;
            return done;
        }
        let wait = self.write.get_or_insert_with(|| Box::pin(sleep(WRITE_WITHIN)));
        wait.as_mut().poll(context).map(|()| Err(too_slow()))
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
            (self.head_began, self.head) = (None, None);
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if self.pace.is_busy() {
            return read;
        }
        if read.is_ready() {
            if buffer.filled().len() > before {
                self.head_began.get_or_insert_with(Instant::now);
            }
            let is_late = self.head_began.is_some_and(|began| began.elapsed() >= self.head_within);
            return if is_late { Poll::Ready(Err(too_slow())) } else { read };
        }
        let Some(began) = self.head_began else { return read };
        let due = began + self.head_within;
        let head = self.head.get_or_insert_with(|| Box::pin(sleep_until(due)));
        head.as_mut().poll(context).map(|()| Err(too_slow()))
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

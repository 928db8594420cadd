//! Whose code is running: what a source logs is known as its own, in its methods and in the tasks it spawned with
//! [`Host::scope`].

use std::cell::RefCell;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::host::Host;

thread_local! {
    static CURRENT: RefCell<Option<Host>> = const { RefCell::new(None) };
}

impl Host {
    /// Runs `task` so that what it logs is known as this source's: `tokio::spawn(host.scope(task))`.
    pub fn scope<F: Future>(&self, task: F) -> impl Future<Output = F::Output> + use<F> {
        scoped(self.clone(), task)
    }
}

/// The source whose code this thread runs, if it is a source's.
pub(crate) fn current() -> Option<Host> {
    CURRENT.with_borrow(Clone::clone)
}

/// Runs `task` as code of the source behind `host`.
pub(crate) fn scoped<F: Future>(host: Host, task: F) -> Scoped<F> {
    Scoped { host, task: Box::pin(task) }
}

/// A future whose every step is the source's.
pub(crate) struct Scoped<F> {
    host: Host,
    task: Pin<Box<F>>,
}

impl<F: Future> Future for Scoped<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _inside = Inside::enter(self.host.clone());
        self.task.as_mut().poll(context)
    }
}

/// Puts the former scope back, also when the step panics.
struct Inside(Option<Host>);

impl Inside {
    fn enter(host: Host) -> Inside {
        Inside(CURRENT.replace(Some(host)))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

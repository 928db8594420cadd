//! Panics of the author's code end at the border: caught, with their text and place.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Once;
use std::task::Poll;

use super::border;

/// How a call into the author's code ended.
#[derive(Debug)]
pub(super) enum Ended<T> {
    /// It returned.
    Returned(T),
    /// It panicked, with this text.
    Panicked(String),
    /// `until` came first, and its future was dropped where it stood.
    Dropped,
}

/// Runs `call` to its end, or to `until` if that comes first.
pub(super) async fn run<T>(call: impl Future<Output = T>, until: impl Future<Output = ()>) -> Ended<T> {
    // On the heap, so that its drop can be caught apart from that of the task.
    let mut call = Box::pin(call);
    let mut until = pin!(until);
    let ended = poll_fn(|context| {
        match caught(|| call.as_mut().poll(context)) {
            Ok(Poll::Ready(value)) => return Poll::Ready(Ended::Returned(value)),
            Ok(Poll::Pending) => {}
            Err(text) => return Poll::Ready(Ended::Panicked(text)),
        }
        until.as_mut().poll(context).map(|()| Ended::Dropped)
    })
    .await;
    match (caught(|| drop(call)), ended) {
        (Err(text), Ended::Returned(_) | Ended::Dropped) => Ended::Panicked(text),
        (_, ended) => ended,
    }
}

/// Runs `work`; the error is the text of its panic with the place it came from.
pub(super) fn caught<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    install();
    let outer = IS_INSIDE.replace(true);
    let answer = catch_unwind(AssertUnwindSafe(work));
    IS_INSIDE.set(outer);
    answer.map_err(|payload| {
        let place = PLACE.take();
        let text = text_of(&*payload);
        // The payload is the author's: even dropping it may panic.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
        match place {
            Some(place) => format!("panicked at {place}: {text}"),
            None => format!("panicked: {text}"),
        }
    })
}

thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Replaces the hook of this library, once: a caught panic is reported by the engine with its text and place, so it
/// is not printed too. One in a task or thread of the author's own becomes a log line of the engine.
fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let place = info.location().map(ToString::to_string);
            if IS_INSIDE.get() {
                PLACE.set(place);
            } else if border::host().is_some() {
                tracing::error!(
                    place,
                    text = text_of(info.payload()),
                    "a task or thread of the plugin panicked"
                );
            } else {
                previous(info);
            }
        }));
    });
}

fn text_of(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        return (*text).to_owned();
    }
    payload.downcast_ref::<String>().cloned().unwrap_or_else(|| "a value without text".to_owned())
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn a_panic_comes_back_with_text_and_place() {
        let ended = run(async { panic!("no {}", "luck") }, pending()).await;
        let Ended::<()>::Panicked(text) = ended else { panic!("{ended:?}") };
        assert!(text.contains("panics.rs:") && text.ends_with("no luck"), "{text}");
    }

    #[tokio::test]
    async fn a_panic_while_being_dropped_is_a_panic() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("in drop");
            }
        }
        let ended = run(
            async {
                let _bomb = Bomb;
                pending::<()>().await;
            },
            ready(()),
        )
        .await;
        assert!(matches!(ended, Ended::Panicked(text) if text.ends_with("in drop")));
    }

    #[tokio::test]
    async fn a_call_that_is_ready_wins_over_its_end() {
        assert!(matches!(run(ready(1), ready(())).await, Ended::Returned(1)));
    }
}

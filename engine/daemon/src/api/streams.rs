//! Streams of server-sent events: how many there may be, and how each ends.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;

use super::problem::Problem;
use super::readiness::Readiness;

/// Streams at once. Each holds a connection for as long as it likes, so they may not take all of them.
const STREAMS_MAX: usize = 32;

/// Events that wait for their client.
const WAITING_MAX: usize = 16;

/// A comment is sent after so long without an event, so that a client that is gone is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The places there are.
#[derive(Debug, Clone)]
pub(crate) struct Streams {
    places: Arc<Semaphore>,
}

impl Streams {
    /// All free.
    pub(crate) fn new() -> Streams {
        Streams { places: Arc::new(Semaphore::new(STREAMS_MAX)) }
    }
}

/// What a stream is written to.
pub(super) struct Outlet {
    sender: mpsc::Sender<Event>,
    _place: OwnedSemaphorePermit,
}

impl Outlet {
    /// Waits for a client that is slow; `false` when it is gone.
    pub(super) async fn send(&self, event: Event) -> bool {
        self.sender.send(event).await.is_ok()
    }

    /// Sends something that has no number; `false` when the client is gone.
    pub(super) async fn tell(&self, kind: &str, data: &Value) -> bool {
        self.send(Event::default().event(kind).data(data.to_string())).await
    }

    /// Resolves when the client is gone.
    pub(super) async fn left(&self) {
        self.sender.closed().await;
    }
}

/// A stream that `write` fills; it ends when that does, and when the process begins to drain.
///
/// # Errors
/// There are as many as there may be.
pub(super) fn open<F>(
    streams: &Streams,
    readiness: &Readiness,
    write: impl FnOnce(Arc<Outlet>) -> F,
) -> Result<Response, Problem>
where
    F: Future<Output = ()> + Send + 'static,
{
    let place = streams.places.clone().try_acquire_owned().map_err(|_none_left| {
        let detail = format!("there are {STREAMS_MAX} streams already");
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "http.too_many_streams", detail)
            .with_hint("end one of them, then ask again")
    })?;
    let (sender, receiver) = mpsc::channel(WAITING_MAX);
    let outlet = Arc::new(Outlet { sender, _place: place });
    let writing = write(outlet.clone());
    let readiness = readiness.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = writing => {}
            () = outlet.left() => {}
            () = readiness.until_draining() => {
                outlet.tell("end", &serde_json::json!({ "reason": "the daemon is shutting down" })).await;
            }
        }
    });
    let events = ReceiverStream::new(receiver).map(Ok::<_, Infallible>);
    let mut response =
        Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE).text("still here")).into_response();
    // Proxies that collect answers would hold the events back.
    let unbuffered = (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response.headers_mut().extend([unbuffered]);
    Ok(response)
}

//! Opening an instance.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use super::calls::{Filed, HOST, SinkSlot, expect};
use super::error::{OpenError, hung};
use super::instance::Instance;
use super::library::Library;
use crate::ffi::GRACE;
use crate::ffi::abi::{RawBytes, RawOpen, RawToken, mode, outcome};
use crate::host::HostSink;
use crate::{Limits, Mode};

/// Everything a source is opened with.
pub struct OpenRequest {
    /// The key of the definition.
    pub key: String,
    /// `[plugin_config]` as JSON, secrets resolved.
    pub config_json: String,
    /// What the store holds; `None` when it never held anything.
    pub state: Option<Vec<u8>>,
    /// To deliver or to look.
    pub mode: Mode,
    /// Where the plugin cuts a batch, and what the border refuses.
    pub limits: Limits,
    /// The largest record that is delivered: payload, key and headers together. A larger one fails its batch.
    pub record_bytes: u64,
    /// Past it the plugin drops the opening.
    pub open_timeout: Duration,
    /// Past it the plugin drops the call that takes a verdict.
    pub verdict_timeout: Duration,
    /// Where its logs and reports go.
    pub host: Arc<dyn HostSink>,
}

impl std::fmt::Debug for OpenRequest {
    /// Configuration and state may hold secrets.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("OpenRequest").field("key", &self.key).finish_non_exhaustive()
    }
}

impl Library {
    /// Starts opening an instance, at once; the future only waits. Dropping it does not stop the opening, but an
    /// instance that nobody takes is destroyed.
    ///
    /// # Errors
    /// Within `open_timeout` and five seconds, always.
    pub fn open(
        self: &Arc<Self>,
        request: OpenRequest,
    ) -> impl Future<Output = Result<Instance, OpenError>> + Send + use<> {
        self.open_until(request, std::future::pending())
    }

    /// As [`open`](Library::open), but once `unwanted` returns the plugin is told to give the opening up, and has five
    /// seconds to end it. It may still end well.
    ///
    /// # Errors
    /// As of [`open`](Library::open). One that was given up is [`OpenError::Transient`].
    pub fn open_until<U: Future<Output = ()> + Send>(
        self: &Arc<Self>,
        request: OpenRequest,
        unwanted: U,
    ) -> impl Future<Output = Result<Instance, OpenError>> + Send + use<U> {
        let limit = request.open_timeout + GRACE;
        let library = Arc::clone(self);
        let (token, mut answer) = start(Arc::clone(self), request);
        async move {
            let ended = tokio::select! {
                ended = timeout(limit, &mut answer) => ended,
                () = unwanted => timeout(library.call_off(token).unwrap_or(limit), answer).await,
            };
            match ended {
                Ok(Ok(opened)) => opened,
                Ok(Err(_)) => Err(OpenError::Panicked("the plugin lost the call".to_owned())),
                Err(_) => Err(OpenError::Hung(hung("open", GRACE))),
            }
        }
    }

    /// How long the opening has to end now; `None` for a plugin that cannot be told, whose opening ends in its own time.
    fn call_off(&self, token: RawToken) -> Option<Duration> {
        let call_off = self.calls.call_off?;
        // SAFETY: a call of the checked table; the token is of this library, and a stale one finds nothing there.
        unsafe { call_off(token) };
        Some(GRACE)
    }
}

/// Starts the call; its token names it until the answer is there.
fn start(
    library: Arc<Library>,
    request: OpenRequest,
) -> (RawToken, oneshot::Receiver<Result<Instance, OpenError>>) {
    let sink = SinkSlot::new(Arc::clone(&request.host));
    let raw = raw(&request, sink.0);
    let (sender, receiver) = oneshot::channel();
    let (limits, verdict_timeout) = (request.limits, request.verdict_timeout);
    let owner = Arc::clone(&library);
    let token = expect(
        library.number(),
        Box::new(move |filed| {
            let opened = opened(filed, |number| Instance::new(owner, number, sink, limits, verdict_timeout));
            // An instance that nobody waits for any more is destroyed by its drop.
            drop(sender.send(opened));
        }),
    );
    // SAFETY: `raw` and what it borrows outlive the call; the host table is static.
    unsafe { (library.calls.open)(&raw, token) };
    (token, receiver)
}

/// The request in C layout; it borrows from `request`.
pub(super) fn raw(request: &OpenRequest, source: u64) -> RawOpen {
    RawOpen {
        size: size_of::<RawOpen>() as u32,
        mode: match request.mode {
            Mode::Run => mode::RUN,
            Mode::Inspect => mode::INSPECT,
        },
        host: &raw const HOST,
        source,
        key: RawBytes::of(request.key.as_bytes()),
        config: RawBytes::of(request.config_json.as_bytes()),
        state: request.state.as_deref().map_or(RawBytes::NONE, RawBytes::of),
        batch_records: request.limits.batch_records,
        record_bytes: u32::try_from(request.record_bytes).unwrap_or(u32::MAX),
        batch_bytes: request.limits.batch_bytes,
        open_timeout_ms: milliseconds(request.open_timeout),
        verdict_timeout_ms: milliseconds(request.verdict_timeout),
    }
}

fn opened(filed: Filed, instance: impl FnOnce(u64) -> Instance) -> Result<Instance, OpenError> {
    match filed.kind {
        outcome::DONE => Ok(instance(filed.instance)),
        outcome::CONFIG => Err(OpenError::Config(filed.text)),
        outcome::STATE => Err(OpenError::State(filed.text)),
        outcome::PERMANENT => Err(OpenError::Permanent(filed.text)),
        outcome::TRANSIENT | outcome::TIMED_OUT | outcome::INTERRUPTED => {
            Err(OpenError::Transient(filed.text))
        }
        outcome::PANICKED => Err(OpenError::Panicked(filed.text)),
        unknown => {
            Err(OpenError::Panicked(format!("open ended in an unknown way ({unknown}): {}", filed.text)))
        }
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

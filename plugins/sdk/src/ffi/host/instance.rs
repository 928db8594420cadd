//! The calls on one open instance.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use tokio::time::{sleep, timeout};

use super::batch::{GuestBatch, Refused};
use super::calls::{Filed, SinkSlot, answered, expect, expect_one};
use super::error::{CommandError, PollError, ResolveError, hung};
use super::library::Library;
use crate::ffi::abi::{RawBytes, RawToken, outcome, verdict as code};
use crate::ffi::{CLOSE_TIMEOUT, GRACE};
use crate::{Limits, Verdict};

/// One open source of a plugin. Every call is started at once; the future it answers only waits, and may be dropped.
///
/// When the last handle goes without [`destroy`](Instance::destroy), the instance is destroyed unobserved.
#[derive(Clone, Debug)]
pub struct Instance {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    library: Arc<Library>,
    number: u64,
    limits: Limits,
    verdict_timeout: Duration,
    life: Mutex<Life>,
}

/// Guarded as one, so that an interrupt never meets a poll half started.
#[derive(Debug)]
struct Life {
    stage: Stage,
    /// Whether a poll was started that has not completed, though its future may be gone.
    is_polling: Arc<watch::Sender<bool>>,
    /// Set to true when the outstanding poll was asked to end.
    interrupted: watch::Sender<bool>,
    /// Taken along by the call that destroys, so that logs find their source until the value is dropped.
    sink: Option<SinkSlot>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Open,
    /// Panicked, broke the rules, or a call hangs: only destroy is left.
    Suspect,
    Destroyed,
}

/// How an instance ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// A call of it never ended. Its value was not dropped, what it holds stays held, and its key must not be opened
    /// again in this process.
    pub leaked: bool,
}

impl Instance {
    pub(super) fn new(
        library: Arc<Library>,
        number: u64,
        sink: SinkSlot,
        limits: Limits,
        verdict_timeout: Duration,
    ) -> Instance {
        let life = Life {
            stage: Stage::Open,
            is_polling: Arc::new(watch::Sender::new(false)),
            interrupted: watch::Sender::new(false),
            sink: Some(sink),
        };
        let inner = Inner { library, number, limits, verdict_timeout, life: Mutex::new(life) };
        Instance { inner: Arc::new(inner) }
    }

    /// Starts the next poll; not while one is outstanding. It takes as long as the source likes.
    ///
    /// # Errors
    /// No batch; see [`PollError`]. Within ten seconds after [`interrupt`](Instance::interrupt), always.
    pub fn poll(&self) -> impl Future<Output = Result<GuestBatch, PollError>> + Send + use<> {
        let inner = Arc::clone(&self.inner);
        let started = inner.start_poll();
        async move {
            let (answer, interrupted) = started.map_err(PollError::Panicked)?;
            let filed = tokio::select! {
                biased;
                filed = answer => filed,
                () = overdue(interrupted) => {
                    inner.suspect();
                    return Err(PollError::Hung(hung("poll", GRACE)));
                }
            };
            let filed = filed.map_err(|_| PollError::Panicked(lost("poll")));
            let polled = filed.and_then(|filed| polled(filed, &inner.limits));
            if matches!(polled, Err(PollError::Panicked(_))) {
                inner.suspect();
            }
            polled
        }
    }

    /// Starts telling the source what became of its oldest unresolved batch; one at a time, a `Nack` not while a
    /// poll is outstanding.
    ///
    /// # Errors
    /// All are fatal for the instance. Within `verdict_timeout` and five seconds, always.
    pub fn resolve(&self, verdict: Verdict) -> impl Future<Output = Result<(), ResolveError>> + Send + use<> {
        let inner = Arc::clone(&self.inner);
        let code = match verdict {
            Verdict::Ack => code::ACK,
            Verdict::Nack => code::NACK,
        };
        let started = inner.start(|calls, number, token| {
            // SAFETY: the instance is open, and the token is new.
            unsafe { (calls.resolve)(number, code, token) };
        });
        async move {
            let answer = started.map_err(ResolveError::Panicked)?;
            let resolved = match timeout(inner.verdict_timeout + GRACE, answer).await {
                Ok(Ok(filed)) => resolved(filed),
                Ok(Err(_)) => Err(ResolveError::Panicked(lost("on_batch_result"))),
                Err(_) => Err(ResolveError::Hung(hung("on_batch_result", GRACE))),
            };
            if resolved.is_err() {
                inner.suspect();
            }
            resolved
        }
    }

    /// Asks the outstanding poll to end. Sticky until it completes; without effect when there is none.
    pub fn interrupt(&self) {
        self.inner.interrupt();
    }

    /// Starts the author's close after interrupting the outstanding poll, then destroys. The author's close is left
    /// out where a panic or a hanging call forbids it.
    pub fn close(&self) -> impl Future<Output = Closed> + Send + use<> {
        let inner = Arc::clone(&self.inner);
        inner.interrupt();
        async move {
            if !inner.poll_ended().await {
                return inner.leak();
            }
            let started = inner.start(|calls, number, token| {
                // SAFETY: the instance is open, and the token is new.
                unsafe { (calls.close)(number, token) };
            });
            if let Ok(answer) = started
                && timeout(CLOSE_TIMEOUT + GRACE, answer).await.is_err()
            {
                return inner.leak();
            }
            // A panic or an error of the author's close changes nothing: the value is dropped all the same.
            inner.destroy().await
        }
    }

    /// Starts dropping the instance, without the author's close, once its outstanding calls have ended: they have
    /// five seconds, then their futures are dropped.
    pub fn destroy(&self) -> impl Future<Output = Closed> + Send + use<> {
        self.inner.interrupt();
        self.inner.destroy()
    }

    /// Starts a command of the source. It may run beside everything else.
    ///
    /// # Errors
    /// [`CommandError::Unknown`] for a name the source does not know.
    pub fn command(
        &self,
        name: &str,
        arguments_json: &str,
    ) -> impl Future<Output = Result<String, CommandError>> + Send + use<> {
        let inner = Arc::clone(&self.inner);
        let command = inner.library.calls.command;
        let started = match command {
            None => Err(CommandError::Unknown("this plugin has no commands".to_owned())),
            Some(command) => inner
                .start(|_, number, token| {
                    let (name, arguments) = (name.as_bytes(), arguments_json.as_bytes());
                    // SAFETY: the instance is open, the token is new, and the texts outlive the call.
                    unsafe { command(number, RawBytes::of(name), RawBytes::of(arguments), token) };
                })
                .map_err(CommandError::Unknown),
        };
        async move {
            let answered = answered(started?.await);
            if matches!(answered, Err(CommandError::Panicked(_))) {
                inner.suspect();
            }
            answered
        }
    }
}

impl Inner {
    /// Starts a call unless the instance is no longer to be called; the error says why not.
    fn start(
        &self,
        call: impl FnOnce(&super::functions::Calls, u64, RawToken),
    ) -> Result<oneshot::Receiver<Filed>, String> {
        let life = self.life();
        usable(&life)?;
        let (token, answer) = expect_one(self.library.number());
        call(&self.library.calls, self.number, token);
        Ok(answer)
    }

    fn start_poll(&self) -> Result<(oneshot::Receiver<Filed>, watch::Receiver<bool>), String> {
        let mut life = self.life();
        usable(&life)?;
        if life.is_polling.send_replace(true) {
            return Err("a poll is outstanding".to_owned());
        }
        life.interrupted = watch::Sender::new(false);
        let interrupted = life.interrupted.subscribe();
        let (sender, answer) = oneshot::channel();
        let is_polling = Arc::clone(&life.is_polling);
        let token = expect(
            self.library.number(),
            Box::new(move |filed| {
                is_polling.send_replace(false);
                drop(sender.send(filed));
            }),
        );
        // SAFETY: the instance is open, and the token is new.
        unsafe { (self.library.calls.poll)(self.number, token) };
        Ok((answer, interrupted))
    }

    fn interrupt(&self) {
        let life = self.life();
        if life.stage != Stage::Destroyed {
            life.interrupted.send_replace(true);
            // SAFETY: the instance was not destroyed, which the lock holds so.
            unsafe { (self.library.calls.interrupt)(self.number) };
        }
    }

    /// Waits for the outstanding poll, which was interrupted; false when it hangs.
    async fn poll_ended(&self) -> bool {
        let mut is_polling = self.life().is_polling.subscribe();
        let ended = is_polling.wait_for(|is_polling| !is_polling);
        timeout(GRACE + GRACE, ended).await.is_ok()
    }

    /// Gives up on an instance one of whose calls hangs. Should that call ever end, the plugin drops the value.
    fn leak(&self) -> Closed {
        drop(self.start_destroy());
        Closed { leaked: true }
    }

    fn suspect(&self) {
        let mut life = self.life();
        if life.stage == Stage::Open {
            life.stage = Stage::Suspect;
        }
    }

    fn destroy(&self) -> impl Future<Output = Closed> + Send + use<> {
        let started = self.start_destroy();
        async move {
            let Some(answer) = started else { return Closed { leaked: false } };
            // Its outstanding calls end within the first grace; the second is for what hangs.
            let ended = timeout(GRACE + GRACE, answer).await;
            Closed { leaked: !matches!(ended, Ok(Ok(()))) }
        }
    }

    /// `None` when it was destroyed before.
    fn start_destroy(&self) -> Option<oneshot::Receiver<()>> {
        let mut life = self.life();
        if life.stage == Stage::Destroyed {
            return None;
        }
        life.stage = Stage::Destroyed;
        let sink = life.sink.take();
        drop(life);
        let (sender, answer) = oneshot::channel();
        let token = expect(
            self.library.number(),
            Box::new(move |_| {
                drop(sink);
                let _ = sender.send(());
            }),
        );
        // SAFETY: the first and only destroy of this instance, which nothing calls after.
        unsafe { (self.library.calls.destroy)(self.number, token) };
        Some(answer)
    }

    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        drop(self.start_destroy());
    }
}

fn usable(life: &Life) -> Result<(), String> {
    match life.stage {
        Stage::Open => Ok(()),
        Stage::Suspect => Err("the instance failed before; it can only be destroyed".to_owned()),
        Stage::Destroyed => Err("the instance was destroyed".to_owned()),
    }
}

/// Returns when a poll that was asked to end should long have ended.
async fn overdue(mut interrupted: watch::Receiver<bool>) {
    if interrupted.wait_for(|interrupted| *interrupted).await.is_err() {
        // A later poll has begun, so this one has completed.
        std::future::pending::<()>().await;
    }
    sleep(GRACE + GRACE).await;
}

fn polled(filed: Filed, limits: &Limits) -> Result<GuestBatch, PollError> {
    match filed.kind {
        outcome::DONE => match filed.batch.map(|batch| batch.check(limits)) {
            Some(Ok(batch)) => Ok(batch),
            Some(Err(Refused::Limit(text))) => Err(PollError::Limit(text)),
            Some(Err(Refused::Invalid(text))) => {
                Err(PollError::Panicked(format!("the plugin returned {text}")))
            }
            None => Err(PollError::Panicked("the plugin returned no batch".to_owned())),
        },
        outcome::INTERRUPTED => Err(PollError::Interrupted),
        outcome::TRANSIENT | outcome::TIMED_OUT => Err(PollError::Transient(filed.text)),
        outcome::CONFIG | outcome::STATE | outcome::PERMANENT => Err(PollError::Permanent(filed.text)),
        outcome::LIMIT => Err(PollError::Limit(filed.text)),
        outcome::PANICKED => Err(PollError::Panicked(filed.text)),
        unknown => {
            Err(PollError::Panicked(format!("poll ended in an unknown way ({unknown}): {}", filed.text)))
        }
    }
}

fn resolved(filed: Filed) -> Result<(), ResolveError> {
    match filed.kind {
        outcome::DONE => Ok(()),
        outcome::TIMED_OUT => Err(ResolveError::TimedOut(filed.text)),
        outcome::PANICKED => Err(ResolveError::Panicked(filed.text)),
        _ => Err(ResolveError::Failed(filed.text)),
    }
}

fn lost(call: &str) -> String {
    format!("the plugin lost the call of {call}")
}

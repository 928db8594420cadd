//! The function table of a plugin.

use std::sync::Arc;
use std::time::Duration;

use super::border::{self, BorderSink};
use super::instance::{Dispatch, Instance, Opening};
use super::openings::{self, UnderWay};
use super::outcome::{Completion, Outcome};
use super::panics::{Ended, caught, run};
use super::{log, maintenance, runtime, seal};
use crate::ffi::abi::{Functions, HostTable, RawBytes, RawOpen, RawToken, mode, outcome, verdict};
use crate::ffi::slots::Slots;
use crate::scope::scoped;
use crate::turns::Turns;
use crate::{Host, Interrupt, Limits, Mode, OpenContext, Source, State, Verdict};

/// The open instances of this library, by number: a call on one that is gone finds nothing.
static INSTANCES: Slots<Arc<dyn Dispatch>> = Slots::new();

/// The table of a source.
pub(super) const fn functions<S: Source>() -> Functions {
    Functions {
        size: size_of::<Functions>() as u32,
        open: Some(open::<S>),
        poll: Some(poll::<S>),
        resolve: Some(resolve::<S>),
        interrupt: Some(interrupt),
        close: Some(close::<S>),
        destroy: Some(destroy::<S>),
        release: Some(seal::release),
        command: Some(command::<S>),
        describe_state: Some(describe_state::<S>),
        maintain: Some(maintain::<S>),
        call_off: Some(call_off),
    }
}

unsafe extern "C" fn open<S: Source>(call: *const RawOpen, token: RawToken) {
    // SAFETY: the host passes a whole `RawOpen`, alive for this call, whose table is static.
    let (call, host) = unsafe { (&*call, &*(*call).host) };
    border::remember(host);
    start::<S, _>(host, token, || {
        log::install();
        // Before this call returns, so that whoever calls it off right after finds it.
        let under_way = UnderWay::begin(token.call);
        // SAFETY: the texts of `call` are alive for this call.
        let (config, opening) = unsafe { (call.config.text(), opening(call)) };
        let scope = opening.context.host.clone();
        scoped(scope.clone(), async move {
            match Instance::<S>::open(&config, opening, under_way).await {
                Ok(instance) => Outcome::Opened(INSTANCES.insert(Arc::new(instance))),
                Err(outcome) => outcome,
            }
        })
    });
}

unsafe extern "C" fn call_off(token: RawToken) {
    let _ = caught(|| openings::call_off(token.call));
}

/// # Safety
/// The texts of `call` are alive, its host table is static.
unsafe fn opening(call: &RawOpen) -> Opening {
    let (asked, interrupt) = Interrupt::new();
    // SAFETY: the caller's promise.
    let (key, state, host) = unsafe { (call.key.text(), call.state.get(), &*call.host) };
    let sink = BorderSink::new(host, call.source);
    let context = OpenContext {
        key,
        state: state.map(State::from_bytes),
        mode: if call.mode == mode::INSPECT { Mode::Inspect } else { Mode::Run },
        limits: Limits { batch_records: call.batch_records, batch_bytes: call.batch_bytes },
        record_bytes: match call.record_bytes {
            0 => u64::MAX,
            bytes => u64::from(bytes),
        },
        host: Host::new(Arc::new(sink)),
        interrupt,
        turns: Turns::default(),
    };
    Opening {
        context,
        asked,
        open_timeout: Duration::from_millis(call.open_timeout_ms),
        verdict_timeout: Duration::from_millis(call.verdict_timeout_ms),
    }
}

unsafe extern "C" fn poll<S: Source>(instance: u64, token: RawToken) {
    start_on::<S>(instance, token, |instance| {
        // Before this call returns, so that an interrupt right after it finds a poll to interrupt.
        instance.begin_poll();
        instance.poll()
    });
}

unsafe extern "C" fn resolve<S: Source>(instance: u64, told: u32, token: RawToken) {
    let told = if told == verdict::ACK { Verdict::Ack } else { Verdict::Nack };
    start_on::<S>(instance, token, move |instance| instance.resolve(told));
}

unsafe extern "C" fn interrupt(instance: u64) {
    if let Some(instance) = INSTANCES.get(instance) {
        let _ = caught(|| instance.interrupt());
    }
}

unsafe extern "C" fn close<S: Source>(instance: u64, token: RawToken) {
    start_on::<S>(instance, token, |instance| instance.close());
}

unsafe extern "C" fn destroy<S: Source>(instance: u64, token: RawToken) {
    start_on::<S>(instance, token, move |found| {
        INSTANCES.take(instance);
        found.destroy()
    });
}

unsafe extern "C" fn command<S: Source>(instance: u64, name: RawBytes, arguments: RawBytes, token: RawToken) {
    // SAFETY: the host keeps both texts alive for this call.
    let (name, arguments) = unsafe { (name.text(), arguments.text()) };
    start_on::<S>(instance, token, move |instance| instance.command(name, arguments));
}

unsafe extern "C" fn describe_state<S: Source>(host: *const HostTable, state: RawBytes, token: RawToken) {
    // SAFETY: the host's table is static, the state is alive for this call.
    let (host, state) = unsafe { (&*host, state.get().unwrap_or_default()) };
    border::remember(host);
    let state = State::from_bytes(state);
    start::<S, _>(host, token, || async move {
        match caught(|| S::describe_state(&state)) {
            Ok(Ok(json)) => Outcome::Json(json.to_string()),
            Ok(Err(error)) => error.into(),
            Err(text) => Outcome::panicked(text),
        }
    });
}

unsafe extern "C" fn maintain<S: Source>(
    call: *const RawOpen,
    name: RawBytes,
    arguments: RawBytes,
    token: RawToken,
) {
    // SAFETY: the host passes a whole `RawOpen`, alive for this call, whose table is static.
    let (call, host) = unsafe { (&*call, &*(*call).host) };
    border::remember(host);
    start::<S, _>(host, token, || {
        log::install();
        // SAFETY: the texts of `call` and both others are alive for this call.
        let (config, opening) = unsafe { (call.config.text(), opening(call)) };
        // SAFETY: as above.
        let (name, arguments) = unsafe { (name.text(), arguments.text()) };
        let scope = opening.context.host.clone();
        scoped(scope, maintenance::run::<S>(config, opening.context, name, arguments))
    });
}

/// Starts a call on an open instance, as code of its source.
fn start_on<S: Source>(
    instance: u64,
    token: RawToken,
    call: impl FnOnce(Arc<dyn Dispatch>) -> super::instance::Call,
) {
    // No instance was ever opened without a host.
    let Some(host) = border::host() else { return };
    match INSTANCES.get(instance) {
        Some(instance) => start::<S, _>(host, token, || scoped(instance.host(), call(instance))),
        None => {
            let text = "there is no such instance".to_owned();
            Completion::new(host, token).complete(Outcome::Failed(outcome::UNKNOWN, text));
        }
    }
}

/// Starts `call` on the runtime of this library; it is completed whatever happens, a panic here included.
fn start<S, F>(host: &'static HostTable, token: RawToken, call: impl FnOnce() -> F)
where
    S: Source,
    F: Future<Output = Outcome> + Send + 'static,
{
    let completion = Completion::new(host, token);
    let started = caught(|| runtime::get(S::NAME).map(|runtime| (runtime, call())));
    match started {
        Ok(Ok((runtime, call))) => {
            runtime.spawn(async move {
                let outcome = match run(call, std::future::pending()).await {
                    Ended::Returned(outcome) => outcome,
                    Ended::Panicked(text) => Outcome::panicked(text),
                    Ended::Dropped => Outcome::panicked("the call was dropped".to_owned()),
                };
                completion.complete(outcome);
            });
        }
        Ok(Err(error)) => {
            let text = format!("the plugin's runtime does not start: {error}");
            completion.complete(Outcome::Failed(outcome::TRANSIENT, text));
        }
        Err(text) => completion.complete(Outcome::panicked(text)),
    }
}

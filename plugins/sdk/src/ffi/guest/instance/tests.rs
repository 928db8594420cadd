use std::sync::atomic::{AtomicU32, AtomicU64};

use schemars::JsonSchema;
use serde::Deserialize;

use super::*;
use crate::host::{HostSink, LogEvent};
use crate::report::Report;
use crate::{Interrupt, Mode};

static CLOSED: AtomicU32 = AtomicU32::new(0);

#[derive(Debug, Deserialize, JsonSchema)]
struct Nothing {}

/// Panics in its first poll.
struct Panics;

impl Source for Panics {
    type Config = Nothing;
    const NAME: &'static str = "panics";

    async fn open(_: Nothing, _: OpenContext) -> Result<Panics, Error> {
        Ok(Panics)
    }

    async fn poll(&self) -> Result<Batch, Error> {
        panic!("no luck")
    }

    async fn on_batch_result(&self, _: Verdict) -> Result<(), Error> {
        Ok(())
    }

    async fn close(&self) {
        CLOSED.fetch_add(1, Ordering::SeqCst);
    }
}

struct Deaf;

impl HostSink for Deaf {
    fn log(&self, _: &LogEvent<'_>) {}

    fn report(&self, _: Report) {}
}

async fn open() -> Arc<Instance<Panics>> {
    let (asked, interrupt) = Interrupt::new();
    let context = OpenContext {
        key: "test".to_owned(),
        state: None,
        mode: Mode::Run,
        limits: Limits { batch_records: 1, batch_bytes: 1 },
        record_bytes: 1,
        host: Host::new(Arc::new(Deaf)),
        interrupt,
        turns: Turns::default(),
    };
    let timeout = Duration::from_secs(1);
    let opening = Opening { context, asked, open_timeout: timeout, verdict_timeout: timeout };
    // A number that no other opening of this process has.
    static CALLS: AtomicU64 = AtomicU64::new(1);
    let under_way = UnderWay::begin(CALLS.fetch_add(1, Ordering::SeqCst));
    Arc::new(Instance::open("{}", opening, under_way).await.expect("it opens"))
}

/// The engine's side refuses first; a host that does not must find this side's door closed too.
#[tokio::test(start_paused = true)]
async fn after_a_panic_this_side_calls_nothing_but_the_drop() {
    let instance = open().await;
    instance.begin_poll();
    let polled = Arc::clone(&instance).poll().await;
    assert!(
        matches!(&polled, Outcome::Failed(outcome::PANICKED, text) if text.ends_with("no luck")),
        "{polled:?}"
    );

    let verdict = Arc::clone(&instance).resolve(Verdict::Nack).await;
    let closed = Arc::clone(&instance).close().await;
    let destroyed = Arc::clone(&instance).destroy().await;

    assert!(matches!(verdict, Outcome::Failed(outcome::UNKNOWN, _)), "{verdict:?}");
    assert!(matches!(closed, Outcome::Failed(outcome::UNKNOWN, _)), "{closed:?}");
    assert!(matches!(destroyed, Outcome::Done), "{destroyed:?}");
    assert_eq!(CLOSED.load(Ordering::SeqCst), 0);
}

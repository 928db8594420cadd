//! A small source for the tests of the border: each call does what its script says.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use picomq_connector_sdk::{
    Batch, Capabilities, Check, CheckStatus, Error, Gauge, Mode, OpenContext, Record, Schema, Source, Staged,
    Verdict, export_source,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// What each call does.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Config {
    open: Step,
    /// One a poll; the last repeats.
    poll: VecDeque<Step>,
    verdict: Step,
    close: Step,
    drop: Step,
    /// Written to when the value is dropped, a line each.
    dropped: Option<PathBuf>,
    /// Has threads and thread-locals of its own.
    threads: bool,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Step {
    /// Do what is right.
    #[default]
    Good,
    Panic,
    Transient,
    Permanent,
    State,
    /// Never ready, but may be dropped.
    Wait,
    /// Ends as soon as it is interrupted.
    Sleep,
    /// Blocks its thread for ever.
    Block,
    /// Blocks its thread for so many milliseconds.
    BlockMs(u64),
    /// That many records.
    Records(u32),
    /// One record of that many bytes.
    Bytes(usize),
    /// Logs at every level, from inside, from a task with and one without the scope.
    Log,
    /// Reports a gauge and a check.
    Report,
    /// A panic in a task of the source's own.
    PanicInTask,
}

struct Scripted {
    config: Config,
    script: Mutex<VecDeque<Step>>,
    staged: Staged<u64>,
    context: OpenContext,
    threads: Option<Threads>,
}

impl Source for Scripted {
    type Config = Config;
    const NAME: &'static str = "scripted";
    const CAPABILITIES: Capabilities = Capabilities { pipelined: true, listener: false, own_runtime: false };

    fn check(config: Config, context: &OpenContext) -> Result<(), Error> {
        assert!(!matches!(config.open, Step::Panic), "while checking");
        if matches!(config.open, Step::Permanent) {
            return Err(Error::config(format!("open = \"permanent\": not for {}", context.key)));
        }
        Ok(())
    }

    async fn open(mut config: Config, context: OpenContext) -> Result<Scripted, Error> {
        let script = Mutex::new(std::mem::take(&mut config.poll));
        let threads = config.threads.then(Threads::start);
        let staged = Staged::open(&context, 1, || 0)?;
        act(&config.open, &context).await?;
        tracing::info!(committed = staged.committed(), inspects = context.mode == Mode::Inspect, "open");
        Ok(Scripted { config, script, staged, context, threads })
    }

    async fn poll(&self) -> Result<Batch, Error> {
        let step = self.next();
        act(&step, &self.context).await?;
        let (records, bytes) = match step {
            Step::Records(records) => (records, 0),
            Step::Bytes(bytes) => (1, bytes),
            _ => (1, 0),
        };
        let first = self.staged.head();
        let mut batch = Batch::new(Schema::Text);
        for number in first..first + u64::from(records) {
            let record = Record::new(format!("{number}{}", " ".repeat(bytes)));
            batch.push(record.with_key(*b"k").with_header("h", *b"v").with_id(number.to_string()));
        }
        self.staged.stage(batch, first + u64::from(records))
    }

    async fn on_batch_result(&self, verdict: Verdict) -> Result<(), Error> {
        act(&self.config.verdict, &self.context).await?;
        match verdict {
            Verdict::Ack => drop(self.staged.ack()),
            Verdict::Nack => self.staged.nack(),
        }
        Ok(())
    }

    async fn close(&self) {
        tracing::info!("closing");
        let _ = act(&self.config.close, &self.context).await;
        tracing::info!("closed");
    }

    async fn command(&self, name: &str, arguments: Value) -> Result<Option<Value>, Error> {
        match name {
            "echo" => Ok(Some(json!({ "echo": arguments }))),
            "record_bytes" => Ok(Some(json!(self.context.record_bytes))),
            "fail" => Err(Error::transient("not now")),
            "panic" => panic!("as commanded"),
            _ => Ok(None),
        }
    }

    async fn maintain(
        _: Config,
        context: OpenContext,
        name: &str,
        arguments: Value,
    ) -> Result<Option<Value>, Error> {
        match name {
            "look" => {
                let state = context.state.as_ref().map(|state| state.decode::<u64>(1)).transpose()?;
                let inspects = context.mode == Mode::Inspect;
                tracing::info!("maintained");
                Ok(Some(
                    json!({ "key": context.key, "state": state, "inspects": inspects, "got": arguments }),
                ))
            }
            "fail" => Err(Error::permanent("not like that")),
            "panic" => panic!("as commanded, while stopped"),
            _ => Ok(None),
        }
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        if let Some(threads) = self.threads.take() {
            threads.stop();
        }
        if let Some(path) = &self.config.dropped {
            let mut file = File::options().create(true).append(true).open(path).expect("writable");
            writeln!(file, "dropped").expect("writable");
        }
        match self.config.drop {
            Step::Panic => panic!("as scripted, in drop"),
            Step::Block => block(),
            _ => {}
        }
    }
}

impl Scripted {
    fn next(&self) -> Step {
        let mut script = self.script.lock().expect("no code panics under it");
        let step = script.front().cloned().unwrap_or_default();
        if script.len() > 1 {
            script.pop_front();
        }
        step
    }
}

async fn act(step: &Step, context: &OpenContext) -> Result<(), Error> {
    match step {
        Step::Panic => panic!("as scripted"),
        Step::Transient => return Err(Error::transient("try later").with_cause("the cause below")),
        Step::Permanent => return Err(Error::permanent("slot lost")),
        Step::State => return Err(Error::state("unreadable")),
        Step::Wait => std::future::pending().await,
        Step::Sleep => context.interrupt.sleep(Duration::from_secs(3600)).await?,
        Step::Block => block(),
        Step::BlockMs(pause) => std::thread::park_timeout(Duration::from_millis(*pause)),
        Step::Log => log(context).await,
        Step::Report => report(context),
        Step::PanicInTask => {
            let task = tokio::spawn(context.host.scope(async { panic!("in a scoped task") }));
            let _: Result<(), _> = task.await;
        }
        Step::Good | Step::Records(_) | Step::Bytes(_) => {}
    }
    Ok(())
}

fn block() -> ! {
    loop {
        std::thread::park();
    }
}

async fn log(context: &OpenContext) {
    tracing::error!(number = 7, text = "two words", "an error");
    tracing::warn!(cause = %Error::permanent("slot lost"), "a warning");
    tracing::trace!("a trace");
    let scoped = tokio::spawn(context.host.scope(async { tracing::info!("from a task in scope") }));
    let loose = tokio::spawn(async { tracing::info!("from a task of its own") });
    let _ = (scoped.await, loose.await);
}

fn report(context: &OpenContext) {
    context.host.gauge(Gauge::LagSeconds, 1.5);
    context.host.check(Check {
        name: "slot".to_owned(),
        status: CheckStatus::Warn,
        since_ms: Some(12),
        advice: "drop it".to_owned(),
    });
}

/// A thread of the plugin's own that leaves a thread-local behind.
struct Threads {
    stop: mpsc::Sender<()>,
    thread: JoinHandle<()>,
}

thread_local! {
    static LOCAL: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

impl Threads {
    fn start() -> Threads {
        LOCAL.with_borrow_mut(|local| local.push("of a worker".repeat(100)));
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            LOCAL.with_borrow_mut(|local| local.push("of a thread".repeat(100)));
            let _ = stopped.recv();
        });
        Threads { stop, thread }
    }

    fn stop(self) {
        drop(self.stop);
        let _ = self.thread.join();
    }
}

export_source!(Scripted);

//! The source: asks for the next page, makes a batch of it, waits when there is nothing more.

use std::sync::Mutex as Short;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use picomq_connector_sdk::doctor::COMMAND;
use picomq_connector_sdk::http::{BaseUrl, Client};
use picomq_connector_sdk::{
    Batch, Capabilities, Check, CheckStatus, Error, Gauge, Host, Interrupt, OpenContext, Source, Staged,
    State, Verdict,
};
use serde_json::Value;
use tokio::sync::Mutex;
use tracing::{debug, info};

use crate::answer::Schema;
use crate::breaker::Breaker;
use crate::config::InfluxConfig;
use crate::cycle::Cycle;
use crate::doctor;
use crate::plan::{self, Ask, Meaning, Outcome, Side};
use crate::position::{self, Position, STATE_VERSION};
use crate::query::{Query, Span};
use crate::reader::Reader;
use crate::selection::{Entry, Page};
use crate::settings::Settings;
use crate::sign::Sign;
use crate::time;

/// A cursor that is so far ahead of our clock passes over what comes with the right time.
const AHEAD_MAX: i64 = 600_000_000_000;

/// Reads InfluxDB. `docs/sources/influxdb.md` says how.
#[derive(Debug)]
pub struct InfluxSource {
    reader: Reader,
    staged: Staged<Position>,
    host: Host,
    interrupt: Interrupt,
    poll_interval: Duration,
    batch_bytes_max: u64,
    is_verbose: bool,
    fingerprint: u64,
    /// A batch was nacked: what was read after it is read again.
    is_rewound: AtomicBool,
    run: Mutex<Run>,
}

#[derive(Debug)]
struct Run {
    cycle: Cycle,
    breaker: Breaker,
    sign: Sign,
    /// After the batch returned last.
    expected: Option<Position>,
    /// What is left of a page that is more than a batch.
    kept: Option<Answered>,
}

impl Source for InfluxSource {
    type Config = InfluxConfig;
    const NAME: &'static str = "influxdb";
    const CAPABILITIES: Capabilities = Capabilities { pipelined: true, listener: false, own_runtime: false };

    fn check(config: InfluxConfig, context: &OpenContext) -> Result<(), Error> {
        config.check(&context.limits).map(drop)
    }

    async fn open(config: InfluxConfig, context: OpenContext) -> Result<InfluxSource, Error> {
        let settings = config.check(&context.limits)?;
        let Settings { from, fingerprint, .. } = settings;
        let staged = Staged::open(&context, STATE_VERSION, || Position::fresh(from, fingerprint))?;
        let open_retry = settings.open_retry;
        report_encryption(&settings, &context.host);
        let has_read = staged.committed() != Position::fresh(from, fingerprint);
        let source = InfluxSource {
            fingerprint,
            run: Mutex::new(Run {
                cycle: Cycle::new(&settings.pace),
                breaker: Breaker::new(settings.breaker.0, settings.breaker.1),
                sign: Sign::new(has_read),
                expected: None,
                kept: None,
            }),
            poll_interval: settings.poll_interval,
            batch_bytes_max: settings.batch_bytes_max,
            is_verbose: settings.is_verbose,
            reader: reader(settings).await?,
            staged,
            host: context.host,
            interrupt: context.interrupt,
            is_rewound: AtomicBool::new(false),
        };
        let from = source.head().from;
        let is_bare = source.reader.query.is_generated() && source.reader.form.payload.is_none();
        source.reader.probe(&probe(from, is_bare), open_retry).await?;
        info!(from = time::text(from), "influxdb source opened");
        Ok(source)
    }

    async fn poll(&self) -> Result<Batch, Error> {
        self.interrupt.race(self.step()).await?
    }

    async fn on_batch_result(&self, verdict: Verdict) -> Result<(), Error> {
        match verdict {
            Verdict::Ack => drop(self.staged.ack()),
            Verdict::Nack => {
                self.staged.nack();
                self.is_rewound.store(true, Ordering::SeqCst);
            }
        }
        Ok(())
    }

    async fn close(&self) {
        info!("influxdb source closed");
    }

    async fn maintain(
        config: InfluxConfig,
        context: OpenContext,
        name: &str,
        _: Value,
    ) -> Result<Option<Value>, Error> {
        if name != COMMAND {
            return Ok(None);
        }
        let settings = config.check(&context.limits)?;
        let fresh = Position::fresh(settings.from, settings.fingerprint);
        let position = Staged::open(&context, STATE_VERSION, || fresh.clone())?.committed();
        let reader = reader(settings).await?;
        // The whole question: whether there is anything is what a person wants to know, and waits for.
        let asked = probe(position.from, false);
        Ok(Some(doctor::looks(&reader, &asked, position == fresh).await))
    }

    fn describe_state(state: &State) -> Result<Value, Error> {
        position::describe(state)
    }
}

/// A page, and what it answers.
#[derive(Debug)]
struct Answered {
    page: Page,
    ask: Ask,
}

/// Where an answer leads.
enum Step {
    /// Rows that are not delivered yet.
    Take(Box<Answered>),
    /// These rows are next; there may be none when only the position is to be saved.
    Deliver(Batch, Box<Position>),
    /// None; from here on.
    GoOn(Box<Position>),
    /// None, and that is to be seen.
    Rest,
}

impl InfluxSource {
    async fn step(&self) -> Result<Batch, Error> {
        let mut run = self.run.lock().await;
        let run = &mut *run;
        let mut position = self.head();
        let is_rewound = self.is_rewound.swap(false, Ordering::SeqCst);
        if is_rewound || run.expected.take().is_some_and(|expected| expected != position) {
            run.cycle.restart();
            run.kept = None;
        }
        let mut kept = run.kept.take().map(Box::new);
        loop {
            let step = match kept.take() {
                Some(answered) => self.take(run, *answered, &position),
                None => self.ask(run, &position).await?,
            };
            match step {
                Step::Take(answered) => kept = Some(answered),
                Step::Rest => return Ok(Batch::empty()),
                Step::Deliver(batch, next) => {
                    if !batch.is_empty() && run.sign.reads() {
                        self.check("points", CheckStatus::Ok, String::new());
                    }
                    run.expected = Some((*next).clone());
                    return self.staged.stage(batch, *next);
                }
                Step::GoOn(next) => {
                    position = *next;
                    kept = run.kept.take().map(Box::new);
                }
            }
        }
    }

    /// Asks the next question, after the wait that is due.
    async fn ask(&self, run: &mut Run, position: &Position) -> Result<Step, Error> {
        if run.cycle.is_over() {
            if run.sign.warns_after_a_look() {
                self.check(
                    "points",
                    CheckStatus::Warn,
                    format!("nothing was found yet: {}", doctor::NOTHING),
                );
            }
            if run.sign.is_owed_after_a_look() {
                return Ok(Step::Rest);
            }
            run.expected = Some(position.clone());
            tokio::time::sleep(self.poll_interval).await;
            run.cycle.restart();
        }
        tokio::time::sleep(run.breaker.left()).await;
        self.reader.client.ready(&self.interrupt).await?;
        let (now, pace) = (time::now(), &self.reader.pace);
        let ask = run.cycle.next(position, pace, self.reader.query.is_generated(), now);
        let page = self.page(&ask).await;
        match page {
            Ok(_) => run.breaker.succeeded(),
            Err(_) => {
                run.breaker.failed();
                run.sign.failed();
            }
        }
        let (page, meaning) = page?;
        let mut next = Box::new(position.clone());
        match meaning {
            Meaning::Rows => return Ok(Step::Take(Box::new(Answered { page, ask }))),
            Meaning::Group(time) => {
                debug!(time = time::text(time), "more points of one time than a page holds");
                if !run.cycle.widen(&page, &ask, pace) {
                    *next = plan::begun(time, &ask, position, pace);
                }
            }
            Meaning::Inclusive => run.cycle.is_inclusive = true,
            Meaning::Short => run.cycle.grow()?,
        }
        Ok(Step::GoOn(next))
    }

    async fn page(&self, ask: &Ask) -> Result<(Page, Meaning), Error> {
        let page = self.reader.read(ask).await?;
        page.check(self.batch_bytes_max)?;
        let meaning = plan::meaning(&page, ask.is_inclusive)?;
        debug!(rows = page.facts.rows, "page read");
        Ok((page, meaning))
    }

    /// As much of an answer as a batch holds; the rest is kept.
    fn take(&self, run: &mut Run, answered: Answered, position: &Position) -> Step {
        let Answered { mut page, mut ask } = answered;
        let pace = &self.reader.pace;
        let outcome = plan::outcome(&page, &ask, position, pace);
        run.cycle.moved(&page, &ask, &outcome, pace);
        let batch = self.batch(&page, &outcome.fresh);
        self.report(&run.cycle, &outcome, ask.at);
        let next = Box::new(outcome.position);
        if self.is_verbose {
            let (rows, records) = (page.facts.rows, batch.len());
            info!(rows, records, read_before = time::text(next.from), "page read");
        }
        let is_saved = !batch.is_empty() || run.cycle.is_worth_saving(&ask, position, &next);
        if page.take(outcome.taken) {
            ask.span.low = outcome.horizon.unwrap_or(ask.span.low);
            run.kept = Some(Answered { page, ask });
        }
        if is_saved { Step::Deliver(batch, next) } else { Step::GoOn(next) }
    }

    fn batch(&self, page: &Page, fresh: &[usize]) -> Batch {
        let entries = || fresh.iter().map(|index| &page.entries[*index]);
        let bytes = entries().map(Entry::bytes).sum();
        let mut batch = Batch::with_capacity(self.reader.form.schema(), fresh.len(), bytes);
        let mut id = String::new();
        for entry in entries() {
            let key = page.key(entry);
            let mut record = batch.add();
            record.payload(page.payload(entry)).event_time_ns(entry.time);
            if !key.is_empty() {
                record.key(key);
            }
            if entry.time >= 0 {
                record.timestamp_ms(entry.time / 1_000_000);
            }
            id.clear();
            entry.write_id(key, &mut id);
            record.id(&id);
        }
        batch
    }

    /// Tells how far behind it is, and what a person should look at.
    fn report(&self, cycle: &Cycle, outcome: &Outcome, now: i64) {
        let position = &outcome.position;
        let behind = if cycle.is_caught_up() { 0 } else { now.saturating_sub(position.from).max(0) };
        self.host.gauge(Gauge::LagSeconds, behind as f64 / 1e9);
        if position.from.saturating_sub(now) > AHEAD_MAX {
            let advice = format!(
                "a point has the time {}, which is ahead of this machine's clock: points before it that come now are passed over; with \
                 `query`, add an upper bound such as time < now()",
                time::text(position.from - 1)
            );
            self.check("future_points", CheckStatus::Warn, advice);
        }
        // While it reads what is old the window is full all the time, and nothing comes late there.
        let pace = &self.reader.pace;
        if pace.looks_back() && cycle.is_caught_up() {
            let (status, advice) = match position.shortened > pace.last_look(position.from, now) {
                true => (
                    CheckStatus::Warn,
                    "more points come within the overlap than overlap_points remembers, so late ones are looked for in a shorter time: \
                     raise overlap_points, or lower overlap"
                        .to_owned(),
                ),
                false => (CheckStatus::Ok, String::new()),
            };
            self.check("overlap", status, advice);
        }
    }

    fn check(&self, name: &str, status: CheckStatus, advice: String) {
        self.host.check(Check { name: name.to_owned(), status, since_ms: None, advice });
    }

    fn head(&self) -> Position {
        self.staged.head().fitted(self.fingerprint)
    }
}

async fn reader(settings: Settings) -> Result<Reader, Error> {
    let schema = match &settings.query {
        Query::Generated(generated) => generated.schema(),
        Query::Written(_) => Schema::Unknown,
    };
    Ok(Reader {
        client: Client::open(settings.client).await?,
        endpoint: settings.endpoint,
        query: settings.query,
        form: settings.form,
        pace: settings.pace,
        retry: settings.retry,
        schema: Short::new(schema),
    })
}

/// A question of one row. A measurement, all of whose columns are taken, is asked for its earliest time, where hardly ever anything
/// lies: a server may take seconds to look for the first row of a hundred thousand series.
fn probe(from: i64, is_bare: bool) -> Ask {
    let at = time::now();
    let low = if is_bare { time::MIN.saturating_add(1) } else { from };
    let high = if is_bare { low.saturating_add(1) } else { at.saturating_add(1) };
    let span = Span { low, high: Some(high), limit: Some(1) };
    Ask { span, group: None, side: Side::Ahead, is_inclusive: false, at, since: at }
}

/// Says nothing of what does not leave this machine.
fn report_encryption(settings: &Settings, host: &Host) {
    let hosts = &settings.client.hosts;
    let (status, advice) = if hosts.iter().all(BaseUrl::is_tls) {
        (CheckStatus::Ok, "")
    } else if hosts.iter().any(|host| !host.is_tls() && !host.is_loopback()) {
        (CheckStatus::Warn, "credentials and points travel unencrypted: use https in url")
    } else {
        return;
    };
    host.check(Check { name: "encrypted".to_owned(), status, since_ms: None, advice: advice.to_owned() });
}

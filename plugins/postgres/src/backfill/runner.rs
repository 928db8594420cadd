//! The task that reads chunks, one after the other: the next one once the former is in a batch that was polled.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use picomq_connector_sdk::{Check, CheckStatus, Host};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tracing::{info, warn};

use super::chunk::Chunk;
use super::filler::{Filler, Passed, Shared};
use super::marks::{Mark, PREFIX, Sight};
use super::{Backfill, Moved, Of};
use crate::change::Moment;
use crate::client::{Connection, Purpose};
use crate::error::Error;
use crate::progress::{By, Part};
use crate::quote::{self, TableName};
use crate::server::{self, TableFacts};
use crate::settings::Settings;
use crate::snapshot::{self, Reading};
use crate::value::Catalog;

/// What a chunk should hold, and the most that is kept of one.
const CHUNK_BYTES: usize = 2 << 20;
const CHUNK_BYTES_MAX: usize = 4 << 20;
/// The first chunk, before it is known how long rows are.
const ROWS_FIRST: usize = 256;
const ROWS_MAX: usize = 8_192;
/// Before a chunk is read again.
const AGAIN_AFTER: Duration = Duration::from_millis(20);
/// After an error that may pass.
const RETRY_AFTER: Duration = Duration::from_secs(5);
const TOLD_EVERY: Duration = Duration::from_secs(1);

/// The running task.
#[derive(Debug)]
pub(crate) struct Handle {
    work: watch::Sender<Backfill>,
    told: mpsc::Receiver<Moved>,
    task: JoinHandle<()>,
}

impl Handle {
    /// What is to be read is this now.
    pub(crate) fn set(&self, work: &Backfill) {
        self.work.send_if_modified(|old| {
            let is_other = old != work;
            old.clone_from(work);
            is_other
        });
    }

    /// What was found without rows; may be dropped, and never ends by itself.
    pub(crate) async fn told(&mut self) -> Moved {
        match self.told.recv().await {
            Some(moved) => moved,
            None => std::future::pending().await,
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Starts it: the task's handle, and what the reader of the stream holds.
pub(crate) fn start(settings: &Settings, host: &Host, work: Backfill) -> (Handle, Filler) {
    let now = jiff::Timestamp::now().as_nanosecond();
    let run = format!("{}-{now}", std::process::id());
    let shared = Arc::new(Mutex::new(Shared::default()));
    let (work, asked) = watch::channel(work);
    let (tell, told) = mpsc::channel(1);
    let (sender, passed) = mpsc::unbounded_channel();
    let runner = Runner {
        settings: settings.clone(),
        host: host.clone(),
        run: run.clone(),
        work: asked,
        shared: Arc::clone(&shared),
        passed,
        tell,
        number: 0,
        is_begun: false,
        rows: ROWS_FIRST,
        table: None,
        next_told: Instant::now(),
    };
    let task = tokio::spawn(host.scope(runner.run()));
    (Handle { work, told, task }, Filler { run, shared, passed: sender, moved: None })
}

struct Runner {
    settings: Settings,
    host: Host,
    run: String,
    work: watch::Receiver<Backfill>,
    shared: Arc<Mutex<Shared>>,
    passed: mpsc::UnboundedReceiver<Passed>,
    tell: mpsc::Sender<Moved>,
    number: u64,
    /// Transactions are noted, and those that were open before have ended.
    is_begun: bool,
    /// Of the next chunk.
    rows: usize,
    table: Option<Table>,
    next_told: Instant,
}

/// The table being read.
struct Table {
    name: TableName,
    facts: TableFacts,
    types: Catalog,
    /// Its last row when reading it began: newer ones come by the stream.
    end: Vec<String>,
}

impl Runner {
    async fn run(mut self) {
        loop {
            if self.work.borrow_and_update().is_idle() && self.work.changed().await.is_err() {
                return;
            }
            if self.work.borrow().is_idle() {
                continue;
            }
            if let Err(error) = self.read().await {
                warn!(%error, "a table could not be read beside the stream; tried again");
                self.report(CheckStatus::Warn, format!("it does not go on and is tried again: {error}"));
                (self.is_begun, self.table) = (false, None);
                sleep(RETRY_AFTER).await;
            }
        }
    }

    /// Reads until there is nothing left.
    async fn read(&mut self) -> Result<(), Error> {
        let mut sql = Connection::open(&self.settings.target, Purpose::Sql).await?;
        sql.simple("SET synchronize_seqscans TO off").await?;
        let mut tables = Vec::new();
        loop {
            let work = self.work.borrow_and_update().clone();
            if work.is_idle() {
                self.report(CheckStatus::Ok, String::new());
                self.table = None;
                sql.close().await;
                return Ok(());
            }
            self.tell_progress(&work);
            if work.rest.is_some() && tables.is_empty() {
                tables = snapshot::tables(&mut sql, &self.settings).await?.unwrap_or_default();
            }
            let next = work.next(&tables);
            let moved = match &next {
                None => Some(Moved::RestDone),
                Some((of, part)) => self.part(&mut sql, *of, part).await?,
            };
            if let Some(moved) = moved {
                let _ = self.tell.send(moved).await;
            }
            let is_other = |work: &Backfill| work.is_idle() || work.next(&tables) != next;
            if self.work.wait_for(is_other).await.is_err() {
                // Nobody wants it any more.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Reads a chunk of `part`, until it was put into a batch. `Some` when there was nothing to put.
    async fn part(&mut self, sql: &mut Connection, of: Of, part: &Part) -> Result<Option<Moved>, Error> {
        loop {
            if !self.is_begun {
                self.begin(sql).await?;
            }
            // Called off meanwhile.
            if of == Of::Job && self.work.borrow().jobs.iter().all(|job| job.table != part.table) {
                return Ok(None);
            }
            if self.table.as_ref().is_none_or(|table| table.name != part.table) {
                self.table = self.look_at(sql, part).await?;
            }
            let Some(table) = self.table.take().filter(|table| !table.end.is_empty()) else {
                let rows = 0;
                return Ok(Some(Moved::Part { of, part: part.clone(), rows, is_done: true }));
            };
            let chunk = self.chunk(sql, (of, part), &table).await?;
            self.table = Some(table);
            let number = chunk.number;
            self.lock().chunk = Some(chunk);
            self.mark(sql, Mark::High(number), true).await?;
            match self.passed().await? {
                Passed::Begun => return Err(Error::Protocol("a mark that was not made".into())),
                Passed::Placed { is_described } => {
                    if is_described {
                        self.table = None;
                    }
                    return Ok(None);
                }
                Passed::Again { is_described } => {
                    if is_described {
                        self.table = None;
                    }
                    // Fewer rows are touched less often.
                    self.rows = (self.rows / 4).max(1);
                }
                Passed::Anew => self.is_begun = false,
            }
            sleep(AGAIN_AFTER).await;
        }
    }

    /// Lets transactions be noted, then waits for those that were open before: they may be in the log and not be seen yet.
    async fn begin(&mut self, sql: &mut Connection) -> Result<(), Error> {
        while self.passed.try_recv().is_ok() {}
        self.mark(sql, Mark::Begin, true).await?;
        while self.passed().await? != Passed::Begun {}
        // A number of our own: every transaction that has one by now has a lower one. A snapshot's own bound would not do, it leaves out
        // those that are under way and newer than all that have ended.
        let newest = sql.simple("SELECT pg_catalog.pg_current_xact_id()::text").await?;
        let newest = newest.text(0, 0).and_then(|text| text.parse().ok());
        let newest = newest.ok_or_else(|| Error::Protocol("a transaction without a number".into()))?;
        let mut wait = AGAIN_AFTER;
        while !sight(sql).await?.is_past(newest) {
            sleep(wait).await;
            wait = (2 * wait).min(RETRY_AFTER);
            if wait == RETRY_AFTER {
                let advice = "it waits for transactions that have written and are open: SELECT pid, xact_start, query FROM pg_stat_activity \
                              WHERE backend_xid IS NOT NULL ORDER BY xact_start;";
                self.report(CheckStatus::Warn, advice.to_owned());
            }
        }
        self.is_begun = true;
        Ok(())
    }

    /// `None` when the table is gone.
    async fn look_at(&self, sql: &mut Connection, part: &Part) -> Result<Option<Table>, Error> {
        let sight = server::Sight::Published(&self.settings.publication);
        let Some(facts) = server::table_facts(sql, &part.table, sight).await? else {
            warn!(table = %part.table, "the table is gone; nothing is left to be read of it");
            return Ok(None);
        };
        if snapshot::by_of(&facts) == By::Key && facts.primary_key.is_empty() {
            return Err(Error::Refused(format!(
                "{} is partitioned and has no primary key any more, so it cannot be gone on with",
                part.table
            )));
        }
        let types = server::types(sql).await?;
        let end = snapshot::last_place(sql, &facts, &part.table).await?;
        Ok(Some(Table { name: part.table.clone(), facts, types, end }))
    }

    async fn chunk(
        &mut self,
        sql: &mut Connection,
        (of, part): (Of, &Part),
        table: &Table,
    ) -> Result<Chunk, Error> {
        self.number += 1;
        {
            let mut shared = self.lock();
            (shared.table, shared.chunk) = (Some(part.table.clone()), None);
        }
        self.mark(sql, Mark::Low(self.number), false).await?;
        // What a place means may have changed since it was saved: then all of it is read.
        let is_fit = snapshot::fits(part, &table.facts);
        let part = if is_fit {
            part.clone()
        } else {
            Part { after: Vec::new(), by: snapshot::by_of(&table.facts), ..part.clone() }
        };
        let until = if part.until.is_empty() || !is_fit { &table.end } else { &part.until };
        let asked = Part { until: until.clone(), ..part.clone() };
        sql.simple("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        let (sight, time) = (sight(sql).await?, Moment::now());
        let limit = self.rows.min(self.settings.cut.records);
        let read = self.rows(sql, (&asked, limit), table).await?;
        sql.simple("COMMIT").await?;
        let Read { reading, rows, ends, is_cut } = read;
        let is_last = !is_cut && ends.len() < limit;
        let each = (rows.len() / ends.len().max(1)).max(1);
        self.rows = (CHUNK_BYTES / each).clamp(1, ROWS_MAX).min(4 * self.rows);
        Ok(Chunk { number: self.number, of, part, reading, rows, ends, is_last, sight, time })
    }

    async fn rows(
        &self,
        sql: &mut Connection,
        (asked, limit): (&Part, usize),
        table: &Table,
    ) -> Result<Read, Error> {
        let parameters: Vec<Option<&str>> =
            asked.after.iter().chain(&asked.until).map(|value| Some(value.as_str())).collect();
        let text = snapshot::select(&table.facts, asked, Some(limit));
        let columns = sql.begin_rows(&text, &parameters).await?.columns;
        let shape = (&table.types, &self.settings.records);
        let reading = Reading::new(&asked.table, &table.facts, &columns, shape);
        let mut read = Read { reading, rows: Vec::new(), ends: Vec::new(), is_cut: false };
        while let Some(body) = sql.next_row().await? {
            // The rest is read with the next chunk; one row always is.
            read.is_cut |= !read.ends.is_empty() && read.rows.len() + body.len() > CHUNK_BYTES_MAX;
            if !read.is_cut {
                read.rows.extend_from_slice(&body);
                read.ends.push(read.rows.len());
            }
        }
        Ok(read)
    }

    /// Writes a mark into the log. The stream only sees what is on the disk, so `is_last` is for one that is waited for.
    async fn mark(&self, sql: &mut Connection, mark: Mark, is_last: bool) -> Result<(), Error> {
        let text = quote::literal(&mark.text(&self.run));
        let emit = format!("SELECT pg_catalog.pg_logical_emit_message(false, '{PREFIX}', {text}");
        let sql_text = match (is_last, sql.version() >= 17) {
            (false, _) => format!("{emit})"),
            (true, true) => format!("{emit}, true)"),
            // A transaction that writes takes everything before it along.
            (true, false) => {
                format!("{emit}); SELECT pg_catalog.pg_logical_emit_message(true, '{PREFIX}', 'flush')")
            }
        };
        sql.simple(&sql_text).await.map(drop)
    }

    async fn passed(&mut self) -> Result<Passed, Error> {
        self.passed.recv().await.ok_or_else(|| Error::Lost(std::io::ErrorKind::BrokenPipe.into()))
    }

    fn tell_progress(&mut self, work: &Backfill) {
        let now = Instant::now();
        if now < self.next_told {
            return;
        }
        self.next_told = now + TOLD_EVERY;
        let told = work.told();
        info!(told, "tables are read beside the stream");
        self.report(CheckStatus::Ok, told);
    }

    fn report(&self, status: CheckStatus, advice: String) {
        self.host.check(Check { name: "backfill".to_owned(), status, since_ms: None, advice });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Rows as they were read.
struct Read {
    reading: Reading,
    rows: Vec<u8>,
    ends: Vec<usize>,
    /// More came than is kept.
    is_cut: bool,
}

/// What the connection, or its transaction, sees.
async fn sight(sql: &mut Connection) -> Result<Sight, Error> {
    let answer = sql.simple("SELECT pg_catalog.pg_current_snapshot()::text").await?;
    let sight = answer.text(0, 0).and_then(Sight::parse);
    sight.ok_or_else(|| Error::Protocol("a snapshot in an unknown form".into()))
}

//! Polling: rows of tables or of a query, read again and again behind a cursor, for servers and roles without logical replication.
//!
//! Nothing is passed over: the cursor is exact and of all columns that order the rows, and rows that may still come late hold
//! back what is above them. Cleanup follows the Ack, and names each row and its version.

pub(crate) mod custom;
mod guard;
mod payload;
pub(crate) mod query;
pub(crate) mod settings;
pub(crate) mod state;
mod table;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use picomq_connector_sdk::{
    Batch, Check, CheckStatus, Error as SourceError, Host, Interrupt, Mode, OpenContext, Staged, Verdict,
};
use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, timeout};
use tracing::{debug, info, warn};

use crate::client::{Connection, Purpose};
use crate::error::Error;
use crate::publication;
use crate::server;
use crate::settings::Settings;
use crate::state::Saved;
use crate::value::Catalog;
use state::{Owed, PollingState};
use table::{Page, Reading, TableReader};

const OPEN_TIMEOUT: Duration = Duration::from_secs(30);
/// More owed cleanup than that is not piled up: it is written with every state.
const OWED_BYTES_MAX: usize = 1 << 20;
/// Rows of one cleanup statement; each binds its key and its version.
const CLEANUP_ROWS: usize = 500;
/// Rows that are held back longer than this are told about.
const WAITING_PATIENCE: Duration = Duration::from_secs(30);

/// A source in `mode = "polling"`.
#[derive(Debug)]
pub(crate) struct Polling {
    settings: Settings,
    staged: Staged<Saved>,
    host: Host,
    interrupt: Interrupt,
    /// Cleanup is done up to and with this batch.
    cleaned: AtomicU64,
    /// Told at every verdict.
    verdicts: watch::Sender<()>,
    run: Mutex<Run>,
    cleaner: Mutex<Option<Connection>>,
}

#[derive(Debug)]
struct Run {
    /// Taken out while it is used: a call that is dropped half-way leaves it out of step.
    sql: Option<Connection>,
    types: Catalog,
    tables: Vec<TableReader>,
    next: usize,
    /// So many tables in a row had nothing more.
    quiet: usize,
    /// A page failed, and nothing was returned since.
    has_failed: bool,
    waiting_since: Option<Instant>,
}

impl Polling {
    pub(crate) async fn open(
        settings: Settings,
        staged: Staged<Saved>,
        context: OpenContext,
    ) -> Result<Polling, SourceError> {
        let seconds = OPEN_TIMEOUT.as_secs();
        let finding = timeout(OPEN_TIMEOUT, find(&settings, &context.host));
        let run = finding.await.unwrap_or(Err(Error::Silent { what: "the checks", seconds }))?;
        let polling = Polling {
            settings,
            staged,
            host: context.host,
            interrupt: context.interrupt,
            cleaned: AtomicU64::new(0),
            verdicts: watch::Sender::new(()),
            run: Mutex::new(run),
            cleaner: Mutex::new(None),
        };
        if context.mode == Mode::Run {
            polling.clean(&polling.committed()).await?;
        }
        info!(target = ?polling.settings.target, "postgres source opened for polling");
        Ok(polling)
    }

    pub(crate) async fn poll(&self) -> Result<Batch, SourceError> {
        self.interrupt.race(self.step()).await?
    }

    pub(crate) async fn resolve(&self, verdict: Verdict) -> Result<(), SourceError> {
        let outcome = match verdict {
            Verdict::Ack => match self.staged.ack() {
                Some(Saved::Polling(state)) => self.clean(&state).await,
                Some(Saved::Fresh | Saved::Debezium(_) | Saved::Cdc(_)) | None => Ok(()),
            },
            Verdict::Nack => {
                self.staged.nack();
                Ok(())
            }
        };
        self.verdicts.send_replace(());
        outcome.map_err(SourceError::from)
    }

    pub(crate) async fn close(&self) {
        for connection in
            [self.run.lock().await.sql.take(), self.cleaner.lock().await.take()].into_iter().flatten()
        {
            connection.close().await;
        }
        info!("postgres source closed");
    }

    async fn step(&self) -> Result<Batch, SourceError> {
        let mut run = self.run.lock().await;
        loop {
            let state = self.head();
            if run.quiet >= run.tables.len() {
                // The engine takes a source whose poll failed for ill until one returns, and nobody may write for hours.
                if std::mem::take(&mut run.has_failed) {
                    return Ok(Batch::empty());
                }
                tokio::time::sleep(self.settings.polling.poll_interval).await;
                run.quiet = 0;
            }
            let mut next = state.next(self.cleaned.load(Ordering::SeqCst));
            if next.owed_bytes() > OWED_BYTES_MAX {
                self.an_ack().await;
                continue;
            }
            let which = run.next % run.tables.len();
            // Before it is read: a table that fails does not keep the others from their turn.
            run.next = which + 1;
            let page = self.page(&mut run, which, &state).await;
            if page.is_err() {
                (run.has_failed, run.quiet) = (true, 0);
            }
            let Page { batch, cursor, owed, is_full } = page?;
            run.quiet = if is_full { 0 } else { run.quiet + 1 };
            self.report_waiting(&mut run);
            let Some(cursor) = cursor.filter(|_| !batch.is_empty()) else { continue };
            let table = run.tables[which].table();
            debug!(%table, records = batch.len(), is_full, "page read");
            if self.settings.polling.is_verbose {
                info!(%table, records = batch.len(), is_full, "page read");
            }
            next.tables.insert(table.quoted(), cursor);
            next.owed.extend(owed);
            run.has_failed = false;
            return self.staged.stage(batch, Saved::Polling(next));
        }
    }

    /// Reads one page, with the tries and waits that the definition asks for.
    async fn page(&self, run: &mut Run, which: usize, state: &PollingState) -> Result<Page, SourceError> {
        let polling = &self.settings.polling;
        let mut tried = 1;
        loop {
            match self.page_once(run, which, state).await {
                Ok(page) => return Ok(page),
                Err(error) => {
                    let error = SourceError::from(error);
                    if !error.is_transient() || tried >= polling.tries {
                        return Err(error);
                    }
                    debug!(tried, error = error.chain(), "a page is tried again");
                    tokio::time::sleep(polling.retry_delay * tried).await;
                    tried += 1;
                }
            }
        }
    }

    async fn page_once(&self, run: &mut Run, which: usize, state: &PollingState) -> Result<Page, Error> {
        let mut sql = match run.sql.take() {
            Some(sql) => sql,
            None => Connection::open(&self.settings.target, Purpose::Sql).await?,
        };
        let Run { tables, types, .. } = run;
        let reading = Reading { settings: &self.settings, types, state };
        let page = tables[which].page(&mut sql, reading).await?;
        run.sql = Some(sql);
        Ok(page)
    }

    /// Does what is owed for delivered batches. Twice does no harm: a version that was deleted or marked is not there any more.
    async fn clean(&self, state: &PollingState) -> Result<(), Error> {
        let Some(cleanup) = self.settings.polling.cleanup.clone() else { return Ok(()) };
        let cleaned = self.cleaned.load(Ordering::SeqCst);
        let mut cleaner = self.cleaner.lock().await;
        for Owed { table, key, rows, .. } in state.owed.iter().filter(|owed| owed.batch > cleaned) {
            for rows in rows.chunks(CLEANUP_ROWS) {
                let statement = query::cleanup_sql(table, &cleanup, key, rows.len());
                let values = rows.iter().flat_map(|row| row.key.iter().chain([&row.version]));
                let values: Vec<Option<&str>> = values.map(|value| Some(value.as_str())).collect();
                self.run_cleanup(&mut cleaner, &statement, &values).await?;
            }
        }
        self.cleaned.fetch_max(state.batch, Ordering::SeqCst);
        Ok(())
    }

    async fn run_cleanup(
        &self,
        cleaner: &mut Option<Connection>,
        statement: &str,
        values: &[Option<&str>],
    ) -> Result<(), Error> {
        let polling = &self.settings.polling;
        for tried in 1.. {
            let sql = cleaner.take();
            let outcome = async {
                let mut sql = match sql {
                    Some(sql) => sql,
                    None => Connection::open(&self.settings.target, Purpose::Sql).await?,
                };
                sql.query(statement, values).await?;
                Ok(sql)
            };
            match outcome.await {
                Ok(sql) => {
                    *cleaner = Some(sql);
                    return Ok(());
                }
                Err(error) if tried < polling.tries && is_passing(&error) => {
                    tokio::time::sleep(polling.retry_delay * tried).await;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn report_waiting(&self, run: &mut Run) {
        if !run.tables.iter().any(TableReader::is_waiting) {
            if run.waiting_since.take().is_some_and(|since| since.elapsed() > WAITING_PATIENCE) {
                self.tell(CheckStatus::Ok, String::new());
            }
            return;
        }
        let since = *run.waiting_since.get_or_insert_with(Instant::now);
        if since.elapsed() > WAITING_PATIENCE {
            self.tell(
                CheckStatus::Warn,
                "rows are there that are not read yet, since a transaction that has written is still open and may commit a lower \
                 value: SELECT pid, datname, xact_start, query FROM pg_stat_activity WHERE backend_xid IS NOT NULL ORDER BY xact_start;"
                    .to_owned(),
            );
        }
    }

    fn tell(&self, status: CheckStatus, advice: String) {
        self.host.check(Check { name: "late_commits".to_owned(), status, since_ms: None, advice });
    }

    async fn an_ack(&self) {
        let mut verdicts = self.verdicts.subscribe();
        // The sender lives as long as we do.
        let _ = verdicts.changed().await;
    }

    fn head(&self) -> PollingState {
        polling_state(self.staged.head())
    }

    fn committed(&self) -> PollingState {
        polling_state(self.staged.committed())
    }
}

fn polling_state(saved: Saved) -> PollingState {
    match saved {
        Saved::Polling(state) => state,
        // `open` refused a state of the other mode.
        Saved::Fresh | Saved::Debezium(_) | Saved::Cdc(_) => PollingState::default(),
    }
}

fn is_passing(error: &Error) -> bool {
    match error {
        Error::Server(error) => error.is_passing(),
        Error::Connect { .. } | Error::Lost(_) | Error::Silent { .. } => true,
        Error::Tls { .. } | Error::Protocol(_) | Error::Value { .. } | Error::Refused(_) => false,
    }
}

/// Looks at every table the definition names.
async fn find(settings: &Settings, host: &Host) -> Result<Run, Error> {
    let mut sql = Connection::open(&settings.target, Purpose::Sql).await?;
    let all = server::tables(&mut sql).await?;
    let mut tables = Vec::new();
    let mut nulls = Vec::new();
    for table in publication::named(&all, settings) {
        let reader = TableReader::find(&mut sql, &table, settings).await?;
        if reader.has_nulls(&mut sql).await? {
            nulls.push(table.to_string());
        }
        tables.push(reader);
    }
    if tables.is_empty() {
        return Err(Error::Refused("tables: no table is there that the patterns name".into()));
    }
    report_nulls(&nulls, settings, host);
    let types = server::types(&mut sql).await?;
    Ok(Run { sql: Some(sql), types, tables, next: 0, quiet: 0, has_failed: false, waiting_since: None })
}

fn report_nulls(tables: &[String], settings: &Settings, host: &Host) {
    let mut check = Check {
        name: "null_tracking".to_owned(),
        status: CheckStatus::Ok,
        since_ms: None,
        advice: String::new(),
    };
    if !tables.is_empty() {
        check.status = CheckStatus::Warn;
        check.advice = format!(
            "rows of {} have no `{}`, so they have no place in the order and are not read; make the column NOT NULL",
            tables.join(", "),
            settings.polling.tracking
        );
        warn!(advice = check.advice, "rows without a tracking value are not read");
    }
    host.check(check);
}

//! Change capture: slot and publication first, then the snapshot, then the stream. Each poll is one step of it, decided by the
//! state the next batch begins with.

mod commands;
mod streaming;
mod tables;

use std::time::Duration;

use picomq_connector_sdk::{
    Batch, Check, CheckStatus, Error as SourceError, Host, Interrupt, OpenContext, Staged, Verdict,
};
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;
use tracing::{info, warn};

use crate::backfill::{Backfill, Wanted};
use crate::client::{Connection, Purpose};
use crate::config::SnapshotMode;
use crate::error::Error;
use crate::lsn::Lsn;
use crate::position::Position;
use crate::progress::Progress;
use crate::publication::{self, Plan};
use crate::quote;
use crate::server;
use crate::settings::Settings;
use crate::slot::{self, Identity, Start};
use crate::snapshot::{Exported, Workers};
use crate::state::{CdcState, Phase, Saved};
use crate::stream::Stream;

/// For all questions at an opening together.
const CHECK_TIMEOUT: Duration = Duration::from_secs(30);
/// Making a slot waits for every open transaction that has written; past this a person is told.
const SLOT_PATIENCE: Duration = Duration::from_secs(5);

/// A source in `mode = "cdc"`.
#[derive(Debug)]
pub(crate) struct Cdc {
    settings: Settings,
    staged: Staged<Saved>,
    host: Host,
    interrupt: Interrupt,
    /// What was delivered and saved; the stream confirms it.
    acked: watch::Sender<Lsn>,
    /// Told at every Ack.
    acks: watch::Sender<()>,
    /// Commands that the state does not have yet.
    wanted: watch::Sender<Vec<Wanted>>,
    run: Mutex<Run>,
}

/// What is open at the moment. Whatever a poll may be dropped with is taken out of here first.
#[derive(Debug, Default)]
struct Run {
    stream: Option<Stream>,
    exported: Option<Exported>,
    workers: Option<Workers>,
    /// For the question, now and then, whether the publication is still there.
    sql: Option<Connection>,
}

/// The server, looked at.
struct Checked {
    start: Start,
    plan: Plan,
    server: Identity,
    sql: Connection,
    /// None with `cdc_backend = "peek"`.
    replication: Option<Connection>,
}

impl Cdc {
    pub(crate) async fn open(
        settings: Settings,
        staged: Staged<Saved>,
        context: OpenContext,
    ) -> Result<Cdc, SourceError> {
        let confirmed = match staged.committed() {
            Saved::Cdc(state) => state.confirmed().unwrap_or_default(),
            Saved::Fresh | Saved::Debezium(_) | Saved::Polling(_) => Lsn(0),
        };
        let cdc = Cdc {
            settings,
            staged,
            host: context.host,
            interrupt: context.interrupt,
            acked: watch::Sender::new(confirmed),
            acks: watch::Sender::new(()),
            wanted: watch::Sender::new(Vec::new()),
            run: Mutex::new(Run::default()),
        };
        let checked = cdc.check().await?;
        info!(target = ?cdc.settings.target, slot = cdc.settings.slot, start = ?checked.start, "postgres source opened");
        if let Some(replication) = checked.replication {
            replication.close().await;
        }
        checked.sql.close().await;
        Ok(cdc)
    }

    pub(crate) async fn poll(&self) -> Result<Batch, SourceError> {
        self.interrupt.race(self.step()).await?
    }

    pub(crate) fn resolve(&self, verdict: Verdict) {
        match verdict {
            Verdict::Ack => {
                if let Some(Saved::Cdc(state)) = self.staged.ack()
                    && let Some(confirmed) = state.confirmed()
                {
                    self.acked.send_replace(confirmed);
                }
                self.acks.send_replace(());
            }
            Verdict::Nack => self.staged.nack(),
        }
    }

    pub(crate) async fn close(&self) {
        let run = std::mem::take(&mut *self.run.lock().await);
        if let Some(stream) = run.stream {
            stream.close().await;
        }
        info!(slot = self.settings.slot, "postgres source closed");
    }

    async fn step(&self) -> Result<Batch, SourceError> {
        let mut run = self.run.lock().await;
        match self.staged.head() {
            Saved::Fresh | Saved::Debezium(_) | Saved::Polling(_) => self.begin().await,
            Saved::Cdc(state) => match &state.phase {
                Phase::Intended => self.make_slot(&mut run, &state).await,
                Phase::Snapshot { start, progress } => {
                    self.read_tables(&mut run, &state, *start, progress).await
                }
                Phase::Stream(position) => self.read_stream(&mut run, &state, position).await,
                // Until it is asked to end.
                Phase::Done => std::future::pending().await,
            },
        }
    }

    /// Looks at the server and holds it against what is saved.
    async fn check(&self) -> Result<Checked, Error> {
        let seconds = CHECK_TIMEOUT.as_secs();
        let looking = timeout(CHECK_TIMEOUT, self.look());
        let checked = looking.await.unwrap_or(Err(Error::Silent { what: "the checks", seconds }))?;
        self.report(&checked.plan);
        Ok(checked)
    }

    async fn look(&self) -> Result<Checked, Error> {
        let Settings { target, slot, publication, .. } = &self.settings;
        let mut sql = Connection::open(target, Purpose::Sql).await?;
        server::check_wal_level(&mut sql).await?;
        let saved = self.staged.committed();
        let state = match &saved {
            Saved::Cdc(state) => Some(state),
            Saved::Fresh | Saved::Debezium(_) | Saved::Polling(_) => None,
        };
        let timeline = state.map(|state| state.timeline);
        let (replication, server, switched_at) = server::met(&mut sql, &self.settings, timeline).await?;
        let slot = server::slot(&mut sql, slot).await?;
        let start = match &saved {
            Saved::Debezium(taken) => taken.judge(slot.as_ref(), &self.settings, &server)?,
            Saved::Fresh | Saved::Cdc(_) | Saved::Polling(_) => {
                slot::judge(slot.as_ref(), state, &self.settings, &server, switched_at)?
            }
        };
        let published = server::publication(&mut sql, publication).await?;
        let has_read = matches!(start, Start::Resume | Start::Adopt(_));
        if published.is_none() && has_read {
            return Err(self.publication_gone());
        }
        let plan = publication::plan(published.as_ref(), &server::tables(&mut sql).await?, &self.settings)?;
        Ok(Checked { start, plan, server, sql, replication })
    }

    /// A slot cannot be read across the time its publication was not there: 13 to 17 refuse, and 18 would pass the changes over.
    fn publication_gone(&self) -> Error {
        Error::Refused(format!(
            "postgres.publication_missing: the publication `{}` is gone, though the slot `{}` is read with it, or is younger \
             than what the slot still has; what changed without it is in no publication and cannot be had from the log any more; make the publication again and, since the slot \
             must be made after it: stop this source, delete its state and run: SELECT pg_drop_replication_slot({});",
            self.settings.publication,
            self.settings.slot,
            quote::literal(&self.settings.slot).trim_start()
        ))
    }

    /// Of what the server says while it decodes: that a publication was not there at the time of a change is for ever.
    fn explained(&self, error: Error) -> Error {
        let is_about_it = error.to_string().contains(&format!("\"{}\"", self.settings.publication));
        if error.code() == Some("42704") && is_about_it { self.publication_gone() } else { error }
    }

    fn report(&self, plan: &Plan) {
        for warning in &plan.warnings {
            warn!(warning, "the publication needs a look");
        }
        let status = if plan.warnings.is_empty() { CheckStatus::Ok } else { CheckStatus::Warn };
        let advice = plan.warnings.join("; ");
        self.host.check(Check { name: "publication".to_owned(), status, since_ms: None, advice });
    }

    /// The first batch: the word that the slot will be made, or that one is taken over.
    async fn begin(&self) -> Result<Batch, SourceError> {
        let Checked { start, mut sql, plan, server, .. } = self.check().await?;
        let phase = match start {
            Start::Adopt(lsn) => {
                run_plan(&mut sql, &plan).await?;
                Phase::Stream(Position::at(lsn))
            }
            Start::Intend | Start::Create | Start::Found(_) | Start::Resume | Start::Again => Phase::Intended,
        };
        let Settings { slot, publication, .. } = self.settings.clone();
        let Identity { system, timeline, database, .. } = server;
        let backfill = Backfill::default();
        self.watermark(CdcState { system, timeline, database, slot, publication, phase, backfill })
    }

    /// The second: slot and publication are there.
    async fn make_slot(&self, run: &mut Run, state: &CdcState) -> Result<Batch, SourceError> {
        self.saved(state).await;
        let Checked { start, mut sql, plan, replication, .. } = self.check().await?;
        run_plan(&mut sql, &plan).await?;
        if start == Start::Again {
            warn!(
                slot = self.settings.slot,
                "the server gave up the slot: it is made anew, and the tables are read again"
            );
            sql.simple(&slot::drop_sql(&self.settings.slot)).await?;
        }
        let (start, exported) = match start {
            Start::Found(lsn) => (lsn, None),
            Start::Create | Start::Intend | Start::Adopt(_) | Start::Resume | Start::Again => {
                self.create_slot(sql, replication).await?
            }
        };
        info!(slot = self.settings.slot, %start, has_snapshot = exported.is_some(), "the slot is there");
        run.exported = exported;
        self.watermark(state.at(if self.settings.snapshot.reads() {
            Phase::Snapshot { start, progress: Progress::default() }
        } else {
            Phase::Stream(Position::at(start))
        }))
    }

    /// Waits until `state` is saved: nothing is made upstream on the strength of a state that may never be.
    async fn saved(&self, state: &CdcState) {
        let mut acks = self.acks.subscribe();
        while self.staged.committed() != Saved::Cdc(state.clone()) {
            // The sender lives as long as we do.
            let _ = acks.changed().await;
        }
    }

    async fn create_slot(
        &self,
        sql: Connection,
        replication: Option<Connection>,
    ) -> Result<(Lsn, Option<Exported>), Error> {
        let is_read = self.settings.snapshot.reads();
        let (command, mut connection) = match replication {
            Some(replication) => (create_sql(&self.settings, replication.version()), replication),
            None => (create_by_sql(&self.settings, sql.version()), sql),
        };
        let answer = {
            let mut creating = std::pin::pin!(connection.simple(&command));
            match timeout(SLOT_PATIENCE, creating.as_mut()).await {
                Ok(answer) => answer?,
                Err(_) => {
                    self.report_waiting();
                    creating.await?
                }
            }
        };
        let start = answer.text(0, 1).and_then(|text| text.parse().ok());
        let start = start.ok_or_else(|| Error::Protocol("a new slot without a position".into()))?;
        let name = answer.text(0, 2).map(str::to_owned);
        let advice = String::new();
        self.host.check(Check { name: "slot".to_owned(), status: CheckStatus::Ok, since_ms: None, advice });
        Ok((start, name.filter(|_| is_read).map(|name| Exported::new(connection, name))))
    }

    fn report_waiting(&self) {
        let advice = "the slot is being made and waits for transactions that have written and are open: SELECT pid, xact_start, \
                      query FROM pg_stat_activity WHERE backend_xid IS NOT NULL ORDER BY xact_start;"
            .to_owned();
        warn!(advice, "making the slot takes long");
        self.host.check(Check { name: "slot".to_owned(), status: CheckStatus::Warn, since_ms: None, advice });
    }

    /// 18 passes changes over in silence when the publication is gone, so no position moves before we saw that it is there.
    async fn confirm_publication(&self, idle: &mut Option<Connection>) -> Result<(), Error> {
        let mut sql = match idle.take() {
            Some(sql) => sql,
            None => Connection::open(&self.settings.target, Purpose::Sql).await?,
        };
        let name = &self.settings.publication;
        let answer =
            sql.query("SELECT 1 FROM pg_catalog.pg_publication WHERE pubname = $1", &[Some(name)]).await?;
        if answer.len() == 0 {
            return Err(self.publication_gone());
        }
        *idle = Some(sql);
        Ok(())
    }

    fn watermark(&self, state: CdcState) -> Result<Batch, SourceError> {
        self.staged.stage(Batch::empty(), Saved::Cdc(state))
    }
}

/// Makes or extends the publication.
async fn run_plan(sql: &mut Connection, plan: &Plan) -> Result<(), Error> {
    let Some(statement) = &plan.sql else { return Ok(()) };
    info!(statement, "the publication is changed");
    match sql.simple(statement).await {
        Ok(_) => Ok(()),
        // Somebody else was quicker.
        Err(error) if error.code() == Some("42710") => Ok(()),
        Err(error) if error.code() == Some("42501") => Err(Error::Refused(format!(
            "postgres.publication: {error}; let the owner of the tables, or a superuser, run: {statement};"
        ))),
        Err(error) => Err(error),
    }
}

fn create_sql(settings: &Settings, version: u32) -> String {
    let is_temporary = settings.snapshot == SnapshotMode::InitialOnly;
    let temporary = if is_temporary { " TEMPORARY" } else { "" };
    // A standby keeps a copy of it, where the server can do that.
    let failover = if version >= 17 && !is_temporary { ", FAILOVER true" } else { "" };
    let options = match (version >= 15, settings.snapshot.reads()) {
        (true, true) => format!("(SNAPSHOT 'export'{failover})"),
        (true, false) => format!("(SNAPSHOT 'nothing'{failover})"),
        (false, true) => "EXPORT_SNAPSHOT".to_owned(),
        (false, false) => "NOEXPORT_SNAPSHOT".to_owned(),
    };
    format!(
        "CREATE_REPLICATION_SLOT {}{temporary} LOGICAL pgoutput {options}",
        quote::identifier(&settings.slot)
    )
}

/// The same with SQL, which exports no snapshot: the rows are read as they are later, and what changed between comes behind them.
fn create_by_sql(settings: &Settings, version: u32) -> String {
    if settings.snapshot == SnapshotMode::InitialOnly {
        // Nothing is streamed, so nothing needs to be held.
        return "SELECT NULL, CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn() \
                ELSE pg_catalog.pg_current_wal_flush_lsn() END"
            .to_owned();
    }
    let more = match version {
        17.. => ", false, false, true",
        14.. => ", false, false",
        _ => "",
    };
    let slot = quote::literal(&settings.slot);
    format!(
        "SELECT slot_name, lsn FROM pg_catalog.pg_create_logical_replication_slot({slot}, 'pgoutput'{more})"
    )
}

//! The step that reads the tables.

use picomq_connector_sdk::{Batch, Error as SourceError};
use tracing::info;

use super::{Cdc, Run};
use crate::client::{Connection, Purpose};
use crate::config::SnapshotMode;
use crate::error::Error;
use crate::lsn::Lsn;
use crate::position::Position;
use crate::progress::Progress;
use crate::quote::TableName;
use crate::server::{self, Sight, TableFacts};
use crate::snapshot::{self, Exported, Order, Workers};
use crate::state::{CdcState, Phase, Saved};

impl Cdc {
    pub(super) async fn read_tables(
        &self,
        run: &mut Run,
        state: &CdcState,
        start: Lsn,
        progress: &Progress,
    ) -> Result<Batch, SourceError> {
        let is_alone = run.workers.is_none() && run.exported.is_none();
        if is_alone && self.can_go_on_beside().await? {
            info!(
                rows = progress.rows,
                "the snapshot of the slot is gone: what is left is read beside the stream"
            );
            let mut state = state.at(Phase::Stream(Position::at(start)));
            state.backfill.rest = Some(progress.clone());
            return self.watermark(state);
        }
        // After a Nack the workers are further than what is to be read.
        let workers = match run.workers.take().filter(|workers| workers.at == *progress) {
            Some(workers) => workers,
            None => self.start_workers(run, start, progress).await?,
        };
        // Waiting in its place: a poll that is dropped here leaves the workers as they are.
        let workers = run.workers.insert(workers);
        match workers.next().await {
            Ok(Some(batch)) => {
                let progress = workers.at.clone();
                self.staged.stage(batch, Saved::Cdc(state.at(Phase::Snapshot { start, progress })))
            }
            Ok(None) => {
                info!(%start, rows = workers.at.rows, "the snapshot is read");
                *run = Run { sql: run.sql.take(), ..Run::default() };
                self.watermark(state.at(match self.settings.snapshot {
                    SnapshotMode::InitialOnly => Phase::Done,
                    SnapshotMode::Initial | SnapshotMode::NoData | SnapshotMode::WhenNeeded => {
                        Phase::Stream(Position::at(start))
                    }
                }))
            }
            Err(error) => {
                // The snapshot may be gone with what failed.
                *run = Run { sql: run.sql.take(), ..Run::default() };
                Err(error.into())
            }
        }
    }

    /// Whether what a lost snapshot did not come to can be read while the stream runs: that takes marks in the log, and rows that can
    /// be told apart.
    async fn can_go_on_beside(&self) -> Result<bool, Error> {
        if self.settings.snapshot == SnapshotMode::InitialOnly {
            return Ok(false);
        }
        let mut sql = Connection::open(&self.settings.target, Purpose::Sql).await?;
        if sql.version() < 14 {
            return Ok(false);
        }
        let tables = snapshot::tables(&mut sql, &self.settings).await?;
        for table in tables.ok_or_else(|| self.publication_gone())? {
            let facts = server::table_facts(&mut sql, &table, Sight::Published(&self.settings.publication));
            let is_told_apart = |facts: TableFacts| !facts.is_partitioned || !facts.primary_key.is_empty();
            if !facts.await?.is_none_or(is_told_apart) {
                return Ok(false);
            }
        }
        sql.close().await;
        Ok(true)
    }

    async fn start_workers(&self, run: &mut Run, start: Lsn, progress: &Progress) -> Result<Workers, Error> {
        let tables = self.tables().await?;
        let exported = match run.exported.take() {
            Some(exported) => exported,
            None => Exported::now(&self.settings).await?,
        };
        let order = Order { settings: &self.settings, host: &self.host, start, tables, progress };
        let workers = Workers::start(order, &exported).await?;
        // Kept for the time after a Nack; when nobody can read in it, it is gone.
        run.exported = Some(exported);
        Ok(workers)
    }

    /// The tables that are read, in the order of their names.
    pub(super) async fn tables(&self) -> Result<Vec<TableName>, Error> {
        let mut sql = Connection::open(&self.settings.target, Purpose::Sql).await?;
        let tables = snapshot::tables(&mut sql, &self.settings).await?;
        sql.close().await;
        tables.ok_or_else(|| self.publication_gone())
    }
}

//! The step that reads the tables.

use picomq_connector_sdk::{Batch, Error as SourceError};
use tracing::info;

use super::{Cdc, Run};
use crate::client::{Connection, Purpose};
use crate::config::SnapshotMode;
use crate::error::Error;
use crate::lsn::Lsn;
use crate::position::Position;
use crate::publication;
use crate::quote::TableName;
use crate::server;
use crate::snapshot::{Exported, Order, Workers};
use crate::state::{CdcState, Phase, Progress, Saved};

impl Cdc {
    pub(super) async fn read_tables(
        &self,
        run: &mut Run,
        state: &CdcState,
        start: Lsn,
        progress: &Progress,
    ) -> Result<Batch, SourceError> {
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
                run.workers = None;
                Err(error.into())
            }
        }
    }

    async fn start_workers(&self, run: &mut Run, start: Lsn, progress: &Progress) -> Result<Workers, Error> {
        let tables = self.tables().await?;
        let exported = match run.exported.take() {
            Some(exported) => exported,
            None => Exported::now(&self.settings).await?,
        };
        let order = Order { settings: &self.settings, host: &self.host, start, tables, progress };
        Workers::start(order, run.exported.insert(exported)).await
    }

    /// The tables that are read, in the order of their names.
    pub(super) async fn tables(&self) -> Result<Vec<TableName>, Error> {
        let mut sql = Connection::open(&self.settings.target, Purpose::Sql).await?;
        let published = server::publication(&mut sql, &self.settings.publication).await?;
        let Some(published) = published else { return Err(self.publication_gone()) };
        let plan = publication::plan(Some(&published), &server::tables(&mut sql).await?, &self.settings)?;
        sql.close().await;
        let mut tables = plan.tables;
        // Not as the database sorts them: what was taken is what comes before the frontier.
        tables.sort();
        Ok(tables)
    }
}

//! The step that reads the stream, and what is read beside it.

use picomq_connector_sdk::{Batch, Error as SourceError};
use tracing::{info, warn};

use super::{Cdc, Checked, Run, run_plan};
use crate::backfill::{Backfill, Moved};
use crate::error::Error;
use crate::position::Position;
use crate::slot::Start;
use crate::state::{CdcState, Phase, Saved};
use crate::stream::{Item, Stream};

impl Cdc {
    pub(super) async fn read_stream(
        &self,
        run: &mut Run,
        state: &CdcState,
        position: &Position,
    ) -> Result<Batch, SourceError> {
        // After a Nack, or a poll that was dropped with its batch, the stream stands somewhere else.
        // It is gone before the next one starts: the slot has one reader at a time.
        let is_here = |stream: &Stream| stream.at == *position && stream.backfill == state.backfill;
        let there = run.stream.take().filter(is_here);
        let stream = match there {
            Some(stream) => stream,
            None => match self.start_stream(state, position).await? {
                Some(stream) => stream,
                None => {
                    // Everything is read again: nothing is left of what was asked for.
                    let mut state = state.at(Phase::Intended);
                    (state.backfill.rest, state.backfill.jobs) = (None, Vec::new());
                    return self.watermark(state);
                }
            },
        };
        // Waiting in its place: a poll that is dropped here leaves the stream as it is.
        let stream = run.stream.insert(stream);
        let mut backfill = state.backfill.clone();
        let item = match self.next(stream, &mut backfill).await {
            Ok(item) => item,
            Err(error) => {
                run.stream = None;
                return Err(self.explained(error).into());
            }
        };
        let batch = match item {
            None => (Batch::empty(), position.clone()),
            Some(Item::Records(assembled, moved)) => {
                moved.iter().for_each(|moved| backfill.apply(moved));
                (assembled.batch, assembled.position)
            }
            Some(Item::Moved(moved)) => {
                report(&moved);
                backfill.apply(&moved);
                (Batch::empty(), position.clone())
            }
            Some(Item::Idle(at)) => {
                self.confirm_publication(&mut run.sql).await?;
                (Batch::empty(), at)
            }
        };
        self.hand_over(stream, batch.0, (state, batch.1, backfill))
    }

    /// The next item, or `None` when something was asked for, which `backfill` has then. May be dropped.
    async fn next(&self, stream: &mut Stream, backfill: &mut Backfill) -> Result<Option<Item>, Error> {
        let mut asked = self.wanted.subscribe();
        loop {
            if backfill.want(&asked.borrow_and_update()) {
                return Ok(None);
            }
            tokio::select! {
                item = stream.next() => return item.map(Some),
                // The sender lives as long as we do.
                _ = asked.changed() => {}
            }
        }
    }

    /// Stages a batch with what it makes true, and lets the stream go on from there.
    fn hand_over(
        &self,
        stream: &mut Stream,
        batch: Batch,
        (state, position, backfill): (&CdcState, Position, Backfill),
    ) -> Result<Batch, SourceError> {
        stream.at = position.clone();
        stream.set_backfill(backfill.clone());
        let publication = self.settings.publication.clone();
        let state = CdcState { publication, backfill, ..state.at(Phase::Stream(position)) };
        self.staged.stage(batch, Saved::Cdc(state))
    }

    /// `None` when what follows the position is gone and everything is to begin again.
    async fn start_stream(
        &self,
        state: &CdcState,
        position: &Position,
    ) -> Result<Option<Stream>, SourceError> {
        let Checked { start, mut sql, plan, replication, .. } = self.check().await?;
        if start == Start::Again {
            return Ok(None);
        }
        if let Some(statement) = &plan.sql {
            warn!(
                statement,
                "tables are added: from now on their changes come, and not the rows that are there already; the command \
                 `backfill` reads those"
            );
        }
        run_plan(&mut sql, &plan).await?;
        sql.close().await;
        let mut from = position.clone();
        if state.publication != self.settings.publication {
            // Another publication has other changes: what an ordinal counted means nothing, the transaction comes again.
            from.inside = None;
        }
        let acked = self.acked.subscribe();
        let work = (&from, &state.backfill);
        let mut stream = Stream::start((&self.settings, &self.host), replication, work, acked).await?;
        stream.at = position.clone();
        info!(from = %from.commit_end, inside = ?from.inside, "streaming");
        Ok(Some(stream))
    }
}

fn report(moved: &Moved) {
    match moved {
        Moved::RestDone => info!("the snapshot is read"),
        Moved::Part { part, .. } => info!(table = %part.table, "nothing is left to be read of the table"),
    }
}

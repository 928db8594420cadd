//! Commands: they are in the state before they are answered.

use std::time::Duration;

use picomq_connector_sdk::Error as SourceError;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::Cdc;
use crate::backfill::{CANCEL, LIST, START, Wanted, commands};
use crate::state::{CdcState, Phase, Saved};

/// Below the time after which the engine gives a command up.
const SAVED_WITHIN: Duration = Duration::from_secs(20);

impl Cdc {
    /// `None` for a command that is not ours.
    pub(crate) async fn command(&self, name: &str, arguments: Value) -> Result<Option<Value>, SourceError> {
        let is_cancel = match name {
            START => false,
            CANCEL => true,
            LIST => return Ok(Some(self.state_of_stream()?.backfill.list())),
            _ => return Ok(None),
        };
        let table = commands::table(arguments)?;
        let state = self.state_of_stream()?;
        state.backfill.allow(&table, is_cancel)?;
        if !is_cancel {
            commands::check(&self.settings, &table).await?;
        }
        let number = self.want(&table, is_cancel);
        let is_saved = timeout(SAVED_WITHIN, self.taken(number)).await.is_ok();
        self.wanted.send_modify(|wanted| wanted.retain(|one| one.number != number));
        if !is_saved {
            return Err(SourceError::transient(format!(
                "it was not saved within {} s: the source may be waiting for its broker or its state store; `{LIST}` shows whether it was taken \
                 after all",
                SAVED_WITHIN.as_secs()
            )));
        }
        let taken = if is_cancel { "cancelled" } else { "taken" };
        let list = self.state_of_stream()?.backfill.list();
        Ok(Some(json!({ "table": table.to_string(), taken: true, "backfills": list["backfills"] })))
    }

    fn want(&self, table: &crate::quote::TableName, is_cancel: bool) -> u64 {
        let mut number = u64::try_from(jiff::Timestamp::now().as_microsecond()).unwrap_or_default();
        self.wanted.send_modify(|wanted| {
            let newest = wanted.iter().map(|one| one.number).max();
            let last = match self.staged.head() {
                Saved::Cdc(state) => state.backfill.last,
                Saved::Fresh | Saved::Debezium(_) | Saved::Polling(_) => 0,
            };
            number = number.max(last + 1).max(newest.unwrap_or_default() + 1);
            wanted.push(Wanted { number, table: table.clone(), is_cancel });
        });
        number
    }

    /// Waits until the request is saved.
    async fn taken(&self, number: u64) {
        let mut acks = self.acks.subscribe();
        loop {
            if matches!(self.staged.committed(), Saved::Cdc(state) if state.backfill.last >= number) {
                return;
            }
            // The sender lives as long as we do.
            let _ = acks.changed().await;
        }
    }

    /// The saved state of a source that streams.
    fn state_of_stream(&self) -> Result<CdcState, SourceError> {
        let why = match self.staged.committed() {
            Saved::Cdc(state) => match state.phase {
                Phase::Stream(_) => return Ok(state),
                Phase::Intended | Phase::Snapshot { .. } => {
                    "the first snapshot is being read, which has every table; ask again after it"
                }
                Phase::Done => {
                    "the source has read its tables and follows no changes (snapshot_mode = \"initial_only\")"
                }
            },
            Saved::Fresh | Saved::Debezium(_) | Saved::Polling(_) => {
                "the source has not begun to read; ask again soon"
            }
        };
        Err(SourceError::permanent(format!("{START}: {why}")))
    }
}

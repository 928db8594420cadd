//! Mode `script`: counts upwards, and does what the script says.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use picomq_connector_sdk::{Batch, Error, Interrupt, OpenContext, Schema, Staged, Verdict};
use serde::Serialize;

use crate::config::{Action, Call, Kind, Poison, ScriptConfig, Step, at_least_one};

const STATE_VERSION: u32 = 1;

/// A counter with a script.
#[derive(Debug)]
pub(crate) struct Script {
    config: ScriptConfig,
    interrupt: Interrupt,
    count: Staged<u64>,
    calls: Mutex<HashMap<Call, u64>>,
}

#[derive(Serialize)]
struct Record<'a> {
    sequence: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<&'a str>,
    #[serde(skip_serializing_if = "String::is_empty")]
    padding: String,
}

impl Script {
    pub(crate) async fn open(config: ScriptConfig, context: &OpenContext) -> Result<Script, Error> {
        at_least_one("records", config.records)?;
        at_least_one("user_pool", config.user_pool)?;
        let script = Script {
            interrupt: context.interrupt.clone(),
            count: Staged::open(context, STATE_VERSION, || 0)?,
            calls: Mutex::new(HashMap::new()),
            config,
        };
        script.act(Call::Open).await?;
        Ok(script)
    }

    pub(crate) async fn poll(&self) -> Result<Batch, Error> {
        self.interrupt.sleep(self.config.interval.0).await?;
        let action = self.act(Call::Poll).await?;
        let first = self.count.head();
        let size = if let Some(Action::Records(records)) = action { records } else { self.config.records };
        let end = (first + size).min(self.config.max_count.unwrap_or(u64::MAX)).max(first);
        if action == Some(Action::Watermark) {
            return self.count.stage(Batch::empty(), first);
        }
        if action == Some(Action::Empty) || first == end {
            return Ok(Batch::empty());
        }
        let schema = if action == Some(Action::WrongSchema) { Schema::Proto } else { Schema::Json };
        let mut batch = Batch::new(schema);
        for sequence in first..end {
            self.add(&mut batch, sequence)?;
        }
        if action == Some(Action::NoState) {
            return Ok(batch);
        }
        self.count.stage(batch, end)
    }

    pub(crate) async fn on_batch_result(&self, verdict: Verdict) -> Result<(), Error> {
        self.act(Call::Verdict).await?;
        match verdict {
            Verdict::Ack => {
                self.act(Call::Ack).await?;
                self.count.ack();
            }
            Verdict::Nack => {
                self.act(Call::Nack).await?;
                self.count.nack();
            }
        }
        Ok(())
    }

    pub(crate) async fn close(&self) {
        // An error has nowhere to go; all else happens inside.
        let _ = self.act(Call::Close).await;
    }

    fn add(&self, batch: &mut Batch, sequence: u64) -> Result<(), Error> {
        let user = format!("user-{}", sequence % self.config.user_pool);
        let mut record = batch.add();
        if self.config.key_by_user {
            record.key(user.as_bytes());
        }
        let good = Record { sequence, user_id: Some(&user), padding: String::new() };
        match self.poison(sequence) {
            None => record.json(&good)?,
            Some(Kind::NotJson) => record.payload(b"{\"sequence\": this is no JSON"),
            Some(Kind::NotUtf8) => record.payload(b"\"\xff\xfe\""),
            Some(Kind::Unroutable) => record.json(&Record { user_id: None, ..good })?,
            Some(Kind::Tombstone) => &mut record,
            Some(Kind::Bytes(bytes)) => record.json(&Record { padding: "x".repeat(bytes), ..good })?,
        };
        Ok(())
    }

    fn poison(&self, sequence: u64) -> Option<Kind> {
        let fits = |poison: &&Poison| poison.sequence == sequence && is_due(poison.once.as_deref());
        self.config.poison.iter().find(fits).map(|poison| poison.with)
    }

    /// Does what the script says about this call. The answer is for the poll, which shapes its batch by it.
    async fn act(&self, call: Call) -> Result<Option<Action>, Error> {
        let Some(action) = self.next(call) else { return Ok(None) };
        match &action {
            Action::Panic => panic!("the script says panic in {call:?}"),
            Action::Abort => std::process::abort(),
            Action::Hang => std::future::pending().await,
            Action::Block => loop {
                std::thread::park();
            },
            Action::Sleep(pause) => tokio::time::sleep(pause.0).await,
            Action::Transient => {
                return Err(Error::transient(format!("the script says transient in {call:?}")));
            }
            Action::Permanent => {
                return Err(Error::permanent(format!("the script says permanent in {call:?}")));
            }
            Action::Config => return Err(Error::config(format!("the script says config in {call:?}"))),
            Action::State => return Err(Error::state(format!("the script says state in {call:?}"))),
            Action::Empty
            | Action::Watermark
            | Action::NoState
            | Action::Records(_)
            | Action::WrongSchema => {}
        }
        Ok(Some(action))
    }

    /// Counts the call; the action of the first step that fits.
    fn next(&self, call: Call) -> Option<Action> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let number = calls.entry(call).or_insert(0);
        *number += 1;
        let number = *number;
        drop(calls);
        let fits = |step: &&Step| {
            step.call == call
                && step.at.is_none_or(|at| at == number)
                && step.from.is_none_or(|from| from <= number)
                && is_due(step.once.as_deref())
        };
        self.config.steps.iter().find(fits).map(|step| step.action.clone())
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let action = self.next(Call::Drop);
        if action == Some(Action::Abort) {
            std::process::abort();
        }
        while action == Some(Action::Block) {
            std::thread::park();
        }
        assert_ne!(action, Some(Action::Panic), "the script says panic in drop");
    }
}

/// Whether something that is done once is still to be done; from now on it is not. A marker that cannot be made counts
/// as made, so that nothing is done again and again.
fn is_due(marker: Option<&Path>) -> bool {
    marker.is_none_or(|marker| OpenOptions::new().write(true).create_new(true).open(marker).is_ok())
}

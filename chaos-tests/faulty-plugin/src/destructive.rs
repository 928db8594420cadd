//! Mode `destructive`: what it deletes can never be read again, so every mistake of the engine is a visible loss.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::PathBuf;

use picomq_connector_sdk::{Batch, Error, Interrupt, Mode, OpenContext, Schema, Staged, Verdict};
use serde::{Deserialize, Serialize};
use tracing::info;

use crate::config::{DestructiveConfig, at_least_one};

const STATE_VERSION: u32 = 1;

/// A folder read in the order of its names.
#[derive(Debug)]
pub(crate) struct Destructive {
    config: DestructiveConfig,
    interrupt: Interrupt,
    position: Staged<Position>,
}

/// The state: how far it read, and what is to be deleted once that is acknowledged. Cumulative: the deletions of
/// every batch not acknowledged yet.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Position {
    last: String,
    owed: Vec<String>,
}

#[derive(Serialize)]
struct Record<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    text: &'a str,
}

impl Destructive {
    pub(crate) async fn open(config: DestructiveConfig, context: &OpenContext) -> Result<Destructive, Error> {
        at_least_one("records", config.records)?;
        at_least_one("user_pool", config.user_pool)?;
        let position = Staged::open(context, STATE_VERSION, Position::default)?;
        let source = Destructive { config, interrupt: context.interrupt.clone(), position };
        if context.mode == Mode::Run {
            let owed = source.position.committed().owed;
            info!(owed = owed.len(), "deleting what is owed");
            source.delete(&owed).await?;
        }
        Ok(source)
    }

    pub(crate) async fn poll(&self) -> Result<Batch, Error> {
        self.interrupt.sleep(self.config.interval.0).await?;
        let names = self.names().await?;
        let head = self.position.head();
        let most = usize::try_from(self.config.records).unwrap_or(usize::MAX);
        let next: Vec<&String> = names.iter().filter(|name| **name > head.last).take(most).collect();
        let Some(last) = next.last() else { return Ok(Batch::empty()) };

        let mut batch = Batch::new(Schema::Json);
        for name in &next {
            self.add(&mut batch, name).await?;
        }
        // What is gone already is owed no more.
        let still = head.owed.into_iter().filter(|name| names.contains(name));
        let owed = still.chain(next.iter().map(ToString::to_string)).collect();
        self.position.stage(batch, Position { last: (*last).clone(), owed })
    }

    pub(crate) async fn on_batch_result(&self, verdict: Verdict) -> Result<(), Error> {
        match verdict {
            Verdict::Nack => self.position.nack(),
            Verdict::Ack => {
                if let Some(committed) = self.position.ack() {
                    self.delete(&committed.owed).await?;
                }
            }
        }
        Ok(())
    }

    async fn add(&self, batch: &mut Batch, name: &str) -> Result<(), Error> {
        let text = tokio::fs::read_to_string(self.path(name))
            .await
            .map_err(|error| Error::transient(format!("cannot read {name}")).with_cause(error))?;
        let sequence = name.parse::<u64>().ok();
        let user_id = sequence.map(|sequence| format!("user-{}", sequence % self.config.user_pool));
        let record = Record { name, sequence, user_id, text: &text };
        batch.add().id(name).key(name.as_bytes()).json(&record)?;
        Ok(())
    }

    /// Deleting twice is harmless: what is not there was deleted before.
    async fn delete(&self, names: &[String]) -> Result<(), Error> {
        for name in names {
            match tokio::fs::remove_file(self.path(name)).await {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(Error::transient(format!("cannot delete {name}")).with_cause(error));
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// The regular files of the folder, without those whose names begin with a dot.
    async fn names(&self) -> Result<BTreeSet<String>, Error> {
        let unread = |error| {
            Error::transient(format!("cannot read {}", self.config.folder.display())).with_cause(error)
        };
        let mut names = BTreeSet::new();
        let mut folder = tokio::fs::read_dir(&self.config.folder).await.map_err(unread)?;
        while let Some(entry) = folder.next_entry().await.map_err(unread)? {
            let is_file = entry.file_type().await.map_err(unread)?.is_file();
            let Ok(name) = entry.file_name().into_string() else { continue };
            if is_file && !name.starts_with('.') {
                names.insert(name);
            }
        }
        Ok(names)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.config.folder.join(name)
    }
}

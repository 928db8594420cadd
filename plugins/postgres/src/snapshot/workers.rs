//! Several connections that read parts at once, in one snapshot.
//!
//! They hand over batch by batch through a channel of one place, so no more is read ahead than each of them holds.

use std::collections::VecDeque;
use std::sync::Arc;

use picomq_connector_sdk::{Batch, Host};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;
use tracing::info;

use super::part::{PartReader, fits};
use super::{Exported, by_of, split};
use crate::client::Connection;
use crate::error::Error;
use crate::lsn::Lsn;
use crate::progress::{Part, Progress, next_table};
use crate::quote::TableName;
use crate::server::{self, Sight, TableFacts};
use crate::settings::Settings;

/// The workers, and how far they came.
#[derive(Debug)]
pub(crate) struct Workers {
    told: mpsc::Receiver<Result<Told, Error>>,
    tasks: Vec<JoinHandle<()>>,
    running: usize,
    /// After the last batch that was handed out.
    pub(crate) at: Progress,
}

/// What a worker says.
#[derive(Debug)]
enum Told {
    /// It took a part behind the frontier.
    Taken(Part),
    Read {
        part: Part,
        batch: Batch,
        is_done: bool,
    },
    /// There is no part left for it.
    End,
}

/// What is to be read, shared by all.
#[derive(Debug)]
struct Plan {
    tables: Vec<TableName>,
    /// The frontier.
    progress: Progress,
    /// Cut and not taken: the parts that were open before, then those behind the frontier.
    queue: VecDeque<Queued>,
}

#[derive(Debug)]
struct Queued {
    part: Part,
    is_new: bool,
    /// `None` for one of before: they are asked for when it is taken.
    facts: Option<Arc<TableFacts>>,
}

/// What is to be read by whom.
pub(crate) struct Order<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) host: &'a Host,
    /// What rows of the snapshot are told to be as of.
    pub(crate) start: Lsn,
    pub(crate) tables: Vec<TableName>,
    pub(crate) progress: &'a Progress,
}

impl Workers {
    /// Starts to read what `order` says is left.
    pub(crate) async fn start(order: Order<'_>, exported: &Exported) -> Result<Workers, Error> {
        let Order { settings, host, start, tables, progress } = order;
        let open = progress.open.iter().map(|part| Queued { part: part.clone(), is_new: false, facts: None });
        let plan = Plan { tables, progress: progress.clone(), queue: open.collect() };
        let plan = Arc::new(Mutex::new(plan));
        let (sender, told) = mpsc::channel(1);
        let mut tasks = Vec::new();
        for _ in 0..settings.snapshot_workers {
            let sql = exported.open(settings).await?;
            let worker = Worker {
                sql,
                settings: settings.clone(),
                lsn: start.to_string(),
                plan: Arc::clone(&plan),
                told: sender.clone(),
            };
            tasks.push(tokio::spawn(host.scope(worker.run())));
        }
        Ok(Workers { told, running: tasks.len(), tasks, at: progress.clone() })
    }

    /// The next batch with records, or `None` when every row was read. May be dropped.
    pub(crate) async fn next(&mut self) -> Result<Option<Batch>, Error> {
        while self.running > 0 {
            // A worker that ends without saying so has died, with rows it did not read.
            let told = self.told.recv().await;
            match told.unwrap_or_else(|| Err(Error::Lost(std::io::ErrorKind::BrokenPipe.into())))? {
                Told::Taken(part) => self.at.take(&part),
                Told::Read { part, batch, is_done } => {
                    self.at.advance(&part, batch.len() as u64, is_done);
                    if is_done && self.at.is_read(&part.table) {
                        info!(table = %part.table, rows_of_all = self.at.rows, "a table is read");
                    }
                    if !batch.is_empty() {
                        return Ok(Some(batch));
                    }
                }
                Told::End => self.running -= 1,
            }
        }
        Ok(None)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

struct Worker {
    sql: Connection,
    settings: Settings,
    lsn: String,
    plan: Arc<Mutex<Plan>>,
    told: mpsc::Sender<Result<Told, Error>>,
}

impl Worker {
    async fn run(mut self) {
        let last = self.read().await.map(|()| Told::End);
        // Nobody listens any more when the source is closed.
        let _ = self.told.send(last).await;
        self.sql.close().await;
    }

    async fn read(&mut self) -> Result<(), Error> {
        let types = server::types(&mut self.sql).await?;
        while let Some((part, facts)) = self.take().await? {
            let Some(facts) = facts else {
                // Dropped since: there are no rows.
                self.tell(Told::Read { part, batch: Batch::empty(), is_done: true }).await?;
                continue;
            };
            let records = &self.settings.records;
            let mut reader = PartReader::begin(&mut self.sql, &facts, (&types, records), &part).await?;
            loop {
                let read = (&self.settings.records, &self.settings.cut);
                let (batch, is_done) = reader.batch(&mut self.sql, read, &self.lsn).await?;
                // The end is what a part is known by, whatever was read.
                let told = Part { until: part.until.clone(), ..reader.part.clone() };
                self.tell(Told::Read { part: told, batch, is_done }).await?;
                if is_done {
                    break;
                }
            }
        }
        Ok(())
    }

    async fn tell(&self, told: Told) -> Result<(), Error> {
        let sent = self.told.send(Ok(told)).await;
        sent.map_err(|_| Error::Lost(std::io::ErrorKind::BrokenPipe.into()))
    }

    /// The next part, with the facts of its table unless that is gone; `None` when none is left.
    async fn take(&mut self) -> Result<Option<(Part, Option<Arc<TableFacts>>)>, Error> {
        let plan = Arc::clone(&self.plan);
        let mut plan = plan.lock().await;
        if plan.queue.is_empty() && !self.cut_next(&mut plan).await? {
            return Ok(None);
        }
        let Some(Queued { part, is_new, facts }) = plan.queue.pop_front() else { return Ok(None) };
        if is_new {
            // Said while the plan is held: the frontier moves in order.
            self.tell(Told::Taken(part.clone())).await?;
            return Ok(Some((part, facts)));
        }
        let facts = self.facts(&part.table).await?;
        Ok(Some((part, facts.map(Arc::new))))
    }

    /// Cuts the next table into parts; false when there is none.
    async fn cut_next(&mut self, plan: &mut Plan) -> Result<bool, Error> {
        let Some(table) = next_table(&plan.tables, &plan.progress).cloned() else { return Ok(false) };
        let entered = plan.progress.entered(&table);
        plan.progress = Progress { table: Some(table.clone()), is_table_done: true, ..Progress::default() };
        let rest = Part { table: table.clone(), after: entered.after, until: Vec::new(), by: entered.by };
        let Some(facts) = self.facts(&table).await? else {
            plan.queue.push_back(Queued { part: rest, is_new: true, facts: None });
            return Ok(true);
        };
        let is_begun = !rest.after.is_empty() && fits(&rest, &facts);
        let rest = if is_begun { rest } else { Part { after: Vec::new(), by: by_of(&facts), ..rest } };
        let parts = split::parts(&mut self.sql, &facts, &rest, self.settings.snapshot_part).await?;
        let facts = Arc::new(facts);
        let queued = |part| Queued { part, is_new: true, facts: Some(Arc::clone(&facts)) };
        plan.queue.extend(parts.into_iter().map(queued));
        Ok(true)
    }

    async fn facts(&mut self, table: &TableName) -> Result<Option<TableFacts>, Error> {
        let publication = self.settings.publication.clone();
        server::table_facts(&mut self.sql, table, Sight::Published(&publication)).await
    }
}

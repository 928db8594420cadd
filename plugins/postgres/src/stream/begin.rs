//! Beginning to stream: the command, what must be known of the server first, and peeking instead.

use std::time::Duration;

use tokio::time::Instant;

use crate::client::Connection;
use crate::error::Error;
use crate::lsn::Lsn;
use crate::peek::{self, Peeking};
use crate::quote;
use crate::settings::Settings;

const STATUS_EVERY_MAX: Duration = Duration::from_secs(10);
/// An idle stream offers its position no more often.
const IDLE_EVERY: Duration = Duration::from_secs(10);
/// Peeking offers it sooner: the next peek waits for it.
const PEEK_IDLE_EVERY: Duration = Duration::from_millis(500);
/// SQLSTATE 55006, "slot is active", passes soon after we closed a connection; beyond this somebody else reads it.
const IN_USE_WAIT: Duration = Duration::from_secs(3);
const IN_USE_RETRY: Duration = Duration::from_millis(50);

/// What changes come over, and at which pace.
pub(super) struct Began {
    pub(super) connection: Connection,
    pub(super) peeking: Option<Peeking>,
    pub(super) status_every: Duration,
    pub(super) idle_every: Duration,
}

/// Starts to stream, or without a replication connection to peek.
pub(super) async fn begin(
    settings: &Settings,
    replication: Option<Connection>,
    from: Lsn,
) -> Result<Began, Error> {
    let Some(mut connection) = replication else {
        let (connection, peeking) = peek::start(settings).await?;
        let (status_every, idle_every) = (STATUS_EVERY_MAX, PEEK_IDLE_EVERY);
        return Ok(Began { connection, peeking: Some(peeking), status_every, idle_every });
    };
    let status_every = status_every(&mut connection).await?;
    if let Some(memory) = &settings.decoding_work_mem {
        let statement = format!("SET logical_decoding_work_mem TO {}", quote::literal(memory));
        connection.simple(&statement).await?;
    }
    let command = start_sql(settings, from, connection.version());
    start_replication(&mut connection, &command).await?;
    Ok(Began { connection, peeking: None, status_every, idle_every: IDLE_EVERY })
}

/// Starts, and waits a little for the server to notice that a former connection of ours is gone.
async fn start_replication(connection: &mut Connection, command: &str) -> Result<(), Error> {
    let until = Instant::now() + IN_USE_WAIT;
    loop {
        match connection.start_replication(command).await {
            Err(error) if error.code() == Some("55006") && Instant::now() < until => {
                tokio::time::sleep(IN_USE_RETRY).await;
            }
            other => return other,
        }
    }
}

/// 13 has no logical messages for this protocol, and what would never come is no setting to accept.
pub(super) fn refuse_messages(settings: &Settings, version: u32) -> Result<(), Error> {
    if settings.records.messages.is_none() || version >= 14 {
        return Ok(());
    }
    Err(Error::Refused(format!(
        "postgres.messages: capture_operations names MESSAGE, which PostgreSQL {version} does not send; 14 and newer do: take it out"
    )))
}

/// Logical messages are always asked for where there are any (from 14 on): they count among the changes of a transaction, and a
/// position inside one must mean the same whatever is switched on later.
fn start_sql(settings: &Settings, from: Lsn, version: u32) -> String {
    let messages = if version >= 14 { ", messages 'true'" } else { "" };
    format!(
        "START_REPLICATION SLOT {} LOGICAL {from} (proto_version '1', publication_names {}{messages})",
        quote::identifier(&settings.slot),
        quote::literal(&quote::identifier(&settings.publication)).trim_start()
    )
}

/// A third of what the server is patient for.
async fn status_every(connection: &mut Connection) -> Result<Duration, Error> {
    let answer = connection
        .simple("SELECT setting FROM pg_catalog.pg_settings WHERE name = 'wal_sender_timeout'")
        .await?;
    let patience_ms: u64 = answer.text(0, 0).and_then(|text| text.parse().ok()).unwrap_or_default();
    let third = Duration::from_millis(patience_ms / 3);
    Ok(if third.is_zero() { STATUS_EVERY_MAX } else { third.min(STATUS_EVERY_MAX) })
}

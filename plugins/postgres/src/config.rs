//! `[plugin_config]` as written. [`check`](PostgresConfig::check) turns it into [`Settings`](crate::settings::Settings).

use schemars::JsonSchema;
use serde::Deserialize;

/// As written. `docs/sources/postgres.md` says what each key means.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PostgresConfig {
    /// `postgres://user:password@host:5432/database?sslmode=verify-full`, or libpq's `key=value` pairs.
    #[schemars(extend("writeOnly" = true))]
    pub(crate) connection_string: String,
    /// `cdc`: every change, from the write-ahead log. `polling`: rows behind a cursor.
    pub(crate) mode: Mode,
    /// `table`, `schema.table` or `schema.*`; none means every table of the publication.
    #[serde(default)]
    pub(crate) tables: Vec<String>,
    /// Most changes in a batch; at most `[limits] batch_records`.
    pub(crate) batch_size: Option<u32>,
    /// `stream` (`builtin`): the replication protocol. `peek`: SQL functions, for servers that give no replication connection.
    #[serde(default)]
    pub(crate) cdc_backend: CdcBackend,
    /// The replication slot. Default `picomq_slot`.
    pub(crate) slot_name: Option<String>,
    /// The same under its name in the existing runtimes.
    pub(crate) replication_slot: Option<String>,
    /// Default `picomq_publication`.
    pub(crate) publication_name: Option<String>,
    /// Make the publication if it is missing, and add configured tables to it.
    #[serde(default = "yes")]
    pub(crate) create_publication: bool,
    /// Make the slot at the first start.
    #[serde(default = "yes")]
    pub(crate) create_slot: bool,
    /// Take over a slot that somebody else made.
    #[serde(default)]
    pub(crate) adopt_slot: bool,
    /// With `adopt_slot`: begin here instead of at the position the slot confirmed.
    pub(crate) start_lsn: Option<String>,
    /// `table.column` or `schema.table.column`: left out of every record.
    #[serde(default)]
    pub(crate) exclude_columns: Vec<String>,
    /// What to do with rows that are there already.
    #[serde(default)]
    pub(crate) snapshot_mode: SnapshotMode,
    /// How many connections read the rows that are there already. Default 2.
    pub(crate) snapshot_workers: Option<u32>,
    /// About how much of a table a connection reads at a time, such as `64MB`, the default.
    pub(crate) snapshot_part_size: Option<String>,
    /// The form of a record.
    #[serde(default)]
    pub(crate) envelope: Envelope,
    /// With `envelope = "debezium"`: Debezium's `topic.prefix`, which stands in `source.name`. Default: the key of the source.
    pub(crate) topic_prefix: Option<String>,
    /// A record without payload after each deletion, for compacted topics. Default: only with `envelope = "debezium"`.
    pub(crate) tombstones: Option<bool>,
    /// Which changes become records: `INSERT`, `UPDATE`, `DELETE`, `TRUNCATE`, `MESSAGE` (of `pg_logical_emit_message`).
    #[serde(default = "operations")]
    pub(crate) capture_operations: Vec<Operation>,
    /// With `MESSAGE`: only messages with these prefixes; a star at the end stands for anything.
    #[serde(default)]
    pub(crate) message_prefixes: Vec<String>,
    /// `string` keeps the scale and every digit; `number` writes the digits as a JSON number.
    #[serde(default)]
    pub(crate) numeric: NumericForm,
    /// `number`, or `string` for readers that keep numbers as floats.
    #[serde(default)]
    pub(crate) int8: Int8Form,
    /// How long a read that brought little waits for more. `0s` switches it off.
    pub(crate) read_linger: Option<String>,
    /// `logical_decoding_work_mem` of our session, such as `256MB`.
    pub(crate) decoding_work_mem: Option<String>,
    /// How much of the log the slot may hold before the check `slot_wal` fails, such as `10GB`.
    pub(crate) max_retained_wal: Option<String>,
    /// How often a message of no meaning is written into the log, so that positions move where nobody else writes.
    pub(crate) heartbeat_interval: Option<String>,
    /// Polling: the wait once every table was read to its end. Default `10s`.
    pub(crate) poll_interval: Option<String>,
    /// Polling: the column whose values grow. Default `id`.
    pub(crate) tracking_column: Option<String>,
    /// Polling: begin behind this value. None begins with the first row.
    pub(crate) initial_offset: Option<String>,
    /// Polling: the column that tells rows apart, when it is not the primary key.
    pub(crate) primary_key_column: Option<String>,
    /// Polling: only rows where this column is false; set to true once they are delivered.
    pub(crate) processed_column: Option<String>,
    /// Polling: delete rows once they are delivered.
    #[serde(default)]
    pub(crate) delete_after_read: bool,
    /// Polling: a query of one's own, with `$table`, `$offset`, `$limit`, `$now`, `$now_unix`.
    pub(crate) custom_query: Option<String>,
    /// Polling: this column is the whole payload.
    pub(crate) payload_column: Option<String>,
    /// Polling: what that column holds.
    #[serde(default, deserialize_with = "payload_format")]
    #[schemars(with = "String")]
    pub(crate) payload_format: PayloadFormat,
    /// Polling: false sends the row alone, as `envelope = "flat"` does.
    #[serde(default = "yes")]
    pub(crate) include_metadata: bool,
    /// Polling: `createdAt` becomes `created_at`.
    #[serde(default)]
    pub(crate) snake_case_columns: bool,
    /// Polling: how often a page or a cleanup is tried in all before it is an error.
    #[serde(default = "tries")]
    pub(crate) max_retries: u32,
    /// Polling: the wait before the second try; before the third it is twice that, and so on. Default `1s`.
    pub(crate) retry_delay: Option<String>,
    /// A line in the log for each page.
    #[serde(default)]
    pub(crate) verbose_logging: bool,
    /// Accepted and without effect: a source has the few connections it needs.
    #[allow(dead_code, reason = "definitions of the existing runtimes have it")]
    pub(crate) max_connections: Option<u32>,
}

/// How a source reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    Cdc,
    Polling,
}

/// How changes come from the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CdcBackend {
    /// Over a replication connection.
    #[default]
    #[serde(alias = "builtin")]
    Stream,
    /// By peeking at the slot with SQL.
    Peek,
}

/// What happens to rows that are there before the first change; Debezium's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SnapshotMode {
    /// They are read once, then the changes follow from exactly there.
    #[default]
    Initial,
    /// They are read once, and that is all.
    InitialOnly,
    /// They are not read.
    #[serde(alias = "never")]
    NoData,
    /// As `initial`, and once more whenever the server no longer has what follows the saved position.
    WhenNeeded,
}

impl SnapshotMode {
    /// Whether a new slot is followed by reading the tables.
    pub(crate) fn reads(self) -> bool {
        match self {
            SnapshotMode::Initial | SnapshotMode::InitialOnly | SnapshotMode::WhenNeeded => true,
            SnapshotMode::NoData => false,
        }
    }
}

/// The form of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Envelope {
    /// Table, operation, time, row, old row and origin in one object.
    #[default]
    Pico,
    /// What Debezium's connector writes, as JSON without schemas.
    Debezium,
    /// The row alone; the rest in headers.
    Flat,
}

/// A change that can become a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Operation {
    Insert,
    Update,
    Delete,
    Truncate,
    /// Of `pg_logical_emit_message`.
    Message,
}

/// `numeric`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NumericForm {
    #[default]
    String,
    Number,
}

/// `int8`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Int8Form {
    #[default]
    Number,
    String,
}

/// What `payload_column` holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PayloadFormat {
    #[default]
    Json,
    Raw,
    Text,
}

/// The words of the existing runtimes, in any case.
fn payload_format<'de, D: serde::Deserializer<'de>>(from: D) -> Result<PayloadFormat, D::Error> {
    let word = String::deserialize(from)?;
    match word.to_ascii_lowercase().as_str() {
        "json" | "json_direct" | "jsonb" | "jsonb_direct" => Ok(PayloadFormat::Json),
        "bytea" | "raw" => Ok(PayloadFormat::Raw),
        "text" => Ok(PayloadFormat::Text),
        _ => Err(serde::de::Error::custom(format!("`{word}` is none of json, raw (bytea), text"))),
    }
}

fn tries() -> u32 {
    3
}

fn yes() -> bool {
    true
}

fn operations() -> Vec<Operation> {
    vec![Operation::Insert, Operation::Update, Operation::Delete]
}

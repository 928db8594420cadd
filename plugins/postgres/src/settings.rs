//! The configuration, checked against itself. What only the server can tell is checked by `setup`.

use std::time::Duration;

use picomq_connector_sdk::{Error, Limits};

use crate::config::{
    CdcBackend, Envelope, Int8Form, Mode, NumericForm, Operation, PostgresConfig, SnapshotMode,
};
use crate::debezium::table::Settings as DebeziumSettings;
use crate::lsn::Lsn;
use crate::polling::settings::PollingSettings;
use crate::prefixes::Prefixes;
use crate::quote;
use crate::tables::{Columns, Tables};
use crate::target::{self, Target};
use crate::value::Forms;

const BATCH_SIZE_DEFAULT: u32 = 8_192;
const BATCH_SIZE_DEFAULT_POLLING: u32 = 1_000;
/// A batch is cut at about so many bytes, so that memory stays small whatever the engine allows.
const BATCH_BYTES: u64 = 8 << 20;
const READ_LINGER_DEFAULT: Duration = Duration::from_millis(5);
const SNAPSHOT_WORKERS_DEFAULT: u32 = 2;
/// Each is a connection, a process of the server, and two batches.
const SNAPSHOT_WORKERS_MAX: u32 = 16;
const SNAPSHOT_PART_DEFAULT: u64 = 64 << 20;
const SNAPSHOT_PART_MIN: u64 = 64 << 10;
const HEARTBEAT_MIN: Duration = Duration::from_secs(1);
const READ_LINGER_MAX: Duration = Duration::from_secs(1);

/// As checked.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) target: Target,
    pub(crate) tables: Tables,
    pub(crate) backend: CdcBackend,
    pub(crate) slot: String,
    pub(crate) publication: String,
    pub(crate) is_publication_ours: bool,
    pub(crate) is_slot_ours: bool,
    pub(crate) adopts_slot: bool,
    pub(crate) start: Option<Lsn>,
    pub(crate) snapshot: SnapshotMode,
    /// At least one.
    pub(crate) snapshot_workers: u32,
    /// In bytes.
    pub(crate) snapshot_part: u64,
    pub(crate) records: RecordSettings,
    pub(crate) cut: Cut,
    pub(crate) read_linger: Duration,
    pub(crate) decoding_work_mem: Option<String>,
    pub(crate) max_retained_wal: Option<u64>,
    pub(crate) heartbeat_interval: Option<Duration>,
    pub(crate) polling: PollingSettings,
}

/// What decides how a record looks.
#[derive(Clone, Debug)]
pub(crate) struct RecordSettings {
    pub(crate) envelope: Envelope,
    pub(crate) has_tombstones: bool,
    pub(crate) operations: Vec<Operation>,
    /// Which logical messages become records; `None`: none does.
    pub(crate) messages: Option<Prefixes>,
    pub(crate) forms: Forms,
    pub(crate) excluded: Columns,
    /// With `envelope = "debezium"`.
    pub(crate) debezium: Option<DebeziumSettings>,
}

impl RecordSettings {
    /// The most records that one change makes.
    pub(crate) fn per_change(&self) -> usize {
        per_change(self.envelope, self.has_tombstones)
    }
}

fn per_change(envelope: Envelope, has_tombstones: bool) -> usize {
    match envelope {
        // A changed key: the old one is deleted and the new one created.
        Envelope::Debezium => 2 + usize::from(has_tombstones),
        Envelope::Pico | Envelope::Flat => 1 + usize::from(has_tombstones),
    }
}

/// Where a batch ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    pub(crate) records: usize,
    pub(crate) bytes: usize,
    /// What the engine refuses to take.
    pub(crate) bytes_max: usize,
}

impl PostgresConfig {
    /// Checks what was written.
    ///
    /// # Errors
    /// [`Error::Config`] naming the key, the value and what would be right; never the connection string.
    pub(crate) fn check(&self, key: &str, limits: &Limits) -> Result<Settings, Error> {
        let mut target = target::parse(&self.connection_string)
            .map_err(|why| Error::config(format!("connection_string: {why}")))?;
        target.application_name.get_or_insert_with(|| format!("pico-connectors {key}"));
        let start = self.start_lsn.as_deref().map(str::parse::<Lsn>).transpose();
        let start = start.map_err(|error| Error::config(format!("start_lsn: {error}")))?;
        if start.is_some() && !self.adopt_slot {
            return Err(Error::config(
                "start_lsn goes with adopt_slot = true: a slot of ours begins where it was made",
            ));
        }
        if self.capture_operations.is_empty() {
            return Err(Error::config(
                "capture_operations is empty, so nothing would ever be sent; leave it out for \
                 INSERT, UPDATE and DELETE",
            ));
        }
        let debezium = self.debezium(key, &target.database)?;
        Ok(Settings {
            target,
            tables: Tables::parse(&self.tables).map_err(|why| Error::config(format!("tables: {why}")))?,
            backend: self.cdc_backend,
            slot: self.slot()?,
            publication: self.publication()?,
            is_publication_ours: self.create_publication,
            is_slot_ours: self.create_slot,
            adopts_slot: self.adopt_slot,
            start,
            snapshot: self.snapshot_mode,
            snapshot_workers: self.snapshot_workers()?,
            snapshot_part: self.snapshot_part()?,
            records: self.records(debezium)?,
            cut: self.cut(limits)?,
            read_linger: self.linger()?,
            decoding_work_mem: self.work_mem()?,
            max_retained_wal: self.max_retained_wal()?,
            heartbeat_interval: self.heartbeat_interval()?,
            polling: PollingSettings::check(self)?,
        })
    }

    fn slot(&self) -> Result<String, Error> {
        if let (Some(one), Some(other)) = (&self.slot_name, &self.replication_slot)
            && one != other
        {
            return Err(Error::config(format!(
                "slot_name = \"{one}\" and replication_slot = \"{other}\" are two names for one key; keep slot_name"
            )));
        }
        let slot = self.slot_name.as_ref().or(self.replication_slot.as_ref());
        let slot = slot.map_or("picomq_slot", String::as_str);
        let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if slot.is_empty() || slot.len() > 63 || !slot.bytes().all(is_allowed) {
            return Err(Error::config(format!(
                "slot_name = \"{slot}\": PostgreSQL takes 1 to 63 lower-case letters, digits and underscores"
            )));
        }
        Ok(slot.to_owned())
    }

    fn publication(&self) -> Result<String, Error> {
        let name = self.publication_name.as_deref().unwrap_or("picomq_publication");
        match quote::fault_of_name(name) {
            None => Ok(name.to_owned()),
            Some(fault) => Err(Error::config(format!("publication_name = \"{name}\": {fault}"))),
        }
    }

    fn debezium(&self, key: &str, database: &str) -> Result<Option<DebeziumSettings>, Error> {
        if self.envelope != Envelope::Debezium {
            return match &self.topic_prefix {
                None => Ok(None),
                Some(prefix) => Err(Error::config(format!(
                    "topic_prefix = \"{prefix}\" goes with envelope = \"debezium\"; leave it out"
                ))),
            };
        }
        let has_forms = self.numeric != NumericForm::default() || self.int8 != Int8Form::default();
        if self.mode == Mode::Polling || !self.include_metadata || has_forms {
            return Err(Error::config(
                "envelope = \"debezium\" is the one form of change capture that Debezium writes: it does not go with \
                 mode = \"polling\", include_metadata = false, numeric = \"number\" or int8 = \"string\"; leave them out",
            ));
        }
        let prefix = self.topic_prefix.as_deref().unwrap_or(key);
        Ok(Some(DebeziumSettings::new(prefix, database, self.has_tombstones())))
    }

    fn has_tombstones(&self) -> bool {
        self.tombstones.unwrap_or(self.envelope == Envelope::Debezium)
    }

    fn records(&self, debezium: Option<DebeziumSettings>) -> Result<RecordSettings, Error> {
        let excluded = Columns::parse(&self.exclude_columns);
        Ok(RecordSettings {
            envelope: if self.include_metadata { self.envelope } else { Envelope::Flat },
            has_tombstones: self.has_tombstones(),
            debezium,
            operations: self.capture_operations.clone(),
            messages: self.messages()?,
            forms: Forms {
                is_numeric_a_number: self.numeric == NumericForm::Number,
                is_int8_a_string: self.int8 == Int8Form::String,
            },
            excluded: excluded.map_err(|why| Error::config(format!("exclude_columns: {why}")))?,
        })
    }

    fn messages(&self) -> Result<Option<Prefixes>, Error> {
        let prefixes = Prefixes::parse(&self.message_prefixes)
            .map_err(|why| Error::config(format!("message_prefixes: {why}")))?;
        let is_asked = self.capture_operations.contains(&Operation::Message);
        if !is_asked && !self.message_prefixes.is_empty() {
            return Err(Error::config("message_prefixes goes with \"MESSAGE\" in capture_operations"));
        }
        Ok(is_asked.then_some(prefixes))
    }

    fn cut(&self, limits: &Limits) -> Result<Cut, Error> {
        let default = match self.mode {
            Mode::Cdc => BATCH_SIZE_DEFAULT,
            Mode::Polling => BATCH_SIZE_DEFAULT_POLLING,
        };
        let records = self.batch_size.unwrap_or(default.min(limits.batch_records));
        if !(1..=limits.batch_records).contains(&records) {
            return Err(Error::config(format!(
                "batch_size = {records}: right is 1 to {} ([limits] batch_records)",
                limits.batch_records
            )));
        }
        let least = per_change(self.envelope, self.has_tombstones());
        if (records as usize) < least {
            return Err(Error::config(format!(
                "batch_size = {records}: one change may make {least} records here, so right is {least} or more"
            )));
        }
        let bytes_max = usize::try_from(limits.batch_bytes).unwrap_or(usize::MAX);
        // Half of what is allowed at most: the last change of a batch may grow when it is written.
        let bytes = usize::try_from(BATCH_BYTES.min(limits.batch_bytes / 2)).unwrap_or(usize::MAX);
        Ok(Cut { records: records as usize, bytes, bytes_max })
    }

    fn snapshot_workers(&self) -> Result<u32, Error> {
        let workers = self.snapshot_workers.unwrap_or(SNAPSHOT_WORKERS_DEFAULT);
        if (1..=SNAPSHOT_WORKERS_MAX).contains(&workers) {
            return Ok(workers);
        }
        Err(Error::config(format!("snapshot_workers = {workers}: right is 1 to {SNAPSHOT_WORKERS_MAX}")))
    }

    fn snapshot_part(&self) -> Result<u64, Error> {
        let Some(text) = &self.snapshot_part_size else { return Ok(SNAPSHOT_PART_DEFAULT) };
        let part = size(text).ok_or_else(|| no_size("snapshot_part_size", text))?;
        if part >= SNAPSHOT_PART_MIN {
            return Ok(part);
        }
        Err(Error::config(format!("snapshot_part_size = \"{text}\": right is 64kB or more")))
    }

    fn linger(&self) -> Result<Duration, Error> {
        let Some(text) = &self.read_linger else { return Ok(READ_LINGER_DEFAULT) };
        humantime::parse_duration(text).ok().filter(|linger| *linger <= READ_LINGER_MAX).ok_or_else(|| {
            Error::config(format!("read_linger = \"{text}\": right is a duration from 0s to 1s, such as 5ms"))
        })
    }

    fn work_mem(&self) -> Result<Option<String>, Error> {
        let Some(text) = &self.decoding_work_mem else { return Ok(None) };
        match size(text) {
            Some(_) => Ok(Some(text.clone())),
            None => Err(no_size("decoding_work_mem", text)),
        }
    }

    fn heartbeat_interval(&self) -> Result<Option<Duration>, Error> {
        let Some(text) = &self.heartbeat_interval else { return Ok(None) };
        match humantime::parse_duration(text) {
            Ok(interval) if interval.is_zero() => Ok(None),
            Ok(interval) if interval >= HEARTBEAT_MIN => Ok(Some(interval)),
            Ok(_) | Err(_) => Err(Error::config(format!(
                "heartbeat_interval = \"{text}\": right is a duration of 1s or more, such as 30s, or 0s for none"
            ))),
        }
    }

    fn max_retained_wal(&self) -> Result<Option<u64>, Error> {
        let Some(text) = &self.max_retained_wal else { return Ok(None) };
        size(text).map(Some).ok_or_else(|| no_size("max_retained_wal", text))
    }
}

/// A size as PostgreSQL writes it, in bytes.
fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let shift = match &text[digits.len()..] {
        "kB" => 10,
        "MB" => 20,
        "GB" => 30,
        "TB" => 40,
        _ => return None,
    };
    digits.parse::<u32>().ok().map(|number| u64::from(number) << shift)
}

fn no_size(key: &str, text: &str) -> Error {
    Error::config(format!("{key} = \"{text}\": right is a number with kB, MB, GB or TB, such as 256MB"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const LIMITS: Limits = Limits { batch_records: 10_000, batch_bytes: 64 << 20 };

    fn with(key: &str, value: Value) -> Result<Settings, String> {
        let mut config = json!({ "connection_string": "postgres://me:s3cret@host/db", "mode": "cdc" });
        config[key] = value;
        let config: PostgresConfig = serde_json::from_value(config).map_err(|error| error.to_string())?;
        config.check("orders", &LIMITS).map_err(|error| error.chain())
    }

    #[test]
    fn the_defaults_are_those_of_the_documentation() {
        let settings = with("tables", json!([])).unwrap();
        assert_eq!(
            (settings.slot.as_str(), settings.publication.as_str()),
            ("picomq_slot", "picomq_publication")
        );
        assert_eq!(settings.snapshot, SnapshotMode::Initial);
        assert_eq!(settings.records.envelope, Envelope::Pico);
        assert_eq!((settings.cut.records, settings.read_linger), (8192, Duration::from_millis(5)));
        assert_eq!(settings.target.application_name.as_deref(), Some("pico-connectors orders"));
    }

    #[test]
    fn a_slot_may_begin_with_a_digit_and_not_hold_a_quote_b031() {
        assert_eq!(with("slot_name", json!("1st")).unwrap().slot, "1st");
        assert_eq!(with("replication_slot", json!("old")).unwrap().slot, "old");
        for wrong in ["a'b", "A", "", "a b", &"x".repeat(64)] {
            assert!(with("slot_name", json!(wrong)).unwrap_err().contains("slot_name"), "{wrong}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_key() {
        for (key, value) in [
            ("batch_size", json!(0)),
            ("batch_size", json!(10_001)),
            ("snapshot_workers", json!(0)),
            ("snapshot_workers", json!(17)),
            ("snapshot_part_size", json!("1kB")),
            ("read_linger", json!("5")),
            ("read_linger", json!("2s")),
            ("decoding_work_mem", json!("256")),
            ("decoding_work_mem", json!("1MB; drop table x")),
            ("max_retained_wal", json!("10 GB")),
            ("heartbeat_interval", json!("10ms")),
            ("start_lsn", json!("0/1")),
            ("capture_operations", json!([])),
            ("capture_operations", json!(["MERGE"])),
            ("message_prefixes", json!(["outbox"])),
            ("message_prefixes", json!(["picomq.x"])),
            ("tables", json!(["a.b.c"])),
            ("exclude_columns", json!(["a"])),
            ("publication_name", json!("")),
        ] {
            let text = with(key, value.clone()).unwrap_err();
            assert!(text.contains(key) || text.contains("MERGE"), "{key} = {value}: {text}");
            assert!(!text.contains("s3cret"), "{text}");
        }
    }
}

//! From what was written to what is used.

use std::path::Path;
use std::time::Duration;

use picomq_connector_sdk::{Error, Limits, Retry};
use ring::digest;

use super::Settings;
use crate::config::{Format, InfluxConfig};
use crate::plan::Pace;
use crate::query::{Dialect, Generated, Query, Written};
use crate::render::{Form, PayloadFormat, Shape};
use crate::selection::Room;
use crate::time;

/// A batch is cut at about so many bytes, so that memory stays small whatever the engine allows.
const BATCH_BYTES: u64 = 8 << 20;
/// Tries of one opening take so long at most; then the engine waits and opens again.
const OPEN_BUDGET: Duration = Duration::from_secs(20);
/// Tries of one page.
const PAGE_BUDGET: Duration = Duration::from_secs(600);
/// Of a page that looks back.
const LOOK_RECORDS: u32 = 10_000;
const OVERLAP_POINTS_MAX: u32 = 200_000;
const OVERLAP_MAX: Duration = Duration::from_secs(31 * 86_400);

impl InfluxConfig {
    /// Checks what was written against itself and against what the engine takes.
    ///
    /// # Errors
    /// [`Error::Config`] naming the key, the value and what would be right.
    pub(crate) fn check(&self, limits: &Limits) -> Result<Settings, Error> {
        let dialect = self.dialect()?;
        self.check_cursor_field(dialect)?;
        let query = self.query(dialect)?;
        let form = self.form(dialect, &query)?;
        let breaker = duration("circuit_breaker_cool_down", &self.circuit_breaker_cool_down)?;
        Ok(Settings {
            client: self.client()?,
            endpoint: self.endpoint(dialect)?,
            pace: self.pace(limits, &query)?,
            from: self.from(&query)?,
            poll_interval: duration("poll_interval", &self.poll_interval)?,
            retry: self.retry()?,
            open_retry: self.open_retry()?,
            breaker: (self.circuit_breaker_threshold, breaker),
            is_verbose: self.verbose_logging,
            batch_bytes_max: limits.batch_bytes,
            fingerprint: fingerprint(&query, &form),
            query,
            form,
        })
    }

    fn check_cursor_field(&self, dialect: Dialect) -> Result<(), Error> {
        let right = dialect.time_column();
        match self.cursor_field.as_deref() {
            Some(field) if field != right => Err(Error::config(format!(
                "cursor_field = \"{field}\": a cursor must be the time of a row, which is `{right}` here"
            ))),
            Some(_) | None => Ok(()),
        }
    }

    fn query(&self, dialect: Dialect) -> Result<Query, Error> {
        match (&self.query, &self.measurement) {
            (Some(_), Some(_)) => {
                Err(Error::config("query and measurement are two ways to say what is read; keep one of them"))
            }
            (None, None) => Err(Error::config(
                "neither query nor measurement is set: name a measurement to read all of it, or write a query with $cursor",
            )),
            (Some(_), None) if !self.fields.is_empty() || self.bucket.is_some() => {
                Err(Error::config("fields and bucket go with measurement; a query selects for itself"))
            }
            (Some(query), None) => {
                let written = Written::parse(query, dialect);
                written.map(Query::Written).map_err(|why| Error::config(format!("query: {why}")))
            }
            (None, Some(measurement)) => self.generated(dialect, measurement).map(Query::Generated),
        }
    }

    fn generated(&self, dialect: Dialect, measurement: &str) -> Result<Generated, Error> {
        let names = [measurement].into_iter().chain(self.fields.iter().chain(&self.tags).map(String::as_str));
        for name in names {
            if name.is_empty() || name.chars().any(char::is_control) {
                return Err(Error::config(format!(
                    "{name:?} is no name of a measurement, field or tag: right is text without control characters"
                )));
            }
        }
        let bucket = match (dialect, &self.bucket) {
            (Dialect::Flux, None) => {
                return Err(Error::config("bucket is missing: it is where the measurement lies"));
            }
            (Dialect::InfluxQl | Dialect::Sql, Some(_)) => {
                return Err(Error::config("bucket is a key of Flux; this language takes db"));
            }
            (_, bucket) => bucket.clone(),
        };
        Ok(Generated {
            dialect,
            bucket,
            retention_policy: self.retention_policy.clone(),
            measurement: measurement.to_owned(),
            fields: self.fields.clone(),
            tags: self.tags.clone(),
        })
    }

    fn form(&self, dialect: Dialect, query: &Query) -> Result<Form, Error> {
        let format = match self.payload_format {
            Format::Json => PayloadFormat::Json,
            Format::Text => PayloadFormat::Text,
            Format::Raw => PayloadFormat::Raw,
        };
        if self.payload_column.is_none() && format != PayloadFormat::Json {
            return Err(Error::config("payload_format says what payload_column holds, which is not set"));
        }
        let shape = match (dialect, query) {
            (Dialect::Flux, Query::Written(_)) => Shape::Value,
            (Dialect::Flux, Query::Generated(_)) | (Dialect::InfluxQl, _) => Shape::Point,
            (Dialect::Sql, _) => Shape::Row,
        };
        let names_tags = !self.tags.is_empty() && (!query.is_generated() || dialect == Dialect::Sql);
        Ok(Form {
            shape,
            has_metadata: self.include_metadata,
            payload: self.payload_column.clone().map(|name| (name, format)),
            tags: names_tags.then(|| self.tags.clone()),
        })
    }

    fn pace(&self, limits: &Limits, query: &Query) -> Result<Pace, Error> {
        let overlap = humantime::parse_duration(&self.overlap).map_err(|error| {
            Error::config(format!("overlap = \"{}\" is no duration such as `30s`", self.overlap))
                .with_cause(error)
        })?;
        if overlap > OVERLAP_MAX {
            return Err(Error::config(format!("overlap = \"{}\": right is at most 31 days", self.overlap)));
        }
        if self.overlap_points > OVERLAP_POINTS_MAX {
            return Err(Error::config(format!(
                "overlap_points = {}: right is at most {OVERLAP_POINTS_MAX}, since they are saved with every batch",
                self.overlap_points
            )));
        }
        if self.batch_size == 0 {
            return Err(Error::config("batch_size = 0 would read nothing; the default is 500"));
        }
        let factor = match self.stuck_batch_cap_factor {
            0 => 1,
            factor @ 2..=100 => factor,
            factor => {
                return Err(Error::config(format!(
                    "stuck_batch_cap_factor = {factor}: right is 0, or 2 to 100"
                )));
            }
        };
        let bytes = usize::try_from(limits.batch_bytes.min(BATCH_BYTES)).unwrap_or(usize::MAX);
        let room = |records: u32| Room { records: records.min(limits.batch_records) as usize, bytes };
        Ok(Pace {
            room: room(self.batch_size),
            look: room(self.batch_size.max(LOOK_RECORDS)),
            piece: room(self.batch_size.saturating_mul(factor)),
            overlap: time::nanoseconds(overlap),
            overlap_points: self.overlap_points as usize,
            is_until_now: query.is_generated(),
            has_short_spans: match query {
                Query::Generated(generated) => generated.needs_short_spans(),
                Query::Written(_) => false,
            },
        })
    }

    fn from(&self, query: &Query) -> Result<i64, Error> {
        let Some(text) = &self.initial_offset else {
            return Ok(if query.is_generated() { time::MIN } else { 0 });
        };
        time::parse(text).ok_or_else(|| {
            Error::config(format!(
                "initial_offset = \"{text}\" is no time: right is RFC 3339 with up to nine digits of fraction, such as \
                 2026-01-01T00:00:00Z"
            ))
        })
    }

    fn retry(&self) -> Result<Retry, Error> {
        if self.max_retries == 0 {
            return Err(Error::config("max_retries = 0: right is 1 or more, it counts all tries"));
        }
        Ok(Retry {
            times: self.max_retries as usize - 1,
            wait_first: duration("retry_delay", &self.retry_delay)?,
            wait_max: duration("retry_max_delay", &self.retry_max_delay)?,
            budget: PAGE_BUDGET,
        })
    }

    fn open_retry(&self) -> Result<Retry, Error> {
        Ok(Retry {
            times: (self.max_open_retries as usize).saturating_sub(1),
            wait_first: duration("retry_delay", &self.retry_delay)?,
            wait_max: duration("open_retry_max_delay", &self.open_retry_max_delay)?,
            budget: OPEN_BUDGET,
        })
    }
}

/// Two settings under which the same row is written in the same way have the same; it is kept with the state.
fn fingerprint(query: &Query, form: &Form) -> u64 {
    let hash = digest::digest(&digest::SHA256, format!("{query:?} {form:?}").as_bytes());
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hash.as_ref()[..8]);
    u64::from_be_bytes(bytes)
}

pub(super) fn absolute(key: &str, path: Option<&Path>) -> Result<(), Error> {
    match path {
        Some(path) if !path.is_absolute() => Err(Error::config(format!(
            "{key} = \"{}\" is relative, to a folder that a restart may change; write it from `/` on",
            path.display()
        ))),
        Some(_) | None => Ok(()),
    }
}

pub(super) fn duration(key: &str, text: &str) -> Result<Duration, Error> {
    let parsed = humantime::parse_duration(text).map_err(|error| {
        Error::config(format!("{key} = \"{text}\" is no duration such as `30s`")).with_cause(error)
    })?;
    if parsed.is_zero() {
        return Err(Error::config(format!("{key} = \"{text}\": it must be longer than nothing")));
    }
    Ok(parsed)
}

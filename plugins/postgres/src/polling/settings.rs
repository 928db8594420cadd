//! The keys of `mode = "polling"`, checked.

use std::time::Duration;

use picomq_connector_sdk::Error;

use crate::config::{Mode, PayloadFormat, PostgresConfig};
use crate::polling::query::Cleanup;
use crate::quote::fault_of_name;

const POLL_INTERVAL_DEFAULT: Duration = Duration::from_secs(10);
const RETRY_DELAY_DEFAULT: Duration = Duration::from_secs(1);

/// As checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PollingSettings {
    pub(crate) poll_interval: Duration,
    pub(crate) tracking: String,
    pub(crate) initial_offset: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) processed: Option<String>,
    pub(crate) cleanup: Option<Cleanup>,
    pub(crate) custom_query: Option<String>,
    pub(crate) payload: Option<(String, PayloadFormat)>,
    pub(crate) is_snake_case: bool,
    /// Tries in all.
    pub(crate) tries: u32,
    pub(crate) retry_delay: Duration,
    pub(crate) is_verbose: bool,
}

impl PollingSettings {
    pub(crate) fn check(config: &PostgresConfig) -> Result<PollingSettings, Error> {
        let duration = |key: &str, text: &Option<String>, default| match text {
            None => Ok(default),
            Some(text) => humantime::parse_duration(text).map_err(|_| {
                Error::config(format!("{key} = \"{text}\": right is a duration, such as 500ms or 10s"))
            }),
        };
        for (key, name) in [
            ("tracking_column", &config.tracking_column),
            ("primary_key_column", &config.primary_key_column),
            ("processed_column", &config.processed_column),
            ("payload_column", &config.payload_column),
        ] {
            if let Some((name, fault)) = name.as_ref().and_then(|name| Some((name, fault_of_name(name)?))) {
                return Err(Error::config(format!("{key} = \"{name}\": {fault}")));
            }
        }
        let settings = PollingSettings {
            poll_interval: duration("poll_interval", &config.poll_interval, POLL_INTERVAL_DEFAULT)?,
            tracking: config.tracking_column.clone().unwrap_or_else(|| "id".to_owned()),
            initial_offset: config.initial_offset.clone(),
            key: config.primary_key_column.clone(),
            processed: config.processed_column.clone(),
            cleanup: if config.delete_after_read {
                Some(Cleanup::Delete)
            } else {
                config.processed_column.clone().map(Cleanup::Mark)
            },
            custom_query: config.custom_query.clone(),
            payload: config.payload_column.clone().map(|column| (column, config.payload_format)),
            is_snake_case: config.snake_case_columns,
            tries: config.max_retries.max(1),
            retry_delay: duration("retry_delay", &config.retry_delay, RETRY_DELAY_DEFAULT)?,
            is_verbose: config.verbose_logging,
        };
        if config.mode == Mode::Polling {
            settings.refuse_contradictions(config)?;
        }
        Ok(settings)
    }

    /// The right that cleanup needs on each table, beside `SELECT`.
    pub(crate) fn cleanup_right(&self) -> Option<&'static str> {
        self.cleanup.as_ref().map(|cleanup| match cleanup {
            Cleanup::Delete => "DELETE",
            Cleanup::Mark(_) => "UPDATE",
        })
    }

    fn refuse_contradictions(&self, config: &PostgresConfig) -> Result<(), Error> {
        if config.tables.is_empty() {
            return Err(Error::config("tables is empty: mode = \"polling\" needs the tables to read"));
        }
        if self.custom_query.is_some() && self.cleanup.is_some() {
            return Err(Error::config(
                "custom_query cannot be had with delete_after_read or processed_column: which row of which table a result came \
                 from is not known, so nothing could be cleaned up exactly",
            ));
        }
        if self.custom_query.as_ref().is_some_and(|query| query.contains("$offset"))
            && self.initial_offset.is_none()
        {
            return Err(Error::config(
                "custom_query uses $offset, so initial_offset must say where the first poll begins: a value below the lowest, such \
                 as \"0\" or \"-infinity\"",
            ));
        }
        Ok(())
    }
}

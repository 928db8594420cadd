//! The configuration, checked against itself. What only the server can tell is asked by `survey`.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use picomq_connector_sdk::http::{Auth, BaseUrl, ClientCertificate, Settings as ClientSettings};
use picomq_connector_sdk::{Error, Limits, Secret};
use serde_json::{Map, Value};

use crate::config::{ElasticsearchConfig, Mode, Pagination};

/// The field every document has, unique within its shard and risen with every change.
pub(crate) const SEQUENCE: &str = "_seq_no";

const OVERLAP_DEFAULT: Duration = Duration::from_secs(10);
const OVERLAP_MAX: Duration = Duration::from_secs(86_400);
const INTERVAL_DEFAULT: Duration = Duration::from_secs(10);
const KEEP_ALIVE_DEFAULT: Duration = Duration::from_secs(60);
const KEEP_ALIVE_MIN: Duration = Duration::from_secs(1);
const KEEP_ALIVE_MAX: Duration = Duration::from_secs(86_400);
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);
const TIMEOUT_MIN: Duration = Duration::from_millis(100);
const TIMEOUT_MAX: Duration = Duration::from_secs(3_600);
const PAGE_DOCUMENTS_DEFAULT: u32 = 1_000;
/// What `index.max_result_window` is unless somebody changed it.
pub(crate) const PAGE_DOCUMENTS_MAX: u32 = 10_000;
/// A page is as large at most; one that would be larger is asked for again with fewer documents.
const PAGE_BYTES_MAX: u64 = 32 << 20;
/// Key, id and headers of a record are made of what stands in the page, and at most twice as long.
const BATCH_BYTES_A_PAGE_BYTE: u64 = 3;
const INDEX_BYTES_MAX: usize = 2_048;

/// As checked.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) client: ClientSettings,
    pub(crate) index: String,
    pub(crate) query: Option<Map<String, Value>>,
    pub(crate) order: Order,
    pub(crate) overlap_nanos: i64,
    pub(crate) initial_offset: Option<String>,
    pub(crate) interval: Duration,
    pub(crate) page_documents: usize,
    pub(crate) page_bytes: usize,
    pub(crate) keep_alive: String,
    pub(crate) pagination: Pagination,
    pub(crate) has_metadata: bool,
    /// Whether the definition has keys of the existing runtimes' own state file.
    pub(crate) has_old_state: bool,
}

/// In which order documents are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// By this field, then by `tie`.
    Timestamp { field: String, tie: String },
    /// By sequence number: a snapshot.
    Sequence,
}

impl Order {
    /// Whether the last value of a key is a sequence number, which several shards may share.
    pub(crate) fn is_tie_shared(&self) -> bool {
        match self {
            Order::Timestamp { tie, .. } => tie == SEQUENCE,
            Order::Sequence => true,
        }
    }
}

impl ElasticsearchConfig {
    /// Checks everything that needs no server.
    ///
    /// # Errors
    /// [`Error::Config`], naming the key and what would be right.
    pub(crate) fn check(self, limits: &Limits) -> Result<Settings, Error> {
        let timeout =
            duration("timeout", self.timeout.as_deref(), TIMEOUT_DEFAULT, TIMEOUT_MIN..=TIMEOUT_MAX)?;
        let interval = duration(
            "polling_interval",
            self.polling_interval.as_deref(),
            INTERVAL_DEFAULT,
            Duration::ZERO..=OVERLAP_MAX,
        )?;
        let overlap =
            duration("overlap", self.overlap.as_deref(), OVERLAP_DEFAULT, Duration::ZERO..=OVERLAP_MAX)?;
        let kept = KEEP_ALIVE_MIN..=KEEP_ALIVE_MAX;
        let keep_alive =
            duration("scroll_timeout", self.scroll_timeout.as_deref(), KEEP_ALIVE_DEFAULT, kept)?;
        let documents = self.batch_size.unwrap_or(PAGE_DOCUMENTS_DEFAULT.min(limits.batch_records));
        let most = limits.batch_records.min(PAGE_DOCUMENTS_MAX);
        if !(1..=most).contains(&documents) {
            return Err(Error::config(format!(
                "batch_size = {documents}: right is 1 to {most} ([limits] batch_records, and what servers allow)"
            )));
        }
        let page_bytes = (limits.batch_bytes / BATCH_BYTES_A_PAGE_BYTE).min(PAGE_BYTES_MAX);
        Ok(Settings {
            client: ClientSettings {
                hosts: self.hosts()?,
                auth: self.auth()?,
                ca_file: self.ca_file.clone(),
                client_certificate: self.client_certificate()?,
                timeout,
                is_gzip_wanted: self.compression,
            },
            index: self.index()?,
            order: self.order()?,
            initial_offset: self.initial_offset()?,
            overlap_nanos: i64::try_from(overlap.as_nanos()).expect("at most a day"),
            interval,
            page_documents: documents as usize,
            page_bytes: usize::try_from(page_bytes).expect("at most 32 MiB"),
            keep_alive: format!("{}ms", keep_alive.as_millis()),
            pagination: self.pagination,
            has_metadata: self.include_metadata,
            has_old_state: self.state.is_some(),
            query: self.query,
        })
    }

    fn hosts(&self) -> Result<Vec<BaseUrl>, Error> {
        let mut hosts = vec![BaseUrl::parse("url", &self.url)?];
        for more in &self.hosts {
            hosts.push(BaseUrl::parse("hosts", more)?);
        }
        Ok(hosts)
    }

    fn auth(&self) -> Result<Auth, Error> {
        let basic = match (&self.username, &self.password) {
            (Some(user), Some(password)) => {
                Some(Auth::Basic { user: user.clone(), password: password.clone() })
            }
            (None, None) => None,
            (Some(_), None) => return Err(Error::config("username without password: give both")),
            (None, Some(_)) => return Err(Error::config("password without username: give both")),
        };
        let scheme = |scheme, secret: &Secret| Auth::Scheme { scheme, credentials: secret.clone() };
        let key = self.api_key.as_ref().map(|key| scheme("ApiKey", &encoded(key)));
        let bearer = self.bearer_token.as_ref().map(|token| scheme("Bearer", token));
        let mut given = [basic, key, bearer].into_iter().flatten();
        match (given.next(), given.next()) {
            (None, _) => Ok(Auth::None),
            (Some(one), None) => Ok(one),
            (Some(_), Some(_)) => {
                Err(Error::config("username, api_key and bearer_token are three ways to log in; keep one"))
            }
        }
    }

    fn client_certificate(&self) -> Result<Option<ClientCertificate>, Error> {
        match (&self.client_cert, &self.client_key) {
            (Some(certificate), Some(key)) => {
                Ok(Some(ClientCertificate { certificate: certificate.clone(), key: key.clone() }))
            }
            (None, None) => Ok(None),
            (Some(_), None) => Err(Error::config("client_cert without client_key: give both")),
            (None, Some(_)) => Err(Error::config("client_key without client_cert: give both")),
        }
    }

    fn index(&self) -> Result<String, Error> {
        let is_given = self.index.split(',').all(|name| !name.trim().is_empty() && !name.starts_with('_'));
        if is_given && self.index.len() <= INDEX_BYTES_MAX {
            return Ok(self.index.clone());
        }
        Err(Error::config(format!(
            "index = \"{}\": right is an index, an alias or a pattern such as logs-*, or several with commas, {INDEX_BYTES_MAX} bytes at most",
            self.index.chars().take(100).collect::<String>()
        )))
    }

    fn order(&self) -> Result<Order, Error> {
        if self.tie_breaker.as_deref() == Some("") {
            return Err(Error::config(
                "tie_breaker = \"\": right is a field unique to each document, or leave it out",
            ));
        }
        match (self.mode, self.timestamp_field.as_deref()) {
            (Mode::Snapshot, _) => Ok(Order::Sequence),
            (Mode::Incremental, Some(field)) if !field.is_empty() => {
                let tie = self.tie_breaker.clone().unwrap_or_else(|| SEQUENCE.to_owned());
                Ok(Order::Timestamp { field: field.to_owned(), tie })
            }
            (Mode::Incremental, _) => Err(Error::config(
                "timestamp_field is missing: without one nobody can tell which documents are new; name the field that says \
                 when a document was written, or read the index once with mode = \"snapshot\"",
            )),
        }
    }

    fn initial_offset(&self) -> Result<Option<String>, Error> {
        match (&self.initial_offset, self.mode, &self.tie_breaker) {
            (None, _, _) => Ok(None),
            (Some(_), Mode::Snapshot, _) => Err(Error::config(
                "initial_offset has no meaning with mode = \"snapshot\", which reads everything; use query to read less",
            )),
            (Some(_), Mode::Incremental, Some(tie)) if tie != SEQUENCE => Err(Error::config(
                "initial_offset goes with the default tie_breaker alone; use query to begin later",
            )),
            (Some(offset), Mode::Incremental, _) => Ok(Some(offset.clone())),
        }
    }
}

/// `id:key` as the header has it; what has no colon is encoded already.
fn encoded(key: &Secret) -> Secret {
    match key.expose().contains(':') {
        true => Secret::new(STANDARD.encode(key.expose())),
        false => key.clone(),
    }
}

fn duration(
    key: &str,
    text: Option<&str>,
    default: Duration,
    right: std::ops::RangeInclusive<Duration>,
) -> Result<Duration, Error> {
    let Some(text) = text else { return Ok(default) };
    humantime::parse_duration(text).ok().filter(|duration| right.contains(duration)).ok_or_else(|| {
        let show = humantime::format_duration;
        Error::config(format!(
            "{key} = \"{text}\": right is a duration from {} to {}, such as {}",
            show(*right.start()),
            show(*right.end()),
            show(default)
        ))
    })
}

#[cfg(test)]
mod tests;

//! From what was written to what is used.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use picomq_connector_sdk::{Error, OpenContext};

use super::{Bounds, Durability, Listening, RECORD_RESERVE_BYTES, Settings, targets};
use crate::auth::Family;
use crate::body::essence;
use crate::config::{Ack, HttpConfig};
use crate::key::{KeyTemplate, is_header_name};
use crate::spool::ROOM_BYTES;

const BODY_BYTES_DEFAULT: u64 = 1_048_576;
const BODY_BYTES_MAX: u64 = 64_000_000;
const SPOOL_BYTES_MIN: u64 = 64 << 20;
const SEGMENT_BYTES: u64 = 16 << 20;
/// hyper's own least.
const HEAD_BYTES_MIN: usize = 8 << 10;
const HEAD_BYTES_MAX: usize = 1 << 20;
/// Headers that carry secrets, or of which a copy would be one.
const NEVER_FORWARDED: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];

impl HttpConfig {
    /// Checks what was written against itself and against what the engine can take.
    ///
    /// # Errors
    /// [`Error::Config`] naming the key, the value and what would be right.
    pub(crate) fn check(&self, context: &OpenContext) -> Result<Settings, Error> {
        let tolerance = duration("timestamp_tolerance", &self.timestamp_tolerance)?;
        let record_bytes_max = context.record_bytes.saturating_sub(RECORD_RESERVE_BYTES);
        let settings = Settings {
            name: self.name(&context.key)?,
            listening: self.listening()?,
            targets: targets::targets(self, tolerance)?,
            endpoints_file: absolute("endpoints_file", self.endpoints_file.as_deref())?,
            tolerance,
            bounds: self.bounds()?,
            spool_folder: self.spool_folder(&context.key)?,
            segment_bytes: SEGMENT_BYTES.min(self.spool_max_bytes / 4),
            format: self.schema,
            content_types: self
                .content_types
                .as_ref()
                .map(|types| types.iter().map(|one| essence(one)).collect()),
            takes_gzip: self.gzip,
            body_bytes_max: self.body_bytes_max()?.min(record_bytes_max).min(context.limits.batch_bytes),
            record_bytes_max: record_bytes_max.min(context.limits.batch_bytes),
            batch_records: self.batch_records(context.limits.batch_records)?,
            batch_bytes: usize::try_from(context.limits.batch_bytes).unwrap_or(usize::MAX),
            has_metadata: self.include_http_metadata,
            forwarded: self.forwarded()?,
            key: self.key.as_deref().map(key).transpose()?,
            id_header: self.id_header.as_deref().map(|name| header("id_header", name)).transpose()?,
            answer_timeout: duration("answer_timeout", &self.answer_timeout)?,
            body_timeout: duration("body_timeout", &self.body_timeout)?,
        };
        self.check_together(&settings)?;
        Ok(settings)
    }

    /// What is wrong only together with something else.
    fn check_together(&self, settings: &Settings) -> Result<(), Error> {
        let open = settings.targets.iter().find(|target| target.credentials.family() == Family::None);
        if let Some(open) = open.filter(|_| !settings.is_local()) {
            return Err(Error::config(format!(
                "listen_addr = \"{}\" is reached from beyond this machine, but {} takes posts from anybody: protect it \
                 (auth_bearer_token, or an auth_type with its secret), or listen on 127.0.0.1",
                self.listen_addr, open.path
            )));
        }
        if settings.targets.is_empty() && settings.endpoints_file.is_none() {
            return Err(Error::config(
                "there is nothing to post to: set topic_path, add endpoints, or set endpoints_file to make them at run time",
            ));
        }
        if self.management_token.is_some() {
            return Err(Error::config(
                "management_token opens a second API, which this engine has not: endpoints are made by the commands of the \
                 source (create_endpoint, rotate_endpoint, delete_endpoint) under the engine's own api_key; leave it out",
            ));
        }
        let signs_time = settings.targets.iter().any(|target| target.credentials.family().signs_time());
        if signs_time && !settings.knows_repeats() {
            return Err(Error::config(format!(
                "dedupe_window = \"{}\" with dedupe_capacity = {} lets a signed post be sent a second time: the window must \
                 be at least twice timestamp_tolerance and the capacity above 0",
                self.dedupe_window, self.dedupe_capacity
            )));
        }
        if settings.body_bytes_max > settings.bounds.bytes_max {
            return Err(Error::config(format!(
                "buffer_bytes = {} cannot hold one body of max_body_size_bytes = {}; make it larger",
                self.buffer_bytes, settings.body_bytes_max
            )));
        }
        Ok(())
    }

    fn name(&self, key: &str) -> Result<String, Error> {
        let name = self.instance_name.as_deref().unwrap_or(key);
        if name.is_empty() || name == "unrouted" || name.len() > 255 {
            return Err(Error::config(format!(
                "instance_name = \"{name}\" cannot be used: right is any other text of 1 to 255 bytes but `unrouted`"
            )));
        }
        Ok(name.to_owned())
    }

    fn listening(&self) -> Result<Listening, Error> {
        if !(HEAD_BYTES_MIN..=HEAD_BYTES_MAX).contains(&self.max_head_bytes) {
            return Err(Error::config(format!(
                "max_head_bytes = {}: right is {HEAD_BYTES_MIN} to {HEAD_BYTES_MAX}",
                self.max_head_bytes
            )));
        }
        if self.max_connections == 0 {
            return Err(Error::config("max_connections = 0 would take nobody; the default is 1000"));
        }
        if let Some(tls) = &self.tls {
            absolute("tls.cert_file", Some(&tls.cert_file))?;
            absolute("tls.key_file", Some(&tls.key_file))?;
        }
        Ok(Listening {
            address: address("listen_addr", &self.listen_addr)?,
            head_bytes_max: self.max_head_bytes,
            header_timeout: duration("header_timeout", &self.header_timeout)?,
            idle_timeout: duration("idle_timeout", &self.idle_timeout)?,
            connections_max: self.max_connections,
            tls: self.tls.clone(),
        })
    }

    fn bounds(&self) -> Result<Bounds, Error> {
        if !(1..=1_000_000).contains(&self.buffer_capacity) {
            return Err(Error::config(format!(
                "buffer_capacity = {}: right is 1 to 1000000",
                self.buffer_capacity
            )));
        }
        if self.max_consecutive_nacks == Some(0) {
            return Err(Error::config(
                "max_consecutive_nacks = 0 would take no post; leave it out for never",
            ));
        }
        let durability = match self.ack {
            Ack::Delivered => Durability::Delivered,
            Ack::Spooled if self.spool_max_bytes < SPOOL_BYTES_MIN => {
                return Err(Error::config(format!(
                    "spool_max_bytes = {} is below {SPOOL_BYTES_MIN} (64 MiB)",
                    self.spool_max_bytes
                )));
            }
            Ack::Spooled => Durability::Spooled {
                // The next write may bring so much more.
                bytes_max: self.spool_max_bytes - ROOM_BYTES as u64,
                takes_while_stalled: self.spool_while_stalled,
            },
        };
        Ok(Bounds {
            durability,
            posts_max: self.buffer_capacity,
            bytes_max: self.buffer_bytes,
            nacks_max: self.max_consecutive_nacks,
            dedupe_window: duration("dedupe_window", &self.dedupe_window)?,
            dedupe_capacity: self.dedupe_capacity,
        })
    }

    fn spool_folder(&self, key: &str) -> Result<Option<PathBuf>, Error> {
        if self.ack == Ack::Spooled && self.spool_dir.is_none() {
            return Err(Error::config("ack = \"spooled\" needs spool_dir: a folder on a disk that stays"));
        }
        Ok(absolute("spool_dir", self.spool_dir.as_deref())?.map(|folder| folder.join(key)))
    }

    fn body_bytes_max(&self) -> Result<u64, Error> {
        match self.max_body_size_bytes {
            None => Ok(BODY_BYTES_DEFAULT),
            Some(bytes @ 1..=BODY_BYTES_MAX) => Ok(bytes),
            Some(bytes) => {
                Err(Error::config(format!("max_body_size_bytes = {bytes}: right is 1 to {BODY_BYTES_MAX}")))
            }
        }
    }

    fn batch_records(&self, records_max: u32) -> Result<usize, Error> {
        match self.max_batch_size {
            1..=100_000 => Ok(self.max_batch_size.min(records_max) as usize),
            size => Err(Error::config(format!("max_batch_size = {size}: right is 1 to 100000"))),
        }
    }

    fn forwarded(&self) -> Result<Vec<String>, Error> {
        let names = self.forward_headers.iter().map(|name| header("forward_headers", name));
        let names: Vec<String> = names.collect::<Result<_, _>>()?;
        match names.iter().find(|name| NEVER_FORWARDED.contains(&name.as_str())) {
            Some(name) => Err(Error::config(format!(
                "forward_headers: `{name}` carries a secret and is never forwarded"
            ))),
            None => Ok(names),
        }
    }
}

/// Only numbers and `localhost`: a name could come to mean another machine.
fn address(key: &str, text: &str) -> Result<SocketAddr, Error> {
    let local = text.strip_prefix("localhost:").and_then(|port| port.parse().ok());
    if let Some(port) = local {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    text.parse().map_err(|error| {
        Error::config(format!(
            "{key} = \"{text}\" is no address with a port: right is 127.0.0.1:8088, [::1]:8088, localhost:8088 or 0.0.0.0:8088"
        ))
        .with_cause(error)
    })
}

fn absolute(key: &str, path: Option<&Path>) -> Result<Option<PathBuf>, Error> {
    match path {
        Some(path) if !path.is_absolute() => Err(Error::config(format!(
            "{key} = \"{}\" is relative, to a folder that a restart may change; write it from `/` on",
            path.display()
        ))),
        path => Ok(path.map(Path::to_owned)),
    }
}

fn duration(key: &str, text: &str) -> Result<Duration, Error> {
    let parsed = humantime::parse_duration(text).map_err(|error| {
        Error::config(format!("{key} = \"{text}\" is no duration such as `30s`")).with_cause(error)
    })?;
    if parsed.is_zero() {
        return Err(Error::config(format!("{key} = \"{text}\": it must be longer than nothing")));
    }
    Ok(parsed)
}

fn header(key: &str, name: &str) -> Result<String, Error> {
    if is_header_name(name) {
        return Ok(name.to_ascii_lowercase());
    }
    Err(Error::config(format!("{key}: \"{name}\" is no name of a header")))
}

fn key(text: &str) -> Result<KeyTemplate, Error> {
    KeyTemplate::parse(text).map_err(|what| Error::config(format!("key = \"{text}\" is no template: {what}")))
}

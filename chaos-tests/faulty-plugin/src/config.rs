//! `[plugin_config]` of each mode.

use std::path::PathBuf;
use std::time::Duration;

use picomq_connector_sdk::Error;
use schemars::JsonSchema;
use serde::Deserialize;

/// One of the modes; the crate's page lists the keys of each.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum FaultyConfig {
    /// Counts upwards and follows a script.
    Script(ScriptConfig),
    /// Reads a folder and deletes what was delivered.
    Destructive(DestructiveConfig),
    /// Numbers each key separately.
    PerKey(PerKeyConfig),
}

/// Mode `script`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptConfig {
    #[serde(default = "interval_default")]
    pub(crate) interval: Pause,
    #[serde(default = "records_default")]
    pub(crate) records: u64,
    #[serde(default = "users_default")]
    pub(crate) user_pool: u64,
    #[serde(default)]
    pub(crate) key_by_user: bool,
    pub(crate) max_count: Option<u64>,
    #[serde(default)]
    pub(crate) steps: Vec<Step>,
    #[serde(default)]
    pub(crate) poison: Vec<Poison>,
}

/// Mode `destructive`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DestructiveConfig {
    pub(crate) folder: PathBuf,
    #[serde(default = "interval_default")]
    pub(crate) interval: Pause,
    #[serde(default = "records_default")]
    pub(crate) records: u64,
    #[serde(default = "users_default")]
    pub(crate) user_pool: u64,
}

/// Mode `per_key`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PerKeyConfig {
    #[serde(default = "users_default")]
    pub(crate) keys: u64,
    #[serde(default = "interval_default")]
    pub(crate) interval: Pause,
    #[serde(default = "records_default")]
    pub(crate) records: u64,
    pub(crate) max_count: Option<u64>,
}

/// One line of a script.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    pub(crate) call: Call,
    pub(crate) at: Option<u64>,
    pub(crate) from: Option<u64>,
    pub(crate) once: Option<PathBuf>,
    #[serde(rename = "do")]
    pub(crate) action: Action,
}

/// Which call a step is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Call {
    Open,
    Poll,
    /// Either verdict.
    Verdict,
    Ack,
    Nack,
    Close,
    /// Dropping the value.
    Drop,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    Panic,
    Abort,
    Hang,
    Block,
    Sleep(Pause),
    Transient,
    Permanent,
    Config,
    State,
    Empty,
    Watermark,
    NoState,
    Records(u64),
    WrongSchema,
}

/// A record that is not good.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Poison {
    pub(crate) sequence: u64,
    pub(crate) with: Kind,
    pub(crate) once: Option<PathBuf>,
}

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    NotJson,
    NotUtf8,
    Unroutable,
    Tombstone,
    Bytes(usize),
}

/// A duration as people write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub(crate) struct Pause(pub(crate) Duration);

impl<'de> Deserialize<'de> for Pause {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Pause, D::Error> {
        let text = String::deserialize(deserializer)?;
        humantime::parse_duration(&text).map(Pause).map_err(serde::de::Error::custom)
    }
}

fn interval_default() -> Pause {
    Pause(Duration::from_millis(10))
}

fn records_default() -> u64 {
    10
}

fn users_default() -> u64 {
    4
}

/// Refuses what would divide by zero or never move.
pub(crate) fn at_least_one(name: &str, value: u64) -> Result<(), Error> {
    if value == 0 {
        return Err(Error::config(format!("{name} = 0: right is 1 or more")));
    }
    Ok(())
}

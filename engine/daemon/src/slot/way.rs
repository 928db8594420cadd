//! Two ways to the plugin of a stopped source: through the daemon that has it, or loaded here when none does.

use std::sync::Arc;

use hyper::Method;
use pico_config::{Env, StateConfig};
use pico_state::{AnyStore, StateError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::chosen;
use crate::cli::{Cli, URL_DEFAULT};
use crate::client::{Client, escaped};
use crate::error::{Error, chain};
use crate::maintain::{Maintenance, Unwilling};

/// What the plugin answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) slot: String,
    pub(super) statements: Vec<String>,
    pub(super) refused: Option<String>,
    pub(super) means: Vec<String>,
    pub(super) held_bytes: u64,
    pub(super) freed_bytes: u64,
    pub(super) unread_bytes: u64,
    pub(super) is_done: bool,
}

/// The command of the plugin.
const COMMAND: &str = "slot_drop";
/// What the error of nobody at the address is called.
const NO_DAEMON: &str = "client.no_daemon";

/// Who is asked.
pub(super) enum Way {
    /// A daemon answers: it keeps the source from being started meanwhile.
    Daemon { client: Client, key: String },
    /// None does: the lock of the store does that.
    Here(Box<Maintenance>),
}

#[derive(Debug, Deserialize)]
struct Source {
    status: String,
}

impl Way {
    /// A daemon where one answers, unless told otherwise; this process where none does and none was named.
    pub(super) async fn find(cli: &Cli, key: &str, is_offline: bool) -> Result<Way, Error> {
        if is_offline {
            return here(cli, key);
        }
        let client = Client::new(&cli.url)?;
        match client.get::<Value>("/health").await {
            Ok(_) => Ok(Way::Daemon { client, key: key.to_owned() }),
            Err(error) if error.code() == NO_DAEMON && cli.url == URL_DEFAULT => here(cli, key),
            Err(error) => Err(error),
        }
    }

    /// How it is said to people.
    pub(super) fn is_offline(&self) -> bool {
        match self {
            Way::Daemon { .. } => false,
            Way::Here(_) => true,
        }
    }

    /// Before anybody is asked to confirm: the daemon says whether the source is stopped, or the lock of the store.
    pub(super) async fn check_stopped(&self) -> Result<(), Error> {
        let (client, key) = match self {
            Way::Daemon { client, key } => (client, key),
            Way::Here(maintenance) => return maintenance.check_free().await.map_err(refused),
        };
        let source: Source = client.get(&format!("/sources/{}", escaped(key))).await?;
        if source.status == "stopped" {
            return Ok(());
        }
        let reason = format!("the source is {}; its slot is dropped only while it is stopped", source.status);
        Err(Error::Refused {
            code: "source.not_stopped".to_owned(),
            reason,
            hint: Some(format!("pico-connectors stop {key} --wait")),
            is_environment: false,
        })
    }

    /// What would be dropped and lost; nothing is changed.
    pub(super) async fn look(&self, wish: &Value) -> Result<Plan, Error> {
        match self {
            Way::Daemon { client, key } => {
                let path = format!("{}?dry_run=true", path(key));
                client.ask(Method::POST, &path, Some(wish)).await
            }
            Way::Here(maintenance) => plan(maintenance.look(COMMAND, &wish.to_string()).await),
        }
    }

    /// Drops.
    pub(super) async fn carry_out(&self, wish: &Value) -> Result<Plan, Error> {
        match self {
            Way::Daemon { client, key } => client.ask(Method::POST, &path(key), Some(wish)).await,
            Way::Here(maintenance) => plan(maintenance.carry_out(COMMAND, &wish.to_string()).await),
        }
    }
}

fn path(key: &str) -> String {
    format!("/sources/{}/commands/{COMMAND}", escaped(key))
}

fn here(cli: &Cli, key: &str) -> Result<Way, Error> {
    let (engine, definition) = chosen::definition(cli, key, &Env::from_process())?;
    if let StateConfig::File { path } = &engine.state
        && !path.is_dir()
    {
        let reason = format!("no daemon answers, and there is no state folder {}", path.display());
        return Err(Error::environment("state.no_folder", reason)
            .with_hint("name the configuration with --config, or the daemon with --url"));
    }
    let store = AnyStore::of(&engine.state)
        .map_err(|cause| Error::environment(cause.code(), "the saved state cannot be used").because(cause))?;
    let maintenance = Maintenance::new(Arc::new(definition), &engine.plugins, engine.limits, Some(store));
    Ok(Way::Here(Box::new(maintenance)))
}

fn plan(answer: Result<Value, Unwilling>) -> Result<Plan, Error> {
    let value = answer.map_err(refused)?;
    serde_json::from_value(value)
        .map_err(|cause| refused(Unwilling::Failed(format!("the plugin answered something else: {cause}"))))
}

fn refused(why: Unwilling) -> Error {
    let hint = match &why {
        Unwilling::Store(StateError::Locked { .. } | StateError::InUse) => {
            Some("a daemon runs this source: name it with --url, and stop the source first")
        }
        Unwilling::Unknown(_) => Some("only PostgreSQL sources have slots"),
        Unwilling::Store(_) | Unwilling::NoPlugin(_) | Unwilling::Failed(_) | Unwilling::Silent => None,
    };
    let code = match &why {
        Unwilling::Store(error) => error.code(),
        Unwilling::NoPlugin(_) | Unwilling::Unknown(_) | Unwilling::Failed(_) | Unwilling::Silent => {
            why.code()
        }
    };
    let is_environment = !matches!(why, Unwilling::Failed(_));
    let (code, reason) = (code.to_owned(), chain(&why));
    Error::Refused { code, reason, hint: hint.map(str::to_owned), is_environment }
}

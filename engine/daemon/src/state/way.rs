//! Two ways to a state: through the daemon that owns it, or to the store itself when none does.

use std::path::Path;
use std::sync::Arc;

use hyper::Method;
use pico_config::{Definition, Engine, Env, SourceKey, StateConfig};
use pico_state::AnyStore;
use serde_json::{Value, json};

use super::desk::Desk;
use super::document::{Change, Document, Wanted};
use super::plugin::Reader;
use super::trouble::Trouble;
use crate::cli::{Cli, URL_DEFAULT};
use crate::client::Client;
use crate::error::Error;

/// What the error of nobody at the address is called.
const NO_DAEMON: &str = "client.no_daemon";

/// Where a state is looked at and changed.
pub(super) enum Way {
    /// A daemon answers: it owns the store.
    Daemon { client: Client, key: String },
    /// None does: the store is taken here, under its own lock.
    Store(Box<Desk>),
}

impl Way {
    /// A daemon where one answers, unless told otherwise; the store where none does and none was named.
    pub(super) async fn find(cli: &Cli, key: &str, is_offline: bool) -> Result<Way, Error> {
        if is_offline {
            return offline(cli, key);
        }
        let client = Client::new(&cli.url)?;
        match client.get::<Value>("/health").await {
            Ok(_) => Ok(Way::Daemon { client, key: key.to_owned() }),
            Err(error) if error.code() == NO_DAEMON && cli.url == URL_DEFAULT => offline(cli, key),
            Err(error) => Err(error),
        }
    }

    /// How it is said to people.
    pub(super) fn is_offline(&self) -> bool {
        match self {
            Way::Daemon { .. } => false,
            Way::Store(_) => true,
        }
    }

    /// What is saved.
    pub(super) async fn look(&self) -> Result<Document, Error> {
        match self {
            Way::Daemon { client, key } => client.get(&path(key)).await,
            Way::Store(desk) => desk.look().await.map_err(error_of),
        }
    }

    /// What the change would do; nothing is changed.
    pub(super) async fn weigh(&self, wanted: &Wanted) -> Result<Change, Error> {
        match self {
            Way::Daemon { client, key } => ask(client, &format!("{}?dry_run=true", path(key)), wanted).await,
            Way::Store(desk) => desk.weigh(wanted).await.map_err(error_of),
        }
    }

    /// Makes the change.
    pub(super) async fn carry_out(&self, wanted: Wanted) -> Result<(), Error> {
        match self {
            Way::Daemon { client, key } => ask(client, &path(key), &wanted).await.map(drop),
            Way::Store(desk) => desk.carry_out(wanted).await.map_err(error_of),
        }
    }
}

fn path(key: &str) -> String {
    // A key of another grammar names no source; its bytes must not make another path.
    let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let escaped = |c: char| if is_key(c) { c.to_string() } else { "%FF".to_owned() };
    format!("/sources/{}/state", key.chars().map(escaped).collect::<String>())
}

async fn ask(client: &Client, path: &str, wanted: &Wanted) -> Result<Change, Error> {
    use base64::Engine as _;
    match wanted {
        Wanted::Nothing => client.ask(Method::DELETE, path, None).await,
        Wanted::State(state) => {
            let state = base64::engine::general_purpose::STANDARD.encode(state);
            client.ask(Method::PUT, path, Some(&json!({ "state": state }))).await
        }
    }
}

/// The store of the configuration, with the definition of this key where there is one.
fn offline(cli: &Cli, key: &str) -> Result<Way, Error> {
    let env = Env::from_process();
    let (engine, _) = pico_config::load_engine(cli.config.as_deref(), &env).map_err(Error::Config)?;
    if let StateConfig::File { path } = &engine.state {
        there_is(path)?;
    }
    let store = AnyStore::of(&engine.state).map_err(|error| error_of(error.into()))?;
    let definition = definition_of(&engine, &env, key);
    let source_key = match &definition {
        Some(definition) => definition.key.clone(),
        None => key.parse::<SourceKey>().map_err(|error| {
            Error::environment("state.bad_key", format!("{key:?} is no key of a source: {error}"))
                .with_hint("`pico-connectors status` lists the keys of a daemon, `check` those of files")
        })?,
    };
    let reader = definition.map(|definition| Reader::new(definition, &engine.plugins, engine.limits));
    Ok(Way::Store(Box::new(Desk::new(source_key, store, reader))))
}

/// A folder that is not there is not made: somebody is in the wrong one.
fn there_is(folder: &Path) -> Result<(), Error> {
    if folder.is_dir() {
        return Ok(());
    }
    let reason = format!("no daemon answers, and there is no state folder {}", folder.display());
    Err(Error::environment("state.no_folder", reason)
        .with_hint("name the configuration with --config, or the daemon with --url"))
}

fn definition_of(engine: &Engine, env: &Env, key: &str) -> Option<Arc<Definition>> {
    let definitions = pico_config::load_definitions(engine, env).good.into_iter();
    definitions.filter(|definition| definition.key.as_str().eq_ignore_ascii_case(key)).map(Arc::new).next()
}

/// The trouble as the verb ends with it.
pub(super) fn error_of(trouble: Trouble) -> Error {
    let (code, reason) = (trouble.code().to_owned(), trouble.to_string());
    let hint = match &trouble {
        Trouble::Store(pico_state::StateError::Locked { .. }) => {
            Some("a daemon runs on this folder: name it with --url, or stop it".to_owned())
        }
        Trouble::Document(_) => Some("give it what `state export` wrote".to_owned()),
        Trouble::Plugin(_) => {
            Some("take a state that this plugin, or an older build of it, saved".to_owned())
        }
        Trouble::Store(_) | Trouble::NotStopped(_) => None,
    };
    let is_environment = matches!(trouble, Trouble::Store(_) | Trouble::NotStopped(_));
    Error::Refused { code, reason, hint, is_environment }
}

#[cfg(test)]
mod tests {
    use super::path;

    #[test]
    fn a_key_never_makes_another_path_b132() {
        assert_eq!(path("orders.eu-1_x"), "/sources/orders.eu-1_x/state");
        for key in ["../x", "a/b", "a?b", "a#b", "a%2fb", "a b", "a\0b", "ü"] {
            let path = path(key);
            assert_eq!(path.matches('/').count(), 3, "{path}");
            assert!(path.contains("%FF") && !path.contains(['?', '#', ' ', '\0']), "{path}");
        }
    }
}

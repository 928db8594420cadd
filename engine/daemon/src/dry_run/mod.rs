//! `dry-run`: opens a source to look at it, and shows what would become of its next records.
//!
//! Nothing is produced, created, dropped or saved, and no batch is acknowledged. A plugin that takes one batch at a
//! time gives no second one without a verdict, so it shows one batch; a batch without records is told Nack.

mod look;
mod show;

use std::sync::Arc;
use std::time::Duration;

use pico_actors::plugin;
use pico_config::{Definition, Engine, Env, ErrorPolicy, OnRecordError, SourceKey, StateConfig};
use pico_record::{Ceiling, RecordPath};
use pico_state::{AnyStore, Borrowed, StateError};
use picomq_connector_sdk::ffi::host::{Library, Mode, TracingSink};
use tracing_subscriber::filter::LevelFilter;

use crate::chosen;
use crate::cli::{Cli, DryRunArguments, Format, URL_DEFAULT};
use crate::definition_check;
use crate::error::Error;
use crate::leave::Exit;
use crate::output::{self, Stream};
use crate::runtime;
use crate::telemetry::{Logs, start_logs};
use look::{Looked, Wanted, look};

/// Shows the next records of a source. Exit code 1 when one of them fails, or the source does.
pub(crate) fn run(cli: &Cli, arguments: &DryRunArguments) -> Result<Exit, Error> {
    let env = Env::from_process();
    let (engine, definition) = chosen::definition(cli, &arguments.key, &env)?;
    start_logs(Logs::to_stderr(engine.logging.format, LevelFilter::WARN), &env, None)?;
    let wanted = Wanted {
        records: arguments.records as usize,
        within: Duration::from_secs(u64::from(arguments.seconds)),
    };
    let looked = runtime::block_on(open_and_look(&engine, definition.clone(), wanted))?;
    match cli.format() {
        Format::Json => output::write_json(&show::document(&definition, wanted, &looked)),
        Format::Human | Format::Github => {
            output::write(Stream::Stdout, &show::text(&definition, wanted, &looked))
        }
    }
    Ok(if looked.has_failed() { Exit::Runtime } else { Exit::Ok })
}

async fn open_and_look(engine: &Engine, definition: Definition, wanted: Wanted) -> Result<Looked, Error> {
    let mut path = record_path(&definition, engine)?;
    // Held to the end: a daemon that starts meanwhile waits, and its slot upstream is not taken from under it.
    let (_held, state) = saved(engine, &definition.key).await?;
    let (definition, library) = load(engine, definition).await?;
    let is_pipelined = library.info().capabilities.pipelined;
    let host = Arc::new(TracingSink::new(definition.key.as_str()));
    let request = plugin::request(&definition, &engine.limits, Mode::Inspect, state, host);
    let instance = library.open(request).await.map_err(|cause| {
        Error::runtime("plugin.open", format!("the source `{}` does not open", definition.key)).because(cause)
    })?;
    let looked = look(&instance, is_pipelined, &mut path, wanted).await;
    instance.close().await;
    Ok(looked)
}

/// The way of the records, which sets aside every record that fails, so that those behind it are shown too.
fn record_path(definition: &Definition, engine: &Engine) -> Result<RecordPath, Error> {
    let errors = ErrorPolicy { on_record_error: OnRecordError::Skip, max_per_minute: u32::MAX };
    definition_check::record_path(definition, &engine.limits, None)
        .and_then(|path| path.with_errors(&errors, definition.key.as_str(), Ceiling::default()))
        .map_err(|cause| Error::Config(vec![definition_check::rule(definition, &cause)]))
}

/// Keeps everybody else from running the source, and reads what is saved. A folder that is not there holds nothing.
async fn saved(engine: &Engine, key: &SourceKey) -> Result<(Option<Borrowed>, Option<Vec<u8>>), Error> {
    if let StateConfig::File { path } = &engine.state
        && !path.exists()
    {
        return Ok((None, None));
    }
    let store = AnyStore::of(&engine.state).map_err(refused)?;
    let (held, saved) = store.borrow(key).await.map_err(|cause| match cause {
        StateError::Locked { .. } => {
            let hint = format!(
                "stop the source first with `pico-connectors stop {key}{0}`, and start it again afterwards with \
                 `pico-connectors start {key}{0}`",
                url(engine)
            );
            refused(cause).with_hint(hint)
        }
        cause => refused(cause),
    })?;
    Ok((held, saved.state))
}

/// How a verb is told where the daemon of this configuration is; nothing where it looks anyway.
fn url(engine: &Engine) -> String {
    let scheme = if engine.http.tls.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{}", engine.http.address);
    if url == URL_DEFAULT { String::new() } else { format!(" --url {url}") }
}

fn refused(cause: StateError) -> Error {
    Error::environment(cause.code(), "the saved state cannot be used").because(cause)
}

async fn load(engine: &Engine, definition: Definition) -> Result<(Definition, Arc<Library>), Error> {
    let plugins = engine.plugins.clone();
    let finding = tokio::task::spawn_blocking(move || definition_check::fitted(&definition, &plugins));
    let found = finding
        .await
        .map_err(|cause| Error::runtime("plugin.not_loaded", "the plugin did not load").because(cause))?;
    let (definition, library, _worth_a_look) = found.map_err(|unfit| Error::Config(unfit.findings()))?;
    Ok((definition, library))
}

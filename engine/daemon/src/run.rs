//! `run`: the daemon, from its files to its end.

use std::path::PathBuf;

use pico_actors::handle::{Engine as Running, EngineSettings, Entry};
use pico_broker::Admin;
use pico_config::{Engine, Env, Finding, Http, Location, LogFormat, Severity, StateConfig};
use pico_state::AnyStore;
use tracing_subscriber::filter::LevelFilter;

use crate::api::{self, Api, Gate, Listener, Paths, Readiness, Streams};
use crate::cli::{Cli, Format, RunArguments};
use crate::error::Error;
use crate::events::Events;
use crate::findings;
use crate::leave::Exit;
use crate::output::{self, Stream};
use crate::plugins::Catalog;
use crate::process::{Meter, Started};
use crate::reach;
use crate::reload::{self, Last, Parts, Reloads, Trigger};
use crate::runtime;
use crate::service_manager;
use crate::signals::{Hangup, Signals};
use crate::telemetry::{Logs, Metrics, Otlp, start_logs};
use crate::version::{VERSION, Version};
use crate::wiring::{Wiring, bad_entry};

/// Runs the sources until a signal comes.
pub(crate) fn run(cli: &Cli, _arguments: &RunArguments) -> Result<Exit, Error> {
    let started = Started::now();
    let env = Env::from_process();
    let (engine, findings) = pico_config::load_engine(cli.config.as_deref(), &env).map_err(Error::Config)?;
    let otlp = Otlp::start(&engine)?;
    let logs = Logs::to_stderr(engine.logging.format, LevelFilter::INFO);
    let limit = start_logs(logs, &env, otlp.as_ref())?;
    say_start(&engine);
    say(&findings, engine.logging.format);
    let exit = runtime::block_on(async {
        let signals = Signals::listen()?;
        tokio::spawn(limit.say());
        let hangup = Hangup::listen()?;
        let daemon = Daemon::start(engine, &env, started).await?;
        daemon.reload_on(hangup);
        Ok(daemon.until(signals).await)
    });
    if let Some(otlp) = otlp {
        otlp.flush();
    }
    exit
}

/// Everything that runs.
pub(crate) struct Daemon {
    pub(crate) running: Running,
    readiness: Readiness,
    grace: std::time::Duration,
    /// Where the API listens; None when it is switched off.
    pub(crate) api: Option<std::net::SocketAddr>,
    reloads: Option<Reloads>,
}

impl Daemon {
    /// Binds the API, loads the definitions, starts the sources, serves.
    ///
    /// # Errors
    /// The state folder or the address of the API cannot be used. A definition is never the reason.
    pub(crate) async fn start(engine: Engine, env: &Env, started: Started) -> Result<Daemon, Error> {
        let definitions = reload::at_start(&engine, env);
        Daemon::start_with(engine, definitions, Some(env.clone()), started).await
    }

    /// The same with definitions that were loaded already. With an environment they are taken up again when asked for.
    pub(crate) async fn start_with(
        engine: Engine,
        definitions: pico_config::Definitions,
        env: Option<Env>,
        started: Started,
    ) -> Result<Daemon, Error> {
        api::check_endpoint(&engine.http)
            .map_err(|reason| refused(&engine, "config.bad_endpoint", reason, "http.metrics.endpoint"))?;
        let metrics = Metrics::install(started)?;
        tokio::spawn(metrics.clone().upkeep());
        let listener = match engine.http.enabled {
            true => Some(Listener::bind(&engine.http).await?),
            false => None,
        };
        let store = open_store(&engine)?;
        let admin = Admin::open(&engine.kafka)
            .map_err(|cause| refused(&engine, cause.code(), cause.to_string(), "kafka"))?;
        say(&definitions.warnings, engine.logging.format);
        let readiness = Readiness::new();
        tokio::spawn(reach::until_reached(admin.clone(), readiness.clone()));
        let catalog = Catalog::new(&engine, &definitions.good);
        let paths = paths(&engine, &catalog, &store);
        let sources = definitions.good.len();
        let wiring = Wiring::new(&engine, store.clone(), admin);
        let last = Last::of_start(&definitions);
        let entries = entries(&wiring, definitions, engine.logging.format);
        let settings = EngineSettings { limits: engine.limits, grace: engine.shutdown.grace };
        let running = Running::start(settings, entries).await.map_err(|cause| {
            Error::runtime("engine.not_started", "the sources cannot be started").because(cause)
        })?;
        readiness.definitions_loaded();
        let reloads = env.map(|env| {
            let (running, catalog) = (running.clone(), catalog.clone());
            Reloads::new(Parts { config: engine.clone(), env, running, wiring, catalog, last })
        });
        let reloads = reloads.transpose()?;
        if let Some(reloads) = reloads.as_ref().filter(|_| engine.connectors.watch) {
            reloads.watch();
        }
        let events = Events::of_process();
        tokio::spawn(events.clone().follow(running.news()));
        let api = Api {
            engine: running.clone(),
            store,
            plugin_folders: engine.plugins.clone(),
            limits: engine.limits,
            readiness: readiness.clone(),
            metrics: engine.http.metrics_enabled.then_some(metrics),
            metrics_endpoint: engine.http.metrics_endpoint.clone(),
            started,
            meter: Meter::new(),
            paths,
            plugins: catalog,
            reloads: reloads.clone(),
            events,
            streams: Streams::new(),
            warnings: reach::warnings(&engine.kafka),
        };
        let address = listener.map(|listener| serve(listener, api, &engine.http)).transpose()?;
        service_manager::ready(sources);
        tokio::spawn(service_manager::feed_watchdog(running.clone()));
        Ok(Daemon { running, readiness, grace: engine.shutdown.grace, api: address, reloads })
    }

    /// Takes the definitions up again at each of these signals.
    fn reload_on(&self, mut hangup: Hangup) {
        let reloads = self.reloads.clone();
        tokio::spawn(async move {
            loop {
                hangup.next().await;
                if let Some(reloads) = &reloads {
                    // What went wrong is in the log, and shows on the sources.
                    reloads.reload(Trigger::Signal, None).await.ok();
                }
            }
        });
    }

    /// Waits for a signal, then drains.
    pub(crate) async fn until(mut self, mut signals: Signals) -> Exit {
        tokio::select! {
            name = signals.next() => {
                tracing::info!(signal = name, grace_ms = self.grace.as_millis() as u64, "shutting down");
                signals.leave_on_next();
                self.stop().await
            }
            () = self.running.ended() => {
                tracing::error!("the root of the sources ended by a fault of ours; the process ends with it");
                Exit::Runtime
            }
        }
    }

    /// Drains within the grace.
    pub(crate) async fn stop(self) -> Exit {
        self.readiness.draining();
        service_manager::stopping();
        match self.running.shutdown(self.grace).await {
            true => {
                tracing::info!("all sources stopped, everything in flight was delivered and saved");
                Exit::Ok
            }
            false => {
                tracing::error!(
                    grace_ms = self.grace.as_millis() as u64,
                    "gave up draining: what was in flight is read again at the next start"
                );
                Exit::Runtime
            }
        }
    }
}

fn serve(listener: Listener, api: Api, http: &Http) -> Result<std::net::SocketAddr, Error> {
    let (address, url) = (listener.address(), listener.url());
    let gate = Gate::new(http, address)?;
    // Owned by the process: it serves until the process leaves, also while it drains.
    drop(listener.serve(api::router(api, gate, http)));
    tracing::info!(url, keys = http.keys.len(), "API listens");
    Ok(address)
}

fn open_store(engine: &Engine) -> Result<AnyStore, Error> {
    AnyStore::of(&engine.state).map_err(|cause| {
        let (reason, hint) = match &engine.state {
            StateConfig::File { .. } => {
                ("the state folder cannot be used", "choose another [state] path, or mend its owner and mode")
            }
            StateConfig::Http(_) => (
                "the state server cannot be asked",
                "look at [state.http] and at the certificates of this system",
            ),
        };
        Error::environment(cause.code(), reason).with_hint(hint).because(cause)
    })
}

/// A setting that was read well and cannot be used all the same.
fn refused(engine: &Engine, code: &'static str, reason: String, key: &str) -> Error {
    let file = engine.file.clone().unwrap_or_else(|| PathBuf::from("config.toml"));
    Error::Config(vec![Finding::new(code, Severity::Error, Location::File(file), reason).with_path(key)])
}

/// All files in the order of their names, good or not.
fn entries(wiring: &Wiring, definitions: pico_config::Definitions, format: LogFormat) -> Vec<Entry> {
    let (good, bad) = (definitions.good.len(), definitions.bad.len());
    if good + bad == 0 {
        tracing::warn!("no definition found, so no source runs");
    }
    for file in &definitions.bad {
        say(&file.findings, format);
    }
    tracing::info!(good, bad, "definitions loaded");
    let good = definitions.good.into_iter().map(|good| (good.file.clone(), wiring.entry(good)));
    let bad = definitions.bad.into_iter().map(|bad| (bad.file.clone(), bad_entry(bad)));
    let mut entries: Vec<(PathBuf, Entry)> = good.chain(bad).collect();
    entries.sort_by(|(one, _), (other, _)| one.cmp(other));
    entries.into_iter().map(|(_, entry)| entry).collect()
}

fn paths(engine: &Engine, catalog: &Catalog, store: &AnyStore) -> Paths {
    Paths {
        config: engine.file.clone(),
        definitions: engine.connectors.config_dir.clone(),
        state: store.shown(),
        plugins: catalog.folders(),
    }
}

fn say_start(engine: &Engine) {
    let Version { librdkafka, plugin_abi, .. } = Version::current();
    let config = engine.file.as_deref().map(|file| file.display().to_string());
    let state = match &engine.state {
        StateConfig::File { path } => path.display().to_string(),
        StateConfig::Http(http) => http.url.origin(),
    };
    tracing::info!(
        version = VERSION,
        librdkafka,
        plugin_abi,
        config = config.as_deref().unwrap_or("built-in defaults"),
        definitions = %engine.connectors.config_dir.display(),
        state,
        broker = engine.kafka.bootstrap_servers,
        "starting"
    );
    for reason in reach::warnings(&engine.kafka) {
        tracing::warn!(reason, "unsafe configuration");
    }
}

/// Findings in the log; with their excerpts where a person reads.
fn say(findings: &[Finding], format: LogFormat) {
    if format == LogFormat::Text && Stream::Stderr.is_fancy() {
        output::write(Stream::Stderr, &findings::render(findings, Format::Human, Stream::Stderr));
        return;
    }
    for finding in findings {
        let Finding { code, reason, toml_path, hint, location, .. } = finding;
        let (hint, key) = (hint.as_deref(), Some(toml_path.as_str()).filter(|path| !path.is_empty()));
        match finding.severity {
            Severity::Error => tracing::error!(code, %location, key, reason, hint, "refused"),
            Severity::Warning => tracing::warn!(code, %location, key, reason, hint, "needs a look"),
            Severity::Info => tracing::info!(code, %location, key, reason, hint, "worth knowing"),
        }
    }
}

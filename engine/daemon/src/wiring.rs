//! Gives every definition its doors: plugin, broker, state store, and what a person asked for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use pico_actors::handle::{AskedStore, BadSource, Entry, SourceSpec};
use pico_actors::lifecycle::Asked;
use pico_actors::plugin::{LibraryPlugin, Place};
use pico_actors::ports::{
    BoxFuture, Cause, CheckSink, DeliveryFactory, OpenFailure, OpenKind, OpenedDelivery, PluginFactory,
    PluginPort,
};
use pico_broker::{Admin, BrokerSettings, KafkaBroker};
use pico_config::{BadFile, Definition, Engine, Finding, Kafka, Limits, Plugins, SourceKey};
use pico_state::AnyStore;
use picomq_connector_sdk::ffi::host::Library;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::definition_check::{self, Unfit};
use crate::registry::SchemaIds;

/// Tried, then loaded, each with a limit of its own; only a folder that does not answer takes longer.
const FOUND_WITHIN: Duration = Duration::from_secs(90);

/// What all sources of the process share.
pub(crate) struct Wiring {
    store: AnyStore,
    admin: Admin,
    kafka: Kafka,
    plugins: Plugins,
    limits: Limits,
    loading: Loading,
    /// By folded key; a key that was once seen keeps its own, so that a reload finds whom a former definition left.
    places: Arc<Mutex<BTreeMap<String, Place>>>,
}

impl Wiring {
    /// Over this store and this broker.
    pub(crate) fn new(engine: &Engine, store: AnyStore, admin: Admin) -> Wiring {
        let (kafka, plugins) = (engine.kafka.clone(), engine.plugins.clone());
        Wiring {
            store,
            admin,
            kafka,
            plugins,
            limits: engine.limits,
            loading: Loading::default(),
            places: Arc::default(),
        }
    }

    fn place(&self, key: &SourceKey) -> Place {
        // Nothing in these few lines can panic half way.
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.entry(key.folded()).or_default().clone()
    }

    /// A definition with its doors. Nothing is opened yet.
    pub(crate) fn entry(&self, definition: Definition) -> Entry {
        let definition = Arc::new(definition);
        let plugin = FoundPlugin {
            definition: definition.clone(),
            plugins: self.plugins.clone(),
            limits: self.limits,
            loading: self.loading.clone(),
            place: self.place(&definition.key),
            found: Arc::new(OnceLock::new()),
        };
        let delivery = Delivery {
            key: definition.key.clone(),
            store: self.store.clone(),
            admin: self.admin.clone(),
            broker: BrokerSettings::new(&self.kafka, &self.limits, &definition),
            schema_ids: SchemaIds::of(&definition.topics),
        };
        let asked = AskedFile { key: definition.key.clone(), store: self.store.clone() };
        Entry::Good(Box::new(SourceSpec {
            definition,
            plugin: Arc::new(plugin),
            delivery: Arc::new(delivery),
            asked: Arc::new(asked),
        }))
    }
}

/// A file that is no definition, so that it is listed with what is wrong with it.
pub(crate) fn bad_entry(bad: BadFile) -> Entry {
    Entry::Bad(BadSource { key: bad.key, path: String::new(), cause: cause(&bad.findings) })
}

/// The plugin that a definition names. It is looked for at each opening until it was found and fitted once, so that a
/// library put in its place is taken up by a `start`.
struct FoundPlugin {
    definition: Arc<Definition>,
    plugins: Plugins,
    limits: Limits,
    loading: Loading,
    place: Place,
    found: Arc<OnceLock<LibraryPlugin>>,
}

impl PluginFactory for FoundPlugin {
    fn open(
        &self,
        state: Option<Vec<u8>>,
        checks: CheckSink,
        mut unwanted: BoxFuture<()>,
    ) -> BoxFuture<Result<Arc<dyn PluginPort>, OpenFailure>> {
        if let Some(plugin) = self.found.get() {
            return plugin.open(state, checks, unwanted);
        }
        let (definition, limits, found) = (self.definition.clone(), self.limits, self.found.clone());
        let (plugins, place) = (self.plugins.clone(), self.place.clone());
        let turn = self.loading.turn(&definition.path);
        let finding = async move {
            let turn = turn.acquire_owned().await.expect("nobody closes it");
            let find = move || {
                let _turn = turn;
                find(&definition, &plugins)
            };
            tokio::task::spawn_blocking(find).await
        };
        Box::pin(async move {
            let found_or_late = tokio::select! {
                found_or_late = timeout(FOUND_WITHIN, finding) => found_or_late,
                // What is only looked for does nothing yet.
                () = &mut unwanted => {
                    let cause = Cause::new("source.open_cancelled", "the opening was called off");
                    return Err(OpenFailure { kind: OpenKind::Passing, cause });
                }
            };
            let (definition, library) = match found_or_late {
                Ok(Ok(outcome)) => outcome?,
                Ok(Err(panic)) => {
                    let cause = Cause::new("plugin.not_loaded", panic.to_string());
                    return Err(OpenFailure { kind: OpenKind::Panicked, cause });
                }
                Err(_elapsed) => {
                    let text = format!(
                        "the library is not found and loaded after {FOUND_WITHIN:?}; look at the folder it lies in, and restart the engine"
                    );
                    return Err(OpenFailure { kind: OpenKind::Hung, cause: Cause::new("plugin.hung", text) });
                }
            };
            let plugin = found.get_or_init(|| LibraryPlugin::new(definition, library, limits, place));
            plugin.open(state, checks, unwanted).await
        })
    }
}

/// Whose turn it is to have a library looked for. One at a time by `path`: a thousand sources of one library that is being loaded
/// need no thousand threads to wait for it.
#[derive(Clone, Default)]
struct Loading {
    turns: Arc<Mutex<BTreeMap<String, Arc<Semaphore>>>>,
}

impl Loading {
    fn turn(&self, path: &str) -> Arc<Semaphore> {
        // Nothing in these few lines can panic half way.
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.entry(path.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(1))).clone()
    }
}

/// The library, and the definition fitted to what it declares; what is worth a look goes to the log. Blocks, a minute at most.
pub(crate) fn find(
    definition: &Definition,
    plugins: &Plugins,
) -> Result<(Arc<Definition>, Arc<Library>), OpenFailure> {
    let (fitted, library, findings) = definition_check::fitted(definition, plugins).map_err(|unfit| {
        let kind = match &unfit {
            Unfit::NotYet(_) => OpenKind::Passing,
            Unfit::Refused(_) => OpenKind::Config,
        };
        OpenFailure { kind, cause: cause(&unfit.findings()) }
    })?;
    for finding in &findings {
        let (code, reason) = (finding.code, finding.summary());
        tracing::warn!(source = %definition.key, code, reason, "needs a look");
    }
    Ok((Arc::new(fitted), library))
}

/// The errors among these as one cause, by the code of the first.
fn cause(findings: &[Finding]) -> Cause {
    let errors: Vec<&Finding> = findings.iter().filter(|finding| finding.is_error()).collect();
    let code = errors.first().map_or("config.refused", |finding| finding.code);
    Cause::new(code, errors.iter().map(|finding| finding.summary()).collect::<Vec<_>>().join("; "))
}

/// Store and broker of one source. Both outlive every opening.
#[derive(Clone)]
struct Delivery {
    key: SourceKey,
    store: AnyStore,
    admin: Admin,
    broker: BrokerSettings,
    schema_ids: SchemaIds,
}

impl DeliveryFactory for Delivery {
    fn open(&self) -> BoxFuture<Result<OpenedDelivery, OpenFailure>> {
        let Delivery { key, store, admin, broker, schema_ids } = self.clone();
        Box::pin(async move {
            // First, because nothing has to be given back yet when a registry says no.
            let schema_ids = schema_ids.get().await?;
            let (lease, loaded) = store.open(&key).await?;
            let broker = KafkaBroker::new(admin, broker);
            let conditions = broker.conditions();
            Ok(OpenedDelivery {
                store: lease,
                broker: Arc::new(broker),
                life: loaded.life,
                number: loaded.number,
                state: loaded.state,
                conditions,
                schema_ids,
            })
        })
    }
}

/// What a person asked, beside the state file; a server keeps checkpoints only.
struct AskedFile {
    key: SourceKey,
    store: AnyStore,
}

impl AskedStore for AskedFile {
    fn load(&self) -> Result<Asked, Cause> {
        let asked = Handle::current().block_on(self.store.asked(&self.key)).map_err(|error| error.cause())?;
        Ok(match asked {
            pico_state::Asked::Running => Asked::Running,
            pico_state::Asked::Paused => Asked::Paused,
            pico_state::Asked::Stopped => Asked::Stopped,
        })
    }

    fn save(&self, asked: Asked) -> Result<(), Cause> {
        let asked = match asked {
            Asked::Running => pico_state::Asked::Running,
            Asked::Paused => pico_state::Asked::Paused,
            Asked::Stopped => pico_state::Asked::Stopped,
        };
        Handle::current().block_on(self.store.set_asked(&self.key, asked)).map_err(|error| error.cause())
    }
}

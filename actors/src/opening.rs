//! How store, broker and plugin of a source are opened together, and how they end.

use std::sync::Arc;
use std::time::Duration;

use pico_record::{Ceiling, RecordPath};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::cause::{Cause, OpenFailure, OpenKind};
use crate::ports::{BrokerPort, CheckSink, OpenedDelivery, PluginPort, StorePort};
use crate::source::SourceSpec;

/// An opening that is called off has five seconds, which the border counts; a plugin that cannot be told takes what it takes.
const CALLED_OFF_WITHIN: Duration = Duration::from_secs(6);

/// Everything an opening gave, before the actors stand.
pub(crate) struct Opened {
    pub(crate) delivery: OpenedDelivery,
    pub(crate) plugin: Arc<dyn PluginPort>,
    pub(crate) path: RecordPath,
    window: usize,
}

impl Opened {
    pub(crate) fn number(&self) -> u64 {
        self.delivery.number
    }

    pub(crate) fn window(&self) -> usize {
        self.window
    }
}

/// How an opening is called off, where the opened plugin's checks go, and what outlives it.
pub(crate) struct OpeningLink {
    pub(crate) signal: Arc<tokio::sync::Notify>,
    pub(crate) checks: CheckSink,
    pub(crate) ceiling: Ceiling,
}

/// Opens store, broker and plugin, in this order, unless called off.
pub(crate) async fn open(
    spec: &SourceSpec,
    lease: Option<Arc<dyn StorePort>>,
    is_paused: bool,
    limits: &pico_config::Limits,
    link: &OpeningLink,
) -> Result<Opened, OpenFailure> {
    if let Some(lease) = lease {
        lease.release().await;
    }
    let definition = &spec.definition;
    let mut path = RecordPath::new(&definition.topics, limits)
        .and_then(|path| path.with_errors(&definition.errors, definition.key.as_str(), link.ceiling.clone()))
        .and_then(|path| path.with_transforms(&definition.transforms))
        .map_err(|error| config_failure("config.rule", error.to_string()))?;
    let delivery = tokio::select! {
        opened = spec.delivery.open() => opened?,
        // What the store has under way is waited for by the next opening.
        () = link.signal.notified() => return Err(passing("source.open_cancelled", "the opening was called off")),
    };
    if let Err(error) = path.set_schema_ids(&definition.topics, &delivery.schema_ids) {
        give_back(&delivery).await;
        return Err(config_failure("config.rule", error.to_string()));
    }
    if delivery.state.is_some() && !is_paused {
        // It had records before, so it is expected to send at once: connect while the plugin opens.
        delivery.broker.warm();
    }
    let plugin = match open_plugin(spec, &delivery, link).await {
        Ok(plugin) => plugin,
        Err(failure) => {
            give_back(&delivery).await;
            return Err(failure);
        }
    };
    match window(spec, &delivery, plugin.as_ref()) {
        Ok(window) => Ok(Opened { delivery, plugin, path, window }),
        Err(failure) => {
            plugin.end(true).await;
            give_back(&delivery).await;
            Err(failure)
        }
    }
}

/// I4: one that is called off is waited for, so that the lease is held as long as its plugin may still do something.
async fn open_plugin(
    spec: &SourceSpec,
    delivery: &OpenedDelivery,
    link: &OpeningLink,
) -> Result<Arc<dyn PluginPort>, OpenFailure> {
    let (wanted, unwanted) = oneshot::channel::<()>();
    let unwanted = Box::pin(async move { drop(unwanted.await) });
    let mut opening = spec.plugin.open(delivery.state.clone(), link.checks.clone(), unwanted);
    tokio::select! {
        opened = &mut opening => return opened,
        () = link.signal.notified() => drop(wanted),
    }
    if let Ok(Ok(plugin)) = timeout(CALLED_OFF_WITHIN, opening).await {
        plugin.end(false).await;
    }
    Err(passing("source.open_cancelled", "the opening was called off"))
}

async fn give_back(delivery: &OpenedDelivery) {
    delivery.broker.close().await;
    delivery.store.release().await;
}

/// More than one batch in flight needs a plugin that declares it can, and a broker that keeps order on errors.
fn window(
    spec: &SourceSpec,
    delivery: &OpenedDelivery,
    plugin: &dyn PluginPort,
) -> Result<usize, OpenFailure> {
    let wanted = spec.definition.max_in_flight as usize;
    if wanted > 1 && !plugin.is_pipelined() {
        let message = format!(
            "max_in_flight = {wanted} needs a plugin that declares `pipelined`, and {} does not; remove the line",
            spec.definition.path
        );
        return Err(config_failure("plugin.not_pipelined", message));
    }
    let is_unordered = delivery.conditions.contains(&"unordered_on_error");
    Ok(if is_unordered { 1 } else { wanted })
}

fn config_failure(code: &'static str, message: String) -> OpenFailure {
    OpenFailure { kind: OpenKind::Config, cause: Cause::new(code, message) }
}

fn passing(code: &'static str, message: &str) -> OpenFailure {
    OpenFailure { kind: OpenKind::Passing, cause: Cause::new(code, message) }
}

/// Brings down an opening whose actors never stood.
pub(crate) async fn end_opened(opened: Opened, is_orderly: bool) -> bool {
    let Opened { delivery, plugin, .. } = opened;
    end_ports(plugin, delivery.broker, delivery.store, (is_orderly, false)).await
}

pub(crate) async fn end_ports(
    plugin: Arc<dyn PluginPort>,
    broker: Arc<dyn BrokerPort>,
    store: Arc<dyn StorePort>,
    (is_orderly, keeps_lease): (bool, bool),
) -> bool {
    let ((), is_leaked) = tokio::join!(broker.close(), plugin.end(is_orderly));
    if !keeps_lease {
        store.release().await;
    }
    is_leaked
}

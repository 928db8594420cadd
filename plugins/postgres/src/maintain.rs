//! What a person may ask of a source that is stopped: giving up its slot, and looking for what keeps it from running.

use picomq_connector_sdk::{Error as SourceError, OpenContext, doctor};
use serde_json::Value;

use crate::config::PostgresConfig;
use crate::debezium::offset;
use crate::state::{self, Saved};
use crate::stopped::Stopped;
use crate::{checkup, slot_drop};

/// Names a slot to be dropped, and what goes with it.
pub(crate) const SLOT_DROP: &str = "slot_drop";

/// Does it; `None` for a name that is not known.
pub(crate) async fn run(
    config: PostgresConfig,
    context: OpenContext,
    name: &str,
    arguments: Value,
) -> Result<Option<Value>, SourceError> {
    let settings = config.check(&context.key, &context.limits)?;
    let saved = match &context.state {
        None => Saved::Fresh,
        Some(state) => match offset::of_state(state) {
            Some(taken) => Saved::Debezium(taken?),
            None => state.decode(state::VERSION)?,
        },
    };
    let stopped = Stopped { key: context.key, mode: config.mode, settings, saved };
    match name {
        SLOT_DROP => slot_drop::run(&stopped, context.mode, arguments).await.map(Some),
        doctor::COMMAND => Ok(Some(checkup::run(&stopped).await)),
        _ => Ok(None),
    }
}

//! Commands for a source that has no instance.

use tokio::time::sleep;

use super::outcome::Outcome;
use super::panics::{Ended, caught, run as guarded};
use crate::ffi::abi::outcome;
use crate::ffi::{CHECK, COMMAND_TIMEOUT};
use crate::{Error, OpenContext, Source};

/// Reads settings and arguments, and lets the source do it.
pub(super) async fn run<S: Source>(
    config: String,
    context: OpenContext,
    name: String,
    arguments: String,
) -> Outcome {
    let config = match caught(|| super::config::read::<S::Config>(&config)) {
        Ok(Ok(config)) => config,
        Ok(Err(error)) => return error.into(),
        Err(text) => return Outcome::panicked(text),
    };
    if name == CHECK {
        return match caught(|| S::check(config, &context)) {
            Ok(Ok(())) => Outcome::Json("null".to_owned()),
            Ok(Err(error)) => error.into(),
            Err(text) => Outcome::panicked(text),
        };
    }
    let arguments = match serde_json::from_str(&arguments) {
        Ok(arguments) => arguments,
        Err(error) => return Error::config("the arguments are not JSON").with_cause(error).into(),
    };
    match guarded(S::maintain(config, context, &name, arguments), sleep(COMMAND_TIMEOUT)).await {
        Ended::Returned(Ok(Some(answer))) => Outcome::Json(answer.to_string()),
        Ended::Returned(Ok(None)) => Outcome::Failed(
            outcome::UNKNOWN,
            format!("source {} has no command `{name}` while it is stopped", S::NAME),
        ),
        Ended::Returned(Err(error)) => error.into(),
        Ended::Panicked(text) => Outcome::panicked(text),
        Ended::Dropped => {
            Outcome::Failed(outcome::TIMED_OUT, format!("no answer to `{name}` after {COMMAND_TIMEOUT:?}"))
        }
    }
}

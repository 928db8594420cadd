//! Showing a saved state to people, and the answers of commands.

use std::sync::Arc;

use tokio::sync::oneshot::error::RecvError;

use super::calls::{Filed, HOST, expect_one};
use super::error::CommandError;
use super::library::Library;
use crate::ffi::abi::{RawBytes, outcome};

impl Library {
    /// Starts describing a saved state as JSON. Needs no instance.
    ///
    /// # Errors
    /// [`CommandError::Failed`] when the plugin cannot read it.
    pub fn describe_state(
        self: &Arc<Self>,
        state: &[u8],
    ) -> impl Future<Output = Result<String, CommandError>> + Send + use<> {
        let started = self.calls.describe_state.map(|describe| {
            let (token, answer) = expect_one(self.number());
            // SAFETY: the host table is static, the state outlives the call, and the token is new.
            unsafe { describe(&raw const HOST, RawBytes::of(state), token) };
            answer
        });
        async move {
            match started {
                None => Err(CommandError::Unknown("this plugin does not describe its state".to_owned())),
                Some(answer) => answered(answer.await),
            }
        }
    }
}

/// The JSON of an answer, or why there is none.
pub(super) fn answered(filed: Result<Filed, RecvError>) -> Result<String, CommandError> {
    let filed = filed.map_err(|_| CommandError::Panicked("the plugin lost the call".to_owned()))?;
    match filed.kind {
        outcome::DONE => Ok(filed.text),
        outcome::UNKNOWN => Err(CommandError::Unknown(filed.text)),
        outcome::PANICKED => Err(CommandError::Panicked(filed.text)),
        _ => Err(CommandError::Failed(filed.text)),
    }
}

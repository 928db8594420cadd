//! Showing a saved state to people, and the answers of commands.

use std::sync::Arc;

use tokio::time::timeout;

use super::calls::{HOST, SinkSlot, answered, expect_one};
use super::error::CommandError;
use super::library::Library;
use super::open::OpenRequest;
use crate::ffi::abi::RawBytes;
use crate::ffi::{CHECK, COMMAND_TIMEOUT, GRACE};

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

impl Library {
    /// Starts a command for a source that has no instance: JSON in and out. [`Mode::Inspect`](crate::Mode::Inspect) only
    /// looks and may run beside an instance; with `Run` the caller keeps everybody else from the source.
    ///
    /// # Errors
    /// [`CommandError::Unknown`] for a name the source does not know. Within a minute and five seconds, always.
    pub fn maintain(
        self: &Arc<Self>,
        request: OpenRequest,
        name: &str,
        arguments_json: &str,
    ) -> impl Future<Output = Result<String, CommandError>> + Send + use<> {
        let sink = SinkSlot::new(Arc::clone(&request.host));
        let started = self.calls.maintain.map(|maintain| {
            let raw = super::open::raw(&request, sink.0);
            let (token, answer) = expect_one(self.number());
            let (name, arguments) = (name.as_bytes(), arguments_json.as_bytes());
            // SAFETY: `raw`, what it borrows and both texts outlive the call; the host table is static, the token new.
            unsafe { maintain(&raw, RawBytes::of(name), RawBytes::of(arguments), token) };
            answer
        });
        async move {
            // What the source logs while it works finds its way.
            let _sink = sink;
            let Some(answer) = started else {
                return Err(CommandError::Unknown(
                    "this plugin has no commands while it is stopped".to_owned(),
                ));
            };
            match timeout(COMMAND_TIMEOUT + GRACE, answer).await {
                Ok(filed) => answered(filed),
                Err(_) => Err(CommandError::Failed(super::error::hung("maintain", GRACE))),
            }
        }
    }
}

impl Library {
    /// Starts holding the settings of `request` against what the plugin takes, without an instance and without anybody
    /// outside being asked.
    ///
    /// # Errors
    /// [`CommandError::Failed`]: what is wrong with them. A plugin that cannot say finds nothing.
    pub fn check(
        self: &Arc<Self>,
        request: OpenRequest,
    ) -> impl Future<Output = Result<(), CommandError>> + Send + use<> {
        let answer = self.maintain(request, CHECK, "null");
        async move {
            match answer.await {
                Ok(_) | Err(CommandError::Unknown(_)) => Ok(()),
                Err(error) => Err(error),
            }
        }
    }
}

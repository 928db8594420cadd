//! What is asked of a source beside its lifecycle: a look at its records, a command of its plugin.

use std::sync::Arc;

use ractor::RpcReplyPort;

use crate::command::AskError;
use crate::tap::Tap;

/// Asked of the supervisor, which answers at once or lets the plugin answer.
pub(crate) enum Ask {
    /// Where records of the source can be looked at.
    Tap(RpcReplyPort<Result<Arc<Tap>, AskError>>),
    /// A command of the plugin.
    Plugin {
        /// Which.
        name: String,
        /// JSON.
        arguments: String,
        /// JSON comes back.
        reply: RpcReplyPort<Result<String, AskError>>,
    },
}

impl Ask {
    /// Answers that it cannot be.
    pub(crate) fn refuse(self, error: AskError) {
        match self {
            Ask::Tap(reply) => reply.send(Err(error)).ok(),
            Ask::Plugin { reply, .. } => reply.send(Err(error)).ok(),
        };
    }
}

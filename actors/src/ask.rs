//! What is asked of a source beside its lifecycle: a look at its records, a command of its plugin.

use std::sync::Arc;

use ractor::RpcReplyPort;

use crate::handle::CommandError;
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

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// The source cannot be asked anything.
    #[error(transparent)]
    Source(#[from] CommandError),
    /// The plugin is not open now.
    #[error("the plugin of this source is not open")]
    NotOpen,
    /// The plugin knows no such command.
    #[error("{0}")]
    Unknown(String),
    /// The plugin took the command and failed.
    #[error("{0}")]
    Failed(String),
    /// No answer in time.
    #[error("the plugin did not answer in time")]
    Silent,
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

//! Questions beside the lifecycle: they are answered at once, or handed to the plugin.

use super::SupervisorState;
use crate::ask::Ask;
use crate::command::AskError;

impl SupervisorState {
    pub(super) fn ask(&mut self, ask: Ask) {
        match ask {
            Ask::Tap(reply) => {
                reply.send(Ok(self.handle.shared_tap())).ok();
            }
            Ask::Plugin { name, arguments, reply } => {
                let Some(tree) = &self.tree else {
                    reply.send(Err(AskError::NotOpen)).ok();
                    return;
                };
                tracing::info!(name, "command of the plugin");
                let call = tree.command(&name, &arguments);
                self.timers.spawn(async move {
                    reply.send(call.await).ok();
                });
            }
        }
    }
}

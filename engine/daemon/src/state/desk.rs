//! Looking at the state of one source and changing it: the same for a daemon and for the command line without one.

use pico_config::SourceKey;
use pico_state::{AnyStore, Saved, StateError};

use super::document::{Change, Document, Summary, Wanted};
use super::plugin::Reader;
use super::trouble::Trouble;

/// One source's state and the plugin that understands it.
pub(crate) struct Desk {
    key: SourceKey,
    store: AnyStore,
    /// None: no definition has this key any more, so nobody can say what its state means.
    reader: Option<Reader>,
}

impl Desk {
    pub(crate) fn new(key: SourceKey, store: AnyStore, reader: Option<Reader>) -> Desk {
        Desk { key, store, reader }
    }

    pub(crate) fn key(&self) -> &SourceKey {
        &self.key
    }

    /// What is saved now.
    pub(crate) async fn look(&self) -> Result<Document, Trouble> {
        let Saved { number, state } = self.store.read(&self.key).await?;
        let saved = match state {
            None => None,
            Some(state) => Some((self.summary(number, &state).await, state)),
        };
        Ok(Document::new(&self.key, self.store.shown(), saved))
    }

    /// What the change would do. The plugin has looked at what would come; nothing was changed.
    pub(crate) async fn weigh(&self, wanted: &Wanted) -> Result<Change, Trouble> {
        let now = match self.store.read(&self.key).await {
            Ok(Saved { state: None, .. }) => None,
            Ok(Saved { number, state: Some(state) }) => Some(self.summary(number, &state).await),
            // A person is here to put something else in its place.
            Err(error @ (StateError::Unreadable { .. } | StateError::ServerState { .. })) => {
                Some(Summary { bytes: None, number: None, described: None, note: Some(error.to_string()) })
            }
            Err(error) => return Err(error.into()),
        };
        let then = match wanted {
            Wanted::Nothing => None,
            Wanted::State(state) => {
                self.accepted(state).await?;
                Some(self.summary(None, state).await)
            }
        };
        let means = means(now.is_some(), then.is_some());
        Ok(Change { key: self.key.as_str().to_owned(), now, then, means: means.to_owned() })
    }

    /// Makes the change, durably.
    pub(crate) async fn carry_out(&self, wanted: Wanted) -> Result<(), Trouble> {
        let state = match wanted {
            Wanted::State(state) => Some(state),
            Wanted::Nothing => None,
        };
        let bytes = state.as_ref().map(Vec::len);
        self.store.replace(&self.key, state).await?;
        tracing::warn!(source = self.key.as_str(), bytes, "a person replaced the saved state");
        Ok(())
    }

    async fn accepted(&self, state: &[u8]) -> Result<(), Trouble> {
        let reader = self.reader.as_ref().ok_or_else(|| {
            Trouble::Plugin("no definition has this key, so no plugin can look at it".to_owned())
        })?;
        reader.accepts(state.to_vec()).await.map_err(Trouble::Plugin)
    }

    async fn summary(&self, number: Option<u64>, state: &[u8]) -> Summary {
        let described = match &self.reader {
            Some(reader) => reader.describe(state).await,
            None => Err("no definition has this key, so no plugin can describe it".to_owned()),
        };
        let (described, note) = match described {
            Ok(described) => (Some(described), None),
            Err(why) => (None, Some(why)),
        };
        Summary { bytes: Some(state.len()), number, described, note }
    }
}

/// What will repeat or be skipped, as far as anybody can say who is not the plugin.
fn means(has_now: bool, has_then: bool) -> &'static str {
    match (has_now, has_then) {
        (false, false) => "nothing is saved, so nothing changes",
        (false, true) => {
            "the source goes on from this state instead of its beginning: what lies before it is not sent"
        }
        (true, false) => {
            "the source begins afresh: what it sent before is sent again, as far as its upstream still has it"
        }
        (true, true) => {
            "the source goes on from the new state: what lies between the two is sent again if the new one is older, \
             and never sent if it is newer"
        }
    }
}

//! The state: how far posts were delivered, and the names of the last ones.

use picomq_connector_sdk::Error;
use serde::{Deserialize, Serialize};

use crate::gate::Taken;
use crate::replays::{DIGEST_CHARACTERS, Digest};

/// Raised when [`Position`] changes its meaning.
pub(crate) const STATE_VERSION: u32 = 1;

/// Names that are kept at most. A delivery that was saved but not answered when the process died is known by them.
const RECENT_MAX: usize = 2_000;

/// Everything before `next` is delivered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Position {
    /// The number of the next post.
    pub(crate) next: u64,
    /// Whether that is a number of a spool, which must then be there.
    pub(crate) is_spooled: bool,
    /// The digests of the newest delivered posts that have a name, oldest first.
    recent: String,
}

impl Position {
    /// After a batch from memory.
    pub(crate) fn delivered(self, taken: &Taken) -> Position {
        let mut recent = self.recent;
        taken.digests.iter().for_each(|digest| digest.write(&mut recent));
        let too_many = recent.len().saturating_sub(RECENT_MAX * DIGEST_CHARACTERS);
        recent.drain(..too_many);
        Position { next: taken.next, is_spooled: false, recent }
    }

    /// After a batch from the spool, which knows the names itself.
    pub(crate) fn spooled(self, next: u64) -> Position {
        Position { next, is_spooled: true, recent: String::new() }
    }

    /// The names it keeps.
    ///
    /// # Errors
    /// [`Error::State`] when they are damaged.
    pub(crate) fn digests(&self) -> Result<Vec<Digest>, Error> {
        Digest::read_all(&self.recent)
            .ok_or_else(|| Error::state("the names of deliveries in the state are damaged"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_the_newest_names_and_no_more() {
        let digest = |number: usize| Digest::of("/", &number.to_string());
        let mut position = Position::default();
        for first in (0..RECENT_MAX + 500).step_by(250) {
            let taken =
                Taken { next: first as u64 + 250, digests: (first..first + 250).map(digest).collect() };
            position = position.delivered(&taken);
        }
        let right: Vec<Digest> = (500..RECENT_MAX + 500).map(digest).collect();
        assert_eq!(position.digests().unwrap(), right);
    }

    #[test]
    fn damaged_names_are_a_damaged_state() {
        let position = Position { recent: "x".to_owned(), ..Position::default() };
        assert!(matches!(position.digests(), Err(Error::State(_))));
    }
}

//! What a new set of definitions changes about the running one: a pure function of both.

use std::collections::HashMap;

use pico_config::Definition;

/// One entry of either set, as far as the difference depends on it.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    /// Its key, as written.
    pub key: &'a str,
    /// The definition; `None` for a file that is none.
    pub definition: Option<&'a Definition>,
    /// Its last reload failed, so that even an equal definition is tried again. Of the running set only.
    pub has_failed: bool,
}

impl Item<'_> {
    fn folded(&self) -> String {
        self.key.to_ascii_lowercase()
    }
}

/// What becomes of one entry. Indices are those of the running and of the wanted set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing runs under this key: it is started, or listed if it is switched off or no definition.
    Start {
        /// In the wanted set.
        wanted: usize,
    },
    /// No longer wanted: drained, then forgotten. Its state stays.
    Stop {
        /// In the running set.
        running: usize,
    },
    /// Changed: reloaded after its verdicts, in the same supervisor.
    Reload {
        /// In the running set.
        running: usize,
        /// In the wanted set.
        wanted: usize,
    },
    /// Switched on or off, mended, or its key is written otherwise: what was there ends first (I4).
    Replace {
        /// In the running set.
        running: usize,
        /// In the wanted set.
        wanted: usize,
    },
    /// The file is no definition now: what came of it before runs on.
    Refuse {
        /// In the running set.
        running: usize,
        /// In the wanted set.
        wanted: usize,
    },
    /// Equal: untouched.
    Leave {
        /// In the running set.
        running: usize,
        /// In the wanted set.
        wanted: usize,
    },
}

/// The steps from `running` to `wanted`: first what ends, then the wanted ones in their order. Keys of the wanted set are
/// unique, ignoring case.
pub fn difference(running: &[Item<'_>], wanted: &[Item<'_>]) -> Vec<Step> {
    let (at, kept) = (by_key(running), by_key(wanted));
    // Of two bad files with one key, which only a start lists under it, one is forgotten here.
    let is_held = |index: usize, held: &Item<'_>| at.get(&held.folded()) == Some(&index);
    let gone = running
        .iter()
        .enumerate()
        .filter(|(index, held)| !kept.contains_key(&held.folded()) || !is_held(*index, held));
    let mut steps: Vec<Step> = gone.map(|(running, _)| Step::Stop { running }).collect();
    for (index, item) in wanted.iter().enumerate() {
        steps.push(match at.get(&item.folded()) {
            None => Step::Start { wanted: index },
            Some(held) => step(&running[*held], item, (*held, index)),
        });
    }
    steps
}

fn by_key(items: &[Item<'_>]) -> HashMap<String, usize> {
    items.iter().enumerate().map(|(index, item)| (item.folded(), index)).collect()
}

fn step(held: &Item<'_>, item: &Item<'_>, (running, wanted): (usize, usize)) -> Step {
    match (held.definition, item.definition) {
        (Some(_), None) => Step::Refuse { running, wanted },
        (None, _) => Step::Replace { running, wanted },
        (Some(old), Some(new)) if old == new && !held.has_failed => Step::Leave { running, wanted },
        // Both keys name one state file where case is ignored, so the one ends before the other begins.
        (Some(old), Some(new)) if old.enabled && new.enabled && old.key == new.key => {
            Step::Reload { running, wanted }
        }
        (Some(_), Some(_)) => Step::Replace { running, wanted },
    }
}

#[cfg(test)]
mod tests;

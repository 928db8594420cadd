//! The contract of a state server, as a value: what is there, under which tag, and what each key was answered with.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

/// Keys that are remembered for each resource. A client has one save under way, so a few would do.
const KEYS_MAX: usize = 100;

/// What tags the server gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tags {
    /// As the contract asks.
    #[default]
    Strong,
    /// `W/"…"`: conditions cannot rest on them.
    Weak,
    /// None at all.
    Missing,
}

/// What a request demands of the resource.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Condition {
    /// Anything.
    #[default]
    None,
    /// `If-None-Match: *`.
    Absent,
    /// `If-Match`, quotes included.
    Is(String),
}

/// A save.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Save {
    /// Path of the resource.
    pub path: String,
    /// What must hold.
    pub condition: Condition,
    /// `Idempotency-Key`, where there is one.
    pub key: Option<String>,
    /// What to keep.
    pub state: Bytes,
}

/// What is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Rises with each save.
    pub version: u64,
    /// What was saved.
    pub state: Bytes,
}

/// What a save is answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// 200; the version that was made by this save, then or now.
    Saved(u64),
    /// 412.
    Refused,
}

/// Everything the server keeps.
#[derive(Debug, Default)]
pub struct Shelf {
    /// Kept when a resource is removed, so that no version is given twice.
    version: u64,
    entries: BTreeMap<String, Entry>,
    answers: BTreeMap<String, VecDeque<(String, u64)>>,
    /// Versions in the order in which they were made, with what they hold.
    history: Vec<(String, Entry)>,
    /// A server that forgets its keys at once breaks the contract.
    pub forgets_keys: bool,
}

impl Shelf {
    /// What is at `path`.
    pub fn get(&self, path: &str) -> Option<&Entry> {
        self.entries.get(path)
    }

    /// All that was ever saved at `path`, oldest first.
    pub fn history(&self, path: &str) -> Vec<Entry> {
        self.history.iter().filter(|(at, _)| at == path).map(|(_, entry)| entry.clone()).collect()
    }

    /// Saves, unless it did so before under this key, or the condition does not hold.
    pub fn save(&mut self, save: &Save) -> Reply {
        if let Some(version) = save.key.as_ref().and_then(|key| self.answered(&save.path, key)) {
            return Reply::Saved(version);
        }
        if !self.holds(&save.path, &save.condition) {
            return Reply::Refused;
        }
        let version = self.put(&save.path, save.state.clone());
        if let Some(key) = save.key.clone().filter(|_| !self.forgets_keys) {
            let answers = self.answers.entry(save.path.clone()).or_default();
            answers.push_back((key, version));
            if answers.len() > KEYS_MAX {
                answers.pop_front();
            }
        }
        Reply::Saved(version)
    }

    /// Puts `state` there whatever is there now: what another writer does. Returns its version.
    pub fn put(&mut self, path: &str, state: Bytes) -> u64 {
        self.version += 1;
        let entry = Entry { version: self.version, state };
        self.history.push((path.to_owned(), entry.clone()));
        self.entries.insert(path.to_owned(), entry);
        self.version
    }

    /// Removes what is there; false when the condition does not hold.
    pub fn remove(&mut self, path: &str, condition: &Condition) -> bool {
        let holds = self.holds(path, condition);
        if holds {
            self.entries.remove(path);
        }
        holds
    }

    fn answered(&self, path: &str, key: &str) -> Option<u64> {
        self.answers.get(path)?.iter().find(|(known, _)| known == key).map(|(_, version)| *version)
    }

    fn holds(&self, path: &str, condition: &Condition) -> bool {
        let there = self.get(path);
        match condition {
            Condition::None => true,
            Condition::Absent => there.is_none(),
            Condition::Is(tag) => there.is_some_and(|entry| *tag == strong(entry.version)),
        }
    }
}

/// The strong tag of a version.
pub fn strong(version: u64) -> String {
    format!("\"{version}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn save(condition: Condition, key: &str, state: &'static str) -> Save {
        let (path, key, state) =
            ("/a".to_owned(), Some(key.to_owned()), Bytes::from_static(state.as_bytes()));
        Save { path, condition, key, state }
    }

    #[test]
    fn a_repeated_key_is_answered_as_the_first_time_and_changes_nothing() {
        let mut shelf = Shelf::default();
        assert_eq!(shelf.save(&save(Condition::Absent, "1", "a")), Reply::Saved(1));
        assert_eq!(shelf.save(&save(Condition::Is(strong(1)), "2", "b")), Reply::Saved(2));

        assert_eq!(shelf.save(&save(Condition::Absent, "1", "a")), Reply::Saved(1));

        assert_eq!(shelf.get("/a").map(|entry| entry.state.clone()), Some(Bytes::from_static(b"b")));
        assert_eq!(shelf.history("/a").len(), 2);
    }

    #[test]
    fn a_condition_that_does_not_hold_is_refused_now_and_when_it_comes_again() {
        let mut shelf = Shelf::default();
        shelf.put("/a", Bytes::new());
        for condition in [Condition::Absent, Condition::Is(strong(9))] {
            for _ in 0..2 {
                assert_eq!(shelf.save(&save(condition.clone(), "k", "x")), Reply::Refused);
            }
        }
        assert!(!shelf.remove("/a", &Condition::Is(strong(9))));
        assert!(shelf.remove("/a", &Condition::Is(strong(1))));
        assert_eq!(shelf.put("/a", Bytes::new()), 2, "no version is given twice");
    }
}

//! What a client of a state server may not do, told from what it sends.

use std::collections::BTreeMap;

use crate::shelf::Save;

/// What was seen of one resource.
#[derive(Debug, Default)]
struct Seen {
    /// The save whose outcome its client cannot know.
    unsettled: Option<String>,
    /// The request of each key.
    requests: BTreeMap<String, Save>,
}

/// Watches the saves and loads of one client process.
#[derive(Debug, Default)]
pub struct Judge {
    seen: BTreeMap<String, Seen>,
    faults: Vec<String>,
}

impl Judge {
    /// A save arrived.
    pub fn saving(&mut self, save: &Save) {
        let Some(key) = save.key.clone() else {
            return self.faults.push(format!("{}: a save without an Idempotency-Key", save.path));
        };
        let seen = self.seen.entry(save.path.clone()).or_default();
        let first = seen.requests.entry(key.clone()).or_insert_with(|| save.clone());
        if first != save {
            self.faults
                .push(format!("{}: {key} came again with other bytes or another condition", save.path));
        }
        if let Some(unsettled) = seen.unsettled.as_ref().filter(|unsettled| **unsettled != key) {
            self.faults
                .push(format!("{}: {key} was sent before the outcome of {unsettled} was known", save.path));
        }
    }

    /// It was answered, or cannot be known by its client to have been.
    pub fn answered(&mut self, save: &Save, is_definite: bool) {
        let seen = self.seen.entry(save.path.clone()).or_default();
        seen.unsettled = save.key.clone().filter(|_| !is_definite);
    }

    /// A load arrived.
    pub fn loading(&mut self, path: &str) {
        if let Some(unsettled) = self.seen.get(path).and_then(|seen| seen.unsettled.as_ref()) {
            self.faults.push(format!("{path}: loaded before the outcome of {unsettled} was known"));
        }
    }

    /// The client was killed: the next one knows nothing of what it left.
    pub fn client_is_new(&mut self) {
        self.seen.clear();
    }

    /// Everything that was done wrong so far.
    pub fn faults(&self) -> &[String] {
        &self.faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shelf::Condition;

    fn save(key: &str, state: &'static [u8]) -> Save {
        let (path, key) = ("/a".to_owned(), Some(key.to_owned()));
        Save { path, condition: Condition::None, key, state: state.into() }
    }

    #[test]
    fn a_newer_save_or_a_load_before_the_outcome_is_known_is_a_fault() {
        let mut judge = Judge::default();
        judge.saving(&save("1", b"x"));
        judge.answered(&save("1", b"x"), false);
        judge.saving(&save("1", b"x"));
        assert!(judge.faults().is_empty(), "the same request may come again");

        judge.saving(&save("2", b"y"));
        judge.loading("/a");
        assert_eq!(judge.faults().len(), 2, "{:?}", judge.faults());

        let mut settled = Judge::default();
        settled.saving(&save("1", b"x"));
        settled.answered(&save("1", b"x"), true);
        settled.saving(&save("2", b"y"));
        settled.loading("/a");
        assert!(settled.faults().is_empty());
    }

    #[test]
    fn other_bytes_under_one_key_and_no_key_are_faults() {
        let mut judge = Judge::default();
        judge.saving(&save("1", b"x"));
        judge.saving(&save("1", b"y"));
        judge.saving(&Save { key: None, ..save("", b"z") });
        assert_eq!(judge.faults().len(), 2);
    }
}

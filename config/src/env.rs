//! The process environment as a value, read once, so that loading is a function of its inputs.

use std::collections::BTreeMap;
use std::fmt;

/// Variables by name. Its Debug shows names only: values may be secrets.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Env(BTreeMap<String, String>);

impl Env {
    /// The variables of this process. One that is not UTF-8 is left out: nothing we read can be.
    pub fn from_process() -> Env {
        let pairs = std::env::vars_os();
        Env(pairs
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect())
    }

    /// These variables and no others.
    pub fn from_pairs<N: Into<String>, V: Into<String>>(pairs: impl IntoIterator<Item = (N, V)>) -> Env {
        Env(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }

    /// The value, also when it is empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Variables whose name begins with `prefix`, in order of name.
    pub(crate) fn with_prefix<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let pairs = self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        pairs.filter(move |(name, _)| name.starts_with(prefix))
    }
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

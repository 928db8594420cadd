//! The process environment as a value, read once, so that loading is a function of its inputs.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;

/// Variables by name. Its Debug shows names only: values may be secrets.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Env {
    texts: BTreeMap<String, String>,
    /// Names of variables whose value is not UTF-8.
    unreadable: BTreeSet<String>,
}

impl Env {
    /// The variables of this process.
    pub fn from_process() -> Env {
        Env::from_os(std::env::vars_os())
    }

    /// A name that is not UTF-8 is none of ours; a value that is not is remembered, so that it can be reported.
    fn from_os(pairs: impl Iterator<Item = (OsString, OsString)>) -> Env {
        let mut env = Env::default();
        for (name, value) in pairs {
            let Ok(name) = name.into_string() else { continue };
            match value.into_string() {
                Ok(value) => _ = env.texts.insert(name, value),
                Err(_) => _ = env.unreadable.insert(name),
            }
        }
        env
    }

    /// These variables and no others.
    pub fn from_pairs<N: Into<String>, V: Into<String>>(pairs: impl IntoIterator<Item = (N, V)>) -> Env {
        let texts = pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Env { texts, unreadable: BTreeSet::new() }
    }

    /// The value, also when it is empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }

    /// Whether the variable is there with a value that is no text.
    pub(crate) fn is_unreadable(&self, name: &str) -> bool {
        self.unreadable.contains(name)
    }

    /// Names of such variables that begin with `prefix`.
    pub(crate) fn unreadable_with_prefix<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a str> {
        self.unreadable.iter().map(String::as_str).filter(move |name| name.starts_with(prefix))
    }

    /// Variables whose name begins with `prefix`, in order of name.
    pub(crate) fn with_prefix<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let pairs = self.texts.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        pairs.filter(move |(name, _)| name.starts_with(prefix))
    }
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.texts.keys().chain(&self.unreadable)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_names_only() {
        let env = Env::from_pairs([("NAME", "hunter2")]);
        assert_eq!(format!("{env:?}"), "{\"NAME\"}");
    }

    #[cfg(unix)]
    #[test]
    fn a_value_that_is_no_text_is_remembered_by_name() {
        use std::os::unix::ffi::OsStringExt;

        let pairs = [("A".into(), "x".into()), ("B".into(), OsString::from_vec(vec![0xff]))];
        let env = Env::from_os(pairs.into_iter());
        assert_eq!((env.get("A"), env.get("B")), (Some("x"), None));
        assert!(env.is_unreadable("B") && !env.is_unreadable("A"));
    }
}

//! A definition as its file writes it: before variables and references, for people, for plans and for the API.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::plugin_config::{HIDDEN, shown_map};
use crate::reference;
use crate::tree::{Node, to_json};

/// The members of a file. Its Debug shows no value: a secret may stand in it as plain text.
#[derive(Clone, Default)]
pub struct Written(Arc<Map<String, Value>>);

/// One value that two files write differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// In the file's own terms: `topics[0].batch_length`.
    pub path: String,
    /// `None`: not written.
    pub from: Option<Value>,
    /// `None`: not written.
    pub to: Option<Value>,
}

impl Written {
    /// A number that JSON has not (`nan`) leaves nothing; such a file has its finding.
    pub(crate) fn of(root: &Node) -> Written {
        match to_json(root) {
            Some(Value::Object(members)) => Written(Arc::new(members)),
            Some(_) | None => Written::default(),
        }
    }

    /// For people: references stay references, values of secret-sounding names and texts with a password are `***`.
    /// `is_secret` adds what a plugin's own schema says, by the path of a value below `plugin_config`.
    pub fn shown(&self, is_secret: &dyn Fn(&str) -> bool) -> Map<String, Value> {
        let below = |path: &str| path.strip_prefix("plugin_config.").is_some_and(is_secret);
        shown_map(&self.0, "", &below)
    }

    /// Everything as written, plain secrets included. For comparing and hashing, never for a message.
    pub fn expose_json(&self) -> String {
        serde_json::to_string(&*self.0).expect("a JSON map with text keys always prints")
    }

    /// What `other` writes differently, in the order of this file, then of the other; secrets as `***` on both sides.
    pub fn differences(&self, other: &Written, is_secret: &dyn Fn(&str) -> bool) -> Vec<Difference> {
        let (old, new) = (leaves(&self.0), leaves(&other.0));
        let (old_shown, new_shown) = (leaves(&self.shown(is_secret)), leaves(&other.shown(is_secret)));
        let value = |leaves: &[(String, Value)], path: &str| {
            leaves.iter().find(|(name, _)| name == path).map(|(_, value)| value.clone())
        };
        // What is hidden as a whole has no leaves of its own, and no value to show.
        let shown = |shown: &[(String, Value)], plain: &Option<Value>, path: &str| {
            plain.as_ref().map(|_| value(shown, path).unwrap_or_else(|| Value::String(HIDDEN.to_owned())))
        };
        let mut paths: Vec<&String> = old.iter().map(|(path, _)| path).collect();
        paths.extend(new.iter().map(|(path, _)| path).filter(|path| value(&old, path).is_none()));
        let mut differences = Vec::new();
        for path in paths {
            let (from, to) = (value(&old, path), value(&new, path));
            if from != to {
                let (from, to) = (shown(&old_shown, &from, path), shown(&new_shown, &to, path));
                differences.push(Difference { path: path.clone(), from, to });
            }
        }
        differences
    }

    /// Every value that is no table and no list, with its path; plain secrets included, for comparing only.
    pub fn values(&self) -> Vec<(String, Value)> {
        leaves(&self.0)
    }

    /// What was sent, with the value of this file wherever `***` stands in it for one that was not shown.
    ///
    /// # Errors
    /// The path of a `***` for which this file holds nothing.
    pub fn fill_hidden(&self, sent: Map<String, Value>) -> Result<Map<String, Value>, String> {
        let mut sent = Value::Object(sent);
        fill(&mut sent, Some(&Value::Object((*self.0).clone())), "")?;
        match sent {
            Value::Object(members) => Ok(members),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Ok(Map::new())
            }
        }
    }

    /// Every text that holds a reference.
    pub fn references(&self) -> BTreeSet<String> {
        let texts = leaves(&self.0).into_iter().filter_map(|(_, value)| match value {
            Value::String(text) if reference::has_reference(&text) => Some(text),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
            Value::Array(_) | Value::Object(_) => None,
        });
        texts.collect()
    }

    /// The files that its references name.
    pub fn referenced_files(&self) -> BTreeSet<PathBuf> {
        self.references().iter().flat_map(|text| reference::files(text)).collect()
    }
}

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Written({} members, values redacted)", self.0.len())
    }
}

/// Nulls are left out on the way: TOML has none.
fn fill(sent: &mut Value, held: Option<&Value>, path: &str) -> Result<(), String> {
    match sent {
        Value::String(text) if text == HIDDEN => {
            *sent = held.cloned().ok_or_else(|| path.to_owned())?;
            Ok(())
        }
        Value::Object(members) => {
            members.retain(|_, value| !value.is_null());
            members.iter_mut().try_for_each(|(name, value)| {
                let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                fill(value, held.and_then(|held| held.get(name)), &below)
            })
        }
        Value::Array(items) => items.iter_mut().enumerate().try_for_each(|(index, item)| {
            fill(item, held.and_then(|held| held.get(index)), &format!("{path}[{index}]"))
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// Every value that is no table and no list, and the empty ones of these, with its path.
fn leaves(members: &Map<String, Value>) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (name, value) in members {
        collect(name.clone(), value, &mut found);
    }
    found
}

fn collect(path: String, value: &Value, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, value) in members {
                collect(format!("{path}.{name}"), value, found);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, value) in items.iter().enumerate() {
                collect(format!("{path}[{index}]"), value, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            found.push((path, value.clone()))
        }
        Value::Array(_) | Value::Object(_) => found.push((path, value.clone())),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::document::Document;

    fn written(text: &str) -> Written {
        Written::of(&Document::parse(Path::new("a.toml"), text).root)
    }

    #[test]
    fn differences_name_each_value_and_hide_secrets() {
        let old = written(
            "name = \"a\"\n[[topics]]\nbatch_length = 1000\n[plugin_config]\npassword = \"hunter2\"\npin = 1\n",
        );
        let new = written(
            "[[topics]]\nbatch_length = 500\n[[topics]]\ntopic = \"b\"\n[plugin_config]\npassword = \"hunter3\"\npin = 2\n",
        );

        let differences = old.differences(&new, &|path| path == "pin");

        let shown: Vec<(&str, Value, Value)> = differences
            .iter()
            .map(|it| (it.path.as_str(), it.from.clone().into(), it.to.clone().into()))
            .collect();
        assert_eq!(
            shown,
            [
                ("name", json!("a"), Value::Null),
                ("topics[0].batch_length", json!(1000), json!(500)),
                ("plugin_config.password", json!("***"), json!("***")),
                ("plugin_config.pin", json!("***"), json!("***")),
                ("topics[1].topic", Value::Null, json!("b")),
            ]
        );
    }

    #[test]
    fn files_of_references_are_found_wherever_they_stand_and_escaped_ones_are_not() {
        let written = written(
            "a = \"x${file:/run/a}y${file:/run/b}\"\nb = [{ c = \"${env:X}\" }, \"$${file:/run/c}\"]\n",
        );
        assert_eq!(written.referenced_files(), [PathBuf::from("/run/a"), "/run/b".into()].into());
        assert_eq!(written.references().len(), 3);
    }

    #[test]
    fn what_was_not_shown_comes_back_as_it_was() {
        let held = written("[plugin_config]\npassword = \"hunter2\"\nurl = \"pg://u:hunter2@h\"\n");
        let sent = Map::from_iter([(
            "plugin_config".to_owned(),
            json!({"password": "***", "url": "***", "x": null}),
        )]);
        let filled = held.fill_hidden(sent).unwrap();
        assert_eq!(filled["plugin_config"], json!({"password": "hunter2", "url": "pg://u:hunter2@h"}));
        let sent = Map::from_iter([("plugin_config".to_owned(), json!({"token": "***"}))]);
        assert_eq!(held.fill_hidden(sent), Err("plugin_config.token".to_owned()));
    }

    #[test]
    fn debug_shows_no_value() {
        assert_eq!(
            format!("{:?}", written("password = \"hunter2\"\n")),
            "Written(1 members, values redacted)"
        );
    }
}

//! `[plugin_config]` read into the author's type.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Error;

/// Two words less alike than this are not a slip of the finger.
const ALIKE_AT_LEAST: f64 = 0.8;

/// Reads the configuration. What is wrong with it is an [`Error::Config`] that names the key, and for an unknown key
/// the one that was probably meant.
pub(crate) fn read<C: DeserializeOwned + JsonSchema>(text: &str) -> Result<C, Error> {
    // By way of a tree, so that the message has no line and column of a text the person never saw.
    let tree: Value = serde_json::from_str(text)
        .map_err(|error| Error::config("plugin_config did not arrive as JSON").with_cause(error))?;
    let unknown = suggestion::<C>(&tree);
    serde_path_to_error::deserialize(tree).map_err(|error| {
        let place = match error.path().to_string().as_str() {
            "." => "plugin_config".to_owned(),
            path => format!("plugin_config.{path}"),
        };
        let message = match unknown {
            Some((key, meant)) => format!("plugin_config: did you mean `{meant}` instead of `{key}`"),
            None => place,
        };
        Error::config(message).with_cause(error.into_inner())
    })
}

/// The first key of `tree` that the type does not have, with the one it has that is most like it.
fn suggestion<C: JsonSchema>(tree: &Value) -> Option<(String, String)> {
    let schema = schemars::schema_for!(C).to_value();
    let known = schema.get("properties")?.as_object()?;
    let unknown = tree.as_object()?.keys().find(|key| !known.contains_key(*key))?;
    let likeness = |word: &str| strsim::jaro_winkler(unknown, word);
    let meant = known.keys().max_by(|one, other| likeness(one).total_cmp(&likeness(other)))?;
    (likeness(meant) >= ALIKE_AT_LEAST).then(|| (unknown.clone(), meant.clone()))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Config {
        #[serde(default)]
        interval: String,
        #[serde(default)]
        tables: Vec<String>,
    }

    fn refusal(text: &str) -> String {
        read::<Config>(text).unwrap_err().chain()
    }

    #[test]
    fn a_good_configuration_is_read() {
        let config: Config = read(r#"{"interval": "5s", "tables": ["a"]}"#).unwrap();
        assert_eq!((config.interval.as_str(), config.tables.len()), ("5s", 1));
    }

    #[test]
    fn an_unknown_key_is_named_with_the_one_probably_meant() {
        let text = refusal(r#"{"intervall": "5s"}"#);
        assert!(text.contains("did you mean `interval` instead of `intervall`"), "{text}");
    }

    #[test]
    fn a_key_like_no_other_is_named_with_all_there_are() {
        let text = refusal(r#"{"zebra": 1}"#);
        assert!(
            text.contains("`zebra`") && text.contains("`tables`") && !text.contains("did you mean"),
            "{text}"
        );
    }

    #[test]
    fn a_wrong_type_is_named_with_its_path() {
        let text = refusal(r#"{"tables": ["a", 7]}"#);
        assert!(text.starts_with("plugin_config.tables[1]: invalid type: integer `7`"), "{text}");
    }

    #[test]
    fn what_is_not_json_is_refused() {
        assert!(refusal("interval = 1").contains("did not arrive as JSON"));
    }
}

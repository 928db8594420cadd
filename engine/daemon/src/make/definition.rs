//! The text of a definition to begin with, out of a plugin's JSON Schema. Pure.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Column at which a comment stands.
const COMMENT_AT: usize = 34;

/// A definition that says everything there is to set. What is required stands plainly, with a value of its type to be
/// replaced; everything else stands behind a `#` with its default.
pub(super) fn text(key: &str, library: &str, plugin: &str, schema: &Value) -> String {
    let mut text = format!(
        "# A source of the plugin {plugin}. Lines behind a # show defaults.\n\
         type = \"source\"\nkey = \"{key}\"                  # names the state of this source; another key begins afresh\n\
         path = \"{library}\"\n# enabled = true\n# max_in_flight = 1               # above 1 only for a plugin that can\n\n\
         [[topics]]\ntopic = \"{key}\"\n\
         # topic = {{ strategy = \"field\", path = \"tenant\", template = \"{key}.{{value}}\", fallback = \"{key}.unknown\" }}\n\
         # schema = \"json\"\n# create_topics = false\n# record_key = \"{{field:id}}\"       # else the plugin's own\n\n"
    );
    let settings = schema["properties"].as_object();
    match settings.filter(|settings| !settings.is_empty()) {
        None => text.push_str("# This plugin has no settings.\n# [plugin_config]\n"),
        Some(settings) => {
            text.push_str("[plugin_config]\n");
            let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
            // What must be there first, then what may.
            for is_required in [true, false] {
                for (name, setting) in settings {
                    if required.iter().any(|one| one == name.as_str()) == is_required {
                        line(&mut text, name, &resolved(setting, schema), is_required);
                    }
                }
            }
        }
    }
    text
}

/// The schema behind a `$ref`, or within an `anyOf` with null, with what stands beside it.
fn resolved(setting: &Value, root: &Value) -> Value {
    let beside = setting.as_object().cloned().unwrap_or_default();
    let target = beside.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
    let inner = target.map(|name| root["$defs"][name].clone()).or_else(|| {
        let choices = beside.get("anyOf").or_else(|| beside.get("oneOf"))?.as_array()?;
        let first = choices.iter().find(|choice| choice["type"] != "null")?;
        Some(resolved(first, root))
    });
    let mut all: Map<String, Value> = inner.and_then(|inner| inner.as_object().cloned()).unwrap_or_default();
    all.extend(beside);
    Value::Object(all)
}

fn line(text: &mut String, name: &str, setting: &Value, is_required: bool) {
    let value = match setting.get("default") {
        Some(default) if !default.is_null() => toml(default),
        Some(_) | None => placeholder(setting),
    };
    let setting_line = match (is_required, value) {
        (true, Some(value)) => format!("{} = {value}", key(name)),
        (true, None) => format!("# {} =", key(name)),
        (false, Some(value)) => format!("# {} = {value}", key(name)),
        (false, None) => format!("# {} =", key(name)),
    };
    let described = setting["description"].as_str().map(|said| said.lines().next().unwrap_or_default());
    let mut comment = described.unwrap_or_default().to_owned();
    if is_required {
        comment = if comment.is_empty() { "required".to_owned() } else { format!("required. {comment}") };
    }
    match comment.is_empty() {
        true => writeln!(text, "{setting_line}"),
        false => writeln!(text, "{setting_line:<COMMENT_AT$}# {comment}"),
    }
    .expect("a String takes all text");
}

/// A name as TOML takes it.
fn key(name: &str) -> String {
    let is_bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if is_bare { name.to_owned() } else { toml_text(name) }
}

/// A value of the right type, for a setting without a default.
fn placeholder(setting: &Value) -> Option<String> {
    let first = |list: &str| setting[list].as_array().and_then(|list| list.first()).and_then(toml);
    if let Some(value) =
        setting.get("const").and_then(toml).or_else(|| first("examples")).or_else(|| first("enum"))
    {
        return Some(value);
    }
    let kind = match &setting["type"] {
        Value::Array(kinds) => kinds.iter().find(|kind| *kind != "null").and_then(Value::as_str),
        other => other.as_str(),
    };
    match kind {
        Some("string") => Some("\"\"".to_owned()),
        Some("integer") => Some(setting["minimum"].as_i64().unwrap_or(0).to_string()),
        Some("number") => Some("0.0".to_owned()),
        Some("boolean") => Some("false".to_owned()),
        Some("array") => Some("[]".to_owned()),
        Some("object") => Some("{}".to_owned()),
        Some(_) | None => None,
    }
}

/// JSON as TOML on one line; `None` for null, which TOML has not.
fn toml(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(toml_text(text)),
        Value::Array(items) => {
            let items: Option<Vec<String>> = items.iter().map(toml).collect();
            items.map(|items| format!("[{}]", items.join(", ")))
        }
        Value::Object(fields) => {
            let set =
                fields.iter().filter_map(|(name, value)| Some(format!("{} = {}", key(name), toml(value)?)));
            let set: Vec<String> = set.collect();
            Some(if set.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", set.join(", ")) })
        }
    }
}

/// Quoted; JSON's escapes are TOML's too.
fn toml_text(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_required_comes_first_and_all_the_rest_behind_a_sign() {
        let schema = json!({
            "type": "object",
            "required": ["url", "mode"],
            "properties": {
                "interval": { "type": "string", "default": "1s", "description": "Sleep before each batch.\nMore." },
                "url": { "type": "string", "description": "Where it is." },
                "mode": { "$ref": "#/$defs/Mode", "description": "How." },
                "tables": { "type": ["array", "null"] },
                "odd name": { "anyOf": [{ "type": "integer", "minimum": 5 }, { "type": "null" }], "default": null },
                "tls": { "type": "object", "default": { "verify": true, "ca": null } },
            },
            "$defs": { "Mode": { "type": "string", "enum": ["polling", "cdc"] } },
        });
        let text = text("orders", "libpg", "pg", &schema);
        let (_, settings) = text.split_once("[plugin_config]\n").unwrap();
        insta::assert_snapshot!(settings, @r#"
        url = ""                          # required. Where it is.
        mode = "polling"                  # required. How.
        # interval = "1s"                 # Sleep before each batch.
        # tables = []
        # "odd name" = 5
        # tls = { verify = true }
        "#);
    }

    #[test]
    fn what_is_written_is_a_definition_with_all_lines_and_without_those_behind_a_sign() {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "integer", "default": 1 } } });
        let text = text("orders", "libpg", "pg", &schema);
        let engine = pico_config::Engine::defaults("/srv".as_ref());
        let check = |text: &str| {
            pico_config::check_definition("orders.toml".as_ref(), text, &engine, &pico_config::Env::default())
        };
        let (definition, findings) = check(&text);
        assert!(definition.is_some() && findings.is_empty(), "{findings:?}");
        // Two lines would set `topic` twice; each of the others may be taken as it is.
        let shown = |line: &str| match line.strip_prefix("# ").filter(|line| line.contains(" = ")) {
            Some(line) if !line.starts_with("topic") && !line.starts_with("A source") => line.to_owned(),
            Some(_) | None => line.to_owned(),
        };
        let all: Vec<String> = text.lines().map(shown).collect();
        let (definition, findings) = check(&all.join("\n"));
        assert!(definition.is_some(), "{findings:?}\n{}", all.join("\n"));
    }
}

//! A plugin's own refusal of its settings, brought to the line that it speaks of.

use crate::context::{Context, Draft, Place};
use crate::finding::Finding;
use crate::plugin_schema::TableInFile;
use crate::tree::{Node, Raw};

/// Of every such finding; the code that the source would have in error.
pub(crate) const CODE: &str = "plugin.config";

/// `reason` at the setting that its first word names, with what is inside it: `endpoints[0].endpoint_id`.
pub(crate) fn finding(table: &TableInFile, reason: &str) -> Finding {
    let env = crate::Env::default();
    let mut cx = Context::new(&table.text, &env);
    // The plugin keeps secrets out of what it says, so a value out of a reference does not hide the reason.
    let place = Place { is_referenced: false, ..named(table, reason) };
    cx.add(&place, Draft::error(CODE, reason));
    cx.findings.remove(0)
}

fn named(table: &TableInFile, reason: &str) -> Place {
    let is_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '[' | ']');
    let first = reason.split(|c| !is_path(c)).next().unwrap_or_default();
    inside(&table.tree, &table.place, first).unwrap_or_else(|| table.place.clone())
}

/// The deepest value on the way of a dotted path. None when not even its first step is there.
fn inside(tree: &Node, place: &Place, word: &str) -> Option<Place> {
    let (mut node, mut reached) = (tree, None);
    for step in word.split(['.', '[', ']']).filter(|step| !step.is_empty()) {
        let place = reached.as_ref().unwrap_or(place);
        let below = match &node.value {
            Raw::Table(entries) => entries
                .iter()
                .find(|entry| entry.name == step)
                .map(|entry| (&entry.node, place.member(step, &entry.name_origin))),
            Raw::List(items) => step.parse().ok().and_then(|index: usize| {
                items.get(index).map(|item| (item, place.item(index, &item.origin)))
            }),
            Raw::Text(_)
            | Raw::Exact(_)
            | Raw::Untyped(_)
            | Raw::Null
            | Raw::Integer(_)
            | Raw::Float(_)
            | Raw::Bool(_)
            | Raw::Datetime(_) => None,
        };
        let Some((deeper, at)) = below else { break };
        (node, reached) = (deeper, Some(at));
    }
    reached
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::{Engine, Env, check_definition};

    const TEXT: &str = "type = \"source\"\nkey = \"a\"\npath = \"lib\"\n[[topics]]\ntopic = \"x\"\n[plugin_config]\n\
                        url = \"here\"\nquery = \"all\"\n[[plugin_config.endpoints]]\nendpoint_id = \"short\"\n";

    /// Line and path of the finding.
    fn placed(reason: &str) -> (Option<usize>, String) {
        let engine = Engine::defaults(Path::new("/"));
        let (definition, findings) = check_definition(Path::new("/a.toml"), TEXT, &engine, &Env::default());
        let definition = definition.unwrap_or_else(|| panic!("{findings:?}"));
        let finding = definition.plugin_config.refused(Path::new("/a.toml"), reason);
        assert_eq!(
            (finding.code, finding.is_error(), finding.reason.as_str()),
            ("plugin.config", true, reason)
        );
        (finding.location.line(), finding.toml_path)
    }

    #[test]
    fn a_refusal_stands_at_the_setting_that_it_names() {
        assert_eq!(placed("url: no address"), (Some(7), "plugin_config.url".to_owned()));
        assert_eq!(
            placed("query and measurement exclude each other"),
            (Some(8), "plugin_config.query".to_owned())
        );
        assert_eq!(
            placed("endpoints[0].endpoint_id = \"short\" is too short"),
            (Some(10), "plugin_config.endpoints[0].endpoint_id".to_owned())
        );
        assert_eq!(placed("endpoints[7] is one too many"), (Some(9), "plugin_config.endpoints".to_owned()));
        assert_eq!(placed("token is missing: see url"), (Some(6), "plugin_config".to_owned()));
    }
}

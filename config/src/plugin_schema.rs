//! `[plugin_config]` against the JSON Schema the plugin brings. Only what the schema says for certain is reported; a
//! construct not known here passes, and the plugin's own reading has the last word. No finding shows a value: any of
//! them may be a secret.

use serde_json::Value;

use crate::context::{Context, Draft, Place};
use crate::file_text::FileText;
use crate::finding::Finding;
use crate::suggest::closest;
use crate::tree::{Entry, Node, Raw};

/// Deepest chain of `$ref` and of nesting that is followed.
const DEPTH_MAX: usize = 64;

/// `[plugin_config]` in its file, references resolved.
pub(crate) struct TableInFile {
    pub(crate) tree: Node,
    pub(crate) place: Place,
    pub(crate) text: FileText,
}

/// The tree with the schema's types for values out of variables, and what does not fit.
pub(crate) fn fit(table: &TableInFile, schema: &Value) -> (Node, Vec<Finding>) {
    let env = crate::Env::default();
    let mut cx = Context::new(&table.text, &env);
    let fitter = Fitter { root: schema };
    let tree = fitter.value(&mut cx, &table.tree, schema, &table.place);
    cx.findings.sort_by_key(Finding::place_order);
    (tree, cx.findings)
}

struct Fitter<'s> {
    root: &'s Value,
}

impl<'s> Fitter<'s> {
    fn value(&self, cx: &mut Context<'_>, node: &Node, schema: &'s Value, place: &Place) -> Node {
        let schema = self.resolved(schema);
        if depth(place) > DEPTH_MAX {
            return node.clone();
        }
        if let Some(forms) = schema.get("anyOf").or(schema.get("oneOf")).and_then(Value::as_array) {
            return self.any(cx, node, forms, place);
        }
        let node = typed(node, schema);
        if !has_type(&node, schema) {
            let reason =
                format!("`{}` must be {}, not {}", place.name(), type_names(schema), node.type_name());
            let is_bare = matches!(node.value, Raw::Integer(_) | Raw::Float(_) | Raw::Bool(_));
            let hint = (is_bare && types(schema).contains(&"string"))
                .then(|| "write it in quotes; a duration with its unit, as in \"10s\"".to_owned());
            cx.add(place, Draft::error("config.wrong_type", reason).maybe_hint(hint));
            return node;
        }
        check_words(cx, &node, schema, place);
        check_bounds(cx, &node, schema, place);
        let value = match &node.value {
            Raw::Table(entries) => Raw::Table(self.table(cx, entries, schema, place)),
            Raw::List(items) => Raw::List(self.list(cx, items, schema, place)),
            Raw::Text(_)
            | Raw::Exact(_)
            | Raw::Untyped(_)
            | Raw::Null
            | Raw::Integer(_)
            | Raw::Float(_)
            | Raw::Bool(_)
            | Raw::Datetime(_) => node.value,
        };
        Node { value, origin: node.origin }
    }

    /// The first form that fits. If none does and there is one form beside null, its findings are the best there are.
    fn any(&self, cx: &mut Context<'_>, node: &Node, forms: &'s [Value], place: &Place) -> Node {
        let mut tried = Vec::new();
        for form in forms {
            let mut scratch = Context::new(cx.text, cx.env);
            let fitted = self.value(&mut scratch, node, form, place);
            if scratch.findings.is_empty() {
                return fitted;
            }
            if self.resolved(form).get("type").and_then(Value::as_str) != Some("null") {
                tried.push(scratch.findings);
            }
        }
        match <[Vec<Finding>; 1]>::try_from(tried) {
            Ok([findings]) => cx.findings.extend(findings),
            Err(_) => {
                let words: Vec<&str> = forms.iter().flat_map(|form| words(self.resolved(form))).collect();
                let (code, reason) = match words.is_empty() {
                    true => ("config.wrong_type", "fits none of the forms this plugin takes".to_owned()),
                    false => {
                        ("config.unknown_value", format!("must be one of {}", crate::shape::quoted(&words)))
                    }
                };
                cx.add(place, Draft::error(code, format!("`{}` {reason}", place.name())));
            }
        }
        node.clone()
    }

    fn table(&self, cx: &mut Context<'_>, entries: &[Entry], schema: &'s Value, place: &Place) -> Vec<Entry> {
        let members = schema.get("properties").and_then(Value::as_object);
        let more = schema.get("additionalProperties");
        let mut fitted = Vec::new();
        for entry in entries {
            let member = place.member(&entry.name, &entry.node.origin);
            let own = members.and_then(|members| members.get(&entry.name));
            let node = match own.or(more.filter(|more| more.is_object())) {
                Some(schema) => self.value(cx, &entry.node, schema, &member),
                None => {
                    if more == Some(&Value::Bool(false)) {
                        let names: Vec<&str> =
                            members.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
                        unknown(cx, &place.member(&entry.name, &entry.name_origin), &entry.name, &names);
                    }
                    entry.node.clone()
                }
            };
            fitted.push(Entry { node, ..entry.clone() });
        }
        for name in
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
        {
            if !entries.iter().any(|entry| entry.name == name) {
                cx.add(
                    place,
                    Draft::error("config.missing_field", format!("`{name}` is missing, the plugin needs it")),
                );
            }
        }
        fitted
    }

    fn list(&self, cx: &mut Context<'_>, items: &[Node], schema: &'s Value, place: &Place) -> Vec<Node> {
        let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0);
        let most = schema.get("maxItems").and_then(Value::as_u64).unwrap_or(u64::MAX);
        if !(least..=most).contains(&(items.len() as u64)) {
            let count = if least == most { format!("{least}") } else { format!("{least} to {most}") };
            let reason = format!("`{}` has {} elements, the plugin takes {count}", place.name(), items.len());
            cx.add(place, Draft::error("config.out_of_range", reason));
        }
        let of = schema.get("items").filter(|of| of.is_object());
        let each = items.iter().enumerate().map(|(index, item)| match of {
            Some(of) => self.value(cx, item, of, &place.item(index, &item.origin)),
            None => item.clone(),
        });
        each.collect()
    }

    fn resolved(&self, schema: &'s Value) -> &'s Value {
        let mut schema = schema;
        for _ in 0..DEPTH_MAX {
            let Some(pointer) =
                schema.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix('#'))
            else {
                return schema;
            };
            let Some(target) = self.root.pointer(pointer) else { return schema };
            schema = target;
        }
        schema
    }
}

fn depth(place: &Place) -> usize {
    place.path.matches(['.', '[']).count()
}

fn unknown(cx: &mut Context<'_>, place: &Place, name: &str, names: &[&str]) {
    let hint = match closest(name, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("this plugin knows: {}", names.join(", ")),
    };
    let reason = format!("this plugin has no setting `{name}`");
    cx.add(place, Draft::error("config.unknown_field", reason).hint(hint));
}

fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => Vec::new(),
    }
}

fn type_names(schema: &Value) -> String {
    let named = types(schema).into_iter().filter(|name| *name != "null").map(|name| match name {
        "object" => "a table",
        "array" => "a list",
        "integer" => "an integer",
        "number" => "a number",
        "boolean" => "true or false",
        _ => "a string",
    });
    named.collect::<Vec<_>>().join(" or ")
}

/// The text of a variable takes the type the schema names; one that cannot stays a text and is found by its type.
fn typed(node: &Node, schema: &Value) -> Node {
    let Raw::Untyped(text) = &node.value else { return node.clone() };
    let exact = || Raw::Exact(text.clone());
    let mut value = None;
    for name in types(schema) {
        let json = || {
            serde_json::from_str::<Value>(text).ok().map(|value| Node::from_json(value, &node.origin).value)
        };
        value = value.or(match name {
            "integer" => text.parse().ok().map(Raw::Integer),
            "number" => text.parse().ok().filter(|float: &f64| float.is_finite()).map(Raw::Float),
            "boolean" => text.parse().ok().map(Raw::Bool),
            "array" => json().filter(|raw| matches!(raw, Raw::List(_))),
            "object" => json().filter(|raw| matches!(raw, Raw::Table(_))),
            "string" => Some(exact()),
            _ => None,
        });
    }
    let value = value.unwrap_or_else(|| if types(schema).is_empty() { node.value.clone() } else { exact() });
    Node { value, origin: node.origin.clone() }
}

fn has_type(node: &Node, schema: &Value) -> bool {
    let types = types(schema);
    let name: &[&str] = match &node.value {
        Raw::Text(_) | Raw::Exact(_) | Raw::Datetime(_) => &["string"],
        Raw::Integer(_) => &["integer", "number"],
        Raw::Float(_) => &["number"],
        Raw::Bool(_) => &["boolean"],
        Raw::List(_) => &["array"],
        Raw::Table(_) => &["object"],
        Raw::Null => &["null"],
        // Its type is open, so any will do.
        Raw::Untyped(_) => return true,
    };
    types.is_empty() || name.iter().any(|name| types.contains(name))
}

/// The texts that a schema names one by one.
fn words(schema: &Value) -> Vec<&str> {
    let one = schema.get("const").map(std::slice::from_ref);
    let several = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice);
    several.or(one).into_iter().flatten().filter_map(Value::as_str).collect()
}

fn check_words(cx: &mut Context<'_>, node: &Node, schema: &Value, place: &Place) {
    let (Raw::Text(text) | Raw::Exact(text)) = &node.value else { return };
    let words = words(schema);
    if !words.is_empty() && !words.contains(&text.as_str()) {
        let reason = format!("`{}` must be one of {}", place.name(), crate::shape::quoted(&words));
        cx.add(place, Draft::error("config.unknown_value", reason));
    }
}

fn check_bounds(cx: &mut Context<'_>, node: &Node, schema: &Value, place: &Place) {
    let Raw::Integer(number) = node.value else { return };
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    let (least, most) = (bound("minimum"), bound("maximum"));
    let is_low = least.is_some_and(|least| (number as f64) < least);
    let is_high = most.is_some_and(|most| number as f64 > most);
    if is_low || is_high {
        let least = least.map(|least| format!(" at least {least}")).unwrap_or_default();
        let most = most.map(|most| format!(" at most {most}")).unwrap_or_default();
        let reason = format!("`{}` must be{least}{most}", place.name());
        cx.add(place, Draft::error("config.out_of_range", reason));
    }
}

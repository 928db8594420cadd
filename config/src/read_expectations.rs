//! From checked `[[tests]]` tables to tests.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use picomq_connector_sdk::Schema;
use serde_json::Value;

use crate::checked::{Checked, Fields, Item, NamedText};
use crate::context::{Context, Draft, Place};
use crate::expectation::{Expectation, ExpectedRecord, ExpectedValue, RecordTest, TestInput};
use crate::rule::check_topic_name;
use crate::template::FieldPath;

/// Two keys of which one may be written, or none.
const TOO_MANY: &str = "config.too_many_fields";

/// Every test that is right; what is wrong with the others has its findings. `blocks` is how many there are.
pub(crate) fn read_tests(cx: &mut Context<'_>, fields: &Fields, blocks: usize) -> Vec<RecordTest> {
    let mut tests = Vec::new();
    for (index, item) in fields.list("tests").iter().enumerate() {
        if let Checked::Table(table) = &item.value {
            tests.extend(read_test(cx, table, index, blocks));
        }
    }
    tests
}

fn read_test(cx: &mut Context<'_>, fields: &Fields, index: usize, blocks: usize) -> Option<RecordTest> {
    let name = fields.text("name").map_or_else(|| format!("tests[{index}]"), |(name, _)| name.to_owned());
    let input = fields.table("input").and_then(|table| read_input(cx, table));
    let expectation = read_expectation(cx, fields, blocks);
    let location = cx.location(&fields.place);
    Some(RecordTest { name, location, input: input?, expectation: expectation? })
}

fn read_input(cx: &mut Context<'_>, fields: &Fields) -> Option<TestInput> {
    let payload = bytes(cx, fields, ["payload", "payload_base64"]);
    let is_tombstone = fields.flag("tombstone").unwrap_or(false);
    if is_tombstone && payload.as_ref().is_some_and(Option::is_some) {
        let reason = "`tombstone` and a payload: a tombstone has none";
        cx.add(&fields.place, Draft::error(TOO_MANY, reason).hint("take one of them out"));
        return None;
    }
    let key = bytes(cx, fields, ["key", "key_base64"]);
    Some(TestInput {
        schema: schema(fields),
        payload: if is_tombstone { None } else { Some(payload?.unwrap_or_default()) },
        key: key?,
        headers: named(fields.texts("headers")).map(|(name, text)| (name, text.into_bytes())).collect(),
        timestamp_ms: fields.number("timestamp").and_then(|number| i64::try_from(number).ok()),
        id: fields.text("id").map(|(id, _)| id.to_owned()),
    })
}

fn schema(fields: &Fields) -> Schema {
    match fields.word("schema") {
        Some("raw") => Schema::Raw,
        Some("text") => Schema::Text,
        Some("avro") => Schema::Avro,
        Some("proto") => Schema::Proto,
        Some("flatbuffer") => Schema::FlatBuffer,
        Some(_) | None => Schema::Json,
    }
}

/// What is written as text or in base64. The outer None: a finding says why not; the inner one: nothing is written.
fn bytes(cx: &mut Context<'_>, fields: &Fields, [plain, encoded]: [&str; 2]) -> Option<Option<Vec<u8>>> {
    match (fields.text(plain), fields.text(encoded)) {
        (None, None) => Some(None),
        (Some((text, _)), None) => Some(Some(text.as_bytes().to_vec())),
        (None, Some((text, place))) => match STANDARD.decode(text) {
            Ok(bytes) => Some(Some(bytes)),
            Err(error) => {
                let reason = format!("`{}` is not base64: {error}", place.name());
                cx.add(place, Draft::error("config.bad_base64", reason));
                None
            }
        },
        (Some(_), Some((_, place))) => {
            let reason = format!("`{plain}` and `{encoded}` say the same thing twice");
            cx.add(place, Draft::error(TOO_MANY, reason).hint("take one of them out"));
            None
        }
    }
}

fn named(texts: &[NamedText]) -> impl Iterator<Item = (String, String)> {
    texts.iter().map(|entry| (entry.name.clone(), entry.text.resolved.clone()))
}

fn read_expectation(cx: &mut Context<'_>, fields: &Fields, blocks: usize) -> Option<Expectation> {
    let expected = fields.list("expect");
    let read: Option<Vec<ExpectedRecord>> =
        expected.iter().map(|item| read_expected(cx, item, blocks)).collect::<Vec<_>>().into_iter().collect();
    let is_filtered = fields.flag("filtered").unwrap_or(false);
    let error = fields.text("error").map(|(code, _)| code.to_owned());
    let written = [!expected.is_empty(), is_filtered, error.is_some()];
    match written.iter().filter(|is_written| **is_written).count() {
        1 => {}
        // A value that does not fit has its own finding.
        0 if ["expect", "filtered", "error"].iter().any(|name| fields.has_failed(name)) => return None,
        0 => {
            let hint = "write [[tests.expect]] with a topic, or filtered = true, or error = \"CODE\"";
            let reason = "the test does not say what should become of its record";
            cx.add(&fields.place, Draft::error("config.no_expectation", reason).hint(hint));
            return None;
        }
        _ => {
            let reason = "of `expect`, `filtered` and `error` a test has one";
            cx.add(&fields.place, Draft::error(TOO_MANY, reason).hint("make it two tests"));
            return None;
        }
    }
    Some(match error {
        Some(code) => Expectation::Fails(code),
        None if is_filtered => Expectation::Filtered,
        None => Expectation::Sent(read?),
    })
}

fn read_expected(cx: &mut Context<'_>, item: &Item, blocks: usize) -> Option<ExpectedRecord> {
    let Checked::Table(fields) = &item.value else { return None };
    let value = read_value(cx, fields);
    let key = read_expected_key(cx, fields);
    let block = read_block(cx, fields, blocks);
    let (topic, place) = fields.text("topic")?;
    if let Err(error) = check_topic_name(topic) {
        cx.add(place, Draft::parse("config.bad_topic", error));
        return None;
    }
    Some(ExpectedRecord {
        topic: topic.to_owned(),
        block: block?,
        key: key?,
        headers: named(fields.texts("headers")).collect(),
        without_headers: texts(fields.list("without_headers")).map(|(text, _)| text.to_owned()).collect(),
        value: value?,
    })
}

/// The outer None: a finding says why not; the inner one: any block.
fn read_block(cx: &mut Context<'_>, fields: &Fields, blocks: usize) -> Option<Option<u16>> {
    let (Some(item), Some(block)) = (fields.get("block"), fields.number("block")) else { return Some(None) };
    if block < blocks as u64 {
        return Some(u16::try_from(block).ok());
    }
    let reason = format!("`block` is {block}, allowed is 0 to {}", blocks.saturating_sub(1));
    cx.add(&item.place, Draft::error("config.out_of_range", reason).hint("the first of the [[topics]] is 0"));
    None
}

fn read_expected_key(cx: &mut Context<'_>, fields: &Fields) -> Option<Option<Option<String>>> {
    match (fields.text("key"), fields.flag("no_key").unwrap_or(false)) {
        (None, false) => Some(None),
        (None, true) => Some(Some(None)),
        (Some((key, _)), false) => Some(Some(Some(key.to_owned()))),
        (Some((_, place)), true) => {
            let reason = "`key` and `no_key` cannot both hold";
            cx.add(place, Draft::error(TOO_MANY, reason).hint("take one of them out"));
            None
        }
    }
}

fn read_value(cx: &mut Context<'_>, fields: &Fields) -> Option<ExpectedValue> {
    let json = fields.text("value");
    let ignore = ignored(cx, fields, json.is_some());
    let exact = bytes(cx, fields, ["value_text", "value_base64"])?;
    let is_tombstone = fields.flag("tombstone").unwrap_or(false);
    match (json, exact, is_tombstone) {
        (None, None, false) => Some(ExpectedValue::Any),
        (None, None, true) => Some(ExpectedValue::Tombstone),
        (None, Some(bytes), false) => Some(ExpectedValue::Exact(bytes)),
        (Some((text, place)), None, false) => {
            if let Err(error) = serde_json::from_str::<Value>(text) {
                let reason = format!("`value` is not JSON: {error}");
                let hint = "a value that is no JSON is compared to the byte: value_text = \"…\"";
                cx.add(place, Draft::error("config.bad_json", reason).hint(hint));
                return None;
            }
            Some(ExpectedValue::Json { text: text.to_owned(), ignore: ignore? })
        }
        (Some(_), Some(_), _) | (Some(_), None, true) | (None, Some(_), true) => {
            let reason = "the value is said in more than one way";
            let hint = "write one of `value`, `value_text`, `value_base64` and `tombstone`";
            cx.add(&fields.place, Draft::error(TOO_MANY, reason).hint(hint));
            None
        }
    }
}

fn ignored(cx: &mut Context<'_>, fields: &Fields, has_value: bool) -> Option<Vec<FieldPath>> {
    if let Some(item) = fields.get("ignore").filter(|_| !has_value) {
        let reason = "`ignore` has no effect: there is no `value` to compare";
        cx.add(&item.place, Draft::warning("config.no_effect", reason).hint("take it out"));
    }
    let mut paths = Some(Vec::new());
    for (text, place) in texts(fields.list("ignore")) {
        match FieldPath::parse(text) {
            Ok(path) => paths.iter_mut().for_each(|paths| paths.push(path.clone())),
            Err(error) => {
                cx.add(place, Draft::parse("config.bad_path", error));
                paths = None;
            }
        }
    }
    paths
}

fn texts(items: &[Item]) -> impl Iterator<Item = (&str, &Place)> {
    items.iter().filter_map(|item| match &item.value {
        Checked::Text(text) => Some((text.resolved.as_str(), &item.place)),
        Checked::Word(_)
        | Checked::Bool(_)
        | Checked::Number(_)
        | Checked::Time(_)
        | Checked::List(_)
        | Checked::Table(_)
        | Checked::Texts(_)
        | Checked::Free(_)
        | Checked::Any(_)
        | Checked::Decimal(_)
        | Checked::Tagged(_) => None,
    })
}

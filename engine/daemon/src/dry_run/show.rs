//! What was seen, as a table for people and as a document for programs. Pure.

use comfy_table::{CellAlignment, Table, presets};
use pico_config::{Definition, OnRecordError};
use serde_json::{Value, json};

use super::look::{End, Fate, Looked, Seen, Wanted};
use crate::output::trimmed;

/// A longer id or key is cut in the table; `--json` has all of it.
const CHARACTERS_MAX: usize = 40;

/// The table, and below it why it ends there and what `[errors]` would do.
pub(super) fn text(definition: &Definition, wanted: Wanted, looked: &Looked) -> String {
    let mut text = if looked.records.is_empty() { String::new() } else { table(&looked.records) };
    text.push_str(&ending(wanted, looked));
    text.push_str(&policy(definition, looked));
    text.push_str("nothing was produced, created or saved, and nothing was acknowledged\n");
    text
}

fn table(records: &[Seen]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["#", "RECORD", "KEY", "BYTES", "TOPIC"]);
    for (number, seen) in (1..).zip(records) {
        for (place, (topic, bytes)) in fates(seen).into_iter().enumerate() {
            let first = |text: String| if place == 0 { text } else { String::new() };
            let id = seen.id.as_deref().map_or("–".to_owned(), cut);
            let key = seen.key.as_deref().map_or("–".to_owned(), |key| cut(&String::from_utf8_lossy(key)));
            table.add_row([first(format!("{number}")), first(id), first(key), bytes, topic]);
        }
    }
    if let Some(column) = table.column_mut(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    trimmed(&table.to_string())
}

fn fates(seen: &Seen) -> Vec<(String, String)> {
    match &seen.fate {
        Fate::Sent(all) => all.iter().map(|one| (one.topic.clone(), one.bytes.to_string())).collect(),
        Fate::Filtered => vec![("filtered".to_owned(), String::new())],
        Fate::Failed(fault) => vec![(format!("✗ {}: {}", fault.code, fault.message), String::new())],
    }
}

fn cut(text: &str) -> String {
    let escaped: String = text.chars().map(|c| if c.is_control() { '·' } else { c }).collect();
    match escaped.char_indices().nth(CHARACTERS_MAX) {
        Some((at, _)) => format!("{}…", &escaped[..at]),
        None => escaped,
    }
}

fn ending(wanted: Wanted, looked: &Looked) -> String {
    let seconds = wanted.within.as_secs();
    let count = match looked.records.len() {
        0 => "no record".to_owned(),
        count => format!("{count} of {}", wanted.records),
    };
    match &looked.end {
        End::Enough => String::new(),
        End::TimedOut(None) => format!("{count} within {seconds} s; ask for more time with --seconds\n"),
        End::TimedOut(Some(reason)) => format!("{count} within {seconds} s; the source says: {reason}\n"),
        End::OneBatch => {
            format!("{count}: the plugin gives its next batch only after an Ack, which is never told here\n")
        }
        End::Failed(reason) => format!("✗ {reason}\n"),
    }
}

fn policy(definition: &Definition, looked: &Looked) -> String {
    let failed = looked.records.iter().filter(|seen| matches!(seen.fate, Fate::Failed(_))).count();
    if failed == 0 {
        return String::new();
    }
    let what = match &definition.errors.on_record_error {
        OnRecordError::Nack => "its whole batch would be nacked and read again".to_owned(),
        OnRecordError::DeadLetter { topic } => format!("it would go to {topic} as a dead letter"),
        OnRecordError::Skip => "it would be skipped and counted".to_owned(),
    };
    format!("{failed} would fail; as [errors] stands, for each: {what}\n")
}

/// Everything for programs.
pub(super) fn document(definition: &Definition, wanted: Wanted, looked: &Looked) -> Value {
    let (end, reason) = match &looked.end {
        End::Enough => ("enough", None),
        End::TimedOut(reason) => ("timed_out", reason.as_ref()),
        End::OneBatch => ("one_batch", None),
        End::Failed(reason) => ("failed", Some(reason)),
    };
    json!({
        "key": definition.key.as_str(),
        "wanted": wanted.records,
        "records": looked.records.iter().map(record).collect::<Vec<_>>(),
        "end": end,
        "reason": reason,
    })
}

fn record(seen: &Seen) -> Value {
    let mut record = json!({ "id": seen.id, "sent": [], "filtered": false, "error": null });
    crate::output::put_bytes(&mut record, "key", seen.key.as_deref());
    match &seen.fate {
        Fate::Sent(all) => {
            let sent =
                all.iter().map(|one| json!({ "block": one.block, "topic": one.topic, "bytes": one.bytes }));
            record["sent"] = sent.collect();
        }
        Fate::Filtered => record["filtered"] = Value::Bool(true),
        Fate::Failed(fault) => {
            record["error"] = json!({
                "stage": fault.stage.as_str(), "code": fault.code, "message": fault.message,
            });
        }
    }
    record
}

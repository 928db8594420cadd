//! States and changes as people read them.

use std::fmt::Write as _;

use serde_json::Value;

use super::document::{Change, Document, Summary};

/// Values that differ are listed up to this many; the rest are counted.
const DIFFERENCES_MAX: usize = 20;

/// What is saved.
pub(super) fn of_document(document: &Document) -> String {
    let Document { key, store, saved, .. } = document;
    let mut text = format!("{key}, on {store}: ");
    match saved {
        None => text.push_str("nothing is saved; it begins at its beginning\n"),
        Some(summary) => {
            writeln!(text, "{}", size(summary)).expect("a String takes all text");
            text.push_str(&described(summary));
        }
    }
    text
}

/// What a change means, in the order in which a person decides.
pub(super) fn of_change(change: &Change) -> String {
    let Change { key, now, then, means } = change;
    let line = |summary: &Option<Summary>| summary.as_ref().map_or("nothing".to_owned(), in_short);
    let mut text = format!("state of {key}\n  now   {}\n  then  {}\n", line(now), line(then));
    if let (Some(now), Some(then)) = (now, then) {
        text.push_str(&differences(now, then));
    }
    writeln!(text, "{means}").expect("a String takes all text");
    text
}

fn size(summary: &Summary) -> String {
    let bytes = summary.bytes.map_or("unreadable".to_owned(), |bytes| format!("{bytes} bytes"));
    let batch = summary.number.map(|number| format!(", batch {number}")).unwrap_or_default();
    format!("{bytes}{batch}")
}

fn described(summary: &Summary) -> String {
    match (&summary.described, &summary.note) {
        (Some(value), _) => {
            format!("{}\n", serde_json::to_string_pretty(value).expect("JSON values print"))
        }
        (None, Some(note)) => format!("not described: {note}\n"),
        (None, None) => String::new(),
    }
}

fn in_short(summary: &Summary) -> String {
    let said = match (&summary.described, &summary.note) {
        (Some(value), _) => value.to_string(),
        (None, Some(note)) => note.clone(),
        (None, None) => String::new(),
    };
    format!("{said} ({})", size(summary))
}

/// Values at the same place that differ, such as `state.count: 1042 → 40`.
fn differences(now: &Summary, then: &Summary) -> String {
    let (Some(now), Some(then)) = (&now.described, &then.described) else { return String::new() };
    let mut found = Vec::new();
    differ("", now, then, &mut found);
    let more = found.len().saturating_sub(DIFFERENCES_MAX);
    let mut text: String = found.iter().take(DIFFERENCES_MAX).map(|line| format!("  {line}\n")).collect();
    if more > 0 {
        writeln!(text, "  and {more} more").expect("a String takes all text");
    }
    text
}

fn differ(place: &str, now: &Value, then: &Value, found: &mut Vec<String>) {
    match (now, then) {
        (Value::Object(now), Value::Object(then)) => {
            for (name, value) in now {
                let place = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
                differ(&place, value, then.get(name).unwrap_or(&Value::Null), found);
            }
        }
        (now, then) if now != then => found.push(format!("{place}: {now} → {then}")),
        (_, _) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn summary(count: u64) -> Summary {
        let described = Some(json!({ "version": 1, "state": { "count": count } }));
        Summary { bytes: Some(19), number: Some(7), described, note: None }
    }

    fn document(saved: Option<Summary>) -> Document {
        Document { key: "random".to_owned(), store: "/var/lib/pico".to_owned(), saved, state: None }
    }

    #[test]
    fn what_is_saved_is_shown_in_the_plugins_words() {
        insta::assert_snapshot!(of_document(&document(Some(summary(40)))), @r#"
        random, on /var/lib/pico: 19 bytes, batch 7
        {
          "version": 1,
          "state": {
            "count": 40
          }
        }
        "#);
        let nothing = "random, on /var/lib/pico: nothing is saved; it begins at its beginning\n";
        assert_eq!(of_document(&document(None)), nothing);
    }

    #[test]
    fn a_change_says_what_differs_and_what_that_means() {
        let then = Summary { number: None, ..summary(40) };
        let (now, means) = (Some(summary(1042)), "what lies between is sent again".to_owned());
        let change = Change { key: "random".to_owned(), now, then: Some(then), means };
        insta::assert_snapshot!(of_change(&change), @r#"
        state of random
          now   {"version":1,"state":{"count":1042}} (19 bytes, batch 7)
          then  {"version":1,"state":{"count":40}} (19 bytes)
          state.count: 1042 → 40
        what lies between is sent again
        "#);
    }

    #[test]
    fn a_damaged_state_says_so_and_nothing_is_nothing() {
        let damaged = Summary { bytes: None, number: None, described: None, note: Some("torn".to_owned()) };
        let change =
            Change { key: "a".to_owned(), now: Some(damaged), then: None, means: "afresh".to_owned() };
        assert_eq!(of_change(&change), "state of a\n  now   torn (unreadable)\n  then  nothing\nafresh\n");
    }
}

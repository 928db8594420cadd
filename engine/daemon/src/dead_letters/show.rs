//! Letters as text for people and documents for programs. Pure.

use comfy_table::{Table, presets};
use jiff::Timestamp;
use pico_broker::Letter;
use pico_record::error_header;
use serde_json::{Value, json};

use super::letter::text as header;
use crate::output::{put_bytes, trimmed};

/// A longer message is cut in the table; `show` and `--json` have all of it.
const MESSAGE_CHARACTERS_MAX: usize = 80;

/// How far the replay of a source is with a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// No source was named.
    Unknown,
    /// The next replay sends it.
    Waits,
    /// It failed again; the next replay tries it.
    Left,
    /// A replay sent it, or passed over it.
    Done,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            State::Unknown => "–",
            State::Waits => "waits",
            State::Left => "failed again",
            State::Done => "done",
        }
    }
}

/// A row a letter, the newest last.
pub(super) fn list_text(topic: &str, letters: &[(Letter, State)], all: i64) -> String {
    if letters.is_empty() {
        return format!("no dead letter in {topic}\n");
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["AT", "TIME", "SOURCE", "STAGE", "CODE", "REPLAY", "MESSAGE"]);
    for (letter, state) in letters {
        let of = |name| header(letter, name).unwrap_or("–").to_owned();
        table.add_row([
            at(letter),
            time(letter.timestamp_ms),
            of(error_header::SOURCE),
            of(error_header::STAGE),
            of(error_header::CODE),
            state.as_str().to_owned(),
            cut(&of(error_header::MESSAGE)),
        ]);
    }
    format!("{}{} of {all} letters in {topic}\n", trimmed(&table.to_string()), letters.len())
}

/// `partition/offset`, as `show --at` takes it.
pub(super) fn at(letter: &Letter) -> String {
    format!("{}/{}", letter.partition, letter.offset)
}

fn time(timestamp_ms: Option<i64>) -> String {
    let time = timestamp_ms.and_then(|ms| Timestamp::from_millisecond(ms).ok());
    time.map_or("–".to_owned(), |time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

fn cut(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { '·' } else { c }).collect();
    match plain.char_indices().nth(MESSAGE_CHARACTERS_MAX) {
        Some((at, _)) => format!("{}…", &plain[..at]),
        None => plain,
    }
}

/// One letter whole, without characters that would move the cursor.
pub(super) fn text(letter: &Letter) -> String {
    let plain = |bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(text) => text.chars().map(|c| if c.is_control() && c != '\n' { '·' } else { c }).collect(),
        Err(_not_text) => format!("{} bytes that are no text; --json has them", bytes.len()),
    };
    let optional = |bytes: Option<&[u8]>| bytes.map_or("none".to_owned(), plain);
    let mut text = format!("letter  {}\ntime    {}\n", at(letter), time(letter.timestamp_ms));
    text.push_str(&format!("key     {}\n", optional(letter.key.as_deref())));
    for (name, value) in &letter.headers {
        text.push_str(&format!("header  {name} = {}\n", plain(value)));
    }
    text.push_str(&format!("payload {}\n", optional(letter.payload.as_deref())));
    text
}

/// One letter for programs.
pub(super) fn document(letter: &Letter) -> Value {
    let headers = letter.headers.iter().map(|(name, value)| {
        let mut object = json!({ "name": name });
        put_bytes(&mut object, "value", Some(value));
        object
    });
    let mut object = json!({
        "at": at(letter),
        "timestamp": letter.timestamp_ms,
        "headers": headers.collect::<Vec<_>>(),
    });
    put_bytes(&mut object, "key", letter.key.as_deref());
    put_bytes(&mut object, "payload", letter.payload.as_deref());
    object
}

/// All of a list for programs.
pub(super) fn list_document(topic: &str, letters: &[(Letter, State)]) -> Value {
    let letter = |(letter, state): &(Letter, State)| {
        let mut object = document(letter);
        object["replay"] = match state {
            State::Unknown => Value::Null,
            State::Waits | State::Left | State::Done => Value::from(state.as_str()),
        };
        object
    };
    json!({ "topic": topic, "letters": letters.iter().map(letter).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(offset: i64) -> Letter {
        let header = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
        Letter {
            partition: 0,
            offset,
            timestamp_ms: Some(1_700_000_000_000),
            key: Some(b"k\x1b[2J".to_vec()),
            payload: Some(b"{\"a\":1}".to_vec()),
            headers: vec![
                header(error_header::SOURCE, "orders"),
                header(error_header::STAGE, "route"),
                header(error_header::CODE, "unroutable_record"),
                header(error_header::MESSAGE, "record 1: field \"tenant\" is not there"),
            ],
        }
    }

    #[test]
    fn the_list_tells_what_the_next_replay_would_do_with_each() {
        let letters = [(letter(7), State::Done), (letter(8), State::Left), (letter(9), State::Waits)];
        insta::assert_snapshot!(list_text("dead", &letters, 12), @r#"
        AT   TIME                  SOURCE  STAGE  CODE               REPLAY        MESSAGE
        0/7  2023-11-14T22:13:20Z  orders  route  unroutable_record  done          record 1: field "tenant" is not there
        0/8  2023-11-14T22:13:20Z  orders  route  unroutable_record  failed again  record 1: field "tenant" is not there
        0/9  2023-11-14T22:13:20Z  orders  route  unroutable_record  waits         record 1: field "tenant" is not there
        3 of 12 letters in dead
        "#);
        assert_eq!(list_text("dead", &[], 0), "no dead letter in dead\n");
    }

    #[test]
    fn a_letter_is_shown_whole_and_moves_no_cursor() {
        insta::assert_snapshot!(text(&letter(7)), @r#"
        letter  0/7
        time    2023-11-14T22:13:20Z
        key     k·[2J
        header  picomq.error.source = orders
        header  picomq.error.stage = route
        header  picomq.error.code = unroutable_record
        header  picomq.error.message = record 1: field "tenant" is not there
        payload {"a":1}
        "#);
        assert_eq!(document(&letter(7))["headers"][1]["value"], "route");
    }
}

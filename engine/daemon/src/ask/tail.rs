//! `tail`: records of a source as they pass.

use serde_json::Value;

use crate::cli::ask::{After, TailArguments};
use crate::cli::{Cli, Format};
use crate::client::{Client, Event, escaped};
use crate::error::Error;
use crate::leave::Exit;
use crate::output::{self, Stream, harmless};
use crate::runtime;

/// Prints records until the limit, the end of the source or of the daemon, or Ctrl-C.
pub(super) fn run(cli: &Cli, arguments: &TailArguments) -> Result<Exit, Error> {
    let client = Client::new(&cli.url)?;
    let path = path(arguments);
    let is_json = cli.format() == Format::Json;
    runtime::block_on(async {
        let mut stream = client.stream(&path, None).await?;
        while let Some(event) = stream.next().await {
            let (to, line) = line(&event, is_json);
            if !line.is_empty() && !output::try_write(to, &line) {
                return Ok(Exit::Ok);
            }
            if event.kind == "end" {
                return ended(&event);
            }
        }
        Err(Error::environment("client.stream_broke", "the daemon went away")
            .with_hint("look at its log, then ask again"))
    })
}

fn path(arguments: &TailArguments) -> String {
    let stage = match arguments.after {
        After::Poll => "polled",
        After::Transform => "transformed",
        After::Send => "sent",
    };
    let mut path = format!("/sources/{}/tail?stage={stage}", escaped(&arguments.key));
    if let Some(topic) = &arguments.topic {
        path.push_str(&format!("&topic={}", escaped(topic)));
    }
    if let Some(limit) = arguments.limit {
        path.push_str(&format!("&limit={limit}"));
    }
    path
}

/// Reaching the limit is what was asked for; every other end is told as what it is.
fn ended(event: &Event) -> Result<Exit, Error> {
    let told: Value = serde_json::from_str(&event.data).unwrap_or_default();
    match told["reason"].as_str() {
        Some("the limit is reached") => Ok(Exit::Ok),
        Some(reason) => Err(Error::runtime("client.stream_ended", harmless(reason))),
        None => Err(Error::runtime("client.stream_ended", "the daemon ended the stream")
            .with_hint("look at its log, then ask again")),
    }
}

fn line(event: &Event, is_json: bool) -> (Stream, String) {
    let told: Value = serde_json::from_str(&event.data).unwrap_or_default();
    match (event.kind.as_str(), is_json) {
        ("record", true) => (Stream::Stdout, format!("{}\n", event.data)),
        ("record", false) => (Stream::Stdout, record(&told, &event.data)),
        ("skipped", _) => (Stream::Stderr, format!("… {} more records\n", told["records"])),
        (_, _) => (Stream::Stderr, String::new()),
    }
}

/// `orders.acme  key  payload`.
fn record(told: &Value, raw: &str) -> String {
    let text = |name: &str| told[name].as_str().map(harmless);
    let topic = text("topic").unwrap_or_else(|| "–".to_owned());
    let key = text("key").or_else(|| text("key_base64")).unwrap_or_else(|| "–".to_owned());
    let payload = match (told.get("payload"), text("payload_text").or_else(|| text("payload_base64"))) {
        (Some(_), _) => payload_as_sent(raw),
        (None, Some(text)) => text,
        (None, None) => "(tombstone)".to_owned(),
    };
    let cut = if told["payload_cut"] == true { "…" } else { "" };
    format!("{topic}  {key}  {payload}{cut}\n")
}

/// Out of the text itself: reading numbers and writing them again could change their digits.
fn payload_as_sent(raw: &str) -> String {
    #[derive(serde::Deserialize)]
    struct Payload<'a> {
        #[serde(borrow)]
        payload: &'a serde_json::value::RawValue,
    }
    serde_json::from_str::<Payload<'_>>(raw).map(|told| harmless(told.payload.get())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, data: &str) -> Event {
        Event { id: None, kind: kind.to_owned(), data: data.to_owned() }
    }

    #[test]
    fn a_record_is_one_line_with_its_digits_and_without_control_characters() {
        let shown = |data: &str| line(&event("record", data), false).1;
        assert_eq!(
            shown("{\"topic\":\"t\",\"key\":\"k\",\"payload\":{\"n\":9007199254740993.25}}"),
            "t  k  {\"n\":9007199254740993.25}\n"
        );
        assert_eq!(
            shown("{\"topic\":\"t\",\"key\":null,\"payload_text\":\"\\u001b[2Jx\\ny\",\"payload_cut\":true}"),
            "t  –  \\u{1b}[2Jx\\ny…\n"
        );
        assert_eq!(shown("{\"key\":null,\"tombstone\":true}"), "–  –  (tombstone)\n");
    }

    #[test]
    fn what_was_not_shown_is_said_beside_the_records() {
        let (stream, text) = line(&event("skipped", "{\"records\":312}"), true);
        assert_eq!((stream, text.as_str()), (Stream::Stderr, "… 312 more records\n"));
    }

    #[test]
    fn the_pattern_is_one_value_of_the_query() {
        let arguments = TailArguments {
            key: "a".to_owned(),
            topic: Some("a&limit=1".to_owned()),
            after: After::Send,
            limit: Some(5),
        };
        assert_eq!(path(&arguments), "/sources/a/tail?stage=sent&topic=a%26limit%3D1&limit=5");
    }
}

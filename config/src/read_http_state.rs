//! From a checked `[state.http]` to where checkpoints are kept.

use std::time::Duration;

use crate::checked::{Fields, NamedText};
use crate::context::{Context, Draft, Place};
use crate::http_state::{HttpState, LoadMethod, SaveMethod, StateRetry, StateUrl};
use crate::secret::Secret;

/// Per request, when nothing is written.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Headers that say what a request means, and are therefore the engine's.
const OWN_HEADERS: [&str; 9] = [
    "if-match",
    "if-none-match",
    "idempotency-key",
    "content-type",
    "content-length",
    "transfer-encoding",
    "accept-encoding",
    "connection",
    "host",
];

/// `table` is `[state.http]`, where there is one; `place` is where a missing URL is reported. None after a finding.
pub(crate) fn read_http_state(
    cx: &mut Context<'_>,
    table: Option<&Fields>,
    place: &Place,
) -> Option<HttpState> {
    let Some(table) = table else {
        missing_url(cx, place);
        return None;
    };
    let url = read_url(cx, table);
    Some(HttpState {
        request_headers: read_headers(cx, table),
        load_method: match table.word("load_method") {
            Some("post") => LoadMethod::Post,
            Some(_) | None => LoadMethod::Get,
        },
        save_method: match table.word("save_method") {
            Some("post") => SaveMethod::Post,
            Some("patch") => SaveMethod::Patch,
            Some(_) | None => SaveMethod::Put,
        },
        timeout: table.time("timeout").unwrap_or(TIMEOUT),
        retry: table.table("retry").map_or_else(StateRetry::default, |retry| read_retry(cx, retry)),
        url: url?,
    })
}

fn missing_url(cx: &mut Context<'_>, place: &Place) {
    let draft = Draft::error("config.missing_field", "`storage = \"http\"` needs the URL of the server");
    cx.add(place, draft.hint("write [state.http] url = \"https://state.example/checkpoints\""));
}

fn read_url(cx: &mut Context<'_>, table: &Fields) -> Option<StateUrl> {
    let Some((text, place)) = table.text("url").filter(|(text, _)| !text.is_empty()) else {
        if !table.has_failed("url") {
            missing_url(cx, &table.place);
        }
        return None;
    };
    match StateUrl::parse(text) {
        Ok(url) => Some(url),
        Err(reason) => {
            cx.add(place, Draft::error("config.bad_url", format!("`url` {reason}")));
            None
        }
    }
}

fn read_headers(cx: &mut Context<'_>, table: &Fields) -> Vec<(String, Secret)> {
    let mut headers: Vec<(String, Secret)> = Vec::new();
    for entry in table.texts("request_headers") {
        let name = entry.name.to_ascii_lowercase();
        if let Some(reason) = header_fault(&name, entry) {
            cx.add(&entry.name_place, Draft::error("config.bad_header", reason));
        } else if headers.iter().any(|(known, _)| *known == name) {
            cx.add(
                &entry.name_place,
                Draft::error("config.bad_header", format!("`{name}` stands there twice")),
            );
        } else {
            headers.push((name, Secret::new(entry.text.resolved.clone())));
        }
    }
    headers
}

/// What is wrong with a header, without its value.
fn header_fault(name: &str, entry: &NamedText) -> Option<String> {
    if OWN_HEADERS.contains(&name) {
        return Some(format!("`{name}` is set by the engine itself; take it out"));
    }
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Some(format!("{name:?} is no name of a header"));
    }
    let is_value = |byte: u8| byte == b'\t' || (b' '..=b'~').contains(&byte);
    let value = &entry.text.resolved;
    if !value.bytes().all(is_value) {
        return Some(format!("the value of `{name}` holds a character that no header may hold"));
    }
    None
}

fn read_retry(cx: &mut Context<'_>, table: &Fields) -> StateRetry {
    let base = StateRetry::default();
    let initial_backoff = table.time("initial_backoff").unwrap_or(base.initial_backoff);
    let max_backoff = table.time("max_backoff").unwrap_or(base.max_backoff.max(initial_backoff));
    if initial_backoff > max_backoff {
        let place = table.get("initial_backoff").map_or(&table.place, |item| &item.place);
        cx.add(place, Draft::error("config.out_of_range", "`initial_backoff` is longer than `max_backoff`"));
    }
    let is_enabled = table.flag("enabled").unwrap_or(true);
    StateRetry {
        retries_max: match is_enabled {
            true => table.number_u32("max_attempts").unwrap_or(base.retries_max),
            false => 0,
        },
        initial_backoff,
        max_backoff,
        backoff_multiplier: table.number_u32("backoff_multiplier").unwrap_or(base.backoff_multiplier),
    }
}

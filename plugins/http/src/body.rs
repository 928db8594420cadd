//! What a body must be before it becomes a record. Pure, and bounded whatever is sent.
//!
//! What passes here is taken by the engine's own check of the same schema, so one bad post cannot fail the batch it
//! would share with good ones.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use picomq_connector_sdk::Schema;
use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What bodies must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// One JSON text.
    Json,
    /// UTF-8.
    Text,
    /// Any bytes.
    Raw,
}

/// Why a body is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum BadBody {
    /// Nothing was posted.
    #[error("the body is empty")]
    Empty,
    /// Longer than allowed, perhaps only once decompressed.
    #[error("the body is too large")]
    TooLarge,
    /// `Content-Encoding: gzip` over something else.
    #[error("the body is not gzip")]
    NotGzip,
    /// Not JSON, or nested deeper than 128.
    #[error("the body is not JSON")]
    NotJson,
    /// Not UTF-8.
    #[error("the body is not UTF-8")]
    NotText,
}

impl Format {
    /// The schema of the records.
    pub(crate) fn schema(self) -> Schema {
        match self {
            Format::Json => Schema::Json,
            Format::Text => Schema::Text,
            Format::Raw => Schema::Raw,
        }
    }

    /// Checks a body that is not compressed any more.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(self, body: &[u8]) -> Result<(), BadBody> {
        if body.is_empty() {
            return Err(BadBody::Empty);
        }
        match self {
            Format::Raw => Ok(()),
            Format::Text => std::str::from_utf8(body).map(drop).or(Err(BadBody::NotText)),
            Format::Json => {
                let text = std::str::from_utf8(body).or(Err(BadBody::NotJson))?;
                serde_json::from_str::<IgnoredAny>(text).or(Err(BadBody::NotJson))?;
                if depth(body) > DEPTH_MAX { Err(BadBody::NotJson) } else { Ok(()) }
            }
        }
    }

    /// Whether a post may call itself `content_type` when the definition does not list what it takes.
    pub(crate) fn takes_type(self, content_type: &str) -> bool {
        let essence = essence(content_type);
        match self {
            Format::Raw => true,
            Format::Json => essence == "application/json" || essence.ends_with("+json"),
            Format::Text => {
                essence.starts_with("text/")
                    || essence == "application/x-www-form-urlencoded"
                    || Format::Json.takes_type(content_type)
            }
        }
    }
}

/// What a reader that builds a tree will follow, such as a transform of the definition.
const DEPTH_MAX: usize = 127;

/// How deep the arrays and objects of a JSON text are nested.
fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest, mut is_text, mut is_escaped) = (0_usize, 0, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'[' | b'{' if !is_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// A content type without its parameters, in lower case.
pub(crate) fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Decompresses at most `bytes_max` bytes; a bomb costs no more than that.
///
/// # Errors
/// [`BadBody::TooLarge`] beyond it, [`BadBody::NotGzip`] when it is damaged or cut short.
pub fn gunzip(body: &[u8], bytes_max: usize) -> Result<Vec<u8>, BadBody> {
    let mut plain = Vec::with_capacity(body.len().min(bytes_max));
    let past = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
    MultiGzDecoder::new(body).take(past).read_to_end(&mut plain).or(Err(BadBody::NotGzip))?;
    if plain.len() > bytes_max { Err(BadBody::TooLarge) } else { Ok(plain) }
}

/// The text or number at one top-level field of a JSON body.
pub(crate) fn field(body: &[u8], name: &str) -> Option<String> {
    at(body, &[name])
}

/// The text, number or boolean at a path of a JSON body, as it is written.
pub(crate) fn at(body: &[u8], path: &[&str]) -> Option<String> {
    let mut raw: &serde_json::value::RawValue = serde_json::from_slice(body).ok()?;
    for segment in path {
        let object: std::collections::HashMap<Cow<'_, str>, &serde_json::value::RawValue> =
            serde_json::from_str(raw.get()).ok()?;
        raw = object.get(*segment)?;
    }
    let text = raw.get();
    match text.as_bytes().first()? {
        b'"' => serde_json::from_str(text).ok(),
        b'{' | b'[' | b'n' => None,
        _ => Some(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_bomb_is_refused_at_the_limit() {
        let bomb = gzip(&vec![0; 8 << 20]);
        assert!(bomb.len() < 10_000);
        assert_eq!(gunzip(&bomb, 1 << 20), Err(BadBody::TooLarge));
        assert_eq!(gunzip(&bomb, 8 << 20).map(|plain| plain.len()), Ok(8 << 20));
    }

    #[test]
    fn many_small_members_are_bounded_together() {
        let many = gzip(b"0123456789").repeat(100);
        assert_eq!(gunzip(&many, 999), Err(BadBody::TooLarge));
        assert_eq!(gunzip(&many, 1000).map(|plain| plain.len()), Ok(1000));
    }

    #[test]
    fn gzip_cut_anywhere_or_followed_by_rubbish_is_refused() {
        let whole = gzip(b"{\"a\": 1}");
        for end in 0..whole.len() {
            assert!(gunzip(&whole[..end], 100).is_err() || end == 0, "cut at {end}");
        }
        assert_eq!(gunzip(&[whole.as_slice(), b"rubbish"].concat(), 100), Err(BadBody::NotGzip));
    }

    #[test]
    fn a_ten_thousand_deep_array_is_no_json_and_no_stack_overflow_b109() {
        let deep = [b"[".repeat(10_000), b"]".repeat(10_000)].concat();
        assert_eq!(Format::Json.check(&deep), Err(BadBody::NotJson));
        assert_eq!(field(&deep, "id"), None);
    }

    #[test]
    fn what_is_taken_can_be_read_into_a_tree_however_deep() {
        for levels in 1..140 {
            let text = "[".repeat(levels) + r#""[[\"[""# + &"]".repeat(levels);
            let is_tree = serde_json::from_str::<serde_json::Value>(&text).is_ok();
            assert_eq!(Format::Json.check(text.as_bytes()).is_ok(), is_tree, "{levels}");
        }
    }

    #[test]
    fn each_format_refuses_what_it_is_not_b109() {
        assert_eq!(Format::Json.check(b"{\"a\":1} x"), Err(BadBody::NotJson));
        assert_eq!(Format::Json.check(b"{\"a\":\"\xff\"}"), Err(BadBody::NotJson));
        assert_eq!(Format::Text.check(b"\xff"), Err(BadBody::NotText));
        for format in [Format::Json, Format::Text, Format::Raw] {
            assert_eq!(format.check(b""), Err(BadBody::Empty));
        }
        assert_eq!(Format::Raw.check(b"\xff"), Ok(()));
    }

    #[test]
    fn a_field_is_found_by_its_path_and_keeps_its_digits() {
        let body = br#"{"a": {"b": 1.0, "c": "x\"y", "d": null, "e": [1]}, "id": "evt_1"}"#;
        assert_eq!(at(body, &["a", "b"]).as_deref(), Some("1.0"));
        assert_eq!(at(body, &["a", "c"]).as_deref(), Some("x\"y"));
        assert_eq!((at(body, &["a", "d"]), at(body, &["a", "e"]), at(body, &["z"])), (None, None, None));
        assert_eq!(field(body, "id").as_deref(), Some("evt_1"));
    }

    proptest! {
        #[test]
        fn whatever_is_posted_is_judged_without_a_panic(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            for format in [Format::Json, Format::Text, Format::Raw] {
                let _ = format.check(&body);
            }
            let _ = (gunzip(&body, 100), at(&body, &["a", "b"]));
        }

        #[test]
        fn gzip_comes_back_as_it_was(body in proptest::collection::vec(any::<u8>(), 0..2000)) {
            prop_assert_eq!(gunzip(&gzip(&body), 2000), Ok(body));
        }
    }
}

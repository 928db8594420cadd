//! The answer of a search: what of it matters, borrowed from its bytes. No document is parsed into a tree.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::key::Point;

/// One page.
#[derive(Debug, Deserialize)]
pub(crate) struct Page<'a> {
    #[serde(default)]
    pub(crate) timed_out: bool,
    #[serde(rename = "_shards")]
    shards: Shards<'a>,
    #[serde(rename = "_clusters", default)]
    clusters: Clusters,
    #[serde(borrow)]
    hits: Hits<'a>,
    /// The newest name of the point in time.
    #[serde(default)]
    pub(crate) pit_id: Option<String>,
    /// The newest name of the scroll.
    #[serde(rename = "_scroll_id", default)]
    pub(crate) scroll_id: Option<String>,
}

/// How many shards an answer is of.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Shards<'a> {
    #[serde(default)]
    failed: u32,
    #[serde(default)]
    total: u32,
    /// Those that were skipped are among them; none when the server does not say.
    #[serde(default)]
    successful: Option<u32>,
    #[serde(borrow, default)]
    failures: Option<&'a RawValue>,
}

impl Shards<'_> {
    /// Why this is not all of them, if so.
    pub(crate) fn distrust(&self) -> Option<String> {
        let Shards { failed, total, successful, failures } = self;
        if *failed > 0 {
            return Some(format!(
                "{failed} of {total} shards failed: {}",
                failures.map_or("", RawValue::get)
            ));
        }
        // Shards without any copy at hand are in neither count of some versions.
        let successful = successful.filter(|successful| successful < total)?;
        Some(format!("{successful} of {total} shards answered"))
    }
}

/// Of a search over other clusters.
#[derive(Debug, Default, Deserialize)]
struct Clusters {
    #[serde(default)]
    skipped: u32,
    #[serde(default)]
    failed: u32,
    #[serde(default)]
    partial: u32,
}

#[derive(Debug, Deserialize)]
struct Hits<'a> {
    #[serde(borrow)]
    hits: Vec<Hit<'a>>,
}

/// One document.
#[derive(Debug, Deserialize)]
pub(crate) struct Hit<'a> {
    #[serde(rename = "_index", borrow)]
    pub(crate) index: Cow<'a, str>,
    #[serde(rename = "_id", borrow)]
    pub(crate) id: Cow<'a, str>,
    #[serde(rename = "_seq_no", default)]
    pub(crate) sequence: Option<i64>,
    #[serde(rename = "_primary_term", default)]
    pub(crate) term: Option<i64>,
    #[serde(rename = "_version", default)]
    pub(crate) version: Option<i64>,
    #[serde(rename = "_source", borrow, default)]
    pub(crate) source: Option<&'a RawValue>,
    #[serde(default)]
    pub(crate) sort: Vec<Point>,
}

impl<'a> Page<'a> {
    /// Reads an answer; it must be one, whole.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Page<'a>, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    /// Why this page must not be taken for all there is, if so.
    pub(crate) fn distrust(&self) -> Option<String> {
        if self.timed_out {
            return Some("the search ran out of time (timed_out)".to_owned());
        }
        if let Some(why) = self.shards.distrust() {
            return Some(why);
        }
        let Clusters { skipped, failed, partial } = self.clusters;
        let away = u64::from(skipped) + u64::from(failed) + u64::from(partial);
        (away > 0).then(|| format!("{away} of the clusters searched did not answer in full"))
    }

    /// The documents, in their order.
    pub(crate) fn hits(&self) -> &[Hit<'a>] {
        &self.hits.hits
    }
}

/// What a server says when it refuses.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Such as `index_not_found_exception`; empty when it said none.
    pub(crate) kind: String,
    /// For people.
    pub(crate) reason: String,
}

impl Refusal {
    /// Reads the body of an answer that is no success; one that is not JSON of the known form gives its text.
    pub(crate) fn parse(body: &[u8]) -> Refusal {
        let text = || String::from_utf8_lossy(&body[..body.len().min(400)]).into_owned();
        let Ok(value) = serde_json::from_slice::<serde_json::Value>(body) else {
            return Refusal { kind: String::new(), reason: text() };
        };
        let word = |at: &str| value.pointer(at).and_then(serde_json::Value::as_str).unwrap_or_default();
        // The first cause says more than the phase that failed.
        for place in ["/error/root_cause/0", "/error/failed_shards/0/reason", "/error/caused_by", "/error"] {
            let (kind, reason) = (word(&format!("{place}/type")), word(&format!("{place}/reason")));
            if !kind.is_empty() || !reason.is_empty() {
                // Of some faults the server says no more than their kind.
                let told = if reason.is_empty() { kind } else { reason };
                return Refusal { kind: kind.to_owned(), reason: told.to_owned() };
            }
        }
        // A scroll that is over is answered with no error at all, and a strange path with a text.
        match word("/error") {
            "" => Refusal { kind: String::new(), reason: text() },
            error => Refusal { kind: String::new(), reason: error.to_owned() },
        }
    }

    /// Whether the point in time or scroll is no more.
    pub(crate) fn is_context_missing(&self) -> bool {
        self.kind == "search_context_missing_exception" || self.reason.contains("No search context found")
    }

    /// Whether the server holds as many points in time or scrolls as it may (`search.max_open_pit_context`,
    /// `search.max_open_scroll_context`).
    pub(crate) fn is_crowd(&self) -> bool {
        self.reason.contains("too many Point In Time contexts")
            || self.reason.contains("too many scroll contexts")
    }

    /// Whether a page of fewer documents would be allowed.
    pub(crate) fn is_page_too_large(&self) -> bool {
        self.reason.contains("Result window is too large") || self.reason.contains("Batch size is too large")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = r#"{"took":1,"timed_out":false,"_shards":{"total":3,"successful":3,"skipped":0,"failed":0},
        "hits":{"total":{"value":1},"max_score":null,"hits":[{"_index":"d","_type":"_doc","_id":"a\"b","_version":2,"_seq_no":7,
        "_primary_term":1,"_score":null,"_source": {"n": 9007199254740993, "d.e" : [1.10]} ,"sort":[1767225600123456781,7]}]}}"#;

    #[test]
    fn a_document_is_passed_on_byte_for_byte_b099() {
        let page = Page::parse(ANSWER.as_bytes()).unwrap();
        let hit = &page.hits()[0];
        assert_eq!(hit.source.unwrap().get(), r#"{"n": 9007199254740993, "d.e" : [1.10]}"#);
        assert_eq!((&*hit.id, &*hit.index, hit.sequence, hit.version), ("a\"b", "d", Some(7), Some(2)));
        assert_eq!(hit.sort, [Point::Int(1_767_225_600_123_456_781), Point::Int(7)]);
        assert_eq!(page.distrust(), None);
    }

    #[test]
    fn a_deep_document_needs_no_deep_stack_b099() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let answer = ANSWER.replace("[1.10]", &deep);
        let page = Page::parse(answer.as_bytes()).unwrap();
        assert!(page.hits()[0].source.unwrap().get().contains(&deep));
    }

    #[test]
    fn a_page_that_is_not_everything_is_not_trusted_b095() {
        for (right, wrong) in [
            ("\"timed_out\":false", "\"timed_out\":true"),
            ("\"successful\":3", "\"successful\":2"),
            ("\"failed\":0", "\"failed\":1,\"failures\":[{\"reason\":\"x\"}]"),
            ("\"took\":1", "\"took\":1,\"_clusters\":{\"total\":2,\"successful\":1,\"skipped\":1}"),
            ("\"took\":1", "\"took\":1,\"_clusters\":{\"skipped\":4294967295,\"failed\":1}"),
        ] {
            let answer = ANSWER.replace(right, wrong);
            assert!(Page::parse(answer.as_bytes()).unwrap().distrust().is_some(), "{wrong}");
        }
    }

    #[test]
    fn an_answer_without_its_parts_is_none() {
        for text in ["{}", "[]", r#"{"hits":{"hits":[]}}"#, r#"{"_shards":{"failed":0}}"#, &ANSWER[..200]] {
            assert!(Page::parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn the_first_cause_of_a_refusal_is_told() {
        let body = br#"{"error":{"root_cause":[{"type":"index_not_found_exception","reason":"no such index [d]"}],"type":"x"},"status":404}"#;
        let refusal = Refusal::parse(body);
        assert_eq!((&*refusal.kind, &*refusal.reason), ("index_not_found_exception", "no such index [d]"));
        assert_eq!(Refusal::parse(br#"{"error":"no handler found"}"#).reason, "no handler found");
        assert_eq!(Refusal::parse(b"<html>").reason, "<html>");
        let mute = br#"{"error":{"root_cause":[{"type":"unsupported_operation_exception","reason":null}]},"status":500}"#;
        assert_eq!(Refusal::parse(mute).reason, "unsupported_operation_exception");
        let gone = br#"{"error":{"root_cause":[{"type":"search_context_missing_exception","reason":"No search context found for id [5]"}]}}"#;
        assert!(Refusal::parse(gone).is_context_missing());
    }
}

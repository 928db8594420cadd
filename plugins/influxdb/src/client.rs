//! Requests in each of the three languages, and what a refusal means.

use picomq_connector_sdk::http::{Answer, Kind, Request};
use serde_json::{Value, json};

use crate::error::Error;
use crate::query::Dialect;
use crate::words;

/// Most bytes of a refusal that are read.
const REFUSAL_BYTES_MAX: usize = 64 << 10;
/// Rows of one document of an InfluxQL answer: the server's memory, and ours.
const CHUNK_ROWS: &str = "5000";

/// Where and how to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) dialect: Dialect,
    pub(crate) org: Option<String>,
    pub(crate) database: Option<String>,
    pub(crate) retention_policy: Option<String>,
}

impl Endpoint {
    /// The request for a query.
    pub(crate) fn request(&self, query: &str) -> Request {
        match self.dialect {
            Dialect::InfluxQl => self.influxql(query),
            Dialect::Flux => {
                let dialect = json!({
                    "annotations": ["datatype", "group", "default"], "delimiter": ",", "header": true,
                });
                let body = json!({ "query": query, "type": "flux", "dialect": dialect });
                let request = Request::post(["api", "v2", "query"]).json(body.to_string());
                request.query("org", self.org.as_deref().unwrap_or_default())
            }
            Dialect::Sql => {
                let body = json!({ "db": self.database, "q": query, "format": "jsonl" });
                Request::post(["api", "v3", "query_sql"]).json(body.to_string())
            }
        }
    }

    fn influxql(&self, query: &str) -> Request {
        let request = Request::get(["query"])
            .query("db", self.database.as_deref().unwrap_or_default())
            .query("epoch", "ns")
            .query("chunked", "true")
            .query("chunk_size", CHUNK_ROWS)
            .query("q", query);
        match &self.retention_policy {
            Some(policy) => request.query("rp", policy.as_str()),
            None => request,
        }
    }
}

/// The error of an answer that is no success.
pub(crate) async fn refusal(answer: Answer) -> Error {
    let mut body = Vec::new();
    let head = match answer.read(&mut body, REFUSAL_BYTES_MAX).await {
        Ok((head, _)) => head,
        Err(error) => return Error::Asking(error),
    };
    let reason = reason(&body);
    let error = head.refusal("the query", &reason);
    if head.kind() == Kind::Authentication {
        return Error::Asking(error);
    }
    let is_missing =
        head.status() == 404 && has_any(&reason, &["bucket", "database", "organization", "org "]);
    match words::error(&head.said(&reason)) {
        Error::NotFound(_) => Error::NotFound(error.to_string()),
        _ if is_missing => Error::NotFound(error.to_string()),
        // InfluxDB 1.13 answers a query that does not compile with 500.
        told @ (Error::Query(_) | Error::Running(_) | Error::EmptyRange) => told,
        _ if head.status() == 404 => Error::OtherServer(error.to_string()),
        _ if matches!(head.status(), 400 | 422) => Error::Query(head.said(&reason)),
        _ => Error::Asking(error),
    }
}

fn has_any(text: &str, parts: &[&str]) -> bool {
    let text = text.to_ascii_lowercase();
    parts.iter().any(|part| text.contains(part))
}

/// The server's words: `error` or `message` of a JSON body, else its beginning.
fn reason(body: &[u8]) -> String {
    let json = serde_json::from_slice::<Value>(body).ok();
    let words = json
        .as_ref()
        .and_then(|json| ["message", "error"].iter().find_map(|name| json.get(name).and_then(Value::as_str)));
    words.map_or_else(|| String::from_utf8_lossy(&body[..body.len().min(400)]).into_owned(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_words_are_found_in_each_form() {
        assert_eq!(reason(br#"{"error":"error parsing query"}"#), "error parsing query");
        assert_eq!(reason(br#"{"code":"invalid","message":"compilation failed"}"#), "compilation failed");
        assert_eq!(reason(b"plain"), "plain");
    }
}

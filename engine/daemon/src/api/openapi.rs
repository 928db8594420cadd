//! `/openapi.json`: what the API serves, for programs. Kept by hand in `openapi.json`; tests hold it against the routes
//! and against real answers, and a foreign tool tries everything it says on a running daemon.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use serde_json::Value;

use super::access::Caller;
use super::process_view::Api;
use crate::version::VERSION;

const DOCUMENT: &str = include_str!("openapi.json");

/// Where the document says that metrics are, which is a setting.
const METRICS: &str = "/metrics";

/// The document of this daemon. Without keys it wants none.
pub(super) async fn openapi(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
) -> Json<Value> {
    let metrics = api.metrics.is_some().then_some(api.metrics_endpoint.as_str());
    let mut document = document(metrics);
    if caller == Caller::Local {
        document["security"] = serde_json::json!([]);
    }
    Json(document)
}

/// With the version of this program, and metrics where they really are.
fn document(metrics: Option<&str>) -> Value {
    let mut document: Value = serde_json::from_str(DOCUMENT).expect("a test reads it");
    document["info"]["version"] = VERSION.into();
    if let Some(paths) = document["paths"].as_object_mut()
        && let Some(described) = paths.remove(METRICS)
        && let Some(path) = metrics
    {
        paths.insert(path.to_owned(), described);
    }
    document
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const METHODS: [&str; 4] = ["get", "post", "put", "delete"];

    /// Every route that the code of this folder sets up, tests aside.
    fn served() -> BTreeSet<String> {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/api");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let code = files.filter(|file| file.extension().is_some_and(|end| end == "rs"));
        code.filter(|file| !file.ends_with("tests.rs") && !file.ends_with("openapi.rs"))
            .flat_map(|file| routes(&std::fs::read_to_string(file).unwrap()))
            .collect()
    }

    /// `GET /path` for each `.route("/path", get(…))`.
    fn routes(code: &str) -> Vec<String> {
        let mut found = Vec::new();
        for piece in code.split(".route(").skip(1) {
            let Some(rest) = piece.trim_start().strip_prefix('"') else { continue };
            let (path, handlers) = rest.split_once('"').unwrap();
            // Up to the next route; the last one up to the end of its statement.
            let handlers = handlers.split([';', '}']).next().unwrap();
            for method in METHODS {
                if handlers.contains(&format!("{method}(")) {
                    found.push(format!("{} {path}", method.to_uppercase()));
                }
            }
        }
        found
    }

    fn documented(document: &Value) -> BTreeSet<String> {
        let paths = document["paths"].as_object().unwrap().iter();
        paths
            .flat_map(|(path, operations)| {
                let operations = operations.as_object().unwrap();
                operations.keys().map(move |method| format!("{} {path}", method.to_uppercase()))
            })
            .collect()
    }

    #[test]
    fn what_is_served_is_documented_and_nothing_else() {
        assert_eq!(served(), documented(&document(None)));
        assert!(served().contains("DELETE /sources/{key}/state") && served().len() > 20);
    }

    #[test]
    fn metrics_are_documented_where_they_are() {
        let paths = |metrics| documented(&document(metrics));
        assert!(paths(Some("/ops/metrics")).contains("GET /ops/metrics"));
        assert!(!paths(None).contains("GET /metrics"));
        assert_eq!(document(None)["info"]["version"], VERSION);
    }

    #[test]
    fn every_schema_that_is_named_is_there() {
        let document = document(Some("/metrics"));
        let text = document.to_string();
        for named in text.split("#/components/schemas/").skip(1) {
            let name = named.split('"').next().unwrap();
            assert!(document["components"]["schemas"][name].is_object(), "{name}");
        }
    }
}

//! How large a body may be, by route.

use axum::http::Method;

/// Commands and their arguments.
const COMMAND: usize = 64 * 1024;

/// A definition as text or JSON.
const DEFINITION: usize = 1024 * 1024;

/// A state that is written back.
const STATE: usize = 64 * 1024 * 1024;

/// Bytes that are read of a body; one that is larger is refused before it is read.
pub(super) fn bytes_max(method: &Method, path: &str) -> usize {
    let takes_document = matches!(*method, Method::POST | Method::PUT);
    let is_source = path.starts_with("/sources/");
    if *method == Method::PUT && is_source && path.ends_with("/state") {
        return STATE;
    }
    let is_definition = path == "/definitions/validate" || is_source && path.ends_with("/configs");
    if takes_document && is_definition { DEFINITION } else { COMMAND }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_routes_that_take_a_document_take_a_large_body() {
        assert_eq!(bytes_max(&Method::POST, "/sources/a/restart"), COMMAND);
        assert_eq!(bytes_max(&Method::POST, "/sources/a/configs"), DEFINITION);
        assert_eq!(bytes_max(&Method::POST, "/definitions/validate"), DEFINITION);
        assert_eq!(bytes_max(&Method::PUT, "/sources/a/state"), STATE);
        assert_eq!(bytes_max(&Method::GET, "/sources/a/state"), COMMAND);
        assert_eq!(bytes_max(&Method::PUT, "/elsewhere/state"), COMMAND);
    }
}

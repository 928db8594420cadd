//! Pages of other origins, for those who switched them on.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, Method};
use pico_config::Cors;
use tower_http::cors::{AllowOrigin, CorsLayer};

/// How long a browser may remember what it was told.
const REMEMBERED: Duration = Duration::from_secs(600);

/// The layer that answers preflights and marks answers. Everything in `cors` passed its grammar.
pub(super) fn layer(cors: &Cors) -> CorsLayer {
    let is_open = cors.allowed_origins.iter().any(|origin| origin == "*");
    let origins = cors.allowed_origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok());
    let origin = if is_open { AllowOrigin::any() } else { AllowOrigin::list(origins) };
    let names = |names: &[String]| -> Vec<HeaderName> {
        names.iter().filter_map(|name| HeaderName::from_bytes(name.as_bytes()).ok()).collect()
    };
    let methods = cors.allowed_methods.iter();
    let methods: Vec<Method> = methods.filter_map(|name| Method::from_bytes(name.as_bytes()).ok()).collect();
    CorsLayer::new()
        .allow_origin(origin)
        .allow_methods(methods)
        .allow_headers(names(&cors.allowed_headers))
        .expose_headers(names(&cors.exposed_headers))
        .allow_credentials(cors.allow_credentials)
        .allow_private_network(cors.allow_private_network)
        .max_age(REMEMBERED)
}

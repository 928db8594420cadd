//! `/plugins`: the libraries a definition could name.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use super::problem::Problem;
use super::process_view::Api;
use crate::plugins::Listing;

/// Looks into the folders now. Loading a library blocks, so it happens on a thread that may.
pub(super) async fn plugins(State(api): State<Arc<Api>>) -> Result<Json<Listing>, Problem> {
    let catalog = api.plugins.clone();
    let listed = tokio::task::spawn_blocking(move || catalog.list()).await;
    listed.map(Json).map_err(|_panicked| {
        Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "plugin.listing_failed",
            "a library could not be looked at",
        )
        .with_hint("the log of the daemon says which; ask again without it")
    })
}

//! What a handler is given, and the words that all answers share.

use std::net::SocketAddr;
use std::sync::Arc;

use kafka_protocol::ResponseError;
use kafka_protocol::protocol::StrBytes;

use crate::node::Node;
use crate::offered::Api;

/// Why a request cannot be answered, so that its connection is closed, as Kafka does.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadRequest {
    #[error("request of {0} bytes is shorter than a header")]
    Short(usize),
    #[error("API {0} is not offered")]
    UnknownApi(i16),
    #[error("version {version} of {api:?} is not offered")]
    Version { api: Api, version: i16 },
    #[error("{api:?} request is malformed")]
    Shape { api: Api },
    #[error("{api:?} request cannot be decoded: {source}")]
    Decode { api: Api, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("answer cannot be encoded: {0}")]
    Encode(Box<dyn std::error::Error + Send + Sync>),
    #[error("Produce without acknowledgement failed, which closing says")]
    Unacknowledged,
    #[error("the group dropped the request")]
    Dropped,
}

/// The two ends of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    pub(crate) local: SocketAddr,
}

/// One request on its way through a handler.
pub(super) struct Call<'a> {
    pub(super) node: &'a Arc<Node>,
    pub(super) peer: Peer,
    pub(super) version: i16,
    pub(super) client_id: String,
    /// The error to answer instead of doing anything, because a fault says so.
    pub(super) refuse: Option<ResponseError>,
    /// The error to answer after doing it, because a fault says so.
    pub(super) lie: Option<ResponseError>,
}

/// The code of an outcome, 0 for success.
pub(super) fn code(error: Option<ResponseError>) -> i16 {
    error.map_or(0, |error| error.code())
}

pub(super) fn text(text: impl Into<String>) -> StrBytes {
    StrBytes::from_string(text.into())
}

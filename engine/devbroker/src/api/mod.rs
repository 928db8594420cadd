//! The requests this broker answers.
//!
//! Offered versions end before the protocol's compact ("flexible") encodings, except for ApiVersions, so that a request's
//! shape can be checked before the codec reserves memory for the counts in it: see [`shape`]. Metadata ends at 8 for a
//! second reason: librdkafka cannot read long answers of version 9.

mod admin;
mod call;
mod fetch;
mod group_admin;
mod group_offsets;
mod list_offsets;
mod membership;
mod metadata;
mod produce;
mod shape;

use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::ResponseError;
use kafka_protocol::messages::{RequestHeader, ResponseHeader};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, decode_request_header_from_buffer};

use crate::faults::Injected;
use crate::node::Node;
use crate::offered::Api;
use call::Call;
pub(crate) use call::{BadRequest, Peer};

/// Key, version, correlation id and the length of the client id.
const HEADER_BYTES_MIN: usize = 10;
const LENGTH_BYTES: usize = 4;

/// What comes of a request.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Send this.
    Answer(Bytes),
    /// Send nothing: the client asked for no acknowledgement.
    Silent,
    /// Cut the connection, because a fault says so.
    Cut,
}

/// A request whose header is read.
struct Envelope {
    api: Api,
    version: i16,
    correlation: i32,
    body: Bytes,
}

/// Answers one request frame.
pub(crate) async fn answer(node: &Arc<Node>, peer: Peer, mut frame: Bytes) -> Result<Outcome, BadRequest> {
    let (api, version) = peek(&frame)?;
    let header = header(api, &mut frame)?;
    let offer = api.offer();
    if !(offer.min..=offer.max).contains(&version) {
        return unsupported(api, &header);
    }
    let envelope = Envelope { api, version, correlation: header.correlation_id, body: frame };
    envelope.check_shape()?;
    let Injected { refuse, lie, cut } = node.faults.on_request(api);
    let client_id = header.client_id.map(|id| id.to_string()).unwrap_or_default();
    let call = Call { node, peer, version, client_id, refuse, lie };
    let outcome = dispatch(&call, envelope).await?;
    Ok(if cut { Outcome::Cut } else { outcome })
}

async fn dispatch(call: &Call<'_>, envelope: Envelope) -> Result<Outcome, BadRequest> {
    match envelope.api {
        Api::Produce => match produce::produce(call, envelope.decode()?).await? {
            Some(response) => envelope.encode(&response),
            None => Ok(Outcome::Silent),
        },
        Api::Fetch => envelope.encode(&fetch::fetch(call, envelope.decode()?).await),
        Api::ListOffsets => envelope.encode(&list_offsets::list_offsets(call, envelope.decode()?)),
        Api::Metadata => envelope.encode(&metadata::metadata(call, envelope.decode()?).await),
        Api::OffsetCommit => envelope.encode(&group_offsets::commit(call, envelope.decode()?).await),
        Api::OffsetFetch => envelope.encode(&group_offsets::fetch(call, envelope.decode()?)),
        Api::FindCoordinator => envelope.encode(&metadata::find_coordinator(call, envelope.decode()?)),
        Api::JoinGroup => envelope.encode(&membership::join(call, envelope.decode()?).await?),
        Api::Heartbeat => envelope.encode(&membership::heartbeat(call, envelope.decode()?)),
        Api::LeaveGroup => envelope.encode(&membership::leave(call, envelope.decode()?)),
        Api::SyncGroup => envelope.encode(&membership::sync(call, envelope.decode()?).await?),
        Api::DescribeGroups => envelope.encode(&group_admin::describe(call, envelope.decode()?)),
        Api::ListGroups => envelope.encode(&group_admin::list(call, envelope.decode()?)),
        Api::ApiVersions => envelope.encode(&metadata::api_versions(call, envelope.decode()?)),
        Api::CreateTopics => envelope.encode(&admin::create_topics(call, envelope.decode()?).await),
        Api::DeleteTopics => envelope.encode(&admin::delete_topics(call, envelope.decode()?).await),
        Api::InitProducerId => envelope.encode(&produce::init_producer_id(call, envelope.decode()?)),
        Api::DescribeConfigs => envelope.encode(&admin::describe_configs(call, envelope.decode()?)),
    }
}

fn peek(frame: &Bytes) -> Result<(Api, i16), BadRequest> {
    if frame.len() < HEADER_BYTES_MIN {
        return Err(BadRequest::Short(frame.len()));
    }
    let mut start = &frame[..];
    let (key, version) = (start.get_i16(), start.get_i16());
    let api = Api::of_key(key).ok_or(BadRequest::UnknownApi(key))?;
    Ok((api, version))
}

fn header(api: Api, frame: &mut Bytes) -> Result<RequestHeader, BadRequest> {
    decode_request_header_from_buffer(frame)
        .map_err(|source| BadRequest::Decode { api, source: source.into() })
}

/// A client that asks for ApiVersions in a version it cannot know to be offered is told which are, in version 0.
fn unsupported(api: Api, header: &RequestHeader) -> Result<Outcome, BadRequest> {
    let version = header.request_api_version;
    if api != Api::ApiVersions {
        return Err(BadRequest::Version { api, version });
    }
    let response = metadata::offered(Some(ResponseError::UnsupportedVersion));
    encode(header.correlation_id, 0, &response)
}

impl Envelope {
    fn check_shape(&self) -> Result<(), BadRequest> {
        let Self { api, version, .. } = *self;
        if shape::fits(api, version, &self.body) { Ok(()) } else { Err(BadRequest::Shape { api }) }
    }

    fn decode<T: Decodable>(&self) -> Result<T, BadRequest> {
        let mut body = self.body.clone();
        let decoded = T::decode(&mut body, self.version);
        decoded.map_err(|source| BadRequest::Decode { api: self.api, source: source.into() })
    }

    fn encode<T: Encodable + HeaderVersion>(&self, response: &T) -> Result<Outcome, BadRequest> {
        encode(self.correlation, self.version, response)
    }
}

fn encode<T: Encodable + HeaderVersion>(
    correlation: i32,
    version: i16,
    response: &T,
) -> Result<Outcome, BadRequest> {
    let failed = |source| BadRequest::Encode(Into::into(source));
    let mut frame = BytesMut::zeroed(LENGTH_BYTES);
    let header = ResponseHeader::default().with_correlation_id(correlation);
    let header_version = T::header_version(version);
    header.encode(&mut frame, header_version).map_err(failed)?;
    response.encode(&mut frame, version).map_err(failed)?;
    let length = (frame.len() - LENGTH_BYTES) as i32;
    frame[..LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
    Ok(Outcome::Answer(frame.freeze()))
}

//! What a broker is started with. Every limit of the broker is a field here or a constant beside its use.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// The port that `dev` tries first. [`Config::default`] asks for a free port instead, so that tests never meet.
pub const DEV_PORT: u16 = 19_092;

/// Settings of a development broker.
///
/// The default keeps everything in memory, listens on a free loopback port and creates no topic by itself.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to listen. Port 0 takes a free one; [`BrokerHandle::addr`](crate::BrokerHandle::addr) tells which.
    pub address: SocketAddr,
    /// The address named in Metadata answers; `None` names the one each client reached the broker by. Set it when
    /// clients come through a proxy.
    pub advertised: Option<SocketAddr>,
    /// Whether a Metadata request for an unknown topic creates it, when the client allows that too.
    pub auto_create: bool,
    /// Folder of append-only files, one a topic; `None` keeps all in memory. Written before the answer, not synced
    /// until [`DevBroker::shutdown`](crate::DevBroker::shutdown): safe against a killed process, not against power loss.
    pub data: Option<PathBuf>,
    /// Bytes kept of one topic; past it its oldest batches are dropped and its log start offset moves.
    /// The newest batch always stays. A topic's `retention.bytes` may lower it.
    pub topic_bytes_max: u64,
    /// Bytes kept of all topics together; past it the topic being appended to drops its oldest batches.
    pub total_bytes_max: u64,
    /// Topics at once; further ones are refused with `POLICY_VIOLATION`.
    pub topics_max: usize,
    /// Largest record batch, as Kafka's `message.max.bytes`; a larger one is `MESSAGE_TOO_LARGE`. A topic's
    /// `max.message.bytes` takes its place.
    pub message_bytes_max: usize,
    /// Largest request frame; a client that announces more is disconnected.
    pub frame_bytes_max: usize,
    /// Connections at once; further ones are closed when accepted.
    pub connections_max: usize,
    /// A connection without a whole request for so long is closed, as Kafka's `connections.max.idle.ms`.
    pub idle_max: Duration,
    /// Consumer groups at once; further ones are refused with `GROUP_MAX_SIZE_REACHED`.
    pub groups_max: usize,
    /// Members of one group; further ones are refused with `GROUP_MAX_SIZE_REACHED`.
    pub group_members_max: usize,
    /// Idempotent producers remembered by each topic; the one silent for the longest is forgotten first.
    pub producers_max: usize,
    /// Batches a [`Tail`](crate::Tail) may fall behind before it loses the oldest and counts them.
    pub tail_batches_max: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            advertised: None,
            auto_create: false,
            data: None,
            topic_bytes_max: 64 << 20,
            total_bytes_max: 1 << 30,
            topics_max: 10_000,
            message_bytes_max: 1_048_588,
            frame_bytes_max: 16 << 20,
            connections_max: 4_096,
            idle_max: Duration::from_secs(600),
            groups_max: 1_000,
            group_members_max: 1_000,
            producers_max: 1_000,
            tail_batches_max: 1_024,
        }
    }
}

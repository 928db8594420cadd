//! Looking inside a broker without a client, and switching its faults.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use kafka_protocol::ResponseError;

use crate::api::{self, Outcome, Peer};
use crate::error::Error;
use crate::faults::FaultKnobs;
use crate::log::BadBody;
use crate::node::Node;
use crate::record::Record;
use crate::tail::Tail;
use crate::topic::{Topic, TopicInfo};
use crate::topic_settings::TopicSettings;

/// A cheap, cloneable view of a [`DevBroker`](crate::DevBroker). It stays readable after the broker stopped.
#[derive(Debug, Clone)]
pub struct BrokerHandle {
    node: Arc<Node>,
    address: SocketAddr,
}

impl BrokerHandle {
    pub(crate) fn new(node: Arc<Node>, address: SocketAddr) -> Self {
        Self { node, address }
    }

    pub(crate) fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// Where the broker listens, with the port it really got.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }

    /// The fault switches.
    pub fn faults(&self) -> &FaultKnobs {
        &self.node.faults
    }

    /// From now on Metadata names this address, for clients that come through a proxy; `None` names the one each client
    /// reached the broker by.
    pub fn advertise(&self, address: Option<SocketAddr>) {
        self.node.advertise(address);
    }

    /// All topics by name.
    pub fn topics(&self) -> Vec<TopicInfo> {
        self.node.topics.all().iter().map(|topic| topic.info()).collect()
    }

    /// One topic.
    pub fn topic(&self, name: &str) -> Result<TopicInfo, Error> {
        Ok(self.find(name)?.info())
    }

    /// Up to `max` records of a topic from offset `from` on, decoded. Fewer than `max` means that the log ends there.
    pub fn records(&self, name: &str, from: i64, max: usize) -> Result<Vec<Record>, Error> {
        let topic = self.find(name)?;
        let Ok(found) = topic.records(from, max) else {
            let (start, end) = topic.bounds();
            return Err(Error::OffsetOutOfRange { topic: name.to_owned(), offset: from, start, end });
        };
        found.map_err(|BadBody { base_offset, reason }| Error::Undecodable {
            topic: name.to_owned(),
            offset: base_offset,
            reason,
        })
    }

    /// All records appended from now on, in all topics.
    pub fn subscribe(&self) -> Tail {
        self.node.announcer.subscribe()
    }

    /// Creates an empty topic without configuration.
    pub async fn create_topic(&self, name: &str) -> Result<(), Error> {
        let topic = name.to_owned();
        let created =
            self.node.blocking(move |node| node.topics.create(&topic, TopicSettings::default())).await;
        created.map(|_| ()).map_err(|reason| Error::Create { topic: name.to_owned(), reason })
    }

    /// Deletes a topic with its records and the group offsets in it.
    pub async fn delete_topic(&self, name: &str) -> Result<(), Error> {
        let topic = name.to_owned();
        match self.node.blocking(move |node| node.delete_topic(&topic)).await {
            Ok(()) => Ok(()),
            Err(ResponseError::UnknownTopicOrPartition) => {
                Err(Error::UnknownTopic { topic: name.to_owned() })
            }
            Err(code) => Err(Error::Delete { topic: name.to_owned(), code }),
        }
    }

    /// Deletes a topic and creates it anew with the same settings, empty and with no memory of its producers.
    pub async fn reset_topic(&self, name: &str) -> Result<(), Error> {
        let settings = self.find(name)?.settings().clone();
        self.delete_topic(name).await?;
        let topic = name.to_owned();
        let created = self.node.blocking(move |node| node.topics.create(&topic, settings)).await;
        created.map(|_| ()).map_err(|reason| Error::Create { topic: name.to_owned(), reason })
    }

    /// Answers one request frame, without its length, as a connection would; `None` where a connection would be cut or gets
    /// no answer. For fuzzing: hostile bytes reach everything behind the socket, waiting fetches and joins included.
    pub async fn answer_frame(&self, frame: Bytes) -> Option<Bytes> {
        let peer = Peer { address: self.address, local: self.address };
        match api::answer(&self.node, peer, frame).await {
            Ok(Outcome::Answer(answer)) => Some(answer),
            Ok(Outcome::Silent | Outcome::Cut) | Err(_) => None,
        }
    }

    fn find(&self, name: &str) -> Result<Arc<Topic>, Error> {
        self.node.topics.get(name).ok_or_else(|| Error::UnknownTopic { topic: name.to_owned() })
    }
}

//! What a source asks of its broker, worked out once: which blocks share a client, what each client may hold.

use std::ffi::CString;
use std::time::Duration;

use metrics::Counter;
use pico_actors::telemetry;
use pico_config::{Definition, ErrorPolicy, Kafka, Limits, OnRecordError, Replication, TopicBlock};

use crate::error::c_string;
use crate::settings::{self, ClientKey, QueueBounds, Settings};

/// A client without a record for this long is dropped: an idle one costs threads and memory.
const IDLE_AFTER: Duration = Duration::from_secs(5 * 60);

/// What the port of one source is made from.
#[derive(Debug, Clone)]
pub struct BrokerSettings {
    /// How to reach the broker.
    pub kafka: Kafka,
    /// Bounds on records and on what is in flight.
    pub limits: Limits,
    /// The source's blocks, in their order.
    pub blocks: Vec<TopicBlock>,
    /// What it does with records that fail.
    pub errors: ErrorPolicy,
    /// Batches in flight at once.
    pub max_in_flight: u32,
    /// Longest silence of the client while reports are outstanding.
    pub batch_deadline: Duration,
    /// Time without a record after which clients are dropped; five minutes, less only in tests.
    pub idle_after: Duration,
    /// Records a client holds; worked out from the limits, less only in tests.
    pub queue_messages: Option<u64>,
    /// Counts the topics created for the source.
    pub topics_created: Counter,
}

impl BrokerSettings {
    /// Of a definition under the engine's `[kafka]` and `[limits]`.
    pub fn new(kafka: &Kafka, limits: &Limits, definition: &Definition) -> BrokerSettings {
        BrokerSettings {
            kafka: kafka.clone(),
            limits: *limits,
            blocks: definition.topics.clone(),
            errors: definition.errors.clone(),
            max_in_flight: definition.max_in_flight,
            batch_deadline: definition.supervision.batch_deadline,
            idle_after: IDLE_AFTER,
            queue_messages: None,
            topics_created: telemetry::topics_created(&definition.key),
        }
    }
}

/// The settings, ready for use.
pub(crate) struct Plan {
    kafka: Kafka,
    limits: Limits,
    /// One for each block, and behind them one for the dead letters where there may be any.
    pub(crate) blocks: Vec<BlockPlan>,
    pub(crate) clients: Vec<ClientPlan>,
    pub(crate) batch_deadline: Duration,
    pub(crate) idle_after: Duration,
    pub(crate) record_bytes_max: usize,
    pub(crate) topics_created: Counter,
}

/// What sending to the topics of a block takes.
pub(crate) struct BlockPlan {
    /// Position of its client.
    pub(crate) client: usize,
    pub(crate) create_topics: bool,
    pub(crate) replication: Replication,
    pub(crate) topic_settings: Vec<(CString, CString)>,
}

/// One client, shared by the blocks with equal settings.
pub(crate) struct ClientPlan {
    key: ClientKey,
    bounds: QueueBounds,
    /// Bytes of one full request to a partition.
    pub(crate) request_bytes: u64,
    /// Topics that its blocks may send to.
    pub(crate) topics_most: usize,
}

impl ClientPlan {
    /// Whether it waits for fuller requests.
    pub(crate) fn lingers(&self) -> bool {
        self.key.lingers()
    }

    /// Records in one request at most.
    pub(crate) fn batch_length(&self) -> u32 {
        self.key.batch_length()
    }
}

impl Plan {
    pub(crate) fn new(source: BrokerSettings) -> Plan {
        let mut clients: Vec<ClientPlan> = Vec::new();
        let mut blocks = Vec::with_capacity(source.blocks.len());
        for block in &source.blocks {
            let key = ClientKey::of(block);
            let known = clients.iter().position(|client| client.key == key);
            let client = known.unwrap_or_else(|| {
                let bounds = QueueBounds { messages: 0, bytes: 0 };
                let request_bytes = settings::request_bytes(&source.kafka, &source.limits, &key);
                clients.push(ClientPlan { key, bounds, request_bytes, topics_most: 0 });
                clients.len() - 1
            });
            clients[client].topics_most += block.max_topics as usize;
            blocks.push(BlockPlan::new(client, block));
        }
        for (at, client) in clients.iter_mut().enumerate() {
            let sharing = blocks.iter().filter(|block| block.client == at).count();
            client.bounds = QueueBounds::new(&source.limits, source.max_in_flight, sharing);
            client.bounds.messages = source.queue_messages.unwrap_or(client.bounds.messages);
        }
        if let OnRecordError::DeadLetter { .. } = source.errors.on_record_error {
            blocks.extend(BlockPlan::of_dead_letters(&source.blocks));
            clients.iter_mut().take(1).for_each(|client| client.topics_most += 1);
        }
        let record_bytes_max = settings::record_bytes_max(&source.limits);
        let BrokerSettings { kafka, limits, batch_deadline, idle_after, topics_created, .. } = source;
        Plan { kafka, limits, blocks, clients, batch_deadline, idle_after, record_bytes_max, topics_created }
    }

    /// librdkafka's settings for the client at this position.
    pub(crate) fn settings(&self, client: usize, is_unordered: bool) -> Settings {
        let ClientPlan { key, bounds, .. } = &self.clients[client];
        settings::producer(&self.kafka, &self.limits, key, *bounds, is_unordered)
    }
}

impl BlockPlan {
    /// Dead letters go through the client of the first block. Their topic is made if a block may make topics, as that
    /// block does but with the broker's settings: compaction, say, would throw away letters of one key.
    fn of_dead_letters(blocks: &[TopicBlock]) -> Option<BlockPlan> {
        let model = blocks.iter().find(|block| block.create_topics).or(blocks.first())?;
        Some(BlockPlan { topic_settings: Vec::new(), ..BlockPlan::new(0, model) })
    }

    fn new(client: usize, block: &TopicBlock) -> BlockPlan {
        let topic_settings = block.topic_config.iter().map(|(name, value)| (c_string(name), c_string(value)));
        BlockPlan {
            client,
            create_topics: block.create_topics,
            replication: block.replication,
            topic_settings: topic_settings.collect(),
        }
    }
}

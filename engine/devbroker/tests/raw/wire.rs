//! A client of a few lines, and what most stories need.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::indexmap::IndexMap;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::fetch_response::PartitionData;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::produce_response::PartitionProduceResponse;
use kafka_protocol::messages::{FetchRequest, FetchResponse, ProduceRequest, RequestHeader, TopicName};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes};
use kafka_protocol::records::{Compression, Record, RecordBatchEncoder, RecordEncodeOptions, TimestampType};
use pico_devbroker::{Config, DevBroker};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longest wait for anything that should happen at once.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// A broker with these topics.
pub(crate) async fn broker_with(config: Config, topics: &[&str]) -> DevBroker {
    let broker = pico_devbroker::start(config).await.unwrap();
    for topic in topics {
        broker.handle().create_topic(topic).await.unwrap();
    }
    broker
}

/// A broker in memory with these topics, and a client of it.
pub(crate) async fn scene(topics: &[&str]) -> (DevBroker, Client) {
    let broker = broker_with(Config::default(), topics).await;
    let client = Client::connect(broker.addr()).await;
    (broker, client)
}

/// One connection.
pub(crate) struct Client {
    stream: TcpStream,
    correlation: i32,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self { stream: TcpStream::connect(address).await.unwrap(), correlation: 0 }
    }

    /// Sends a request and waits for its answer; panics when there is none.
    pub(crate) async fn call<R: Request>(&mut self, version: i16, request: &R) -> R::Response {
        self.try_call(version, request).await.expect("an answer")
    }

    /// As [`Client::call`]; `None` if the broker cut the connection instead.
    pub(crate) async fn try_call<R: Request>(&mut self, version: i16, request: &R) -> Option<R::Response> {
        self.send(version, request).await;
        self.receive::<R>(version).await
    }

    pub(crate) async fn send<R: Request>(&mut self, version: i16, request: &R) {
        self.correlation += 1;
        let header = RequestHeader::default()
            .with_request_api_key(R::KEY)
            .with_request_api_version(version)
            .with_correlation_id(self.correlation)
            .with_client_id(Some(StrBytes::from_static_str("raw")));
        let mut frame = BytesMut::new();
        header.encode(&mut frame, R::header_version(version)).unwrap();
        request.encode(&mut frame, version).unwrap();
        self.send_frame(&frame).await;
    }

    pub(crate) async fn send_frame(&mut self, frame: &[u8]) {
        let length = i32::try_from(frame.len()).unwrap();
        self.send_bytes(&[&length.to_be_bytes(), frame].concat()).await;
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// The next answer; `None` if the connection was cut.
    pub(crate) async fn receive<R: Request>(&mut self, version: i16) -> Option<R::Response> {
        let mut frame = self.receive_frame().await?;
        let header_version = R::Response::header_version(version);
        let correlation = frame.get_i32();
        assert_eq!(correlation, self.correlation, "answers come in order");
        assert_eq!(header_version, 0, "no offered version has a compact answer header");
        let response = R::Response::decode(&mut frame, version).unwrap();
        assert!(frame.is_empty(), "the answer ends where its version says");
        Some(response)
    }

    pub(crate) async fn receive_frame(&mut self) -> Option<Bytes> {
        let read = async {
            let length = self.stream.read_i32().await.ok()?;
            let mut frame = vec![0; usize::try_from(length).unwrap()];
            self.stream.read_exact(&mut frame).await.ok()?;
            Some(frame.into())
        };
        tokio::time::timeout(SOON, read).await.expect("an answer or an end in time")
    }

    /// Whether the broker closed the connection without another byte.
    pub(crate) async fn is_cut(&mut self) -> bool {
        let read = tokio::time::timeout(SOON, self.stream.read_u8()).await.expect("an end in time");
        read.is_err()
    }

    pub(crate) async fn produce(&mut self, topic: &str, batch: Bytes) -> PartitionProduceResponse {
        let response = self.call(8, &produce_request(topic, batch)).await;
        response.responses[0].partition_responses[0].clone()
    }

    pub(crate) async fn fetch(&mut self, topic: &str, offset: i64) -> PartitionData {
        let response = self.call(11, &fetch_request(topic, offset)).await;
        only_partition(response)
    }
}

pub(crate) fn only_partition(response: FetchResponse) -> PartitionData {
    response.responses[0].partitions[0].clone()
}

pub(crate) fn name(topic: &str) -> TopicName {
    TopicName(text(topic))
}

pub(crate) fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

pub(crate) fn produce_request(topic: &str, batch: Bytes) -> ProduceRequest {
    let data = PartitionProduceData::default().with_records(Some(batch));
    let topic = TopicProduceData::default().with_name(name(topic)).with_partition_data(vec![data]);
    ProduceRequest::default().with_acks(-1).with_timeout_ms(1_000).with_topic_data(vec![topic])
}

/// Without waiting, for up to 1 MiB.
pub(crate) fn fetch_request(topic: &str, offset: i64) -> FetchRequest {
    let partition = FetchPartition::default().with_fetch_offset(offset).with_partition_max_bytes(1 << 20);
    let topic = FetchTopic::default().with_topic(name(topic)).with_partitions(vec![partition]);
    FetchRequest::default().with_max_bytes(1 << 20).with_topics(vec![topic])
}

/// Where an idempotent producer stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct From {
    pub(crate) producer: i64,
    pub(crate) epoch: i16,
    pub(crate) sequence: i32,
}

pub(crate) const NOBODY: From = From { producer: -1, epoch: -1, sequence: -1 };

pub(crate) fn plain(values: &[&str]) -> Bytes {
    batch(values, NOBODY)
}

pub(crate) fn batch(values: &[&str], from: From) -> Bytes {
    let record = |(index, value): (usize, &&str)| Record {
        transactional: false,
        control: false,
        delete_horizon: false,
        partition_leader_epoch: -1,
        producer_id: from.producer,
        producer_epoch: from.epoch,
        timestamp_type: TimestampType::Creation,
        offset: index as i64,
        sequence: from.sequence.wrapping_add(index as i32),
        timestamp: 1_700_000_000_000 + index as i64,
        key: None,
        value: Some(Bytes::copy_from_slice(value.as_bytes())),
        headers: IndexMap::new(),
    };
    let records: Vec<Record> = values.iter().enumerate().map(record).collect();
    let mut bytes = BytesMut::new();
    let options = RecordEncodeOptions { version: 2, compression: Compression::None };
    RecordBatchEncoder::encode(&mut bytes, &records, &options).unwrap();
    bytes.freeze()
}

/// All values of a topic, read directly.
pub(crate) fn values(broker: &DevBroker, topic: &str) -> Vec<String> {
    let start = broker.handle().topic(topic).unwrap().start;
    let records = broker.handle().records(topic, start, usize::MAX).unwrap();
    records.into_iter().map(|r| String::from_utf8(r.value.unwrap().to_vec()).unwrap()).collect()
}

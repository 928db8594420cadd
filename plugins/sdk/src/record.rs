//! One record as a value, for code that is not hot. Hot code writes straight into a batch
//! ([`Batch::add`](crate::Batch::add)).

/// One header of a record. Names may repeat; their order is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Kafka asks for UTF-8.
    pub name: String,
    /// Any bytes.
    pub value: Vec<u8>,
}

/// One record of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// `None` is a tombstone, which is not the same as empty.
    pub payload: Option<Vec<u8>>,
    /// The record key, used by `strategy = "key"` and by the partitioner.
    pub key: Option<Vec<u8>>,
    /// Carried to the topic as they are, before the headers of the definition.
    pub headers: Vec<Header>,
    /// Milliseconds since the Unix epoch. Without it the broker client stamps the record when it is produced.
    pub timestamp_ms: Option<i64>,
    /// The upstream's own identity of this record, stable over a replay. It travels as header `picomq.id`.
    pub id: Option<String>,
    /// When it happened upstream, in nanoseconds since the Unix epoch. Used for lag, not sent.
    pub event_time_ns: Option<i64>,
}

impl Record {
    /// A record with a payload and nothing else.
    pub fn new(payload: impl Into<Vec<u8>>) -> Record {
        Record { payload: Some(payload.into()), ..Record::default() }
    }

    /// A deletion of `key`: no payload.
    pub fn tombstone(key: impl Into<Vec<u8>>) -> Record {
        Record { key: Some(key.into()), ..Record::default() }
    }

    /// Sets the record key.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<Vec<u8>>) -> Record {
        self.key = Some(key.into());
        self
    }

    /// Adds one header after those it has.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Record {
        self.headers.push(Header { name: name.into(), value: value.into() });
        self
    }

    /// Sets the timestamp, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn with_timestamp_ms(mut self, timestamp_ms: i64) -> Record {
        self.timestamp_ms = Some(timestamp_ms);
        self
    }

    /// Sets the upstream's own identity of the record.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Record {
        self.id = Some(id.into());
        self
    }

    /// Sets when it happened upstream, in nanoseconds since the Unix epoch.
    #[must_use]
    pub fn with_event_time_ns(mut self, event_time_ns: i64) -> Record {
        self.event_time_ns = Some(event_time_ns);
        self
    }
}

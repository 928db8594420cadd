//! The APIs of this broker, and the versions of each that are offered.

/// The APIs of this broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are Kafka's")]
pub enum Api {
    Produce,
    Fetch,
    ListOffsets,
    Metadata,
    OffsetCommit,
    OffsetFetch,
    FindCoordinator,
    JoinGroup,
    Heartbeat,
    LeaveGroup,
    SyncGroup,
    DescribeGroups,
    ListGroups,
    ApiVersions,
    CreateTopics,
    DeleteTopics,
    InitProducerId,
    DescribeConfigs,
}

/// An API's key and the versions offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) key: i16,
    pub(crate) min: i16,
    pub(crate) max: i16,
}

impl Api {
    /// All of them.
    pub const ALL: [Self; 18] = [
        Self::Produce,
        Self::Fetch,
        Self::ListOffsets,
        Self::Metadata,
        Self::OffsetCommit,
        Self::OffsetFetch,
        Self::FindCoordinator,
        Self::JoinGroup,
        Self::Heartbeat,
        Self::LeaveGroup,
        Self::SyncGroup,
        Self::DescribeGroups,
        Self::ListGroups,
        Self::ApiVersions,
        Self::CreateTopics,
        Self::DeleteTopics,
        Self::InitProducerId,
        Self::DescribeConfigs,
    ];

    /// JoinGroup and its kin end before static membership.
    pub(crate) const fn offer(self) -> Offer {
        let (key, min, max) = match self {
            Self::Produce => (0, 3, 8),
            Self::Fetch => (1, 4, 11),
            Self::ListOffsets => (2, 1, 5),
            Self::Metadata => (3, 0, 8),
            Self::OffsetCommit => (8, 2, 6),
            Self::OffsetFetch => (9, 1, 5),
            Self::FindCoordinator => (10, 0, 2),
            Self::JoinGroup => (11, 0, 4),
            Self::Heartbeat => (12, 0, 2),
            Self::LeaveGroup => (13, 0, 2),
            Self::SyncGroup => (14, 0, 2),
            Self::DescribeGroups => (15, 0, 4),
            Self::ListGroups => (16, 0, 2),
            Self::ApiVersions => (18, 0, 3),
            Self::CreateTopics => (19, 2, 4),
            Self::DeleteTopics => (20, 1, 3),
            Self::InitProducerId => (22, 0, 1),
            Self::DescribeConfigs => (32, 1, 3),
        };
        Offer { key, min, max }
    }

    pub(crate) fn of_key(key: i16) -> Option<Self> {
        Self::ALL.into_iter().find(|api| api.offer().key == key)
    }
}

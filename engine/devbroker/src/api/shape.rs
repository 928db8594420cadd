//! The shape of each request, checked before it is decoded.
//!
//! The codec reserves memory for as many elements as an array's count claims; four wrong bytes would then abort the
//! process. Here the counts are followed through the bytes first, so that each claimed element is really there.

use bytes::{Buf, Bytes};

use crate::offered::Api;
use Field::{Array, Data, I8, I16, I32, I64, Since, Text, Until};

/// One field of a request.
enum Field {
    I8,
    I16,
    I32,
    I64,
    /// Two bytes of length, -1 for null.
    Text,
    /// Four bytes of length, -1 for null.
    Data,
    /// Four bytes of count, -1 for null, then so many elements.
    Array(&'static [Field]),
    /// There from this version on.
    Since(i16, &'static [Field]),
    /// There up to this version.
    Until(i16, &'static [Field]),
}

const PRODUCE: &[Field] = &[Text, I16, I32, Array(&[Text, Array(&[I32, Data])])];
const FETCH: &[Field] = &[
    I32,
    I32,
    I32,
    I32,
    I8,
    Since(7, &[I32, I32]),
    Array(&[Text, Array(&[I32, Since(9, &[I32]), I64, Since(5, &[I64]), I32])]),
    Since(7, &[Array(&[Text, Array(&[I32])])]),
    Since(11, &[Text]),
];
const LIST_OFFSETS: &[Field] = &[I32, Since(2, &[I8]), Array(&[Text, Array(&[I32, Since(4, &[I32]), I64])])];
const METADATA: &[Field] = &[Array(&[Text]), Since(4, &[I8]), Since(8, &[I8, I8])];
const OFFSET_COMMIT: &[Field] =
    &[Text, I32, Text, Until(4, &[I64]), Array(&[Text, Array(&[I32, I64, Since(6, &[I32]), Text])])];
const OFFSET_FETCH: &[Field] = &[Text, Array(&[Text, Array(&[I32])])];
const FIND_COORDINATOR: &[Field] = &[Text, Since(1, &[I8])];
const JOIN_GROUP: &[Field] = &[Text, I32, Since(1, &[I32]), Text, Text, Array(&[Text, Data])];
const HEARTBEAT: &[Field] = &[Text, I32, Text];
const LEAVE_GROUP: &[Field] = &[Text, Text];
const SYNC_GROUP: &[Field] = &[Text, I32, Text, Array(&[Text, Data])];
const DESCRIBE_GROUPS: &[Field] = &[Array(&[Text]), Since(3, &[I8])];
const LIST_GROUPS: &[Field] = &[];
const CREATE_TOPICS: &[Field] =
    &[Array(&[Text, I32, I16, Array(&[I32, Array(&[I32])]), Array(&[Text, Text])]), I32, I8];
const DELETE_TOPICS: &[Field] = &[Array(&[Text]), I32];
const INIT_PRODUCER_ID: &[Field] = &[Text, I32];
const DESCRIBE_CONFIGS: &[Field] = &[Array(&[I8, Text, Array(&[Text])]), I8, Since(3, &[I8])];

/// Whether a body is long enough for what its counts claim. Its values may still be wrong.
pub(super) fn fits(api: Api, version: i16, body: &Bytes) -> bool {
    let fields = match api {
        Api::Produce => PRODUCE,
        Api::Fetch => FETCH,
        Api::ListOffsets => LIST_OFFSETS,
        Api::Metadata => METADATA,
        Api::OffsetCommit => OFFSET_COMMIT,
        Api::OffsetFetch => OFFSET_FETCH,
        Api::FindCoordinator => FIND_COORDINATOR,
        Api::JoinGroup => JOIN_GROUP,
        Api::Heartbeat => HEARTBEAT,
        Api::LeaveGroup => LEAVE_GROUP,
        Api::SyncGroup => SYNC_GROUP,
        Api::DescribeGroups => DESCRIBE_GROUPS,
        Api::ListGroups => LIST_GROUPS,
        // The one compact encoding: two texts, which the codec reads without reserving, and no array.
        Api::ApiVersions => return true,
        Api::CreateTopics => CREATE_TOPICS,
        Api::DeleteTopics => DELETE_TOPICS,
        Api::InitProducerId => INIT_PRODUCER_ID,
        Api::DescribeConfigs => DESCRIBE_CONFIGS,
    };
    walk(&mut &body[..], fields, version).is_some_and(|()| true)
}

fn walk(bytes: &mut &[u8], fields: &[Field], version: i16) -> Option<()> {
    for field in fields {
        match field {
            I8 => skip(bytes, 1)?,
            I16 => skip(bytes, 2)?,
            I32 => skip(bytes, 4)?,
            I64 => skip(bytes, 8)?,
            Text => {
                let length = bytes.try_get_i16().ok()?;
                skip(bytes, nullable(length.into())?)?;
            }
            Data => {
                let length = bytes.try_get_i32().ok()?;
                skip(bytes, nullable(length)?)?;
            }
            Array(element) => {
                let count = bytes.try_get_i32().ok()?;
                for _ in 0..nullable(count)? {
                    walk(bytes, element, version)?;
                }
            }
            Since(first, fields) if version >= *first => walk(bytes, fields, version)?,
            Until(last, fields) if version <= *last => walk(bytes, fields, version)?,
            Since(..) | Until(..) => {}
        }
    }
    Some(())
}

fn nullable(length: i32) -> Option<usize> {
    if length == -1 { Some(0) } else { usize::try_from(length).ok() }
}

fn skip(bytes: &mut &[u8], length: usize) -> Option<()> {
    *bytes = bytes.get(length..)?;
    Some(())
}

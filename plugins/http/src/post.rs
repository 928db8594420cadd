//! A post that was taken: what becomes one record, and the same as bytes for the spool.

use bytes::Bytes;
use picomq_connector_sdk::Batch;
use thiserror::Error;

use crate::replays::Digest;

/// What becomes one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    /// The body, decompressed.
    pub payload: Bytes,
    /// The record key.
    pub key: Option<Vec<u8>>,
    /// The sender's name of the delivery.
    pub id: Option<String>,
    /// Under which name the delivery is recognised, if it has one.
    pub digest: Option<Digest>,
    /// When it arrived, in milliseconds since the Unix epoch.
    pub received_ms: i64,
    /// When it was signed, else when it arrived, in nanoseconds since the Unix epoch.
    pub event_time_ns: i64,
    /// The record headers.
    pub headers: Headers,
}

/// Record headers in one piece of memory: name length, name, value length, value, and so on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<u8>);

/// Bytes that are no post. The checksum around them was right, so another program wrote them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a post that this version wrote")]
pub struct NotAPost;

const VERSION: u8 = 1;
/// What the headers about a post take.
const HEADERS_BYTES: usize = 256;
const HAS_KEY: u8 = 1;
const HAS_ID: u8 = 2;
const HAS_DIGEST: u8 = 4;

impl Headers {
    /// Adds one. A name longer than 64 KiB or a value longer than 4 GiB cannot come out of an HTTP head.
    pub fn push(&mut self, name: &str, value: &[u8]) {
        let name = &name.as_bytes()[..name.len().min(usize::from(u16::MAX))];
        if self.0.is_empty() {
            // Those of this source, in one piece.
            self.0.reserve(HEADERS_BYTES);
        }
        self.0.extend_from_slice(&u16::try_from(name.len()).unwrap_or(u16::MAX).to_le_bytes());
        self.0.extend_from_slice(name);
        put(&mut self.0, value);
    }

    /// Name and value of each, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let mut rest = Reader(&self.0);
        std::iter::from_fn(move || rest.header())
    }

    /// Names and values together, in bytes.
    pub fn bytes(&self) -> usize {
        self.iter().map(|(name, value)| name.len() + value.len()).sum()
    }
}

impl Post {
    /// Bytes it will have as a record.
    pub fn bytes(&self) -> usize {
        let key = self.key.as_ref().map_or(0, Vec::len);
        let id = self.id.as_ref().map_or(0, String::len);
        self.payload.len() + key + id + self.headers.bytes()
    }

    /// Adds it to a batch.
    pub(crate) fn write(&self, batch: &mut Batch) {
        let mut record = batch.add();
        record.payload(&self.payload).timestamp_ms(self.received_ms).event_time_ns(self.event_time_ns);
        if let Some(key) = &self.key {
            record.key(key);
        }
        if let Some(id) = &self.id {
            record.id(id);
        }
        for (name, value) in self.headers.iter() {
            record.header(name, value);
        }
    }

    /// Appends it as bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let flags =
            [(self.key.is_some(), HAS_KEY), (self.id.is_some(), HAS_ID), (self.digest.is_some(), HAS_DIGEST)];
        out.push(VERSION);
        out.push(flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum());
        out.extend_from_slice(&self.received_ms.to_le_bytes());
        out.extend_from_slice(&self.event_time_ns.to_le_bytes());
        if let Some(key) = &self.key {
            put(out, key);
        }
        if let Some(id) = &self.id {
            put(out, id.as_bytes());
        }
        if let Some(digest) = self.digest {
            let mut text = String::new();
            digest.write(&mut text);
            put(out, text.as_bytes());
        }
        put(out, &self.headers.0);
        put(out, &self.payload);
    }

    /// Reads what [`encode`](Post::encode) wrote.
    ///
    /// # Errors
    /// [`NotAPost`] for anything else.
    pub fn decode(bytes: &[u8]) -> Result<Post, NotAPost> {
        read(&mut Reader(bytes)).ok_or(NotAPost)
    }
}

fn read(from: &mut Reader<'_>) -> Option<Post> {
    if from.byte()? != VERSION {
        return None;
    }
    let flags = from.byte()?;
    let received_ms = i64::from_le_bytes(from.array()?);
    let event_time_ns = i64::from_le_bytes(from.array()?);
    let key = if flags & HAS_KEY == 0 { None } else { Some(from.piece()?.to_vec()) };
    let id =
        if flags & HAS_ID == 0 { None } else { Some(std::str::from_utf8(from.piece()?).ok()?.to_owned()) };
    let digest = match flags & HAS_DIGEST {
        0 => None,
        _ => Some(*Digest::read_all(std::str::from_utf8(from.piece()?).ok()?)?.first()?),
    };
    let headers = from.piece()?.to_vec();
    let mut rest = Reader(&headers);
    while rest.header().is_some() {}
    if !rest.0.is_empty() {
        return None;
    }
    let payload = Bytes::copy_from_slice(from.piece()?);
    let post = Post { payload, key, id, digest, received_ms, event_time_ns, headers: Headers(headers) };
    from.0.is_empty().then_some(post)
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).expect("a body is bounded far below 4 GiB");
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(bytes);
}

/// What is left to read; `None` where it ends too early, and then nothing was taken.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    fn piece(&mut self) -> Option<&'a [u8]> {
        let length = u32::from_le_bytes(self.array()?);
        self.take(usize::try_from(length).ok()?)
    }

    fn header(&mut self) -> Option<(&'a str, &'a [u8])> {
        let before = self.0;
        let header = (|| {
            let length = u16::from_le_bytes(self.array()?);
            let name = std::str::from_utf8(self.take(usize::from(length))?).ok()?;
            Some((name, self.piece()?))
        })();
        if header.is_none() {
            self.0 = before;
        }
        header
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Any post, with every field there and not there.
    pub(crate) fn any_post() -> impl Strategy<Value = Post> {
        let bytes = || proptest::collection::vec(any::<u8>(), 0..60);
        let headers = proptest::collection::vec(("[a-z.]{0,9}", bytes()), 0..4);
        let times = (any::<i64>(), any::<i64>());
        (bytes(), proptest::option::of(bytes()), proptest::option::of("\\PC{0,12}"), headers, times).prop_map(
            |(payload, key, id, named, (received_ms, event_time_ns))| {
                let mut headers = Headers::default();
                named.iter().for_each(|(name, value)| headers.push(name, value));
                let digest = id.as_deref().map(|id| Digest::of("/topics/a", id));
                Post { payload: payload.into(), key, id, digest, received_ms, event_time_ns, headers }
            },
        )
    }

    proptest! {
        #[test]
        fn a_post_comes_back_as_it_was(post in any_post()) {
            let mut bytes = Vec::new();
            post.encode(&mut bytes);
            prop_assert_eq!(Post::decode(&bytes), Ok(post));
        }

        #[test]
        fn bytes_cut_short_or_continued_are_no_post(post in any_post(), cut in any::<prop::sample::Index>()) {
            let mut bytes = Vec::new();
            post.encode(&mut bytes);
            prop_assert_eq!(Post::decode(&bytes[..cut.index(bytes.len())]), Err(NotAPost));
            bytes.push(0);
            prop_assert_eq!(Post::decode(&bytes), Err(NotAPost));
        }

        #[test]
        fn rubbish_is_refused_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(post) = Post::decode(&bytes) {
                let mut again = Vec::new();
                post.encode(&mut again);
                prop_assert_eq!(Post::decode(&again), Ok(post));
            }
        }
    }
}

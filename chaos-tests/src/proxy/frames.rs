//! As much of Kafka's framing as it takes to know which answer belongs to a produce request: every request is a
//! length and then API key, API version and correlation id; every answer a length and then the correlation id.

use std::collections::HashSet;

const PRODUCE: i16 = 0;
const LENGTH: usize = 4;
/// API key, API version, correlation id.
const REQUEST_HEAD: usize = 8;
const RESPONSE_HEAD: usize = 4;

/// Splits a stream into frames and keeps only the first bytes of each.
#[derive(Debug, Default)]
struct Splitter {
    head: Vec<u8>,
    /// Bytes of the present frame after its head that are still to come.
    body_left: usize,
}

impl Splitter {
    /// Calls `seen` with the first `wanted` bytes after the length of each frame that these bytes complete so far.
    fn take(&mut self, mut bytes: &[u8], wanted: usize, mut seen: impl FnMut(&[u8])) {
        while !bytes.is_empty() {
            if self.body_left > 0 {
                let skip = self.body_left.min(bytes.len());
                self.body_left -= skip;
                bytes = &bytes[skip..];
                continue;
            }
            let part = (LENGTH + wanted - self.head.len()).min(bytes.len());
            self.head.extend(&bytes[..part]);
            bytes = &bytes[part..];
            if self.head.len() == LENGTH + wanted {
                let length = u32::from_be_bytes(self.head[..LENGTH].try_into().expect("four bytes"));
                seen(&self.head[LENGTH..]);
                self.body_left = (length as usize).saturating_sub(wanted);
                self.head.clear();
            }
        }
    }
}

/// The produce requests of one connection that have no answer yet.
#[derive(Debug, Default)]
pub(super) struct Requests {
    splitter: Splitter,
    produce: HashSet<[u8; 4]>,
}

impl Requests {
    /// Looks at bytes on their way to the broker.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let produce = &mut self.produce;
        self.splitter.take(bytes, REQUEST_HEAD, |head| {
            if i16::from_be_bytes([head[0], head[1]]) == PRODUCE {
                produce.insert([head[4], head[5], head[6], head[7]]);
            }
        });
    }
}

/// The answers of one connection.
#[derive(Debug, Default)]
pub(super) struct Responses {
    splitter: Splitter,
}

impl Responses {
    /// Looks at bytes on their way to the client and counts the produce answers that begin in them.
    pub(super) fn take(&mut self, bytes: &[u8], requests: &mut Requests) -> u32 {
        let mut produced = 0;
        self.splitter.take(bytes, RESPONSE_HEAD, |head| {
            if requests.produce.remove(&[head[0], head[1], head[2], head[3]]) {
                produced += 1;
            }
        });
        produced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(api: i16, id: i32, body: usize) -> Vec<u8> {
        let mut frame = (u32::try_from(REQUEST_HEAD + body).unwrap()).to_be_bytes().to_vec();
        frame.extend(api.to_be_bytes());
        frame.extend(9_i16.to_be_bytes());
        frame.extend(id.to_be_bytes());
        frame.extend(vec![7; body]);
        frame
    }

    fn response(id: i32, body: usize) -> Vec<u8> {
        let mut frame = (u32::try_from(RESPONSE_HEAD + body).unwrap()).to_be_bytes().to_vec();
        frame.extend(id.to_be_bytes());
        frame.extend(vec![7; body]);
        frame
    }

    #[test]
    fn only_answers_to_produce_requests_count_however_the_bytes_are_cut() {
        let asked = [request(3, 1, 40), request(0, 2, 5000), request(0, 3, 1), request(18, 4, 0)].concat();
        let answered = [response(1, 100), response(2, 30), response(3, 0), response(4, 9)].concat();
        for piece in [1, 2, 3, 7, 64, 10_000] {
            let (mut requests, mut responses) = (Requests::default(), Responses::default());
            asked.chunks(piece).for_each(|bytes| requests.take(bytes));

            let counted: u32 = answered.chunks(piece).map(|bytes| responses.take(bytes, &mut requests)).sum();

            assert_eq!(counted, 2, "in pieces of {piece}");
        }
    }
}

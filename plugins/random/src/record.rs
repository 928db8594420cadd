//! One record, written straight into the batch.
//!
//! What is random in it follows from one number and the sequence alone, so a seed makes records repeat. Nothing is
//! allocated and nothing goes through a serializer: the only free text is alphanumeric, so nothing needs escaping.

use picomq_connector_sdk::PayloadWriter;
use uuid::Builder;

const ID: &[u8] = b"{\"id\":\"";
const SEQUENCE: &[u8] = b"\",\"sequence\":";
const USER: &[u8] = b",\"user_id\":\"";
const TEXT: &[u8] = b"\",\"title\":\"Hello\",\"name\":\"World\",\"text\":\"";
const END: &[u8] = b"\"}";

const USER_PREFIX: &[u8] = b"user-";
const UUID_BYTES: usize = 36;
/// Decimal digits of the largest `u64`.
const DIGITS_MAX: usize = 20;

const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const PAIRS: usize = ALPHABET.len() * ALPHABET.len();
/// Every pair of characters: one multiplication draws two.
static PAIR: [[u8; 2]; PAIRS] = pairs();
/// Pairs taken from one 64-bit draw: the last still has 28 bits to be drawn from, so no character is favoured by more
/// than one part in 60,000.
const PAIRS_A_DRAW: usize = 4;

/// What differs between the records of one batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    /// Position in the stream.
    pub(crate) sequence: u64,
    /// `user-<k>`.
    pub(crate) user: &'a [u8],
    /// Length of the text.
    pub(crate) text_bytes: usize,
    /// Where its id and text come from, together with the sequence.
    pub(crate) seed: u64,
}

/// The most bytes one record can take, its key included.
pub(crate) fn bytes_max(payload_bytes: usize) -> u64 {
    let fixed = ID.len() + UUID_BYTES + SEQUENCE.len() + USER.len() + TEXT.len() + END.len();
    let user = USER_PREFIX.len() + DIGITS_MAX;
    (fixed + DIGITS_MAX + 2 * user).saturating_add(payload_bytes) as u64
}

/// Writes the JSON of one record.
pub(crate) fn write(payload: &mut PayloadWriter<'_>, line: &Line<'_>) {
    let mut digits = [0; DIGITS_MAX];
    let sequence = decimal(&mut digits, line.sequence);
    let fixed = ID.len() + UUID_BYTES + SEQUENCE.len() + USER.len() + TEXT.len() + END.len();
    let slot = payload.grow(fixed + sequence.len() + line.user.len() + line.text_bytes);
    let mut draws = fastrand::Rng::with_seed(mixed(line.seed, line.sequence));

    let rest = put(slot, ID);
    let (id, rest) = rest.split_at_mut(UUID_BYTES);
    let random = u128::from(draws.u64(..)) << 64 | u128::from(draws.u64(..));
    Builder::from_random_bytes(random.to_be_bytes()).into_uuid().hyphenated().encode_lower(id);
    let rest = put(rest, SEQUENCE);
    let rest = put(rest, sequence);
    let rest = put(rest, USER);
    let rest = put(rest, line.user);
    let rest = put(rest, TEXT);
    let (text, rest) = rest.split_at_mut(line.text_bytes);
    fill(text, &mut draws);
    put(rest, END);
}

/// `user-<k>` in `buffer`.
pub(crate) fn user(buffer: &mut Vec<u8>, number: u64) {
    let mut digits = [0; DIGITS_MAX];
    buffer.clear();
    buffer.extend_from_slice(USER_PREFIX);
    buffer.extend_from_slice(decimal(&mut digits, number));
}

/// Copies `bytes` to the front and answers what follows them.
fn put<'a>(slot: &'a mut [u8], bytes: &[u8]) -> &'a mut [u8] {
    let (front, rest) = slot.split_at_mut(bytes.len());
    front.copy_from_slice(bytes);
    rest
}

/// Random alphanumeric characters.
fn fill(text: &mut [u8], draws: &mut fastrand::Rng) {
    let mut groups = text.chunks_exact_mut(2 * PAIRS_A_DRAW);
    for group in &mut groups {
        for (pair, drawn) in group.chunks_exact_mut(2).zip(four_pairs(draws.u64(..))) {
            pair.copy_from_slice(&drawn);
        }
    }
    let tail = groups.into_remainder();
    let last = four_pairs(draws.u64(..));
    let length = tail.len();
    tail.copy_from_slice(&last.as_flattened()[..length]);
}

/// Reads the draw as a fraction and takes its leading digits to the base of the pairs.
fn four_pairs(draw: u64) -> [[u8; 2]; PAIRS_A_DRAW] {
    let mut rest = draw;
    std::array::from_fn(|_| {
        let product = u128::from(rest) * PAIRS as u128;
        rest = product as u64;
        PAIR[(product >> 64) as usize]
    })
}

const fn pairs() -> [[u8; 2]; PAIRS] {
    let mut pairs = [[0; 2]; PAIRS];
    let mut index = 0;
    while index < PAIRS {
        pairs[index] = [ALPHABET[index / ALPHABET.len()], ALPHABET[index % ALPHABET.len()]];
        index += 1;
    }
    pairs
}

/// The decimal digits of `number`, at the end of `buffer`.
fn decimal(buffer: &mut [u8; DIGITS_MAX], mut number: u64) -> &[u8] {
    let mut first = buffer.len();
    loop {
        first -= 1;
        buffer[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &buffer[first..];
        }
    }
}

/// Spreads seed and sequence over all bits (the finalizer of SplitMix64), so that neighbours share nothing.
fn mixed(seed: u64, sequence: u64) -> u64 {
    let mut bits = seed ^ sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use picomq_connector_sdk::ffi::host::GuestBatch;
    use picomq_connector_sdk::{Batch, Schema};
    use serde_json::Value;
    use uuid::{Uuid, Variant};

    use super::*;
    use crate::config::Settings;

    fn written(sequence: u64, text_bytes: usize, seed: u64) -> String {
        let mut batch = Batch::new(Schema::Json);
        let line = Line { sequence, user: b"user-2", text_bytes, seed };
        batch.add().payload_with(|payload| write(payload, &line));
        let batch = GuestBatch::from_batch(batch);
        String::from_utf8(batch.record(0).payload.unwrap().to_vec()).unwrap()
    }

    #[test]
    fn a_record_has_exactly_the_documented_fields_in_their_order() {
        let text = written(1042, 64, 7);
        let record: Value = serde_json::from_str(&text).unwrap();
        let fields: Vec<&String> = record.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["id", "sequence", "user_id", "title", "name", "text"]);
        assert_eq!(record["sequence"], 1042);
        assert_eq!(record["user_id"], "user-2");
        assert_eq!((&record["title"], &record["name"]), (&"Hello".into(), &"World".into()));
    }

    #[test]
    fn the_id_is_a_uuid_of_version_four() {
        let record: Value = serde_json::from_str(&written(0, 0, 7)).unwrap();
        let id = Uuid::parse_str(record["id"].as_str().unwrap()).unwrap();
        assert_eq!((id.get_version_num(), id.get_variant()), (4, Variant::RFC4122));
    }

    #[test]
    fn the_text_has_the_length_asked_for_and_only_alphanumeric_characters() {
        for length in [0, 1, 2, 7, 8, 9, 63, 64, 65, 1000] {
            let record: Value = serde_json::from_str(&written(5, length, 7)).unwrap();
            let text = record["text"].as_str().unwrap();
            assert_eq!(text.len(), length);
            assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{text}");
        }
    }

    #[test]
    fn every_character_is_about_as_frequent_as_any_other() {
        let text = written(0, 620_000, 7);
        let mut counts = HashMap::new();
        for byte in text.bytes().rev().skip(END.len()).take(620_000) {
            *counts.entry(byte).or_insert(0_u32) += 1;
        }
        assert_eq!(counts.len(), 62);
        // Expected 10,000 each with a deviation of 100; eight deviations are no accident.
        assert!(counts.values().all(|count| (9_200..10_800).contains(count)), "{counts:?}");
    }

    #[test]
    fn seed_and_sequence_decide_everything_and_each_of_them_matters() {
        assert_eq!(written(3, 40, 7), written(3, 40, 7));
        let others: HashSet<String> = (0..1000).map(|seed| written(3, 40, seed)).collect();
        assert_eq!(others.len(), 1000);
        let texts: HashSet<String> =
            (0..1000).map(|sequence| written(sequence, 40, 7).split_off(120)).collect();
        assert_eq!(texts.len(), 1000);
    }

    #[test]
    fn no_record_is_longer_than_said() {
        let settings = Settings {
            interval: std::time::Duration::ZERO,
            sizes: 1..2,
            payload_bytes: 10,
            max_count: None,
            users: u64::MAX,
            key_by_user: true,
            seed: None,
        };
        let mut name = Vec::new();
        user(&mut name, u64::MAX);
        let mut batch = Batch::new(Schema::Json);
        let line = Line { sequence: u64::MAX, user: &name, text_bytes: 10, seed: 1 };
        let mut record = batch.add();
        record.key(&name);
        record.payload_with(|payload| write(payload, &line));
        assert_eq!(batch.bytes() as u64, bytes_max(settings.payload_bytes));
    }
}

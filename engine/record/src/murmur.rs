//! Kafka's murmur2, the hash behind its default partitioner, so that `strategy = "hash"` puts a key where a Kafka
//! producer's arithmetic would.

const SEED: u32 = 0x9747_b28c;
const MULTIPLIER: u32 = 0x5bd1_e995;

/// The hash of `bytes` as `org.apache.kafka.common.utils.Utils.murmur2` computes it, read as unsigned. Kafka masks the
/// sign off (`& 0x7fffffff`) before it takes a remainder; so must whoever wants its partition.
pub fn murmur2(bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<4>();
    // Kafka's lengths are 32 bit; a record is far shorter.
    let mut hash = SEED ^ bytes.len() as u32;
    for word in words {
        let mixed = u32::from_le_bytes(*word).wrapping_mul(MULTIPLIER);
        let mixed = (mixed ^ (mixed >> 24)).wrapping_mul(MULTIPLIER);
        hash = hash.wrapping_mul(MULTIPLIER) ^ mixed;
    }
    if !rest.is_empty() {
        for (position, byte) in rest.iter().enumerate() {
            hash ^= u32::from(*byte) << (8 * position);
        }
        hash = hash.wrapping_mul(MULTIPLIER);
    }
    hash = (hash ^ (hash >> 13)).wrapping_mul(MULTIPLIER);
    hash ^ (hash >> 15)
}

#[cfg(test)]
mod tests {
    use super::murmur2;

    /// The values of Kafka's own `UtilsTest.testMurmur2`.
    #[test]
    fn murmur2_is_kafkas() {
        let known: [(&str, i32); 6] = [
            ("21", -973_932_308),
            ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            ("abc", 479_470_107),
        ];
        for (text, hash) in known {
            assert_eq!(murmur2(text.as_bytes()) as i32, hash, "{text}");
        }
    }
}

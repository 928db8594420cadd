//! What several targets do.

#![forbid(unsafe_code)]

use pico_record::codec::Codec;

/// Bytes as what they may be on both sides of a codec: a payload to decode, and JSON to encode.
///
/// # Panics
/// When what the codec itself wrote is not read, or is something else when it is written again.
pub fn both_ways(codec: &mut Codec, bytes: &[u8]) {
    for start in [bytes.to_vec(), encoded(codec, bytes).unwrap_or_default()] {
        let Some(json) = decoded(codec, &start) else { continue };
        let once = encoded(codec, &json);
        // What was decoded may still be no value of the schema: a required field of a proto2 message, two of a oneof.
        let Some(once) = once else { continue };
        let again = decoded(codec, &once).expect("what was written is read");
        let twice = encoded(codec, &again).expect("what was written and read can be written");
        assert_eq!(once, twice, "written again it is something else: {}", String::from_utf8_lossy(&json));
    }
}

fn encoded(codec: &mut Codec, json: &[u8]) -> Option<Vec<u8>> {
    let mut out = b"before".to_vec();
    let outcome = codec.encode(json, &mut out);
    let written = out.split_off(6);
    assert!(outcome.is_ok() || written.is_empty(), "an error leaves the buffer as it was");
    outcome.ok().map(|()| written)
}

fn decoded(codec: &Codec, bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    codec.decode(bytes, &mut out).ok().map(|()| out)
}

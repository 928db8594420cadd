//! A state file: what is read is what was written, and any other byte is refused (I8).
#![no_main]

use libfuzzer_sys::fuzz_target;
use pico_state::{decode, encode};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(found) = decode(bytes) {
        assert_eq!(
            encode(found.life, found.number, &found.state),
            bytes,
            "read, but not as it would be written"
        );
    }
    let Some((head, state)) = bytes.split_at_checked(20) else { return };
    let number = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("eight bytes"));
    let mut file = encode(number(0), number(8), state);
    let read = decode(&file).expect("what was written is read");
    assert_eq!((read.life, read.number, read.state.as_slice()), (number(0), number(8), state));

    let place = usize::from(u16::from_le_bytes([head[16], head[17]])) % file.len();
    file[place] ^= head[18] | 1;
    assert!(decode(&file).is_err(), "byte {place} changed and nobody noticed");
    file.truncate(place);
    assert!(decode(&file).is_err(), "cut at {place} and nobody noticed");
});

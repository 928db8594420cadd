use std::mem::offset_of;

use super::*;

/// Whoever makes this test fail has made another ABI: raise [`ABI`] and refuse the old one. But for the table of functions: entries
/// that may be missing can be added behind those that are there.
#[test]
#[cfg(target_pointer_width = "64")]
fn the_layout_is_that_of_abi_1() {
    assert_eq!((ABI, SYMBOL), (1, "picomq_connector_source"));
    let sizes = [
        size_of::<RawBytes>(),
        size_of::<Descriptor>(),
        size_of::<Functions>(),
        size_of::<RawOpen>(),
        size_of::<HostTable>(),
        size_of::<RawToken>(),
        size_of::<RawOutcome>(),
        size_of::<RawBatch>(),
        size_of::<RawRecord>(),
        size_of::<RawHeader>(),
        size_of::<RawEvent>(),
        size_of::<RawField>(),
        size_of::<RawReport>(),
    ];
    assert_eq!(sizes, [16, 72, 96, 104, 40, 16, 40, 40, 64, 24, 56, 32, 64]);
    assert_eq!((offset_of!(Descriptor, abi), offset_of!(Descriptor, functions)), (0, 64));
    assert_eq!((offset_of!(Functions, release), offset_of!(Functions, command)), (56, 64));
    assert_eq!((offset_of!(Functions, describe_state), offset_of!(Functions, maintain)), (72, 80));
    // A table may end behind `release`: what came later is missing then, and the ABI is the same.
    assert_eq!((offset_of!(Functions, maintain), offset_of!(Functions, call_off)), (80, 88));
    assert_eq!((offset_of!(RawOpen, host), offset_of!(RawOpen, batch_records)), (8, 72));
    assert_eq!((offset_of!(RawRecord, timestamp_ms), offset_of!(RawRecord, payload_bytes)), (32, 48));
    assert_eq!((offset_of!(RawOutcome, text), offset_of!(RawOutcome, batch)), (8, 32));
}

#[test]
fn a_long_message_is_cut_and_a_long_answer_is_not() {
    let long = "x".repeat(3 * TEXT_BYTES_MAX);
    // SAFETY: `long` lives to the end.
    let (message, text) =
        unsafe { (RawBytes::of(long.as_bytes()).message(), RawBytes::of(long.as_bytes()).text()) };
    assert_eq!(text.len(), long.len());
    assert!(message.ends_with("x …") && message.len() < TEXT_BYTES_MAX + 10);
}

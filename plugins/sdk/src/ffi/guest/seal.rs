//! A batch made ready to cross, and taken back.

use crate::Batch;
use crate::ffi::abi::{RawBatch, RawBytes, RawHeader, RawRecord, schema};
use crate::{Schema, State};

/// The table that crosses, and behind it what it points to. `raw` is first, so that a pointer to it is one to all.
#[repr(C)]
struct Sealed {
    raw: RawBatch,
    arena: Vec<u8>,
    records: Vec<RawRecord>,
    headers: Vec<RawHeader>,
    state: Option<State>,
}

/// Turns offsets into addresses and gives the batch away. [`release`] takes it back.
pub(crate) fn seal(batch: Batch) -> *mut RawBatch {
    let Batch { schema, arena, mut records, mut headers, state, .. } = batch;
    let base = arena.as_ptr();
    for header in &mut headers {
        header.name = place(base, header.name);
        header.value = place(base, header.value);
    }
    let first = headers.as_ptr();
    for record in &mut records {
        record.payload = place(base, record.payload);
        record.key = place(base, record.key);
        record.id = place(base, record.id);
        record.headers = place(first, record.headers);
    }
    let raw = RawBatch {
        size: size_of::<RawBatch>() as u32,
        schema: number_of(schema),
        records: records.as_ptr(),
        records_count: records.len() as u64,
        state: state.as_ref().map_or(RawBytes::NONE, |state| RawBytes::of(state.as_bytes())),
    };
    Box::into_raw(Box::new(Sealed { raw, arena, records, headers, state })).cast()
}

/// Frees a batch with the allocator it came from.
///
/// # Safety
/// `batch` is null, or came from [`seal`] of this library, and is not used after.
pub(crate) unsafe extern "C" fn release(batch: *mut RawBatch) {
    if batch.is_null() {
        return;
    }
    // SAFETY: the caller's promise; `raw` is the first field of the `repr(C)` struct that was boxed.
    let sealed = unsafe { Box::from_raw(batch.cast::<Sealed>()) };
    // Nothing in it has a drop of the author's, so this cannot panic.
    drop(sealed);
}

/// While a batch is built its pointers hold a position + 1; null stays null.
fn place<T>(base: *const T, position: *const T) -> *const T {
    if position.is_null() { position } else { base.wrapping_add(position.addr() - 1) }
}

fn number_of(schema: Schema) -> u32 {
    match schema {
        Schema::Json => schema::JSON,
        Schema::Raw => schema::RAW,
        Schema::Text => schema::TEXT,
        Schema::Proto => schema::PROTO,
        Schema::FlatBuffer => schema::FLATBUFFER,
        Schema::Avro => schema::AVRO,
    }
}

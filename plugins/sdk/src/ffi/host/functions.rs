//! The calls of a plugin, once its table was checked.

use crate::ffi::abi::{Functions, HostTable, RawBatch, RawBytes, RawOpen, RawToken};

/// A checked [`Functions`]: what must be there is there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calls {
    pub(super) open: unsafe extern "C" fn(*const RawOpen, RawToken),
    pub(super) poll: unsafe extern "C" fn(u64, RawToken),
    pub(super) resolve: unsafe extern "C" fn(u64, u32, RawToken),
    pub(super) interrupt: unsafe extern "C" fn(u64),
    pub(super) close: unsafe extern "C" fn(u64, RawToken),
    pub(super) destroy: unsafe extern "C" fn(u64, RawToken),
    pub(super) release: unsafe extern "C" fn(*mut RawBatch),
    pub(super) command: Option<unsafe extern "C" fn(u64, RawBytes, RawBytes, RawToken)>,
    pub(super) describe_state: Option<unsafe extern "C" fn(*const HostTable, RawBytes, RawToken)>,
    pub(super) maintain: Option<unsafe extern "C" fn(*const RawOpen, RawBytes, RawBytes, RawToken)>,
    pub(super) call_off: Option<unsafe extern "C" fn(RawToken)>,
}

/// A table that ends here lacks only what may be missing.
const REQUIRED_BYTES: usize = std::mem::offset_of!(Functions, command);

impl Calls {
    /// Reads a table of whatever size. The error says what is wrong with it.
    ///
    /// # Safety
    /// `functions` is null, or points to a static table that begins with its own size.
    pub(super) unsafe fn read(functions: *const Functions) -> Result<Calls, String> {
        if functions.is_null() {
            return Err("no function table".to_owned());
        }
        // SAFETY: the caller's promise.
        let size = unsafe { *functions.cast::<u32>() } as usize;
        if size < REQUIRED_BYTES {
            return Err(format!("its function table has {size} bytes, at least {REQUIRED_BYTES} are needed"));
        }
        let mut whole = Functions::NONE;
        let bytes = size.min(size_of::<Functions>());
        // SAFETY: both are at least so long; a missing tail keeps its `None`.
        unsafe {
            std::ptr::copy_nonoverlapping(functions.cast::<u8>(), (&raw mut whole).cast::<u8>(), bytes);
        }
        let missing = |name: &'static str| move || format!("its function table has no `{name}`");
        Ok(Calls {
            open: whole.open.ok_or_else(missing("open"))?,
            poll: whole.poll.ok_or_else(missing("poll"))?,
            resolve: whole.resolve.ok_or_else(missing("resolve"))?,
            interrupt: whole.interrupt.ok_or_else(missing("interrupt"))?,
            close: whole.close.ok_or_else(missing("close"))?,
            destroy: whole.destroy.ok_or_else(missing("destroy"))?,
            release: whole.release.ok_or_else(missing("release"))?,
            command: whole.command,
            describe_state: whole.describe_state,
            maintain: whole.maintain,
            call_off: whole.call_off,
        })
    }
}

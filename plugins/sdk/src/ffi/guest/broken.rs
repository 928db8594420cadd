//! Descriptors that are wrong on purpose, for tests of the engine: what unsafe code would be needed for elsewhere.

use super::super::abi::{ABI, Descriptor, Functions, RawBytes, capability};

/// What is wrong with a descriptor.
#[derive(Clone, Copy, Debug)]
pub enum Broken {
    /// Says this ABI number, and nothing that follows makes sense.
    Abi(u32),
    /// Was built with `panic = "abort"`.
    Aborts,
    /// The call that should answer it never does in a library called `libhangs`; under another name there is none, so that
    /// whoever lists a folder of these examples comes to an end soon.
    Hangs,
    /// There is none.
    Null,
    /// The descriptor is shorter than its ABI asks for.
    Short,
    /// There is no function table.
    NoFunctions,
    /// The function table lacks what must be there.
    NoPoll,
    /// The name is not UTF-8.
    BadName,
    /// The schema of the configuration is not JSON.
    BadSchema,
}

/// A descriptor with that fault. Leaked: a descriptor is static.
pub fn broken(fault: Broken) -> *const Descriptor {
    // The thread that loads a library has its name. As the system knows it: this library has another `std` than the thread.
    let thread = std::fs::read_to_string("/proc/thread-self/comm").unwrap_or_default();
    if matches!(fault, Broken::Hangs) && thread.trim() == "libhangs" {
        loop {
            std::thread::park();
        }
    }
    let no_functions = Functions { size: size_of::<Functions>() as u32, ..Functions::NONE };
    let mut descriptor = Descriptor {
        abi: ABI,
        size: size_of::<Descriptor>() as u32,
        capabilities: capability::UNWINDS,
        name: RawBytes::of(b"broken"),
        version: RawBytes::of(b"0.0.0"),
        config_schema: RawBytes::of(b"{}"),
        functions: Box::leak(Box::new(no_functions)),
    };
    match fault {
        Broken::Null | Broken::Hangs => return std::ptr::null(),
        Broken::Abi(abi) => descriptor.abi = abi,
        Broken::Aborts => descriptor.capabilities = 0,
        Broken::Short => descriptor.size = 8,
        Broken::NoFunctions => descriptor.functions = std::ptr::null(),
        Broken::NoPoll => {}
        Broken::BadName => descriptor.name = RawBytes::of(b"\xff"),
        Broken::BadSchema => descriptor.config_schema = RawBytes::of(b"{"),
    }
    Box::leak(Box::new(descriptor))
}

/// Exports a library whose descriptor has a fault, for tests: `export_broken_source!(Abi(99))`.
#[doc(hidden)]
#[macro_export]
macro_rules! export_broken_source {
    ($($fault:tt)+) => {
        const _: () = {
            #[unsafe(no_mangle)]
            extern "C" fn picomq_connector_source() -> *const $crate::ffi::abi::Descriptor {
                $crate::ffi::guest::broken($crate::ffi::guest::Broken::$($fault)+)
            }
        };
    };
}

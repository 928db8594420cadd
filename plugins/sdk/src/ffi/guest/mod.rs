//! The plugin's side of the border: what `export_source!` exports.

mod border;
mod broken;
mod calls;
pub(crate) mod config;
mod instance;
pub(crate) mod log;
mod maintenance;
mod openings;
mod outcome;
mod panics;
mod runtime;
pub(crate) mod seal;

pub use broken::{Broken, broken};

use std::sync::OnceLock;

use super::abi::{ABI, Descriptor, Functions, RawBytes, capability};
use crate::{Capabilities, Source};

/// What the macro knows and this crate does not.
#[derive(Clone, Copy, Debug)]
pub struct Build {
    /// The version of the plugin's crate.
    pub version: &'static str,
    /// Whether it was built so that a panic unwinds.
    pub unwinds: bool,
}

/// Where the exported function keeps the descriptor once it is made.
#[derive(Debug)]
pub struct Export(OnceLock<Option<Descriptor>>);

impl Export {
    /// Nothing yet; for a static.
    #[must_use]
    pub const fn new() -> Export {
        Export(OnceLock::new())
    }

    /// The descriptor of `S`, made by the first call and static from then on. Null when making it panicked.
    pub fn describe<S: Source>(&'static self, build: Build) -> *const Descriptor {
        let descriptor = self.0.get_or_init(|| panics::caught(|| descriptor::<S>(build)).ok());
        descriptor.as_ref().map_or(std::ptr::null(), |descriptor| descriptor)
    }
}

impl Default for Export {
    fn default() -> Export {
        Export::new()
    }
}

fn descriptor<S: Source>(build: Build) -> Descriptor {
    let schema = schemars::schema_for!(S::Config);
    let schema: &'static str = String::leak(schema.to_value().to_string());
    Descriptor {
        abi: ABI,
        size: size_of::<Descriptor>() as u32,
        capabilities: bits(S::CAPABILITIES, build.unwinds),
        name: RawBytes::of(S::NAME.as_bytes()),
        version: RawBytes::of(build.version.as_bytes()),
        config_schema: RawBytes::of(schema.as_bytes()),
        functions: const { &calls::functions::<S>() } as *const Functions,
    }
}

fn bits(capabilities: Capabilities, unwinds: bool) -> u64 {
    let Capabilities { pipelined, listener, own_runtime } = capabilities;
    let bit = |is_set: bool, bit: u64| if is_set { bit } else { 0 };
    bit(pipelined, capability::PIPELINED)
        | bit(listener, capability::LISTENER)
        | bit(own_runtime, capability::OWN_RUNTIME)
        | bit(unwinds, capability::UNWINDS)
}

/// Exports a [`Source`] from a `cdylib`: the one symbol the engine looks for. Once a library.
///
/// ```text
/// picomq_connector_sdk::export_source!(RandomSource);
/// ```
#[macro_export]
macro_rules! export_source {
    ($source:ty) => {
        const _: () = {
            static EXPORT: $crate::ffi::guest::Export = $crate::ffi::guest::Export::new();

            #[unsafe(no_mangle)]
            extern "C" fn picomq_connector_source() -> *const $crate::ffi::abi::Descriptor {
                EXPORT.describe::<$source>($crate::ffi::guest::Build {
                    version: ::core::env!("CARGO_PKG_VERSION"),
                    unwinds: ::core::cfg!(panic = "unwind"),
                })
            }
        };
    };
}

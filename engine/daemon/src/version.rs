//! Which version this is, for people and for bug reports.

use serde::Serialize;

use crate::cli::Format;
use crate::error::Error;
use crate::leave::Exit;
use crate::output::{self, Stream};

/// The version of this program, as in its manifest.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Everything that matters for "does this plugin, this broker fit".
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Version {
    /// Of this program.
    pub(crate) version: &'static str,
    /// Of the Kafka client that is linked in.
    pub(crate) librdkafka: String,
    /// Of the border to plugins.
    pub(crate) plugin_abi: u32,
}

impl Version {
    /// That of this binary.
    pub(crate) fn current() -> Version {
        Version {
            version: VERSION,
            librdkafka: pico_broker::librdkafka_version(),
            plugin_abi: picomq_connector_sdk::ffi::abi::ABI,
        }
    }
}

/// Prints it.
pub(crate) fn print(format: Format) -> Result<Exit, Error> {
    let version = Version::current();
    match format {
        Format::Json => output::write_json(&version),
        Format::Human | Format::Github => {
            let Version { version, librdkafka, plugin_abi } = version;
            let text =
                format!("pico-connectors {version} (librdkafka {librdkafka}, plugin ABI {plugin_abi})\n");
            output::write(Stream::Stdout, &text);
        }
    }
    Ok(Exit::Ok)
}

/// One number that sorts like the version: major × 1,000,000 + minor × 1,000 + patch.
pub(crate) fn sortable(version: &str) -> u64 {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    let mut parts = core.split('.').map(|part| part.parse::<u64>().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    next() * 1_000_000 + next() * 1_000 + next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_sort_as_numbers() {
        assert_eq!(sortable("1.2.3"), 1_002_003);
        assert_eq!(sortable("0.10.0-rc.1+5"), 10_000);
        assert_eq!(sortable("not a version"), 0);
    }
}

//! What a source tells the engine about itself while it runs, besides batches.

/// A number the engine shows as a metric. The names are fixed, so that every source means the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gauge {
    /// How far behind its upstream the source is, in seconds.
    LagSeconds,
    /// How far behind its upstream the source is, in bytes.
    LagBytes,
}

/// How a check stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CheckStatus {
    /// As it should be.
    Ok,
    /// Works, but needs a look.
    Warn,
    /// Does not work.
    Fail,
}

/// One thing about the upstream that a person should know: a setting, a grant, a slot that grows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Stable, in `snake_case`; a later report of this name replaces the earlier one.
    pub name: String,
    /// How it stands.
    pub status: CheckStatus,
    /// Since when, in milliseconds since the Unix epoch, if known.
    pub since_ms: Option<i64>,
    /// What is the matter and what would be right.
    pub advice: String,
}

/// One report.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// A gauge now has this value.
    Gauge {
        /// Which.
        gauge: Gauge,
        /// In the unit of the gauge.
        value: f64,
    },
    /// A check now stands so.
    Check(Check),
}

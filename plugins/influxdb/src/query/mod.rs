//! What is asked: a query that somebody wrote, with placeholders, or one made from a measurement.

pub(crate) mod generated;
pub(crate) mod written;

pub(crate) use generated::Generated;
pub(crate) use written::Written;

/// The language of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    InfluxQl,
    Flux,
    Sql,
}

impl Dialect {
    /// The column with the time of a row.
    pub(crate) fn time_column(self) -> &'static str {
        match self {
            Dialect::InfluxQl | Dialect::Sql => "time",
            Dialect::Flux => "_time",
        }
    }
}

/// A query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Query {
    Written(Written),
    Generated(Generated),
}

/// What a query is to bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The least time.
    pub(crate) low: i64,
    /// The least time no longer wanted.
    pub(crate) high: Option<i64>,
    /// Most rows of each table, the earliest ones; `None` for all.
    pub(crate) limit: Option<u64>,
}

/// The text of a query, and what was put into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) text: String,
    /// What stands for `$cursor`.
    pub(crate) cursor: Option<i64>,
    /// A table of so many rows was cut.
    pub(crate) limit: Option<u64>,
}

impl Query {
    /// The query for `span`. `is_inclusive`: it is known to bring rows at `$cursor` itself.
    pub(crate) fn ask(&self, span: Span, is_inclusive: bool) -> Asked {
        match self {
            Query::Generated(generated) => {
                Asked { text: generated.text(span), cursor: None, limit: span.limit }
            }
            Query::Written(written) => {
                // Most compare with `>`: then everything after the time before comes.
                let cursor = if is_inclusive { span.low } else { span.low.saturating_sub(1) };
                let limit = span.limit.unwrap_or(written::LIMIT_MAX);
                let text = written.text(cursor, limit);
                Asked { text, cursor: Some(cursor), limit: written.has_limit().then_some(limit) }
            }
        }
    }

    /// Whether a group can be asked for without a limit.
    pub(crate) fn is_generated(&self) -> bool {
        matches!(self, Query::Generated(_))
    }
}

//! Queries made from a measurement: every point in the order of time, its tags told from its fields.

use super::{Dialect, Span};
use crate::answer::Schema;
use crate::time;

/// What to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Generated {
    pub(crate) dialect: Dialect,
    /// With Flux: where the measurement lies.
    pub(crate) bucket: Option<String>,
    /// With InfluxQL: the default one if not set.
    pub(crate) retention_policy: Option<String>,
    pub(crate) measurement: String,
    /// All if empty.
    pub(crate) fields: Vec<String>,
    /// All if empty.
    pub(crate) tags: Vec<String>,
}

impl Generated {
    pub(crate) fn text(&self, span: Span) -> String {
        match self.dialect {
            Dialect::InfluxQl => self.influxql(span),
            Dialect::Flux => self.flux(span),
            Dialect::Sql => self.sql(span),
        }
    }

    /// Whether servers sort everything in the span before they give the first row, so that a span should be short.
    pub(crate) fn needs_short_spans(&self) -> bool {
        match self.dialect {
            Dialect::InfluxQl => false,
            Dialect::Flux | Dialect::Sql => true,
        }
    }

    /// What the definition says about tags and fields.
    pub(crate) fn schema(&self) -> Schema {
        match (self.dialect, self.fields.as_slice(), self.tags.as_slice()) {
            (Dialect::Sql, _, []) => Schema::Unknown,
            (_, [], []) => Schema::Asked { tags: Vec::new(), fields: Vec::new(), is_fresh: false },
            (Dialect::InfluxQl, fields @ [_, ..], _) => Schema::Fields(fields.to_vec()),
            (_, _, tags @ [_, ..]) => Schema::Tags(tags.to_vec()),
            (_, fields, []) => Schema::Fields(fields.to_vec()),
        }
    }

    /// The questions that bring the names of all tags, and of all fields.
    pub(crate) fn schema_questions(&self) -> Vec<String> {
        match self.dialect {
            Dialect::Flux => ["measurementTagKeys", "measurementFieldKeys"]
                .map(|function| self.flux_keys(function))
                .to_vec(),
            Dialect::InfluxQl | Dialect::Sql => ["TAG", "FIELD"]
                .map(|kind| format!("SHOW {kind} KEYS FROM {}", influxql_name(&self.measurement)))
                .to_vec(),
        }
    }

    /// An answer as rows of a query has a time: the schema functions have none.
    fn flux_keys(&self, function: &str) -> String {
        format!(
            "import \"influxdata/influxdb/schema\" schema.{function}(bucket: {}, measurement: {}, start: {}) \
             |> map(fn: (r) => ({{_time: 1970-01-01T00:00:00Z, _value: r._value}}))",
            flux_text(self.bucket.as_deref().unwrap_or_default()),
            flux_text(&self.measurement),
            time::text(time::MIN)
        )
    }

    fn influxql(&self, span: Span) -> String {
        let names = |names: &[String], kind: &str| match names {
            [] => format!("*::{kind}"),
            names => names
                .iter()
                .map(|name| format!("{}::{kind}", influxql_name(name)))
                .collect::<Vec<_>>()
                .join(", "),
        };
        let mut text = format!("SELECT {}, {} FROM ", names(&self.fields, "field"), names(&self.tags, "tag"));
        if let Some(policy) = &self.retention_policy {
            text.push_str(&influxql_name(policy));
            text.push('.');
        }
        text.push_str(&influxql_name(&self.measurement));
        text + &bounds(span) + " ORDER BY time ASC" + &limit(span)
    }

    fn sql(&self, span: Span) -> String {
        let columns = match (self.fields.as_slice(), self.tags.as_slice()) {
            ([], _) | (_, []) => "*".to_owned(),
            (fields, tags) => {
                let names = tags.iter().chain(fields).map(|name| sql_name(name));
                std::iter::once("time".to_owned()).chain(names).collect::<Vec<_>>().join(", ")
            }
        };
        format!(
            "SELECT {columns} FROM {}{} ORDER BY time ASC{}",
            sql_name(&self.measurement),
            bounds(span),
            limit(span)
        )
    }

    /// One row a point: the fields of a point stand in series of their own, and a limit before the pivot would tear it apart.
    fn flux(&self, span: Span) -> String {
        let mut text = format!(
            "from(bucket: {}) |> range(start: {}, stop: {}) |> filter(fn: (r) => r._measurement == {}",
            flux_text(self.bucket.as_deref().unwrap_or_default()),
            time::text(span.low.max(time::MIN)),
            time::text(span.high.unwrap_or(i64::MAX - 1)),
            flux_text(&self.measurement)
        );
        if !self.fields.is_empty() {
            let one = |field: &String| format!("r._field == {}", flux_text(field));
            let any: Vec<String> = self.fields.iter().map(one).collect();
            text.push_str(&format!(" and ({})", any.join(" or ")));
        }
        text.push_str(
            ") |> pivot(rowKey: [\"_time\"], columnKey: [\"_field\"], valueColumn: \"_value\") |> group() |> sort(columns: [\"_time\"])",
        );
        if let Some(limit) = span.limit {
            text.push_str(&format!(" |> limit(n: {limit})"));
        }
        if !self.tags.is_empty() && !self.fields.is_empty() {
            let names = ["_time", "_measurement"].into_iter();
            let names = names.chain(self.tags.iter().chain(&self.fields).map(String::as_str));
            let names: Vec<String> = names.map(flux_text).collect();
            text.push_str(&format!(" |> keep(columns: [{}])", names.join(", ")));
        }
        text
    }
}

/// `WHERE` of InfluxQL and SQL.
fn bounds(span: Span) -> String {
    let low = (span.low > time::MIN).then(|| format!("time >= '{}'", time::text(span.low)));
    let high = span.high.map(|high| format!("time < '{}'", time::text(high)));
    let both: Vec<String> = low.into_iter().chain(high).collect();
    if both.is_empty() { String::new() } else { format!(" WHERE {}", both.join(" AND ")) }
}

fn limit(span: Span) -> String {
    span.limit.map(|limit| format!(" LIMIT {limit}")).unwrap_or_default()
}

fn influxql_name(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

fn sql_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn flux_text(text: &str) -> String {
    format!(
        "\"{}\"",
        text.replace('\\', "\\\\").replace('"', "\\\"").replace("${", "\\${").replace('\n', "\\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generated(dialect: Dialect, fields: &[&str], tags: &[&str]) -> Generated {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Generated {
            dialect,
            bucket: Some("b".to_owned()),
            retention_policy: None,
            measurement: "c\"pu".to_owned(),
            fields: names(fields),
            tags: names(tags),
        }
    }

    const SPAN: Span = Span { low: 1, high: Some(3), limit: Some(10) };

    #[test]
    fn influxql_names_every_kind_and_quotes_names_b128() {
        assert_eq!(
            generated(Dialect::InfluxQl, &[], &[]).text(SPAN),
            "SELECT *::field, *::tag FROM \"c\\\"pu\" WHERE time >= '1970-01-01T00:00:00.000000001Z' AND time < \
             '1970-01-01T00:00:00.000000003Z' ORDER BY time ASC LIMIT 10"
        );
        let all = Span { low: i64::MIN, high: None, limit: None };
        let policy = Generated {
            retention_policy: Some("one week".to_owned()),
            ..generated(Dialect::InfluxQl, &["n\\\" , x"], &["h"])
        };
        assert_eq!(
            policy.text(all),
            "SELECT \"n\\\\\\\" , x\"::field, \"h\"::tag FROM \"one week\".\"c\\\"pu\" ORDER BY time ASC"
        );
    }

    #[test]
    fn sql_quotes_names_b128() {
        assert_eq!(
            generated(Dialect::Sql, &["n\"; drop"], &["h"]).text(SPAN),
            "SELECT time, \"h\", \"n\"\"; drop\" FROM \"c\"\"pu\" WHERE time >= '1970-01-01T00:00:00.000000001Z' AND time < \
             '1970-01-01T00:00:00.000000003Z' ORDER BY time ASC LIMIT 10"
        );
    }

    #[test]
    fn flux_makes_one_row_a_point_and_quotes_names_b128() {
        assert_eq!(
            generated(Dialect::Flux, &["a", "${b}"], &[]).text(SPAN),
            "from(bucket: \"b\") |> range(start: 1970-01-01T00:00:00.000000001Z, stop: 1970-01-01T00:00:00.000000003Z) |> filter(fn: (r) \
             => r._measurement == \"c\\\"pu\" and (r._field == \"a\" or r._field == \"\\${b}\")) |> pivot(rowKey: [\"_time\"], columnKey: \
             [\"_field\"], valueColumn: \"_value\") |> group() |> sort(columns: [\"_time\"]) |> limit(n: 10)"
        );
    }

    #[test]
    fn what_the_definition_names_need_not_be_asked() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(generated(Dialect::Flux, &["f"], &["t"]).schema(), Schema::Tags(names(&["t"])));
        assert_eq!(generated(Dialect::InfluxQl, &["f"], &["t"]).schema(), Schema::Fields(names(&["f"])));
        assert_eq!(generated(Dialect::Flux, &["f"], &[]).schema(), Schema::Fields(names(&["f"])));
        assert!(matches!(generated(Dialect::InfluxQl, &[], &[]).schema(), Schema::Asked { .. }));
    }
}

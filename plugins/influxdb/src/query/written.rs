//! A query that somebody wrote: `$cursor`, `$limit` and `$offset` in it.

use super::Dialect;
use crate::time;

/// The largest `$limit`: what every language takes.
pub(crate) const LIMIT_MAX: u64 = i32::MAX as u64;

/// A checked query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Cursor,
    Limit,
    /// Always 0: what other readers page with is read in another way here.
    Offset,
}

const PLACEHOLDERS: [(&str, Part); 3] =
    [("$cursor", Part::Cursor), ("$limit", Part::Limit), ("$offset", Part::Offset)];

impl Written {
    /// Reads a query.
    ///
    /// # Errors
    /// Why it cannot be read behind a cursor, and what would be right.
    pub(crate) fn parse(text: &str, dialect: Dialect) -> Result<Written, &'static str> {
        let written = Written { parts: parts(text) };
        if !written.parts.contains(&Part::Cursor) {
            return Err(
                "it must contain $cursor, or it would bring the same rows each time: compare the time with '$cursor' (InfluxQL, \
                        SQL), or write range(start: time(v: \"$cursor\")) in Flux",
            );
        }
        let lower = text.to_ascii_lowercase();
        if !written.has_limit() && words(&lower).any(|word| word == "limit") {
            return Err(
                "a fixed limit would leave rows out unseen: write $limit in its place, or no limit at all",
            );
        }
        let after = lower.rfind("$limit").map_or("", |at| &lower[at..]);
        let is_after = |word: &str| words(after).any(|other| other == word);
        match dialect {
            Dialect::Flux
                if ["group", "sort", "union", "join", "pivot", "reduce"]
                    .iter()
                    .any(|word| is_after(word)) =>
            {
                Err(
                    "limit(n: $limit) must come after group, sort, pivot, union and join: rows it leaves out before them cannot be found \
                     again",
                )
            }
            Dialect::Flux if written.has_limit() && has(&lower, "group") && !has(&lower, "sort") => {
                Err("after group() the rows are in no order, so limit(n: $limit) takes any of them: add \
                     sort(columns: [\"_time\"]) before it")
            }
            Dialect::Sql if written.has_limit() && (!has(&lower, "order") || is_after("order")) => Err(
                "LIMIT $limit takes any rows without an order: write ORDER BY time LIMIT $limit at its end",
            ),
            Dialect::InfluxQl | Dialect::Sql if has(&lower, "order") && has(&lower, "desc") => Err(
                "it reads from the newest row on, the cursor moves from the oldest: write ORDER BY time ASC",
            ),
            Dialect::InfluxQl | Dialect::Flux | Dialect::Sql => Ok(written),
        }
    }

    pub(crate) fn has_limit(&self) -> bool {
        self.parts.contains(&Part::Limit)
    }

    /// The text, with values in it. One pass: what is put in is not looked at again.
    pub(crate) fn text(&self, cursor: i64, limit: u64) -> String {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Cursor => text.push_str(&time::text(cursor)),
                Part::Limit => text.push_str(&limit.to_string()),
                Part::Offset => text.push('0'),
            }
        }
        text
    }
}

/// `$` before anything else is only a character: regular expressions have it too.
fn parts(text: &str) -> Vec<Part> {
    let (mut parts, mut rest, mut plain) = (Vec::new(), text, String::new());
    while let Some(first) = rest.chars().next() {
        let found = PLACEHOLDERS.iter().find_map(|(name, part)| {
            let after = rest.strip_prefix(name)?;
            (!after.starts_with(is_word)).then_some((part, after))
        });
        match found {
            Some((part, after)) => {
                parts.extend(
                    Some(std::mem::take(&mut plain)).filter(|plain| !plain.is_empty()).map(Part::Text),
                );
                parts.push(part.clone());
                rest = after;
            }
            None => {
                plain.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    parts.extend(Some(plain).filter(|plain| !plain.is_empty()).map(Part::Text));
    parts
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !is_word(character) && character != '$').filter(|word| !word.is_empty())
}

fn has(text: &str, wanted: &str) -> bool {
    words(text).any(|word| word == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(query: &str, dialect: Dialect) -> String {
        Written::parse(query, dialect).unwrap().text(1, 500)
    }

    #[test]
    fn placeholders_are_replaced_once_and_only_as_whole_words() {
        let query = "SELECT * FROM /cpu$/ WHERE time > '$cursor' AND c = '$cursors' AND p = '$price' LIMIT $limit OFFSET $offset";
        assert_eq!(
            text(query, Dialect::InfluxQl),
            "SELECT * FROM /cpu$/ WHERE time > '1970-01-01T00:00:00.000000001Z' AND c = '$cursors' AND p = '$price' LIMIT 500 OFFSET 0"
        );
    }

    #[test]
    fn the_queries_of_the_existing_runtimes_are_taken() {
        for (query, dialect) in [
            ("from(bucket:\"b\") |> range(start: time(v: \"$cursor\")) |> limit(n: $limit)", Dialect::Flux),
            (
                "from(bucket:\"b\") |> range(start: $cursor) |> filter(fn: (r) => r._measurement == \"m\") |> sort(columns: [\"_time\"]) |> limit(n: $limit)",
                Dialect::Flux,
            ),
            (
                "SELECT * FROM m WHERE time > '$cursor' ORDER BY time ASC LIMIT $limit OFFSET $offset",
                Dialect::Sql,
            ),
            ("SELECT * FROM m WHERE time > '$cursor' LIMIT $limit", Dialect::InfluxQl),
            ("SELECT mean(u) FROM m WHERE time > '$cursor' GROUP BY time(1m), *", Dialect::InfluxQl),
        ] {
            assert!(Written::parse(query, dialect).is_ok(), "{query}");
        }
    }

    #[test]
    fn what_would_lose_rows_or_bring_the_same_ones_for_ever_is_refused() {
        for (query, dialect, part) in [
            ("SELECT * FROM m", Dialect::InfluxQl, "$cursor"),
            ("SELECT * FROM m WHERE time > '$cursors'", Dialect::InfluxQl, "$cursor"),
            ("SELECT * FROM m WHERE time > '$cursor' LIMIT 100", Dialect::InfluxQl, "$limit"),
            ("SELECT * FROM m WHERE time > '$cursor' LIMIT $limit", Dialect::Sql, "ORDER BY"),
            (
                "SELECT * FROM (SELECT * FROM m WHERE time > '$cursor' LIMIT $limit) ORDER BY time",
                Dialect::Sql,
                "ORDER BY",
            ),
            ("SELECT * FROM m WHERE time > '$cursor' ORDER BY time DESC LIMIT $limit", Dialect::Sql, "ASC"),
            ("SELECT * FROM m WHERE time > '$cursor' order by time desc", Dialect::InfluxQl, "ASC"),
            ("from(bucket:\"b\") |> range(start: $cursor) |> limit(n: 5)", Dialect::Flux, "$limit"),
            (
                "from(bucket:\"b\") |> range(start: $cursor) |> limit(n: $limit) |> group() |> sort()",
                Dialect::Flux,
                "after",
            ),
            (
                "from(bucket:\"b\") |> range(start: $cursor) |> group() |> limit(n: $limit)",
                Dialect::Flux,
                "sort",
            ),
        ] {
            let error = Written::parse(query, dialect).unwrap_err();
            assert!(error.contains(part), "{query}: {error}");
        }
    }
}

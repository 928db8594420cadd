//! Where a table is cut into parts.

use crate::client::Connection;
use crate::error::Error;
use crate::progress::{By, Part};
use crate::quote::{self, TableName};
use crate::server::TableFacts;

/// Of no table are more places held.
const PARTS_MAX: u64 = 1_024;
/// So many pages for each part are looked at to find where its key lies.
const SAMPLE_PAGES: u64 = 8;

/// Cuts `rest`, the end of a table, into parts of about `part_bytes`.
pub(crate) async fn parts(
    sql: &mut Connection,
    facts: &TableFacts,
    rest: &Part,
    part_bytes: u64,
) -> Result<Vec<Part>, Error> {
    let (pages, page_bytes) = size(sql, facts).await?;
    let count = (pages * page_bytes / part_bytes.max(1)).clamp(1, PARTS_MAX);
    // Ranges of places are read without the rest of the table from 14 on.
    let can_cut = match rest.by {
        By::Key => !facts.primary_key.is_empty(),
        By::Place { .. } => sql.version() >= 14,
    };
    if count == 1 || !can_cut {
        return Ok(vec![rest.clone()]);
    }
    let bounds = match rest.by {
        By::Key => keys(sql, facts, rest, (pages, count)).await?,
        By::Place { .. } => places(rest, pages, count),
    };
    Ok(cut(rest, bounds))
}

/// Parts from bound to bound; the last one goes to where `rest` ends.
fn cut(rest: &Part, bounds: Vec<Vec<String>>) -> Vec<Part> {
    let mut parts = Vec::with_capacity(bounds.len() + 1);
    let mut after = rest.after.clone();
    for until in bounds {
        parts.push(Part { after, until: until.clone(), ..rest.clone() });
        after = until;
    }
    parts.push(Part { after, ..rest.clone() });
    parts
}

/// Pages of a table with all its partitions, and their size.
async fn size(sql: &mut Connection, facts: &TableFacts) -> Result<(u64, u64), Error> {
    let answer = sql
        .query(
            "SELECT coalesce((SELECT sum(pg_catalog.pg_relation_size(relid)) FROM pg_catalog.pg_partition_tree($1::oid::regclass)), \
             pg_catalog.pg_relation_size($1::oid::regclass))::text, pg_catalog.current_setting('block_size')",
            &[Some(&facts.oid)],
        )
        .await?;
    let number = |column| answer.text(0, column).and_then(|text| text.parse::<u64>().ok());
    let page_bytes = number(1).filter(|bytes| *bytes > 0).unwrap_or(8_192);
    Ok((number(0).unwrap_or_default() / page_bytes, page_bytes))
}

/// The place of the last row there is now; empty when there is none.
pub(crate) async fn last_place(
    sql: &mut Connection,
    facts: &TableFacts,
    table: &TableName,
) -> Result<Vec<String>, Error> {
    if let By::Place { .. } = super::by_of(facts) {
        let (pages, _) = size(sql, facts).await?;
        return Ok(if pages == 0 { Vec::new() } else { vec![format!("({pages},0)")] });
    }
    let key: Vec<String> = facts.primary_key.iter().map(|name| quote::identifier(name)).collect();
    let last: Vec<String> = key.iter().map(|name| format!("{name} DESC")).collect();
    let only = if facts.is_partitioned { "" } else { "ONLY " };
    let (key, last) = (key.join(", "), last.join(", "));
    let text = format!("SELECT {key} FROM {only}{} ORDER BY {last} LIMIT 1", table.quoted());
    let answer = sql.query(&text, &[]).await?;
    let width = facts.primary_key.len();
    Ok((0..width).map_while(|column| answer.text(0, column).map(str::to_owned)).collect())
}

/// Keys that cut what lies behind `rest.after` into about equal parts, from a sample of its pages.
async fn keys(
    sql: &mut Connection,
    facts: &TableFacts,
    rest: &Part,
    (pages, count): (u64, u64),
) -> Result<Vec<Vec<String>>, Error> {
    let parameters: Vec<Option<&str>> = rest.after.iter().map(|value| Some(value.as_str())).collect();
    let answer = sql.query(&sample(facts, rest, (pages, count)), &parameters).await?;
    let width = facts.primary_key.len();
    let key = |row| (0..width).map(|column| answer.text(row, column).map(str::to_owned)).collect();
    Ok((0..answer.len()).filter_map(key).collect())
}

fn sample(facts: &TableFacts, rest: &Part, (pages, count): (u64, u64)) -> String {
    let key = facts.primary_key.iter().map(|name| quote::identifier(name)).collect::<Vec<_>>().join(", ");
    let named: Vec<String> = (0..facts.primary_key.len()).map(|place| format!("k{place}")).collect();
    let aliased: Vec<String> = facts
        .primary_key
        .iter()
        .zip(&named)
        .map(|(name, alias)| format!("{} AS {alias}", quote::identifier(name)))
        .collect();
    let percent = (100.0 * (count * SAMPLE_PAGES) as f64 / pages.max(1) as f64).min(100.0);
    let bounds: Vec<String> = (1..=rest.after.len()).map(|place| format!("${place}")).collect();
    let behind =
        if bounds.is_empty() { String::new() } else { format!(" WHERE ({key}) > ({})", bounds.join(", ")) };
    let only = if facts.is_partitioned { "" } else { "ONLY " };
    format!(
        "SELECT {} FROM (SELECT {}, row_number() OVER (ORDER BY {key}) AS place, count(*) OVER () AS total FROM {only}{} \
         TABLESAMPLE SYSTEM ({percent}) REPEATABLE (1){behind}) AS sample WHERE place % greatest(total / {count}, 1) = 0 \
         AND place < total ORDER BY place LIMIT {PARTS_MAX}",
        named.join(", "),
        aliased.join(", "),
        rest.table.quoted()
    )
}

/// The starts of every so many pages.
fn places(rest: &Part, pages: u64, count: u64) -> Vec<Vec<String>> {
    let first = rest.after.first().and_then(|place| place_of(place)).map_or(0, |(page, _)| page + 1);
    let starts = (1..count).map(|number| pages * number / count);
    starts.filter(|page| *page >= first).map(|page| vec![format!("({page},0)")]).collect()
}

/// Page and number out of `(4,2)`.
fn place_of(text: &str) -> Option<(u64, u64)> {
    let (page, number) = text.strip_prefix('(')?.strip_suffix(')')?.split_once(',')?;
    Some((page.parse().ok()?, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(after: &[&str]) -> Part {
        let after = after.iter().map(|text| (*text).to_owned()).collect();
        Part { table: TableName::new("s", "t"), after, until: Vec::new(), by: By::Place { file: 1 } }
    }

    #[test]
    fn parts_join_without_a_gap_and_reach_the_end() {
        let parts = cut(&rest(&["(3,9)"]), places(&rest(&["(3,9)"]), 20, 5));
        let end = |part: &Part| (part.after[0].clone(), part.until.first().cloned().unwrap_or_default());
        let ends: Vec<(String, String)> = parts.iter().map(end).collect();
        let right = [
            ("(3,9)", "(4,0)"),
            ("(4,0)", "(8,0)"),
            ("(8,0)", "(12,0)"),
            ("(12,0)", "(16,0)"),
            ("(16,0)", ""),
        ];
        assert_eq!(ends, right.map(|(after, until)| (after.to_owned(), until.to_owned())));
    }

    #[test]
    fn every_name_in_a_sample_is_quoted_b128() {
        let facts = TableFacts { primary_key: vec!["a\"".into(), "b".into()], ..TableFacts::default() };
        let part = Part { after: vec!["1".into(), "2".into()], by: By::Key, ..rest(&[]) };
        assert_eq!(
            sample(&facts, &part, (1_000, 4)),
            "SELECT k0, k1 FROM (SELECT \"a\"\"\" AS k0, \"b\" AS k1, row_number() OVER (ORDER BY \"a\"\"\", \"b\") AS place, count(*) OVER () \
             AS total FROM ONLY \"s\".\"t\" TABLESAMPLE SYSTEM (3.2) REPEATABLE (1) WHERE (\"a\"\"\", \"b\") > ($1, $2)) AS sample \
             WHERE place % greatest(total / 4, 1) = 0 AND place < total ORDER BY place LIMIT 1024"
        );
    }

    #[test]
    fn a_place_is_a_page_and_a_number() {
        assert_eq!(place_of("(12,3)"), Some((12, 3)));
        assert_eq!(place_of("12"), None);
    }
}

//! The SQL of polling. Pure; names are quoted, values are bound.

use crate::quote::{TableName, identifier};

/// A table as polling reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Polled {
    pub(crate) table: TableName,
    pub(crate) columns: Vec<String>,
    pub(crate) tracking: String,
    /// What tells rows apart that have one tracking value; empty when the tracking column does it alone.
    pub(crate) tie_break: Vec<String>,
    pub(crate) processed: Option<String>,
    /// Cleanup names a row's version, so the row brings it along.
    pub(crate) has_version: bool,
}

impl Polled {
    /// What the rows are ordered by.
    pub(crate) fn order(&self) -> Vec<&String> {
        std::iter::once(&self.tracking).chain(&self.tie_break).collect()
    }

    /// The highest value, and which transactions are open, all of one moment.
    pub(crate) fn look_sql(&self) -> String {
        let (tracking, table) = (identifier(&self.tracking), self.table.quoted());
        format!(
            "SELECT (SELECT {tracking} FROM {table} WHERE {tracking} IS NOT NULL ORDER BY {tracking} DESC LIMIT 1), \
             pg_catalog.pg_snapshot_xmin(s)::text, pg_catalog.pg_snapshot_xmax(s)::text FROM pg_catalog.pg_current_snapshot() s"
        )
    }

    /// The next page: up to the value bound first; behind the order's values bound next, when `has_cursor`, or behind a
    /// tracking value alone when `has_offset`.
    pub(crate) fn page_sql(&self, start: Start, limit: u32) -> String {
        let list =
            |names: &[&String]| names.iter().map(|name| identifier(name)).collect::<Vec<_>>().join(", ");
        let columns: Vec<&String> = self.columns.iter().collect();
        let (order, tracking) = (self.order(), identifier(&self.tracking));
        let version = if self.has_version { ", xmin::text" } else { "" };
        let mut sql =
            format!("SELECT {}{version} FROM {} WHERE {tracking} <= $1", list(&columns), self.table.quoted());
        match start {
            Start::Everything => {}
            Start::Offset => sql.push_str(&format!(" AND {tracking} > $2")),
            Start::Cursor => {
                let places: Vec<String> = (2..order.len() + 2).map(|place| format!("${place}")).collect();
                sql.push_str(&format!(" AND ({}) > ({})", list(&order), places.join(", ")));
            }
        }
        if let Some(processed) = &self.processed {
            sql.push_str(&format!(" AND {} = FALSE", identifier(processed)));
        }
        sql.push_str(&format!(" ORDER BY {} LIMIT {limit}", list(&order)));
        sql
    }
}

/// Where a page begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// No row was read, and every row counts.
    Everything,
    /// No row was read, and `initial_offset` says where to begin.
    Offset,
    Cursor,
}

/// What is done to rows that were delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cleanup {
    Delete,
    /// Sets this column to true.
    Mark(String),
}

/// The statement for `rows` rows, each bound as its key and its version: a row that was changed since is another version, and stays.
pub(crate) fn cleanup_sql(table: &TableName, cleanup: &Cleanup, key: &[String], rows: usize) -> String {
    let width = key.len() + 1;
    let row = |row: usize| {
        let names = key.iter().enumerate();
        let same = names.map(|(at, name)| format!("{} = ${}", identifier(name), row * width + at + 1));
        // Transaction numbers have no order, so they cannot stand in a comparison of rows.
        format!("({} AND xmin = ${}::xid)", same.collect::<Vec<_>>().join(" AND "), (row + 1) * width)
    };
    let list: Vec<String> = (0..rows).map(row).collect();
    let what = match cleanup {
        Cleanup::Delete => format!("DELETE FROM {}", table.quoted()),
        Cleanup::Mark(column) => format!("UPDATE {} SET {} = TRUE", table.quoted(), identifier(column)),
    };
    format!("{what} WHERE {}", list.join(" OR "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn polled() -> Polled {
        Polled {
            table: TableName::new("public", "Order"),
            columns: vec!["id".into(), "updatedAt".into(), "select".into()],
            tracking: "updatedAt".into(),
            tie_break: vec!["id".into()],
            processed: Some("done\"".into()),
            has_version: true,
        }
    }

    #[test]
    fn mixed_case_and_reserved_names_are_quoted_b030() {
        assert_eq!(
            polled().page_sql(Start::Cursor, 10),
            "SELECT \"id\", \"updatedAt\", \"select\", xmin::text FROM \"public\".\"Order\" WHERE \"updatedAt\" <= $1 AND \
             (\"updatedAt\", \"id\") > ($2, $3) AND \"done\"\"\" = FALSE ORDER BY \"updatedAt\", \"id\" LIMIT 10"
        );
    }

    #[test]
    fn a_first_page_has_no_lower_bound_b041() {
        let sql = Polled { processed: None, has_version: false, ..polled() }.page_sql(Start::Everything, 5);
        assert!(sql.ends_with("WHERE \"updatedAt\" <= $1 ORDER BY \"updatedAt\", \"id\" LIMIT 5"), "{sql}");
    }

    #[test]
    fn cleanup_names_key_and_version() {
        let table = TableName::new("s", "t");
        let key = ["a".to_owned(), "b".to_owned()];
        assert_eq!(
            cleanup_sql(&table, &Cleanup::Delete, &key, 2),
            "DELETE FROM \"s\".\"t\" WHERE (\"a\" = $1 AND \"b\" = $2 AND xmin = $3::xid) OR (\"a\" = $4 AND \"b\" = $5 AND xmin = $6::xid)"
        );
        assert_eq!(
            cleanup_sql(&table, &Cleanup::Mark("done".into()), &key[..1], 1),
            "UPDATE \"s\".\"t\" SET \"done\" = TRUE WHERE (\"a\" = $1 AND xmin = $2::xid)"
        );
    }
}

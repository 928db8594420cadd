//! Which tables and columns a definition means.

use crate::quote::{self, TableName};

const SCHEMA_DEFAULT: &str = "public";

/// `tables`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tables {
    patterns: Vec<Pattern>,
}

/// One entry of `tables`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    Table(TableName),
    /// `schema.*`
    Schema(String),
}

impl Tables {
    /// Reads the list. An entry without a schema is of `public`.
    pub(crate) fn parse(list: &[String]) -> Result<Tables, String> {
        let one = |text: &String| {
            let parts = quote::parts(text).map_err(|fault| format!("\"{text}\": {fault}"))?;
            match parts.as_slice() {
                // In quotes a star is a name like any other.
                [schema, star] if star == "*" && !text.ends_with('"') => Ok(Pattern::Schema(schema.clone())),
                [table] => Ok(Pattern::Table(TableName::new(SCHEMA_DEFAULT, table))),
                [schema, table] => Ok(Pattern::Table(TableName::new(schema, table))),
                _ => Err(format!(
                    "\"{text}\": right is table, schema.table or schema.*; a name with a dot stands in double quotes"
                )),
            }
        };
        Ok(Tables { patterns: list.iter().map(one).collect::<Result<_, String>>()? })
    }

    /// Whether no list was given: every table.
    pub(crate) fn is_all(&self) -> bool {
        self.patterns.is_empty()
    }

    pub(crate) fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }

    pub(crate) fn has(&self, schema: &str, table: &str) -> bool {
        self.is_all()
            || self.patterns.iter().any(|pattern| match pattern {
                Pattern::Table(name) => name.schema == schema && name.table == table,
                Pattern::Schema(name) => name == schema,
            })
    }
}

/// `exclude_columns`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Columns(Vec<(TableName, String)>);

impl Columns {
    pub(crate) fn parse(list: &[String]) -> Result<Columns, String> {
        let one = |text: &String| {
            let parts = quote::parts(text).map_err(|fault| format!("\"{text}\": {fault}"))?;
            match parts.as_slice() {
                [table, column] => Ok((TableName::new(SCHEMA_DEFAULT, table), column.clone())),
                [schema, table, column] => Ok((TableName::new(schema, table), column.clone())),
                _ => Err(format!("\"{text}\": right is table.column or schema.table.column")),
            }
        };
        Ok(Columns(list.iter().map(one).collect::<Result<_, String>>()?))
    }

    pub(crate) fn has(&self, table: &TableName, column: &str) -> bool {
        self.0.iter().any(|(name, excluded)| name == table && excluded == column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(list: &[&str]) -> Result<Tables, String> {
        Tables::parse(&list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn one_name_in_two_schemas_is_two_tables_b031() {
        let tables = tables(&["orders", "tenant_a.orders"]).unwrap();
        assert!(tables.has("public", "orders") && tables.has("tenant_a", "orders"));
        assert!(!tables.has("tenant_b", "orders"));
    }

    #[test]
    fn a_star_means_a_schema_and_no_list_means_everything() {
        assert!(tables(&["sales.*"]).unwrap().has("sales", "anything"));
        assert!(!tables(&["sales.*"]).unwrap().has("public", "anything"));
        assert!(tables(&["sales.\"*\""]).unwrap().has("sales", "*"));
        assert!(!tables(&["sales.\"*\""]).unwrap().has("sales", "anything"));
        assert!(tables(&[]).unwrap().has("x", "y"));
    }

    #[test]
    fn sql_in_a_name_is_only_a_name_b128() {
        let tables = tables(&["public.orders; drop table keepme"]).unwrap();
        assert!(!tables.has("public", "orders"));
        assert!(tables.has("public", "orders; drop table keepme"));
    }

    #[test]
    fn a_column_is_of_its_table_alone() {
        let columns = Columns::parse(&["orders.secret".to_owned(), "a.b.c".to_owned()]).unwrap();
        assert!(columns.has(&TableName::new("public", "orders"), "secret"));
        assert!(!columns.has(&TableName::new("a", "orders"), "secret"));
        assert!(columns.has(&TableName::new("a", "b"), "c"));
    }
}

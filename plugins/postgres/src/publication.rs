//! The publication against what the definition asks for. Pure: what is missing, the SQL for it, and what a person should know.

use crate::config::Operation;
use crate::error::Error;
use crate::quote::{TableName, identifier};
use crate::settings::Settings;
use crate::tables::Pattern;

/// A publication as the server has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Publication {
    pub(crate) has_insert: bool,
    pub(crate) has_update: bool,
    pub(crate) has_delete: bool,
    pub(crate) has_truncate: bool,
    pub(crate) is_via_root: bool,
    pub(crate) tables: Vec<TableName>,
}

/// A table that could be published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableRow {
    pub(crate) name: TableName,
    pub(crate) is_partitioned: bool,
    pub(crate) is_partition: bool,
    /// Updates and deletions say which row they mean.
    pub(crate) has_identity: bool,
}

/// What there is to do and to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// To run before anything is read, if anything.
    pub(crate) sql: Option<String>,
    /// The tables that are read, in the order of their names.
    pub(crate) tables: Vec<TableName>,
    /// For the log and the checks: what works, and needs a look.
    pub(crate) warnings: Vec<String>,
}

/// Compares the two.
///
/// # Errors
/// What is missing and may not be made by us, with the SQL to run.
pub(crate) fn plan(
    publication: Option<&Publication>,
    all: &[TableRow],
    settings: &Settings,
) -> Result<Plan, Error> {
    let mut wanted = wanted(all, settings)?;
    if let Some(publication) = publication.filter(|_| settings.tables.is_all()) {
        // Without a list the tables are those of the publication, whoever chose them.
        wanted.retain(|table| is_published(publication, table));
    }
    let mut plan = Plan::default();
    let name = identifier(&settings.publication);
    match publication {
        None => plan.sql = Some(create_sql(&name, &wanted, settings)),
        Some(publication) => {
            let missing: Vec<&TableRow> =
                wanted.iter().copied().filter(|table| !is_published(publication, table)).collect();
            if !missing.is_empty() {
                if missing.iter().any(|table| table.is_partitioned) && !publication.is_via_root {
                    return Err(via_root(settings, &name, missing[0]));
                }
                plan.sql = Some(format!("ALTER PUBLICATION {name} ADD TABLE {}", list(&missing)));
            }
            plan.warnings.extend(unpublished(publication, settings, &name));
        }
    }
    if let Some(sql) = &plan.sql
        && !settings.is_publication_ours
    {
        let what = if publication.is_some() { "lacks configured tables" } else { "does not exist" };
        return Err(Error::Refused(format!(
            "postgres.publication: the publication `{}` {what} and create_publication = false; run: {sql};",
            settings.publication
        )));
    }
    plan.warnings.extend(wanted.iter().filter(|table| !table.has_identity).map(|table| no_identity(table)));
    plan.tables = tables(publication, &wanted, settings);
    Ok(plan)
}

/// The tables that `tables` names, those that are not there too: whoever reads one says so.
pub(crate) fn named(all: &[TableRow], settings: &Settings) -> Vec<TableName> {
    let mut named = Vec::new();
    for pattern in settings.tables.patterns() {
        match pattern {
            Pattern::Table(name) => named.push(name.clone()),
            Pattern::Schema(schema) => {
                let inside = all.iter().filter(|table| table.name.schema == *schema && !table.is_partition);
                named.extend(inside.map(|table| table.name.clone()));
            }
        }
    }
    named.sort();
    named.dedup();
    named
}

/// The tables the definition names. A name without its table is an error; partitions go with their root.
fn wanted<'a>(all: &'a [TableRow], settings: &Settings) -> Result<Vec<&'a TableRow>, Error> {
    for pattern in settings.tables.patterns() {
        if let Pattern::Table(name) = pattern
            && !all.iter().any(|table| table.name == *name)
        {
            return Err(Error::Refused(format!(
                "tables: there is no table {name}; a name is taken exactly as written, capitals too, and is of the schema \
                 public unless it says another"
            )));
        }
    }
    let is_named = |table: &TableRow| {
        settings.tables.patterns().iter().any(|pattern| *pattern == Pattern::Table(table.name.clone()))
    };
    let is_wanted = |table: &&TableRow| {
        settings.tables.has(&table.name.schema, &table.name.table) && (!table.is_partition || is_named(table))
    };
    Ok(all.iter().filter(is_wanted).collect())
}

fn is_published(publication: &Publication, table: &TableRow) -> bool {
    publication.tables.contains(&table.name)
}

/// What is read: what is published and wanted.
fn tables(publication: Option<&Publication>, wanted: &[&TableRow], settings: &Settings) -> Vec<TableName> {
    let mut tables: Vec<TableName> = match publication {
        Some(publication) if settings.tables.is_all() => publication.tables.clone(),
        Some(_) | None => wanted.iter().map(|table| table.name.clone()).collect(),
    };
    tables.sort();
    tables
}

fn create_sql(name: &str, wanted: &[&TableRow], settings: &Settings) -> String {
    let what =
        if settings.tables.is_all() { "ALL TABLES".to_owned() } else { format!("TABLE {}", list(wanted)) };
    let truncate = if settings.records.operations.contains(&Operation::Truncate) { ", truncate" } else { "" };
    format!(
        "CREATE PUBLICATION {name} FOR {what} WITH (publish = 'insert, update, delete{truncate}', \
         publish_via_partition_root = true)"
    )
}

fn list(tables: &[&TableRow]) -> String {
    tables.iter().map(|table| table.name.quoted()).collect::<Vec<_>>().join(", ")
}

fn via_root(settings: &Settings, name: &str, table: &TableRow) -> Error {
    Error::Refused(format!(
        "postgres.partitions: {} is partitioned, and the publication `{}` reports changes under the names of the \
         partitions, which tables does not name; run: ALTER PUBLICATION {name} SET (publish_via_partition_root = true);",
        table.name, settings.publication
    ))
}

fn unpublished(publication: &Publication, settings: &Settings, name: &str) -> Option<String> {
    let is_missing = |operation: &Operation| match operation {
        Operation::Insert => !publication.has_insert,
        Operation::Update => !publication.has_update,
        Operation::Delete => !publication.has_delete,
        Operation::Truncate => !publication.has_truncate,
        // Messages are of no table, so of no publication.
        Operation::Message => false,
    };
    let missing: Vec<String> = settings
        .records
        .operations
        .iter()
        .filter(|one| is_missing(one))
        .map(|one| format!("{one:?}"))
        .collect();
    let published = settings.records.operations.iter().filter(|one| **one != Operation::Message);
    let all: Vec<String> = published.map(|one| format!("{one:?}").to_lowercase()).collect();
    (!missing.is_empty()).then(|| {
        format!(
            "the publication `{}` does not publish {}, which capture_operations names, so none comes; run: ALTER PUBLICATION \
             {name} SET (publish = '{}');",
            settings.publication,
            missing.join(", ").to_uppercase(),
            all.join(", ")
        )
    })
}

fn no_identity(table: &TableRow) -> String {
    format!(
        "{0} has no replica identity: once it is published, every UPDATE and DELETE of its owner fails; run: ALTER TABLE {1} REPLICA \
         IDENTITY FULL; or give it a primary key",
        table.name,
        table.name.quoted()
    )
}

#[cfg(test)]
mod tests {
    use picomq_connector_sdk::Limits;
    use serde_json::{Value, json};

    use super::*;
    use crate::config::PostgresConfig;

    fn settings(more: Value) -> Settings {
        let mut config = json!({ "connection_string": "postgres://me@host/shop", "mode": "cdc" });
        config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let config: PostgresConfig = serde_json::from_value(config).unwrap();
        config.check("key", &Limits { batch_records: 10_000, batch_bytes: 64 << 20 }).unwrap()
    }

    fn table(schema: &str, name: &str) -> TableRow {
        TableRow {
            name: TableName::new(schema, name),
            is_partitioned: false,
            is_partition: false,
            has_identity: true,
        }
    }

    fn published(tables: &[&str]) -> Publication {
        Publication {
            has_insert: true,
            has_update: true,
            has_delete: true,
            tables: tables.iter().map(|name| TableName::new("public", *name)).collect(),
            ..Publication::default()
        }
    }

    #[test]
    fn a_missing_publication_is_made_with_every_name_quoted_b052_b128() {
        let all = [table("public", "a"), table("public", "odd\"name")];
        let settings = settings(json!({ "tables": ["\"odd\"\"name\""], "publication_name": "p\"" }));
        let plan = plan(None, &all, &settings).unwrap();
        assert_eq!(
            plan.sql.unwrap(),
            "CREATE PUBLICATION \"p\"\"\" FOR TABLE \"public\".\"odd\"\"name\" WITH (publish = 'insert, update, delete', \
             publish_via_partition_root = true)"
        );
        assert_eq!(plan.tables, [TableName::new("public", "odd\"name")]);
    }

    #[test]
    fn a_publication_that_is_not_ours_is_refused_with_the_sql() {
        let all = [table("public", "a"), table("public", "b")];
        let settings = settings(json!({ "tables": ["a", "b"], "create_publication": false }));
        let text = plan(None, &all, &settings).unwrap_err().to_string();
        assert!(text.contains("run: CREATE PUBLICATION"), "{text}");
        let text = plan(Some(&published(&["a"])), &all, &settings).unwrap_err().to_string();
        assert!(text.contains("ADD TABLE \"public\".\"b\""), "{text}");
        assert_eq!(plan(Some(&published(&["a", "b"])), &all, &settings).unwrap().sql, None);
    }

    #[test]
    fn without_a_list_the_tables_are_those_of_the_publication_and_none_is_added() {
        let bare = TableRow { has_identity: false, ..table("public", "c") };
        let all = [table("public", "a"), table("public", "b"), bare];
        for is_ours in [true, false] {
            let settings = settings(json!({ "create_publication": is_ours }));
            let plan = plan(Some(&published(&["a"])), &all, &settings).unwrap();
            assert_eq!(plan, Plan { tables: vec![TableName::new("public", "a")], ..Plan::default() });
        }
    }

    #[test]
    fn a_table_that_is_not_there_is_refused_by_name() {
        let text = plan(None, &[], &settings(json!({ "tables": ["Orders"] }))).unwrap_err().to_string();
        assert!(text.contains("public.Orders"), "{text}");
    }

    #[test]
    fn a_partitioned_table_is_published_by_its_root_or_refused_b027() {
        let root = TableRow { is_partitioned: true, ..table("public", "events") };
        let leaf = TableRow { is_partition: true, ..table("public", "events_1") };
        let settings = settings(json!({ "tables": ["events"] }));
        let all = [root, leaf];
        assert!(
            plan(None, &all, &settings).unwrap().sql.unwrap().contains("publish_via_partition_root = true")
        );
        let by_leaf = published(&["events_1"]);
        let text = plan(Some(&by_leaf), &all, &settings).unwrap_err().to_string();
        assert!(text.starts_with("postgres.partitions"), "{text}");
    }

    #[test]
    fn publishing_a_table_without_identity_is_warned_about_b020() {
        let bare = TableRow { has_identity: false, ..table("public", "a") };
        let plan = plan(None, &[bare], &settings(json!({ "tables": ["a"] }))).unwrap();
        assert!(plan.warnings[0].contains("ALTER TABLE \"public\".\"a\" REPLICA IDENTITY FULL"), "{plan:?}");
    }

    #[test]
    fn an_operation_that_is_not_published_is_warned_about() {
        let settings = settings(json!({ "tables": ["a"], "capture_operations": ["INSERT", "TRUNCATE"] }));
        let plan = plan(Some(&published(&["a"])), &[table("public", "a")], &settings).unwrap();
        assert!(
            plan.warnings[0].contains("TRUNCATE")
                && plan.warnings[0].contains("publish = 'insert, truncate'")
        );
    }
}

//! What a person may ask: reading a table while the stream runs, calling that off, seeing how it stands.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Backfill, JOBS_MAX, Job};
use crate::client::{Connection, Purpose};
use crate::error::Error;
use crate::publication::TableRow;
use crate::quote::{self, TableName};
use crate::server::{self, Sight};
use crate::settings::Settings;

/// Names of the commands.
pub(crate) const START: &str = "backfill";
pub(crate) const CANCEL: &str = "cancel_backfill";
pub(crate) const LIST: &str = "backfills";
pub(crate) const COMMANDS: [&str; 3] = [START, CANCEL, LIST];

/// What was asked for and is not saved yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Later ones have higher numbers.
    pub(crate) number: u64,
    pub(crate) table: TableName,
    pub(crate) is_cancel: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    table: String,
}

/// `{"table": …}`: a name as in `tables`.
pub(crate) fn table(arguments: Value) -> Result<TableName, Error> {
    let wrong = |why: String| {
        Error::Refused(format!(
            "{why}; right is {{\"table\": \"orders\"}} or {{\"table\": \"schema.orders\"}}"
        ))
    };
    let Arguments { table } = serde_json::from_value(arguments).map_err(|error| wrong(error.to_string()))?;
    match quote::parts(&table).map_err(|fault| wrong(format!("\"{table}\": {fault}")))?.as_slice() {
        [name] => Ok(TableName::new("public", name)),
        [schema, name] => Ok(TableName::new(schema, name)),
        _ => Err(wrong(format!("\"{table}\" is no name of a table"))),
    }
}

impl Backfill {
    /// Takes what is wanted and was not taken before; true when that changed anything.
    pub(crate) fn want(&mut self, wanted: &[Wanted]) -> bool {
        let before = self.last;
        for one in wanted.iter().filter(|one| one.number > before) {
            self.last = self.last.max(one.number);
            if one.is_cancel {
                self.jobs.retain(|job| job.table != one.table);
            } else if self.jobs.iter().all(|job| job.table != one.table) {
                self.jobs.push(Job { table: one.table.clone(), after: Vec::new(), rows: 0 });
            }
        }
        self.last != before
    }

    /// Refuses what cannot be taken.
    pub(crate) fn allow(&self, table: &TableName, is_cancel: bool) -> Result<(), Error> {
        let has = self.jobs.iter().any(|job| job.table == *table);
        match (is_cancel, has) {
            (true, false) => {
                Err(Error::Refused(format!("no backfill of {table} was asked for, or it is done")))
            }
            (false, true) => Err(Error::Refused(format!(
                "{table} is being read already, or waits for it; to begin anew, call `{CANCEL}` first"
            ))),
            (false, false) if self.jobs.len() >= JOBS_MAX => {
                Err(Error::Refused(format!("{JOBS_MAX} tables wait already; ask again when some are read")))
            }
            (true, true) | (false, false) => Ok(()),
        }
    }

    /// How it stands, for programs.
    pub(crate) fn list(&self) -> Value {
        let jobs = self.jobs.iter().enumerate().map(|(place, job)| {
            let status = if place == 0 && self.rest.is_none() { "reading" } else { "waiting" };
            json!({ "table": job.table.to_string(), "status": status, "rows": job.rows, "after": job.after })
        });
        json!({
            "backfills": jobs.collect::<Vec<_>>(),
            "snapshot": self.rest.as_ref().map(|rest| json!({ "rows": rest.rows })),
        })
    }
}

/// Refuses a table that cannot be read beside the stream, with the way out.
pub(crate) async fn check(settings: &Settings, table: &TableName) -> Result<(), Error> {
    let mut sql = Connection::open(&settings.target, Purpose::Sql).await?;
    if sql.version() < 14 {
        return Err(Error::Refused(format!(
            "PostgreSQL {} does not send marks in the log (logical messages) to readers, which a backfill needs: 14 is the first that does",
            sql.version()
        )));
    }
    let rows = server::tables(&mut sql).await?;
    let published = server::publication(&mut sql, &settings.publication).await?;
    let published = published.is_some_and(|publication| publication.tables.contains(table));
    is_read(settings, table, &rows, published)?;
    let Some(facts) = server::table_facts(&mut sql, table, Sight::Published(&settings.publication)).await?
    else {
        return Err(Error::Refused(format!("there is no table {table}")));
    };
    if facts.primary_key.is_empty() {
        return Err(Error::Refused(format!(
            "{table} has no primary key, so its rows cannot be held against what the stream brings of them meanwhile; run: ALTER TABLE {} \
             ADD PRIMARY KEY (…);",
            table.quoted()
        )));
    }
    let right = sql.query("SELECT has_table_privilege($1::oid, 'SELECT')", &[Some(&facts.oid)]).await?;
    if right.text(0, 0) != Some("t") {
        return Err(Error::Refused(format!(
            "{} may not read {table}; run: GRANT SELECT ON {} TO {};",
            settings.target.user,
            table.quoted(),
            quote::identifier(&settings.target.user)
        )));
    }
    sql.close().await;
    Ok(())
}

/// Whether the stream brings the changes of `table` under this name.
fn is_read(
    settings: &Settings,
    table: &TableName,
    rows: &[TableRow],
    is_published: bool,
) -> Result<(), Error> {
    let Some(row) = rows.iter().find(|row| row.name == *table) else {
        return Err(Error::Refused(format!(
            "there is no table {table}; a name is taken exactly as written, capitals too, and is of the schema `public` unless it says \
             another"
        )));
    };
    if !settings.tables.has(&table.schema, &table.table) {
        return Err(Error::Refused(format!(
            "{table} is none of the tables this source reads; add it to `tables`"
        )));
    }
    if is_published {
        return Ok(());
    }
    if row.is_partition {
        return Err(Error::Refused(format!(
            "{table} is a partition, whose changes come under the name of its root: name that one"
        )));
    }
    Err(Error::Refused(format!(
        "the publication `{}` lacks {table}, so its changes do not come; run: ALTER PUBLICATION {} ADD TABLE {};",
        settings.publication,
        quote::identifier(&settings.publication),
        table.quoted()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(number: u64, table: &str, is_cancel: bool) -> Wanted {
        Wanted { number, table: TableName::new("public", table), is_cancel }
    }

    #[test]
    fn a_request_is_taken_once_however_often_it_is_seen() {
        let mut work = Backfill::default();
        let all = [wanted(5, "a", false), wanted(6, "b", false)];
        assert!(work.want(&all) && !work.want(&all));
        // Done before the request was forgotten.
        work.jobs.clear();
        assert!(!work.want(&all));
        assert!(work.want(&[wanted(7, "a", false), wanted(8, "a", true)]));
        assert_eq!((work.jobs.len(), work.last), (0, 8));
    }

    #[test]
    fn a_second_request_and_one_too_many_are_refused() {
        let mut work = Backfill::default();
        let a = TableName::new("public", "a");
        assert!(work.allow(&a, true).unwrap_err().to_string().contains("no backfill of public.a"));
        work.want(&[wanted(1, "a", false)]);
        assert!(work.allow(&a, false).unwrap_err().to_string().contains("cancel_backfill"));
        assert!(work.allow(&a, true).is_ok());
        for number in 2..=JOBS_MAX as u64 {
            work.want(&[wanted(number, &format!("t{number}"), false)]);
        }
        assert!(
            work.allow(&TableName::new("public", "z"), false).unwrap_err().to_string().contains("100 tables")
        );
    }

    #[test]
    fn a_table_is_named_as_in_the_definition() {
        assert_eq!(table(json!({ "table": "Orders" })).unwrap(), TableName::new("public", "Orders"));
        assert_eq!(table(json!({ "table": "s.\"a.b\"" })).unwrap(), TableName::new("s", "a.b"));
        for wrong in [
            json!(null),
            json!({}),
            json!({ "table": "" }),
            json!({ "table": "a.b.c" }),
            json!({ "table": "a", "x": 1 }),
        ] {
            assert!(table(wrong.clone()).unwrap_err().to_string().contains("right is"), "{wrong}");
        }
    }
}

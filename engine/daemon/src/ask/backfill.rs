//! `backfill`: commands of the PostgreSQL source, with a table for people.

use hyper::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cli::ask::BackfillArguments;
use crate::cli::{Cli, Format};
use crate::client::{Client, escaped};
use crate::error::Error;
use crate::leave::Exit;
use crate::output::{self, Stream};
use crate::runtime;

#[derive(Debug, Deserialize)]
struct Answer {
    backfills: Vec<Backfill>,
    /// What is left of a snapshot that was interrupted.
    snapshot: Option<Snapshot>,
}

#[derive(Debug, Deserialize)]
struct Backfill {
    table: String,
    status: String,
    rows: u64,
}

#[derive(Debug, Deserialize)]
struct Snapshot {
    rows: u64,
}

/// Asks the plugin, and shows what it answers.
pub(super) fn run(cli: &Cli, arguments: &BackfillArguments) -> Result<Exit, Error> {
    let client = Client::new(&cli.url)?;
    let (command, body) = match (&arguments.table, arguments.cancel) {
        (Some(table), false) => ("backfill", json!({ "table": table })),
        (Some(table), true) => ("cancel_backfill", json!({ "table": table })),
        (None, _) => ("backfills", Value::Null),
    };
    let path = format!("/sources/{}/commands/{command}", escaped(&arguments.key));
    let answer: Value = runtime::block_on(client.ask(Method::POST, &path, Some(&body)))?;
    match cli.format() {
        Format::Json => output::write_json(&answer),
        Format::Human | Format::Github => {
            let answer: Answer = serde_json::from_value(answer).map_err(|cause| {
                Error::runtime("client.bad_answer", format!("the plugin answers something else: {cause}"))
            })?;
            output::write(Stream::Stdout, &text(arguments, &answer));
        }
    }
    Ok(Exit::Ok)
}

fn text(arguments: &BackfillArguments, answer: &Answer) -> String {
    let mut text = match (&arguments.table, arguments.cancel) {
        (Some(table), false) => format!("{}: {table} will be read while it streams\n", arguments.key),
        (Some(table), true) => format!("{}: {table} is called off\n", arguments.key),
        (None, _) if answer.backfills.is_empty() && answer.snapshot.is_none() => {
            format!("{}: no table is read beside the stream\n", arguments.key)
        }
        (None, _) => String::new(),
    };
    if let Some(Snapshot { rows }) = answer.snapshot {
        text.push_str(&format!("  the interrupted snapshot goes on: {rows} rows so far\n"));
    }
    for Backfill { table, status, rows } in &answer.backfills {
        text.push_str(&format!("  {table}  {status}  {rows} rows\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(table: Option<&str>, cancel: bool, answer: Value) -> String {
        let table = table.map(str::to_owned);
        let arguments = BackfillArguments { key: "shop".to_owned(), table, cancel };
        text(&arguments, &serde_json::from_value(answer).unwrap())
    }

    #[test]
    fn what_is_read_and_what_waits_is_shown() {
        let jobs = json!([
            { "table": "public.a", "status": "reading", "rows": 7, "after": ["7"] },
            { "table": "public.b", "status": "waiting", "rows": 0, "after": [] },
        ]);
        let answer = json!({ "table": "public.b", "taken": true, "backfills": jobs });
        assert_eq!(
            shown(Some("b"), false, answer),
            "shop: b will be read while it streams\n  public.a  reading  7 rows\n  public.b  waiting  0 rows\n"
        );
        let none = json!({ "backfills": [], "snapshot": null });
        assert_eq!(shown(None, false, none.clone()), "shop: no table is read beside the stream\n");
        assert_eq!(shown(Some("b"), true, none), "shop: b is called off\n");
        let rest = json!({ "backfills": [], "snapshot": { "rows": 9 } });
        assert_eq!(shown(None, false, rest), "  the interrupted snapshot goes on: 9 rows so far\n");
    }
}

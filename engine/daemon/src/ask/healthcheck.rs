//! `healthcheck`: one question, one exit code.

use serde_json::Value;

use crate::cli::ask::HealthcheckArguments;
use crate::cli::{Cli, Format};
use crate::client::Client;
use crate::error::Error;
use crate::leave::Exit;
use crate::output::{self, Stream};
use crate::runtime;

/// Ends with 0 when the daemon serves, whatever its sources do: a failing source must not restart a container.
pub(super) fn run(cli: &Cli, arguments: &HealthcheckArguments) -> Result<Exit, Error> {
    let client = Client::new(&cli.url)?;
    let health: Value = runtime::block_on(async {
        if arguments.ready {
            client.get::<Value>("/ready").await?;
        }
        client.get("/health").await
    })?;
    match cli.format() {
        Format::Json => output::write_json(&health),
        Format::Human | Format::Github => {
            let status = health.get("status").and_then(Value::as_str).unwrap_or("unknown");
            output::write(Stream::Stdout, &format!("{status}\n"));
        }
    }
    Ok(Exit::Ok)
}

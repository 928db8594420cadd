//! `pause`, `resume`, `restart`, `stop`, `start`.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::cli::ask::OrderArguments;
use crate::cli::{Cli, Format};
use crate::client::{Client, escaped};
use crate::error::Error;
use crate::leave::Exit;
use crate::output::{self, Stream};
use crate::runtime;

/// How often it is looked whether the source got there.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What is asked of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Pause,
    Resume,
    Restart,
    Stop,
    Start,
}

impl Order {
    fn as_str(self) -> &'static str {
        match self {
            Order::Pause => "pause",
            Order::Resume => "resume",
            Order::Restart => "restart",
            Order::Stop => "stop",
            Order::Start => "start",
        }
    }

    /// The status this leads to.
    fn goal(self) -> &'static str {
        match self {
            Order::Pause => "paused",
            Order::Resume | Order::Restart | Order::Start => "running",
            Order::Stop => "stopped",
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
struct Source {
    status: String,
    since: u64,
    last_error: Option<LastError>,
}

#[derive(Debug, Clone, Deserialize)]
struct LastError {
    message: String,
}

/// Sends the order, and waits where that was asked for.
pub(super) fn run(cli: &Cli, arguments: &OrderArguments, order: Order) -> Result<Exit, Error> {
    let client = Client::new(&cli.url)?;
    runtime::block_on(async {
        let path = format!("/sources/{}", escaped(&arguments.key));
        let before: Source = client.get(&path).await?;
        let note = client.order(&format!("{path}/{}", order.as_str())).await?;
        let source = match arguments.wait {
            Some(seconds) => wait(&client, &path, (order, &before), u64::from(seconds)).await?,
            None => client.get(&path).await?,
        };
        say(cli.format(), (&arguments.key, order), &source, note.as_deref());
        Ok(Exit::Ok)
    })
}

/// A restart has taken place once the status was changed after it was asked for.
async fn wait(
    client: &Client,
    path: &str,
    (order, before): (Order, &Source),
    seconds: u64,
) -> Result<Source, Error> {
    let waiting = async {
        loop {
            let source: Source = client.get(path).await?;
            let is_new = order != Order::Restart || source.since != before.since;
            if source.status == order.goal() && is_new {
                return Ok(source);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    match tokio::time::timeout(Duration::from_secs(seconds), waiting).await {
        Ok(outcome) => outcome,
        Err(_elapsed) => {
            let source: Source = client.get(path).await?;
            let why = source.last_error.map(|error| format!(": {}", error.message)).unwrap_or_default();
            let reason =
                format!("after {seconds} s the source is {}, not {}{why}", source.status, order.goal());
            let hint = "`pico-connectors describe KEY` says more; --wait SECONDS waits longer";
            Err(Error::runtime("client.not_reached", reason).with_hint(hint))
        }
    }
}

fn say(format: Format, (key, order): (&str, Order), source: &Source, note: Option<&str>) {
    match format {
        Format::Json => {
            let told: Value =
                json!({ "key": key, "order": order.as_str(), "status": source.status, "note": note });
            output::write_json(&told);
        }
        Format::Human | Format::Github => {
            let note = note.map(|note| format!("  note: {note}\n")).unwrap_or_default();
            let text = format!("{key}: {} was taken; it is {}\n{note}", order.as_str(), source.status);
            output::write(Stream::Stdout, &text);
        }
    }
}

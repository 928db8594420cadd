//! `top`: the table of `status`, drawn again and again, until `q` or Ctrl-C.

use std::time::Duration;

use serde_json::Value;

use crate::cli::ask::TopArguments;
use crate::cli::{Cli, Format};
use crate::client::Client;
use crate::error::Error;
use crate::leave::Exit;
use crate::output::{self, Stream};
use crate::signals::Signals;
use crate::{runtime, status, terminal};

/// From the upper left corner, over what stood there; what is left of it is wiped at the end.
const HOME: &str = "\x1b[H";
const WIPE_LINE: &str = "\x1b[K\n";
const WIPE_REST: &str = "\x1b[J";
/// A screen of its own, so that what stood there before comes back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// Draws until it is told to end.
pub(super) fn run(cli: &Cli, arguments: &TopArguments) -> Result<Exit, Error> {
    let client = Client::new(&cli.url)?;
    let is_live = cli.format() == Format::Human && Stream::Stdout.is_terminal();
    runtime::block_on(async {
        let mut signals = Signals::listen()?;
        let mut keys = if is_live { terminal::keys() } else { None };
        // Asked once before the screen changes, so that an error stands where it can be read.
        let mut next = frame(cli, &client, is_live).await?;
        if is_live {
            output::write(Stream::Stdout, ENTER);
        }
        let mut looks = 0;
        let outcome = loop {
            if !output::try_write(Stream::Stdout, &next) {
                break Ok(Exit::Ok);
            }
            looks += 1;
            if arguments.looks.is_some_and(|most| looks >= most) {
                break Ok(Exit::Ok);
            }
            let every = Duration::from_secs(u64::from(arguments.every));
            let is_over = tokio::select! {
                () = tokio::time::sleep(every) => false,
                _ = signals.next() => true,
                () = quit(&mut keys) => true,
            };
            if is_over {
                break Ok(Exit::Ok);
            }
            next = match frame(cli, &client, is_live).await {
                Ok(next) => next,
                Err(error) => break Err(error),
            };
        };
        if is_live {
            output::write(Stream::Stdout, LEAVE);
        }
        outcome
    })
}

async fn quit(keys: &mut Option<tokio::sync::mpsc::Receiver<char>>) {
    match keys {
        Some(keys) => while keys.recv().await.is_some_and(|key| key != 'q') {},
        None => std::future::pending().await,
    }
}

async fn frame(cli: &Cli, client: &Client, is_live: bool) -> Result<String, Error> {
    match cli.format() {
        Format::Json => {
            let sources: Value = client.get("/sources").await?;
            Ok(format!("{sources}\n"))
        }
        Format::Human | Format::Github => {
            let text = status::look(client).await?;
            Ok(if is_live { drawn(&text) } else { format!("{text}\n") })
        }
    }
}

fn drawn(text: &str) -> String {
    let lines: String = text.lines().map(|line| format!("{line}{WIPE_LINE}")).collect();
    format!("{HOME}{lines}q ends{WIPE_REST}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shorter_line_leaves_nothing_of_a_longer_one() {
        assert_eq!(drawn("a\nb\n"), "\x1b[Ha\x1b[K\nb\x1b[K\nq ends\x1b[J");
    }
}

//! `slot drop`: what a source holds upstream is given up. The plugin says what would be lost; a person confirms.
//!
//! Through the daemon when one answers; else on the store itself, whose lock keeps a daemon out meanwhile.

mod way;

use std::io::IsTerminal as _;

use serde_json::json;

use crate::cli::slot::{DropArguments, SlotAct, SlotArguments};
use crate::cli::{Cli, Format};
use crate::error::Error;
use crate::leave::Exit;
use crate::output::{self, Stream, harmless};
use crate::runtime;
use way::{Plan, Way};

/// Does what was asked.
pub(crate) fn run(cli: &Cli, arguments: &SlotArguments) -> Result<Exit, Error> {
    let SlotAct::Drop(arguments) = &arguments.act;
    runtime::block_on(drop_slot(cli, arguments))
}

async fn drop_slot(cli: &Cli, arguments: &DropArguments) -> Result<Exit, Error> {
    let DropArguments { key, publication, foreign, yes, offline } = arguments;
    let way = Way::find(cli, key, *offline).await?;
    if way.is_offline() {
        output::write(Stream::Stderr, "no daemon is asked: this works on the store itself\n");
    }
    way.check_stopped().await?;
    let wish = json!({ "publication": publication, "foreign": foreign });
    let plan = way.look(&wish).await?;
    let is_json = cli.format() == Format::Json;
    if !is_json || !yes {
        output::write(Stream::Stderr, &text(key, &plan));
    }
    if let Some(reason) = plan.refused {
        return Err(Error::Refused {
            code: "slot.refused".to_owned(),
            reason,
            hint: None,
            is_environment: false,
        });
    }
    if plan.statements.is_empty() {
        say(cli.format(), &plan, "nothing to drop\n");
        return Ok(Exit::Ok);
    }
    if !yes && !is_confirmed(&plan.slot) {
        output::write(
            Stream::Stderr,
            "nothing was dropped; confirm with --yes, or type the name of the slot where it is asked for\n",
        );
        return Ok(Exit::Confirmation);
    }
    let done = way.carry_out(&wish).await?;
    say(cli.format(), &done, &format!("done; `pico-connectors state reset {key}` forgets what is saved\n"));
    Ok(Exit::Ok)
}

fn say(format: Format, plan: &Plan, text: &str) {
    match format {
        Format::Json => output::write_json(plan),
        Format::Human | Format::Github => output::write(Stream::Stdout, text),
    }
}

/// What would be run and what it means, in the order in which a person decides.
fn text(key: &str, plan: &Plan) -> String {
    let mut text = format!("slot {} of {key}\n", harmless(&plan.slot));
    for said in &plan.means {
        text.push_str(&format!("  {}\n", harmless(said)));
    }
    for statement in &plan.statements {
        text.push_str(&format!("  → {}\n", harmless(statement)));
    }
    text
}

/// Whether a person at a terminal typed the name of the slot.
fn is_confirmed(slot: &str) -> bool {
    if !std::io::stdin().is_terminal() {
        return false;
    }
    output::write(Stream::Stderr, &format!("type {} to confirm: ", harmless(slot)));
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).is_ok() && line.trim() == slot
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_stands_before_what_is_run() {
        let plan = Plan {
            slot: "picomq_slot".to_owned(),
            statements: vec!["SELECT pg_drop_replication_slot('picomq_slot');".to_owned()],
            refused: None,
            means: vec!["what was committed after 0/1 never comes".to_owned()],
            held_bytes: 1,
            freed_bytes: 1,
            unread_bytes: 1,
            is_done: false,
        };
        insta::assert_snapshot!(text("orders", &plan), @r"
        slot picomq_slot of orders
          what was committed after 0/1 never comes
          → SELECT pg_drop_replication_slot('picomq_slot');
        ");
    }
}

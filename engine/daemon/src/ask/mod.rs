//! The verbs that ask a running daemon about its sources, or something of one of them.

mod backfill;
mod describe;
mod healthcheck;
mod logs;
mod orders;
mod tail;
mod top;

pub(crate) use describe::Detail;

use crate::cli::Cli;
use crate::cli::ask::AskVerb;
use crate::error::Error;
use crate::leave::Exit;

/// Asks.
pub(crate) fn run(cli: &Cli, verb: &AskVerb) -> Result<Exit, Error> {
    match verb {
        AskVerb::Describe(arguments) => describe::run(cli, arguments),
        AskVerb::Tail(arguments) => tail::run(cli, arguments),
        AskVerb::Top(arguments) => top::run(cli, arguments),
        AskVerb::Logs(arguments) => logs::run(cli, arguments),
        AskVerb::Pause(arguments) => orders::run(cli, arguments, orders::Order::Pause),
        AskVerb::Resume(arguments) => orders::run(cli, arguments, orders::Order::Resume),
        AskVerb::Restart(arguments) => orders::run(cli, arguments, orders::Order::Restart),
        AskVerb::Stop(arguments) => orders::run(cli, arguments, orders::Order::Stop),
        AskVerb::Start(arguments) => orders::run(cli, arguments, orders::Order::Start),
        AskVerb::Backfill(arguments) => backfill::run(cli, arguments),
        AskVerb::Healthcheck(arguments) => healthcheck::run(cli, arguments),
    }
}

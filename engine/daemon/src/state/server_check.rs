//! `state check-server`: whether the server of `[state.http]` keeps its contract, before anything rests on it.

use pico_config::{Env, StateConfig};
use pico_state::{ServerCheck, check_server};
use serde_json::json;

use crate::cli::{Cli, Format};
use crate::error::Error;
use crate::leave::Exit;
use crate::output::{self, Stream};
use crate::runtime;

/// Asks the server, on a resource of its own. Exit code 3 when it does not keep the contract.
pub(super) fn run(cli: &Cli) -> Result<Exit, Error> {
    let (engine, _) =
        pico_config::load_engine(cli.config.as_deref(), &Env::from_process()).map_err(Error::Config)?;
    let StateConfig::Http(http) = engine.state else {
        return Err(Error::environment(
            "state.no_server",
            "[state] storage is \"file\": there is no server to ask",
        )
        .with_hint("write [state] storage = \"http\" and [state.http] url"));
    };
    let checks = runtime::block_on(async {
        check_server(*http).await.map_err(|error| super::way::error_of(error.into()))
    })?;
    match cli.format() {
        Format::Json => output::write_json(&json!(checks.iter().map(to_json).collect::<Vec<_>>())),
        Format::Human | Format::Github => output::write(Stream::Stdout, &text(&checks)),
    }
    let is_kept = checks.iter().all(|check| check.fault.is_none());
    Ok(if is_kept { Exit::Ok } else { Exit::Environment })
}

fn to_json(check: &ServerCheck) -> serde_json::Value {
    json!({ "demand": check.demand, "is_kept": check.fault.is_none(), "fault": check.fault })
}

fn text(checks: &[ServerCheck]) -> String {
    let line = |check: &ServerCheck| match &check.fault {
        None => format!("✓ {}\n", check.demand),
        Some(fault) => format!("✗ {}\n    {fault}\n", check.demand),
    };
    checks.iter().map(line).collect()
}

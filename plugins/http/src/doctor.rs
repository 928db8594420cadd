//! `doctor KEY`: whether the address, the certificate and the spool of a source can be had, without taking any of them.

use std::io::ErrorKind;

use picomq_connector_sdk::Error;
use picomq_connector_sdk::doctor::{Look, answer};
use rustix::fs::{Access, access};
use serde_json::Value;
use tokio::net::TcpListener;

use crate::listener;
use crate::settings::Settings;

/// All looks, as the engine shows them. `spool` is what opening it to look says; None where there is none.
pub(crate) async fn looks(settings: &Settings, spool: Option<Result<(), Error>>) -> Value {
    let mut checks = vec![listens(settings).await];
    if let Some(tls) = &settings.listening.tls {
        checks.push(outcome("tls", listener::certificate(tls), "certificate and key can be read and fit"));
    }
    if let Some(spool) = spool {
        checks.push(outcome("spool", spool.and_then(|()| writable(settings)), "it can be read and written"));
    }
    answer(&checks)
}

async fn listens(settings: &Settings) -> Look {
    let address = settings.listening.address;
    match TcpListener::bind(address).await {
        Ok(_) => Look::ok("listen", format!("{address} is free")),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            Look::warning("listen", format!("{address} is taken")).advice(
                "fine while this source runs; else see who has the port, and give listen_addr another",
            )
        }
        Err(error) => Look::error("listen", format!("cannot listen on {address}: {error}"))
            .advice("name an address of this machine in listen_addr, with a port that this user may open"),
    }
}

/// Whether the spool could be made: looking makes nothing.
fn writable(settings: &Settings) -> Result<(), Error> {
    let Some(folder) = &settings.spool_folder else { return Ok(()) };
    let Some(there) = folder.ancestors().find(|folder| folder.exists()) else { return Ok(()) };
    access(there, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| {
        let (there, folder) = (there.display(), folder.display());
        Error::config(format!(
            "this user may not write in {there}, where {folder} is to lie; give it the folder, or set spool_dir to another"
        ))
        .with_cause(std::io::Error::from(error))
    })
}

fn outcome(name: &'static str, outcome: Result<(), Error>, good: &str) -> Look {
    match outcome {
        Ok(()) => Look::ok(name, good),
        Err(error) => Look::error(name, error.chain()),
    }
}

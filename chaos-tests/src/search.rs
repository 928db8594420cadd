//! A real OpenSearch or Elasticsearch as a process.
//!
//! The server is fetched and started by `services/search/search.sh`. It ends when the test's process ends, however that ends: it holds
//! the other end of the server's stdin.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin};
use std::time::Duration;

use serde_json::Value;

use crate::http::send;
use crate::ports::free_port;
use crate::wait::wait_for;
use crate::{Error, Result, services};

/// The first start of a kind may fetch it; later ones take three seconds on a quiet machine.
const READY_WITHIN: Duration = Duration::from_secs(240);
const PATIENCE: Duration = Duration::from_secs(60);

/// Which server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// OpenSearch 2.19.
    OpenSearch,
    /// Elasticsearch 8.19.
    Elasticsearch8,
}

/// One server. Dropping it ends it.
#[derive(Debug)]
pub struct Search {
    child: Child,
    /// Of this process of the server and of those before it.
    stdins: Vec<ChildStdin>,
    dir: PathBuf,
    port: u16,
    kind: Kind,
}

impl Search {
    /// Starts a fresh server whose whole life lies in `dir`, and waits until it answers.
    pub fn start(dir: &Path, kind: Kind) -> Result<Self> {
        let _ = fs::remove_dir_all(dir);
        fs::create_dir_all(dir).map_err(Error::io(format!("create {}", dir.display())))?;
        let port = free_port();
        let mut child = spawn(dir, port, kind)?;
        let stdins = child.stdin.take().into_iter().collect();
        let server = Self { child, stdins, dir: dir.to_owned(), port, kind };
        server.wait_ready()?;
        Ok(server)
    }

    /// `url` of the plugin.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Asks it; `line` is `method path`. Anything but 2xx is an error in its words.
    pub fn ask(&self, line: &str, body: &str) -> std::result::Result<Value, String> {
        ask(self.port, line, body)
    }

    /// A power cut of the server's process, and a start on the same folder, without waiting for its answer.
    pub fn crash(&mut self) -> Result<()> {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.child = spawn(&self.dir, self.port, self.kind)?;
        self.stdins.extend(self.child.stdin.take());
        Ok(())
    }

    /// Waits until it answers.
    pub fn wait_ready(&self) -> Result<()> {
        wait_for("an answer of the search server", READY_WITHIN, || {
            self.ask("GET /_cluster/health", "").map(drop)
        })
    }
}

/// Asks a server on this machine; `line` is `method path`. Anything but 2xx is an error in its words.
pub fn ask(port: u16, line: &str, body: &str) -> std::result::Result<Value, String> {
    let answer = send(port, line, body, PATIENCE).map_err(|error| error.to_string())?;
    if !(200..300).contains(&answer.status) {
        return Err(format!("{}: {}", answer.status, answer.body));
    }
    answer.json().map_err(|error| error.to_string())
}

impl Drop for Search {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // What a failed test left stays there to be looked at.
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

fn spawn(dir: &Path, port: u16, kind: Kind) -> Result<Child> {
    let name = match kind {
        Kind::OpenSearch => "opensearch",
        Kind::Elasticsearch8 => "elasticsearch8",
    };
    let mut command = services::server("search/search.sh", dir, port)?;
    command.env("KIND", name).spawn().map_err(Error::io("start the search server"))
}

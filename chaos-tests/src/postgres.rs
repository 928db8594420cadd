//! A real PostgreSQL as a process, and `psql` as the client that nobody here wrote.
//!
//! The server is fetched and started by `services/postgres/postgres.sh`. It ends when the test's process ends, however that ends:
//! it holds the other end of the server's stdin.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::ports::free_port;
use crate::wait::wait_for;
use crate::{Error, Result, services};

/// The first start of a version may fetch it; later ones take two seconds on a quiet machine.
const READY_WITHIN: Duration = Duration::from_secs(180);
const STOPPED_WITHIN: Duration = Duration::from_secs(60);

/// One server. Dropping it ends it.
#[derive(Debug)]
pub struct Postgres {
    child: Child,
    /// Of this process of the server and of those before it: when one closes, the folder goes.
    stdins: Vec<ChildStdin>,
    dir: PathBuf,
    port: u16,
    version: u32,
}

impl Postgres {
    /// Starts a fresh server of a major version whose whole life lies in `dir`, and waits until it answers.
    pub fn start(dir: &Path, version: u32) -> Result<Self> {
        let _ = fs::remove_dir_all(dir);
        fs::create_dir_all(dir).map_err(Error::io(format!("create {}", dir.display())))?;
        let port = free_port();
        let mut child = spawn(dir, port, version)?;
        let stdins = child.stdin.take().into_iter().collect();
        let server = Self { child, stdins, dir: dir.to_owned(), port, version };
        server.wait_ready()?;
        Ok(server)
    }

    /// `connection_string` of the superuser.
    pub fn url(&self) -> String {
        format!("postgres://postgres:secret@127.0.0.1:{}/postgres?sslmode=disable", self.port)
    }

    /// Where it listens on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Runs SQL as the superuser; the answer is what `psql -At` prints, the error what it complains.
    pub fn sql(&self, sql: &str) -> std::result::Result<String, String> {
        psql(self.port, sql)
    }

    /// A way to run SQL from another thread.
    pub fn client(&self) -> impl Fn(&str) -> std::result::Result<String, String> + Send + use<> {
        let port = self.port;
        move |sql| psql(port, sql)
    }

    /// A fast stop, as `pg_ctl stop -m fast`, and a start on the same folder.
    pub fn restart(&mut self) -> Result<()> {
        self.end(Signal::INT)
    }

    /// A crash, from which the server recovers when it is started.
    pub fn crash(&mut self) -> Result<()> {
        self.end(Signal::QUIT)
    }

    fn end(&mut self, signal: Signal) -> Result<()> {
        let _ = kill_process(Pid::from_child(&self.child), signal);
        let child = &mut self.child;
        wait_for("the end of PostgreSQL", STOPPED_WITHIN, || match child.try_wait() {
            Ok(Some(_)) => Ok(()),
            other => Err(format!("{other:?}")),
        })?;
        self.child = spawn(&self.dir, self.port, self.version)?;
        self.stdins.extend(self.child.stdin.take());
        self.wait_ready()
    }

    fn wait_ready(&self) -> Result<()> {
        wait_for("an answer of PostgreSQL", READY_WITHIN, || self.sql("SELECT 1").map(drop))
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::QUIT);
        let _ = self.child.wait();
        // What a failed test left stays there to be looked at.
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

fn psql(port: u16, sql: &str) -> std::result::Result<String, String> {
    let mut command = Command::new("psql");
    command.args(["-X", "-At", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-U", "postgres", "-c", sql]);
    let output = command.env("PGPORT", port.to_string()).env("PGPASSWORD", "secret").output();
    let output = output.map_err(|error| format!("psql: {error}; see services/packages.txt"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

fn spawn(dir: &Path, port: u16, version: u32) -> Result<Child> {
    let mut command = services::server("postgres/postgres.sh", dir, port)?;
    command.env("VERSION", version.to_string()).spawn().map_err(Error::io("start PostgreSQL"))
}

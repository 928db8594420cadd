//! A real InfluxDB 1 as a process, written to and asked over plain HTTP.
//!
//! The server is fetched and started by `services/influxdb/influxdb.sh`. It ends when the test's process ends, however that ends:
//! it holds the other end of the server's stdin.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::http::{self, Answer};
use crate::ports::free_port;
use crate::wait::wait_for;
use crate::{Error, Result, services};

/// The first start fetches 5 MB; later ones take a fraction of a second.
const READY_WITHIN: Duration = Duration::from_secs(120);
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// Its one database.
pub const DATABASE: &str = "db";

/// One server. Dropping it ends it.
#[derive(Debug)]
pub struct InfluxDb {
    child: Child,
    /// Of this process of the server and of those before it.
    stdins: Vec<ChildStdin>,
    dir: PathBuf,
    port: u16,
}

impl InfluxDb {
    /// Starts a fresh server whose whole life lies in `dir`, waits until it answers, and makes the database.
    pub fn start(dir: &Path) -> Result<Self> {
        let _ = fs::remove_dir_all(dir);
        fs::create_dir_all(dir).map_err(Error::io(format!("create {}", dir.display())))?;
        let port = free_port();
        let mut child = spawn(dir, port)?;
        let stdins = child.stdin.take().into_iter().collect();
        let server = Self { child, stdins, dir: dir.to_owned(), port };
        server.wait_ready()?;
        post(port, "/query?q=CREATE%20DATABASE%20db", "")?;
        Ok(server)
    }

    /// `url` of a definition.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A way to write line protocol with times in nanoseconds from another thread; true when the server has taken it.
    pub fn writer(&self) -> impl Fn(&str) -> bool + Send + use<> {
        let port = self.port;
        move |lines| post(port, "/write?db=db&precision=ns", lines).is_ok_and(|answer| answer.status == 204)
    }

    /// A crash, and a start on the same folder.
    pub fn crash(&mut self) -> Result<()> {
        let _ = kill_process(Pid::from_child(&self.child), Signal::KILL);
        self.child.wait().map_err(Error::io("wait for InfluxDB"))?;
        self.child = spawn(&self.dir, self.port)?;
        self.stdins.extend(self.child.stdin.take());
        self.wait_ready()
    }

    fn wait_ready(&self) -> Result<()> {
        wait_for("an answer of InfluxDB", READY_WITHIN, || match http::request(self.port, "GET", "/ping") {
            Ok(answer) if answer.status == 204 => Ok(()),
            other => Err(format!("{other:?}; see {}", self.dir.join("server.log").display())),
        })
    }
}

impl Drop for InfluxDb {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
        // What a failed test left stays there to be looked at.
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

fn post(port: u16, path: &str, body: &str) -> Result<Answer> {
    http::send(port, &format!("POST {path}"), body, ANSWER_WITHIN)
}

fn spawn(dir: &Path, port: u16) -> Result<Child> {
    let mut command = services::server("influxdb/influxdb.sh", dir, port)?;
    command.env("VERSION", "1").spawn().map_err(Error::io("start InfluxDB"))
}

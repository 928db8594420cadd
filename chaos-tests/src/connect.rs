//! A real Kafka Connect with Debezium's connector for PostgreSQL as a process: what we are compared with, and moved over from.
//!
//! The worker is fetched and started by `services/kafka/connect.sh` on a Kafka that is there already. It ends when the
//! test's process ends, however that ends: it holds the other end of the worker's stdin.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::OnceLock;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Map, Value, json};

use crate::http::{self, Answer};
use crate::kafka::Kafka;
use crate::ports::free_port;
use crate::postgres::Postgres;
use crate::wait::wait_for;
use crate::{Error, Result, daemon, services, site};

/// The first start fetches 28 MB with Maven; later ones take ten seconds on a quiet machine.
const READY_WITHIN: Duration = Duration::from_secs(240);
/// The worker checks a connector's settings at its server before it answers.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);
const SETTLED_WITHIN: Duration = Duration::from_secs(90);

/// One worker. Dropping it kills it.
#[derive(Debug)]
pub struct Connect {
    child: Child,
    dir: PathBuf,
    port: u16,
    bootstrap: String,
}

/// The settings of Debezium's connector for `tables` (`schema.table`, separated by commas), with a slot and a publication
/// called `name` and topics that begin with it. `more` comes over them.
///
/// Its numbers, times and bytes have the forms that `envelope = "debezium"` has too, its topics are made by the worker.
pub fn debezium(server: &Postgres, name: &str, tables: &str, more: &[(&str, &str)]) -> Map<String, Value> {
    let (port, object) = (server.port().to_string(), name.replace('-', "_"));
    let settings = [
        ("connector.class", "io.debezium.connector.postgresql.PostgresConnector"),
        ("tasks.max", "1"),
        ("database.hostname", "127.0.0.1"),
        ("database.port", &port),
        ("database.user", "postgres"),
        ("database.password", "secret"),
        ("database.dbname", "postgres"),
        ("plugin.name", "pgoutput"),
        ("slot.name", &object),
        ("publication.name", &object),
        ("publication.autocreate.mode", "filtered"),
        ("table.include.list", tables),
        ("topic.prefix", name),
        ("decimal.handling.mode", "string"),
        ("time.precision.mode", "isostring"),
        ("binary.handling.mode", "base64"),
        ("tombstones.on.delete", "true"),
        ("skipped.operations", "t"),
        // Where the broker makes no topics by itself, a task without these is RUNNING and delivers nothing.
        ("topic.creation.default.partitions", "1"),
        ("topic.creation.default.replication.factor", "1"),
    ];
    let all = settings.iter().chain(more);
    all.map(|(name, value)| ((*name).to_owned(), json!(value))).collect()
}

impl Connect {
    /// Starts a worker that knows no connector yet and waits until it answers.
    pub fn start(dir: &Path, bootstrap: &str) -> Result<Self> {
        let _ = fs::remove_dir_all(dir);
        fs::create_dir_all(dir).map_err(Error::io(format!("create {}", dir.display())))?;
        let port = free_port();
        let child = spawn(dir, port, bootstrap)?;
        let mut worker = Self { child, dir: dir.to_owned(), port, bootstrap: bootstrap.to_owned() };
        worker.wait_ready()?;
        Ok(worker)
    }

    /// The one worker, on the shared Kafka, that the stories of a test binary share. Whoever uses it takes connector names of its own and
    /// leaves the worker alone; it ends with the process.
    ///
    /// # Panics
    /// When it cannot be started: an absent worker is a failure, not a skip.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Connect> = OnceLock::new();
        SHARED.get_or_init(|| {
            let dir = site::scratch().join("connect-shared");
            Self::start(&dir, &Kafka::shared().bootstrap())
                .expect("Kafka Connect is needed: see chaos-tests/services")
        })
    }

    /// Makes a connector, or gives it other settings, and waits until its task runs. What the task cannot do at all shows
    /// here; what it meets later shows in [`check`](Self::check).
    pub fn create(&self, name: &str, settings: &Map<String, Value>) -> Result<()> {
        let body = Value::Object(settings.clone()).to_string();
        self.must("PUT", &format!("/connectors/{name}/config"), &body)?;
        self.wait_task(name)
    }

    /// What its task is doing: `RUNNING`, `PAUSED` …; `None` while it has none. The connector itself may say RUNNING
    /// over a task that failed, so nobody here asks it.
    ///
    /// # Errors
    /// A task that failed, with its own words.
    pub fn task(&self, name: &str) -> Result<Option<String>> {
        let status = self.must("GET", &format!("/connectors/{name}/status"), "")?.json()?;
        let task = &status["tasks"][0];
        match task["state"].as_str() {
            Some("FAILED") => Err(Error::Ended {
                program: format!("the task of the connector {name}"),
                status: "FAILED".to_owned(),
                log: task["trace"].as_str().unwrap_or("it does not say why").to_owned(),
            }),
            state => Ok(state.map(str::to_owned)),
        }
    }

    /// The positions that the worker keeps for a connector, each with its partition; `offsets` of its API.
    pub fn offsets(&self, name: &str) -> Result<Value> {
        let mut answer = self.must("GET", &format!("/connectors/{name}/offsets"), "")?.json()?;
        Ok(answer["offsets"].take())
    }

    /// Ends its task and keeps its positions; [`resume`](Self::resume) starts it again.
    pub fn stop(&self, name: &str) -> Result<()> {
        self.must("PUT", &format!("/connectors/{name}/stop"), "")?;
        wait_for(&format!("the end of the task of {name}"), SETTLED_WITHIN, || {
            let status = self.must("GET", &format!("/connectors/{name}/status"), "");
            let status = status.and_then(|answer| answer.json()).map_err(|error| error.to_string())?;
            let is_over = status["connector"]["state"] == "STOPPED" && status["tasks"] == json!([]);
            if is_over { Ok(()) } else { Err(status.to_string()) }
        })
    }

    /// Takes the positions of a stopped connector away: it begins anew.
    pub fn forget(&self, name: &str) -> Result<()> {
        self.must("DELETE", &format!("/connectors/{name}/offsets"), "").map(drop)
    }

    /// Gives a stopped connector other settings; it stays stopped.
    pub fn configure(&self, name: &str, settings: &Map<String, Value>) -> Result<()> {
        let body = Value::Object(settings.clone()).to_string();
        self.must("PUT", &format!("/connectors/{name}/config"), &body).map(drop)
    }

    /// Starts a stopped connector and waits until its task runs.
    pub fn resume(&self, name: &str) -> Result<()> {
        self.must("PUT", &format!("/connectors/{name}/resume"), "")?;
        self.wait_task(name)
    }

    /// Removes a connector. Its slot and publication stay at the server, its positions in the worker's topic.
    pub fn delete(&self, name: &str) -> Result<()> {
        self.must("DELETE", &format!("/connectors/{name}"), "")?;
        wait_for(&format!("the end of the connector {name}"), SETTLED_WITHIN, || {
            let answer = self.ask("GET", &format!("/connectors/{name}"), "");
            match answer.map_err(|error| error.to_string())?.status {
                404 => Ok(()),
                status => Err(status.to_string()),
            }
        })
    }

    /// Its resident memory in KiB.
    pub fn resident_kib(&self) -> Result<u64> {
        daemon::resident_kib(self.child.id())
    }

    /// SIGKILL, and a start with its connectors and their positions as the broker has them.
    pub fn crash(&mut self) -> Result<()> {
        self.kill();
        self.child = spawn(&self.dir, self.port, &self.bootstrap)?;
        self.wait_ready()
    }

    fn kill(&mut self) {
        // A worker that is gone already has nothing left to signal.
        let _ = kill_process(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }

    fn wait_task(&self, name: &str) -> Result<()> {
        wait_for(&format!("a running task of {name}"), SETTLED_WITHIN, || match self.task(name) {
            Ok(Some(state)) if state == "RUNNING" => Ok(Ok(())),
            Ok(other) => Err(format!("{other:?}")),
            Err(failed @ Error::Ended { .. }) => Ok(Err(failed)),
            Err(error) => Err(error.to_string()),
        })?
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> Result<Answer> {
        http::send(self.port, &format!("{method} {path}"), body, ANSWER_WITHIN)
    }

    /// A request that is answered 2xx. While the worker takes a change in, it says 409: then it is asked again.
    fn must(&self, method: &str, path: &str, body: &str) -> Result<Answer> {
        wait_for(&format!("{method} {path}"), SETTLED_WITHIN, || match self.ask(method, path, body) {
            Ok(answer) if (200..300).contains(&answer.status) => Ok(Ok(answer)),
            Ok(answer) if matches!(answer.status, 404 | 409) => {
                Err(format!("{}: {}", answer.status, answer.body))
            }
            Ok(answer) => {
                let reason = format!("{}: {}", answer.status, answer.body);
                Ok(Err(Error::malformed(format!("{method} {path}"), reason)))
            }
            Err(error) => Ok(Err(error)),
        })?
    }

    fn wait_ready(&mut self) -> Result<()> {
        let (log, port) = (self.dir.join("server.log"), self.port);
        let child = &mut self.child;
        let ready = wait_for("an answer of Kafka Connect", READY_WITHIN, || {
            if let Ok(Some(status)) = child.try_wait() {
                let program = "Kafka Connect".to_owned();
                let log = daemon::tail(&log);
                return Ok(Err(Error::Ended { program, status: status.to_string(), log }));
            }
            match http::send(port, "GET /connectors", "", ANSWER_WITHIN) {
                Ok(Answer { status: 200, .. }) => Ok(Ok(())),
                Ok(other) => Err(format!("{}: {}", other.status, other.body)),
                Err(error) => Err(error.to_string()),
            }
        });
        ready?
    }
}

impl Drop for Connect {
    fn drop(&mut self) {
        self.kill();
    }
}

fn spawn(dir: &Path, port: u16, bootstrap: &str) -> Result<Child> {
    let mut command = services::server("kafka/connect.sh", dir, port)?;
    // One Kafka may serve several workers that know nothing of each other.
    command.env("BOOTSTRAP", bootstrap).env("GROUP", format!("connect-{port}"));
    command.spawn().map_err(Error::io("start Kafka Connect"))
}

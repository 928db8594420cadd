//! The real binary: its process and its API.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::http::{self, Answer};
use crate::wait::wait_for;
use crate::{Error, Result};

/// How much of a log stands in an error.
const TAIL_LINES: usize = 30;
/// A debug build on a busy machine; the product's own figure (800 ms) is measured by the bench.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// The last lines of a log file, for the text of an error.
pub(crate) fn tail(log: &Path) -> String {
    let text = fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}

/// The resident memory of a process in KiB.
pub(crate) fn resident_kib(process: u32) -> Result<u64> {
    let path = format!("/proc/{process}/status");
    let text = fs::read_to_string(&path).map_err(Error::io(format!("read {path}")))?;
    text.lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok())
        .ok_or_else(|| Error::malformed(path, "no VmRSS"))
}

/// One running engine. Dropping it kills it.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    port: u16,
    log: PathBuf,
}

/// What the API says about one source.
#[derive(Debug, Clone, serde::Deserialize)]
pub struct SourceView {
    /// The key of its definition.
    pub key: String,
    /// One of the six statuses.
    pub status: String,
    /// What is wrong, if something is.
    pub last_error: Option<LastError>,
    /// What else is to be said.
    #[serde(default)]
    pub conditions: Vec<String>,
    /// Nacks since the last delivered batch.
    #[serde(default)]
    pub consecutive_nacks: u64,
}

/// The error of a [`SourceView`].
#[derive(Debug, Clone, serde::Deserialize)]
pub struct LastError {
    /// The text for people.
    pub message: String,
}

impl Daemon {
    pub(crate) fn new(child: Child, port: u16, log: PathBuf) -> Self {
        Self { child, port, log }
    }

    /// SIGKILL, and waits for the end. True when it was still running.
    pub fn kill(&mut self) -> bool {
        let alive = self.exited().is_none();
        self.signal(Signal::KILL);
        self.child.wait().expect("our own child can be waited for");
        alive
    }

    /// SIGTERM: asks it to drain and leave.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// SIGHUP: asks it to take the definitions up again.
    pub fn hang_up(&self) {
        self.signal(Signal::HUP);
    }

    /// SIGSTOP.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// SIGCONT.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        // A process that is gone already has nothing left to signal.
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// How it ended, if it has.
    pub fn exited(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("our own child can be waited for")
    }

    /// Waits for the end of the process and says how it ended.
    pub fn wait_exit(&mut self, within: Duration) -> Result<ExitStatus> {
        let log = self.log.clone();
        wait_for("the end of the engine", within, || {
            self.exited().ok_or_else(|| format!("it runs on; its log ends\n{}", tail(&log)))
        })
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// A path as this process sees it, in its own mount namespace.
    pub fn inside(&self, path: &Path) -> PathBuf {
        let relative = path.strip_prefix("/").unwrap_or(path);
        Path::new("/proc").join(self.child.id().to_string()).join("root").join(relative)
    }

    /// Remounts a folder in this process's own mount namespace: `ro` or `rw`.
    pub fn remount(&self, folder: &Path, mode: &str) -> Result<()> {
        let mut nsenter = Command::new("nsenter");
        nsenter.args(["--preserve-credentials", "-U", "-m", "-t", &self.child.id().to_string()]);
        nsenter.args(["mount", "-o", &format!("remount,{mode}")]).arg(folder);
        let output = nsenter.output().map_err(Error::io("start nsenter"))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(Error::Ended {
                program: format!("mount -o remount,{mode}"),
                status: output.status.to_string(),
                log: String::from_utf8_lossy(&output.stderr).into_owned(),
            }),
        }
    }

    /// One request to its API.
    pub fn request(&self, method: &str, path: &str) -> Result<Answer> {
        http::request(self.port, method, path)
    }

    /// Waits until the API answers.
    pub fn wait_serving(&mut self) -> Result<()> {
        let log = self.log.clone();
        let served = wait_for("an answer of the API", ANSWER_WITHIN, || {
            if let Some(status) = self.exited() {
                let program = "pico-connectors".to_owned();
                return Ok(Err(Error::Ended { program, status: status.to_string(), log: tail(&log) }));
            }
            self.request("GET", "/health").map(|_| Ok(())).map_err(|error| error.to_string())
        });
        served?
    }

    /// What the API says about `key` now.
    pub fn source(&self, key: &str) -> Result<SourceView> {
        let answer = self.request("GET", &format!("/sources/{key}"))?;
        if answer.status != 200 {
            return Err(Error::malformed(
                format!("source {key}"),
                format!("{}: {}", answer.status, answer.body),
            ));
        }
        serde_json::from_str(&answer.body)
            .map_err(|error| Error::malformed(format!("source {key}"), format!("{error}: {}", answer.body)))
    }

    /// Waits until what the API says about `key` fits.
    pub fn wait_source(
        &self,
        key: &str,
        what: &str,
        within: Duration,
        fits: impl Fn(&SourceView) -> bool,
    ) -> Result<SourceView> {
        wait_for(what, within, || match self.source(key) {
            Ok(view) if fits(&view) => Ok(view),
            Ok(view) => Err(format!("{view:?}; the log ends\n{}", tail(&self.log))),
            Err(error) => Err(format!("{error}; the log ends\n{}", tail(&self.log))),
        })
    }

    /// Waits until `key` has this status.
    pub fn wait_status(&self, key: &str, status: &str, within: Duration) -> Result<SourceView> {
        self.wait_source(key, &format!("status {status} of {key}"), within, |view| view.status == status)
    }

    /// A counter or gauge of one source from `/metrics`; 0 when it is not there yet.
    pub fn metric(&self, name: &str, key: &str) -> Result<f64> {
        self.metric_with(name, key, "")
    }

    /// The same where one source has several series: `label` is one more `name="value"` that it must have.
    pub fn metric_with(&self, name: &str, key: &str, label: &str) -> Result<f64> {
        let page = self.request("GET", "/metrics")?.body;
        let owner = format!("connector_key=\"{key}\"");
        let fits = |line: &&str| {
            let rest = line.strip_prefix(name).unwrap_or_default();
            rest.starts_with('{') && rest.contains(&owner) && rest.contains(label)
        };
        let value = page.lines().find(fits).and_then(|line| line.rsplit(' ').next()?.parse().ok());
        Ok(value.unwrap_or(0.0))
    }

    /// A command to one source: `restart`, `pause`, `resume`, `stop`, `start`. Anything but 204 is an error.
    pub fn command(&self, key: &str, command: &str) -> Result<()> {
        let path = format!("/sources/{key}/{command}");
        let answer = self.request("POST", &path)?;
        match answer.status {
            204 => Ok(()),
            status => Err(Error::malformed(path, format!("{status}: {}", answer.body))),
        }
    }

    /// How many threads the process has.
    pub fn threads(&self) -> Result<usize> {
        let path = format!("/proc/{}/task", self.child.id());
        Ok(fs::read_dir(&path).map_err(Error::io(format!("read {path}")))?.count())
    }

    /// The CPU time that the process has used, in user and kernel together.
    pub fn cpu_seconds(&self) -> Result<f64> {
        // The kernel's unit of CPU time in /proc, the same on every Linux that Rust runs on.
        const TICKS_A_SECOND: f64 = 100.0;
        let path = format!("/proc/{}/stat", self.child.id());
        let text = fs::read_to_string(&path).map_err(Error::io(format!("read {path}")))?;
        // After the name in parentheses: state is field 3, user and system time are fields 14 and 15.
        let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
        let ticks: Option<f64> = fields.map(|field| field.parse::<f64>().ok()).sum();
        Ok(ticks.ok_or_else(|| Error::malformed(path, "no times"))? / TICKS_A_SECOND)
    }

    /// The resident memory of the process in KiB.
    pub fn resident_kib(&self) -> Result<u64> {
        resident_kib(self.child.id())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }
}

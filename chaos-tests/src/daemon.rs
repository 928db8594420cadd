//! The real binary: its folder, its configuration, its process, its API.
//!
//! A [`Site`] is what outlives a kill: configuration, definitions and state. A [`Daemon`] is one process on it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::http::{self, Answer};
use crate::ports::free_port;
use crate::statefile::StateFile;
use crate::wait::wait_for;
use crate::{Error, Result};

const BINARY: &str = "pico-connectors";
/// How much of a log stands in an error.
const TAIL_LINES: usize = 30;
/// A debug build on a busy machine; the product's own figure (800 ms) is measured by the bench.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// The folder for what tests write: `target/tmp/chaos`. What a failed test left stays there to be looked at.
pub fn scratch() -> PathBuf {
    build_folder().parent().map_or_else(std::env::temp_dir, |target| target.join("tmp/chaos"))
}

/// Where the binary and the plugins lie: `PICO_CONNECTORS_BIN_DIR`, else the folder that this test was built into.
pub fn build_folder() -> PathBuf {
    if let Some(named) = std::env::var_os("PICO_CONNECTORS_BIN_DIR") {
        return named.into();
    }
    let test = std::env::current_exe().expect("a running test has a path");
    // target/PROFILE/deps/test
    test.ancestors().nth(2).expect("cargo puts tests two folders deep").to_owned()
}

/// The last lines of a log file, for the text of an error.
pub(crate) fn tail(log: &Path) -> String {
    let text = fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}

/// A folder with everything that the engine is given and everything that it keeps.
#[derive(Debug, Clone)]
pub struct Site {
    dir: PathBuf,
    http: u16,
}

impl Site {
    /// Makes `dir` anew with a `config.toml` for the broker at `bootstrap`. `more` is appended to the configuration:
    /// whole sections, or settings of `[kafka]` when they come first.
    pub fn new(dir: &Path, bootstrap: &str, more: &str) -> Result<Self> {
        let _ = fs::remove_dir_all(dir);
        let definitions = dir.join("definitions");
        fs::create_dir_all(&definitions).map_err(Error::io(format!("create {}", definitions.display())))?;
        let site = Self { dir: dir.to_owned(), http: free_port() };
        site.configure(bootstrap, more)?;
        Ok(site)
    }

    /// Another engine on the *same* state folder and definitions, with an API of its own.
    pub fn rival(&self, dir: &Path, bootstrap: &str) -> Result<Self> {
        let rival = Self::new(dir, bootstrap, "")?;
        let config = fs::read_to_string(rival.config()).map_err(Error::io("read a configuration"))?;
        let shared =
            config.replace("path = \"state\"", &format!("path = {:?}", self.dir.join("state"))).replace(
                "config_dir = \"definitions\"",
                &format!("config_dir = {:?}", self.dir.join("definitions")),
            );
        fs::write(rival.config(), shared).map_err(Error::io("write a configuration"))?;
        Ok(rival)
    }

    /// Writes `config.toml` again, for a broker elsewhere or with other settings.
    pub fn configure(&self, bootstrap: &str, more: &str) -> Result<()> {
        let plugins = build_folder();
        let text = format!(
            "[state]\npath = \"state\"\n\n\
             [connectors]\nconfig_dir = \"definitions\"\nwatch = false\n\n\
             [plugins]\ndirectories = [{plugins:?}]\n\n\
             [http]\naddress = \"127.0.0.1:{http}\"\n\n\
             [kafka]\nbootstrap_servers = \"{bootstrap}\"\n{more}",
            http = self.http,
        );
        fs::write(self.config(), text).map_err(Error::io("write config.toml"))
    }

    /// Writes or replaces the definition `name`.toml.
    pub fn define(&self, name: &str, definition: &str) -> Result<()> {
        let path = self.dir.join("definitions").join(format!("{name}.toml"));
        fs::write(&path, definition).map_err(Error::io(format!("write {}", path.display())))
    }

    /// The folder itself.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Its configuration file.
    pub fn config(&self) -> PathBuf {
        self.dir.join("config.toml")
    }

    /// Where the engine keeps its states.
    pub fn state_folder(&self) -> PathBuf {
        self.dir.join("state")
    }

    /// The state file of one source.
    pub fn state_path(&self, key: &str) -> PathBuf {
        self.state_folder().join(format!("{key}.state"))
    }

    /// The saved state of one source; `None` before its first opening.
    pub fn state(&self, key: &str) -> Result<Option<StateFile>> {
        StateFile::read(&self.state_path(key))
    }

    /// Everything that every process on this site wrote to stdout and stderr.
    pub fn log(&self) -> PathBuf {
        self.dir.join("daemon.log")
    }

    /// The port of the API.
    pub fn port(&self) -> u16 {
        self.http
    }

    /// Starts the engine here and returns at once.
    pub fn start(&self, launch: &Launch) -> Result<Daemon> {
        let binary = build_folder().join(BINARY);
        if !binary.exists() {
            let hint = "build it with `cargo build -p pico-connectors --features failpoints` and the plugins";
            return Err(Error::Missing { path: binary, hint });
        }
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.log())
            .map_err(Error::io(format!("write {}", self.log().display())))?;
        let errors = log.try_clone().map_err(Error::io("share the log file"))?;
        let mut words = launch.wrapping(&self.dir);
        words.extend([binary.display().to_string(), "run".to_owned(), "--config".to_owned()]);
        let child = Command::new(&words[0])
            .args(&words[1..])
            .arg(self.config())
            .env_remove("FAILPOINTS")
            .envs(launch.failpoints.iter().map(|points| ("FAILPOINTS", points)))
            .envs(launch.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .spawn()
            .map_err(Error::io(format!("start {}", words[0])))?;
        Ok(Daemon { child, port: self.http, log: self.log() })
    }
}

/// How a process is started, apart from its site.
#[derive(Debug, Clone, Default)]
pub struct Launch {
    /// `FAILPOINTS` of the `fail` crate: `enqueued=4*off->return` kills at the fifth passing.
    pub failpoints: Option<String>,
    /// One injection for strace, `rename:signal=KILL:when=3` or `fdatasync:error=EIO:when=2`.
    pub injection: Option<String>,
    /// A tmpfs of this many KiB over the state folder, in a mount namespace of its own. It ends with the process;
    /// [`Daemon::inside`] reaches into it.
    pub small_state_kib: Option<u32>,
    /// More environment variables.
    pub environment: Vec<(String, String)>,
}

impl Launch {
    /// A kill at the `passing`-th passing (from 1) of a named point.
    pub fn kill_at(point: &str, passing: u32) -> Self {
        Self { failpoints: Some(format!("{point}={}*off->return", passing - 1)), ..Self::default() }
    }

    /// An injection into the `nth` call of a system call (or several, `rename,renameat2`): `signal=KILL`, `error=EIO`.
    /// strace counts for each thread by itself: saves on a pool of threads strike later than `nth` says.
    pub fn inject(call: &str, fault: &str, nth: u32) -> Self {
        Self { injection: Some(format!("{call}:{fault}:when={nth}")), ..Self::default() }
    }

    /// The program that runs before the binary and then becomes it: the process id stays the same throughout. With
    /// `--pdeathsig` the engine dies with the thread of the test.
    fn wrapping(&self, dir: &Path) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        if let Some(kib) = self.small_state_kib {
            let state = dir.join("state");
            let _ = fs::create_dir_all(&state);
            let script = format!("mount -t tmpfs -o size={kib}k,mode=700 none \"$0\" && exec \"$@\"");
            words.extend(["unshare", "-Urm", "sh", "-c", &script].map(str::to_owned));
            words.push(state.display().to_string());
        }
        words.extend(["setpriv", "--pdeathsig", "KILL"].map(str::to_owned));
        if let Some(injection) = &self.injection {
            let call = injection.split(':').next().unwrap_or_default();
            let trace = dir.join("strace.log").display().to_string();
            // -D: the tracer is the grandchild, so that the engine itself is our child.
            words.extend(["strace", "-D", "-f", "-qq", "-o", &trace].map(str::to_owned));
            words.extend([
                "-e".to_owned(),
                format!("trace={call}"),
                "-e".to_owned(),
                format!("inject={injection}"),
            ]);
        }
        words
    }
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

    /// One request to its API.
    pub fn request(&self, method: &str, path: &str) -> Result<Answer> {
        http::request(self.port, method, path)
    }

    /// Waits until the API answers.
    pub fn wait_serving(&mut self) -> Result<()> {
        let log = self.log.clone();
        let served = wait_for("an answer of the API", ANSWER_WITHIN, || {
            if let Some(status) = self.exited() {
                let program = BINARY.to_owned();
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
        let page = self.request("GET", "/metrics")?.body;
        let label = format!("connector_key=\"{key}\"");
        let value = page
            .lines()
            .find(|line| {
                line.starts_with(name) && line[name.len()..].starts_with('{') && line.contains(&label)
            })
            .and_then(|line| line.rsplit(' ').next()?.parse().ok());
        Ok(value.unwrap_or(0.0))
    }

    /// The resident memory of the process in KiB.
    pub fn resident_kib(&self) -> Result<u64> {
        let path = format!("/proc/{}/status", self.child.id());
        let text = fs::read_to_string(&path).map_err(Error::io(format!("read {path}")))?;
        text.lines()
            .find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok())
            .ok_or_else(|| Error::malformed(path, "no VmRSS"))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_at_the_first_passing_needs_no_off() {
        assert_eq!(Launch::kill_at("enqueued", 1).failpoints.as_deref(), Some("enqueued=0*off->return"));
        assert_eq!(Launch::kill_at("enqueued", 5).failpoints.as_deref(), Some("enqueued=4*off->return"));
    }

    #[test]
    fn strace_follows_the_tmpfs_so_that_the_engine_stays_our_child() {
        let launch = Launch { small_state_kib: Some(64), ..Launch::inject("rename", "signal=KILL", 3) };
        let folder = tempfile::tempdir().unwrap();

        let words = launch.wrapping(folder.path()).join(" ");

        assert!(words.starts_with("unshare -Urm sh -c mount"), "{words}");
        assert!(words.contains("setpriv --pdeathsig KILL strace -D -f"), "{words}");
        assert!(words.ends_with("-e trace=rename -e inject=rename:signal=KILL:when=3"), "{words}");
    }
}

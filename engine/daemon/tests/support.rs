//! Starting the binary in a folder of its own.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Longest wait for anything here. Reached only when something is broken.
const WAIT: Duration = Duration::from_secs(20);

/// A folder with what a run of the binary reads and writes.
pub(crate) struct Folder {
    dir: TempDir,
}

impl Folder {
    /// An empty one.
    pub(crate) fn new() -> Folder {
        Folder { dir: tempfile::tempdir().unwrap() }
    }

    /// Writes a file, its folders too.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The binary with these arguments, here, with no variables of ours from outside.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pico-connectors"));
        command.args(arguments).current_dir(self.path()).stdin(Stdio::null());
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PICOMQ_")) {
            command.env_remove(name);
        }
        command
    }

    /// Runs it to its end.
    pub(crate) fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// What it printed, with this folder's name taken out, and its exit code.
    pub(crate) fn told(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = self.output(arguments);
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).replace(self.path().to_str().unwrap(), "DIR");
            text.replace(env!("CARGO_BIN_EXE_pico-connectors").rsplit_once('/').unwrap().0, "BIN")
        };
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    }
}

/// A port that nobody listens on, below those that the kernel takes for outgoing connections: nobody takes it in the
/// moment before the daemon binds it.
fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let candidates = std::iter::repeat_with(|| NEXT.fetch_add(1, Ordering::Relaxed));
    let ports = candidates
        .map(|next| 18_000 + (std::process::id().wrapping_mul(97).wrapping_add(next) % 13_000) as u16);
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    ports.take(1_000).find(is_free).expect("a free port among a thousand")
}

/// A running daemon. Dropping it kills it.
pub(crate) struct Daemon {
    child: Child,
    port: u16,
    log: PathBuf,
}

impl Daemon {
    /// Starts `run` on the folder's `config.toml`, which is written here, and waits until the API answers.
    pub(crate) fn start(folder: &Folder) -> Daemon {
        Daemon::start_as(folder, "text")
    }

    /// The same with this format of log lines, which go to the file `log`.
    pub(crate) fn start_as(folder: &Folder, log_format: &str) -> Daemon {
        Daemon::start_with(folder, &format!("[logging]\nformat = \"{log_format}\"\n"))
    }

    /// The same with more of `config.toml`: keys of `[http]` first, then other sections.
    pub(crate) fn start_with(folder: &Folder, more: &str) -> Daemon {
        Daemon::start_in(folder, more, &[])
    }

    /// The same with these variables.
    pub(crate) fn start_in(folder: &Folder, more: &str, variables: &[(&str, &str)]) -> Daemon {
        let port = free_port();
        let config = format!(
            "[kafka]\nbootstrap_servers = \"127.0.0.1:1\"\n[plugins]\ndirectories = [\"plugins\"]\n\
             [http]\naddress = \"127.0.0.1:{port}\"\n{more}"
        );
        folder.write("config.toml", &config);
        std::fs::create_dir_all(folder.path().join("sources")).unwrap();
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let child = folder
            .command(&["run"])
            .envs(variables.iter().copied())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        let child = child.unwrap();
        let daemon = Daemon { child, port, log: folder.path().join("log") };
        daemon.wait_for("the API", || daemon.serves());
        daemon
    }

    /// Whether it serves, whatever it speaks there. It listens before it has made its folders, so that is not asked.
    fn serves(&self) -> bool {
        std::fs::read_to_string(&self.log).is_ok_and(|log| log.contains("API listens"))
    }

    /// Where it listens.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Its exit code, once it ended, and how long that took.
    pub(crate) fn wait(&mut self) -> (i32, Duration) {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return (status.code().unwrap_or(-1), begun.elapsed());
            }
            assert!(begun.elapsed() < WAIT, "it runs on");
            std::thread::yield_now();
        }
    }

    /// The status and body of a POST of this body.
    pub(crate) fn post(&self, path: &str, body: &str) -> (u16, String) {
        self.send("POST", path, body)
    }

    /// The status and body of a request with this body, as JSON unless it is empty.
    pub(crate) fn send(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let kind = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(WAIT)).unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{kind}Content-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// The status and body of a GET.
    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        self.try_get(path).expect("the API answers")
    }

    fn try_get(&self, path: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(WAIT)).ok()?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some((status, body.to_owned()))
    }

    /// Looks until it is so.
    pub(crate) fn wait_for(&self, what: &str, is_so: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < WAIT, "waited too long for {what}");
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
        if std::thread::panicking() {
            // Unless its folder is gone already.
            eprintln!("{}", std::fs::read_to_string(&self.log).unwrap_or_default());
        }
    }
}

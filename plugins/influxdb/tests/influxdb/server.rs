//! Real servers, started by the scripts of the chaos tests and written to by curl. One of each kind for a test binary, with a
//! database for each test.
//!
//! A server ends when this process ends, however that ends: it holds the other end of the server's stdin.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A fetch may come first.
const READY_WITHIN: Duration = Duration::from_secs(180);

/// The token of the servers of version 2.
pub(crate) const TOKEN: &str = "test-token";

/// One server.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) url: String,
    version: u32,
    /// `curl -u` of somebody who may do everything.
    login: Option<&'static str>,
    _child: Child,
    _stdin: ChildStdin,
}

impl Server {
    /// The shared server of version 1.
    ///
    /// # Panics
    /// When it cannot be started: an absent server is a failure, not a skip.
    pub(crate) fn v1() -> &'static Server {
        static SHARED: OnceLock<Server> = OnceLock::new();
        SHARED.get_or_init(|| Server::start(1, &[]))
    }

    /// The shared server of version 2, with its organisation and token.
    #[allow(dead_code, reason = "each target uses its part")]
    pub(crate) fn v2() -> &'static Server {
        static SHARED: OnceLock<Server> = OnceLock::new();
        SHARED.get_or_init(|| {
            let server = Server::start(2, &[]);
            let setup = json!({
                "username": "admin", "password": "test-password", "org": "org", "bucket": "first", "token": TOKEN,
            });
            let url = format!("{}/api/v2/setup", server.url);
            server.curl(&["-f", "-X", "POST", "-d", &setup.to_string(), &url]).unwrap();
            server
        })
    }

    /// A server of one's own.
    pub(crate) fn start(version: u32, environment: &[(&str, &str)]) -> Server {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("picomq-influxdb-{}-{number}", std::process::id()));
        let port = free_port(number);
        let mut child = spawn(&dir, (version, port), environment);
        let stdin = child.stdin.take().unwrap();
        let url = format!("http://127.0.0.1:{port}");
        let server = Server { url, version, login: None, _child: child, _stdin: stdin };
        let until = Instant::now() + READY_WITHIN;
        while server.curl(&["-f", &format!("{}/ping", server.url)]).is_err() {
            assert!(Instant::now() < until, "InfluxDB {version} does not answer; see {}", dir.display());
            wait(Duration::from_millis(50));
        }
        server
    }

    /// As one who may do everything, once there is one.
    pub(crate) fn logged_in(mut self, login: &'static str) -> Server {
        self.login = Some(login);
        self
    }

    /// Runs InfluxQL, statements that write too; the answer's `results`.
    pub(crate) fn influxql(&self, database: &str, query: &str) -> Value {
        let url = format!("{}/query", self.url);
        let (database, query) = (format!("db={database}"), format!("q={query}"));
        let text = self
            .curl(&["-X", "POST", &url, "--data-urlencode", &database, "--data-urlencode", &query])
            .unwrap();
        let answer: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert!(!text.contains("\"error\""), "{query}: {text}");
        answer["results"].clone()
    }

    fn curl(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new("curl");
        command.args(["-sS", "--max-time", "60"]).args(arguments);
        match (self.version, self.login) {
            (2, _) => drop(command.args(["-H", &format!("Authorization: Token {TOKEN}")])),
            (_, Some(login)) => drop(command.args(["-u", login])),
            (_, None) => {}
        }
        let output = command.output().expect("curl runs: see chaos-tests/services/packages.txt");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }
}

/// A database, or a bucket, of a test's own.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) server: &'static Server,
    pub(crate) name: String,
}

impl Database {
    pub(crate) fn on(server: &'static Server) -> Database {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("t{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        if server.version == 1 {
            server.influxql("", &format!("CREATE DATABASE {name}"));
        } else {
            let org = server.curl(&["-f", &format!("{}/api/v2/orgs?org=org", server.url)]).unwrap();
            let org: Value = serde_json::from_str(&org).unwrap();
            let bucket = json!({ "orgID": org["orgs"][0]["id"], "name": name });
            let url = format!("{}/api/v2/buckets", server.url);
            server.curl(&["-f", "-X", "POST", "-d", &bucket.to_string(), &url]).unwrap();
        }
        Database { server, name }
    }

    /// Writes line protocol, times in nanoseconds.
    pub(crate) fn write(&self, lines: &str) {
        let url = match self.server.version {
            1 => format!("{}/write?db={}&precision=ns", self.server.url, self.name),
            _ => format!("{}/api/v2/write?org=org&bucket={}&precision=ns", self.server.url, self.name),
        };
        let mut command = Command::new("curl");
        command.args(["-sS", "-f", "--max-time", "60", "-X", "POST", "--data-binary", "@-", &url]);
        if self.server.version == 2 {
            command.args(["-H", &format!("Authorization: Token {TOKEN}")]);
        } else if let Some(login) = self.server.login {
            command.args(["-u", login]);
        }
        let mut child = command.stdin(Stdio::piped()).spawn().expect("curl runs");
        child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success(), "the points are written");
    }
}

fn spawn(dir: &Path, (version, port): (u32, u16), environment: &[(&str, &str)]) -> Child {
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../chaos-tests/services/influxdb/influxdb.sh");
    std::fs::create_dir_all(dir).expect("a folder");
    let log = |path: PathBuf| std::fs::File::options().create(true).append(true).open(path).expect("a log");
    let mut command = Command::new(script);
    command.env("DATA_DIR", dir).env("PORT", port.to_string()).env("VERSION", version.to_string());
    command.env("STOP_ON_EOF", "1").env("REMOVE_AT_END", "1").envs(environment.iter().copied());
    command.stdin(Stdio::piped()).stdout(log(dir.join("log"))).stderr(log(dir.join("log")));
    command.spawn().expect("the script runs")
}

/// Below the range from which the kernel takes ports for outgoing connections.
fn free_port(number: u32) -> u16 {
    let first = std::process::id().wrapping_mul(97).wrapping_add(number.wrapping_mul(211)) % 1_600;
    let ports = (0..1_600).map(|step| 29_000 + ((first + step) % 1_600) as u16);
    let mut free = ports.filter(|port| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.next().expect("a free port")
}

#[expect(clippy::disallowed_methods, reason = "there is no runtime here whose worker could be blocked")]
fn wait(time: Duration) {
    std::thread::sleep(time);
}

//! Real servers, one of each version for the whole test binary; a database for each test.
//!
//! A server ends when this process ends, however that ends: it holds the other end of the server's stdin.

use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// The first start fetches what is missing; later ones take two seconds.
const READY_WITHIN: Duration = Duration::from_secs(180);

/// What a test writes means the same whatever the settings of its database are.
const OWN: &str = "-c standard_conforming_strings=on -c datestyle=ISO -c lc_monetary=C -c client_encoding=UTF8 -c client_min_messages=warning";

/// What is tested.
pub(crate) const VERSIONS: [u32; 2] = [15, 18];

/// One server.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) version: u32,
    pub(crate) port: u16,
    dir: PathBuf,
    child: Mutex<Child>,
    /// The other ends of the stdin of this server and of those before it on the same folder: when one closes, the folder goes.
    /// They are taken out of the children, since waiting for a child closes its stdin.
    stdins: Mutex<Vec<ChildStdin>>,
}

impl Server {
    /// The shared server of that version.
    ///
    /// # Panics
    /// When it cannot be started: an absent server is a failure, not a skip.
    pub(crate) fn of(version: u32) -> &'static Server {
        static SHARED: [OnceLock<Server>; VERSIONS.len()] = [const { OnceLock::new() }; VERSIONS.len()];
        let place = VERSIONS.iter().position(|known| *known == version).expect("a version we test");
        // The wheel of 18 is built without TLS.
        SHARED[place].get_or_init(|| Server::launch(version, version == 15))
    }

    /// A fresh server of one's own, to be stopped and broken. It lives until the process ends.
    pub(crate) fn start(version: u32) -> &'static Server {
        Box::leak(Box::new(Server::launch(version, false)))
    }

    fn launch(version: u32, has_tls: bool) -> Server {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("picomq-postgres-{}-{number}", std::process::id()));
        let port = free_port(number);
        let mut child = spawn(&dir, (version, port), has_tls);
        let stdins = Mutex::new(child.stdin.take().into_iter().collect());
        let server = Server { version, port, dir, child: Mutex::new(child), stdins };
        server.wait_until_ready();
        server
    }

    fn wait_until_ready(&self) {
        let until = Instant::now() + READY_WITHIN;
        while let Err(error) = self.psql("postgres", "SELECT 1") {
            let place = self.dir.display();
            assert!(
                Instant::now() < until,
                "PostgreSQL {} does not answer ({error}); see {place}",
                self.version
            );
            wait(Duration::from_millis(100));
        }
    }

    /// Sends a signal and waits for the end: `INT` is a fast stop, `QUIT` a crash.
    pub(crate) fn stop(&self, signal: &str) {
        let mut child = self.child.lock().expect("no test panics in here");
        let pid = child.id().to_string();
        assert!(
            Command::new("kill").args([&format!("-{signal}"), &pid]).status().expect("kill runs").success()
        );
        child.wait().expect("our child");
    }

    /// Starts it again on the same folder and port.
    pub(crate) fn start_again(&self) {
        let mut child = spawn(&self.dir, (self.version, self.port), false);
        self.stdins.lock().expect("no test panics in here").extend(child.stdin.take());
        *self.child.lock().expect("no test panics in here") = child;
        self.wait_until_ready();
    }

    /// Runs SQL as the superuser; the answer is what `psql -At` prints.
    pub(crate) fn psql(&self, database: &str, sql: &str) -> Result<String, String> {
        let mut command = Command::new("psql");
        command.args([
            "-X",
            "-At",
            "-v",
            "ON_ERROR_STOP=1",
            "-h",
            "127.0.0.1",
            "-U",
            "postgres",
            "-d",
            database,
            "-c",
            sql,
        ]);
        let output = command
            .env("PGPORT", self.port.to_string())
            .env("PGPASSWORD", "secret")
            .env("PGOPTIONS", OWN)
            .output();
        let output = output.expect("psql runs: see chaos-tests/services/packages.txt");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    /// The certificate of the authority that signed the server's.
    pub(crate) fn authority(&self) -> PathBuf {
        self.dir.join("tls/ca.pem")
    }

    /// The folder with the Unix socket.
    pub(crate) fn socket(&self) -> &Path {
        &self.dir
    }
}

fn spawn(dir: &Path, (version, port): (u32, u16), has_tls: bool) -> Child {
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../chaos-tests/services/postgres/postgres.sh");
    let mut command = Command::new(script);
    command.env("DATA_DIR", dir).env("PORT", port.to_string()).env("VERSION", version.to_string());
    command.env("STOP_ON_EOF", "1").env("REMOVE_AT_END", "1");
    if has_tls {
        command.env("TLS", "1");
    }
    std::fs::create_dir_all(dir).expect("a folder");
    let log = || std::fs::OpenOptions::new().create(true).append(true).open(dir.join("log")).expect("a log");
    command.stdin(Stdio::piped()).stdout(log()).stderr(log());
    command.spawn().expect("the script runs")
}

/// Below the range from which the kernel takes ports for outgoing connections.
fn free_port(number: u32) -> u16 {
    let first = std::process::id().wrapping_mul(97).wrapping_add(number.wrapping_mul(211)) % 1_600;
    let ports = (0..1_600).map(|step| 31_000 + ((first + step) % 1_600) as u16);
    let mut free = ports.filter(|port| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.next().expect("a free port")
}

#[expect(clippy::disallowed_methods, reason = "there is no runtime here whose worker could be blocked")]
fn wait(time: Duration) {
    std::thread::sleep(time);
}

/// A database of a test's own.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) server: &'static Server,
    pub(crate) name: String,
}

impl Database {
    /// An empty one on the shared server of that version.
    pub(crate) fn new(version: u32) -> Database {
        Database::on(Server::of(version))
    }

    /// An empty one.
    pub(crate) fn on(server: &'static Server) -> Database {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("t{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        server.psql("postgres", &format!("CREATE DATABASE {name}")).expect("a new database");
        Database { server, name }
    }

    /// Runs SQL, one transaction unless it says otherwise.
    pub(crate) fn sql(&self, sql: &str) -> String {
        self.server.psql(&self.name, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres:secret@127.0.0.1:{}/{}?sslmode=disable", self.server.port, self.name)
    }

    /// Where the slot of that name stands, from the server's own view.
    pub(crate) fn confirmed(&self, slot: &str) -> String {
        self.sql(&format!("SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = '{slot}'"))
    }
}

/// A session that is kept open, to hold a transaction.
pub(crate) struct Session {
    child: Child,
    stdin: ChildStdin,
    stdout: std::io::BufReader<std::process::ChildStdout>,
}

impl Session {
    pub(crate) fn open(database: &Database) -> Session {
        let port = database.server.port.to_string();
        let mut command = Command::new("psql");
        command.args(["-X", "-At", "-q", "-h", "127.0.0.1", "-U", "postgres", "-d", &database.name]);
        command.env("PGPORT", port).env("PGPASSWORD", "secret").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("psql runs");
        let stdin = child.stdin.take().expect("piped");
        let stdout = std::io::BufReader::new(child.stdout.take().expect("piped"));
        Session { child, stdin, stdout }
    }

    /// Runs statements and waits until they are done.
    pub(crate) fn sql(&mut self, sql: &str) {
        use std::io::{BufRead, Write};
        writeln!(self.stdin, "{sql}\n\\echo done").expect("psql lives");
        let mut line = String::new();
        while line.trim() != "done" {
            line.clear();
            assert!(self.stdout.read_line(&mut line).expect("psql lives") > 0, "psql ended in {sql}");
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! A real Apache Kafka as a process: started on a folder, paused, killed, started again on the same folder.
//!
//! The server itself is fetched and started by `services/kafka/kafka.sh`. It ends when the test's process ends,
//! however that ends: it holds the other end of the server's stdin.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::OnceLock;
use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer};
use rustix::process::{Pid, Signal, kill_process};

use crate::ports::free_port;
use crate::wait::wait_for;
use crate::{Error, Result, admin, daemon, services, site};

/// The first start fetches 54 MB with Maven; later ones take 4 to 6 seconds on a quiet machine.
const READY_WITHIN: Duration = Duration::from_secs(180);

/// What the server has beside its plain listener.
#[derive(Debug, Clone, Default)]
pub struct Switches {
    /// A listener that sends its clients to a proxy: [`Kafka::proxied`] has the two ports.
    pub proxied: bool,
    /// SASL listener and authorizer: users `writer` (SCRAM) and `plain` (PLAIN), password the name and `-secret`,
    /// no rights until [`Kafka::allow`] grants them.
    pub sasl: bool,
    /// TLS listener; the authority's certificate is at [`Kafka::authority`].
    pub tls: bool,
    /// SASL over TLS, with the same users.
    pub sasl_tls: bool,
    /// Where the broker keeps its log, when not in its own folder.
    pub log_dir: Option<PathBuf>,
}

#[derive(Debug, Clone)]
struct Ports {
    plain: u16,
    controller: u16,
    proxied: u16,
    proxy: u16,
    sasl: u16,
    tls: u16,
    sasl_tls: u16,
}

/// The two ports of a proxied listener.
#[derive(Debug, Clone, Copy)]
pub struct Proxied {
    /// Where a proxy must listen: clients are told to come here.
    pub listen: u16,
    /// Where it must connect to.
    pub upstream: u16,
}

/// One server. Dropping it kills it.
#[derive(Debug)]
pub struct Kafka {
    child: Child,
    dir: PathBuf,
    switches: Switches,
    ports: Ports,
    remove: bool,
}

impl Kafka {
    /// Starts a fresh server whose whole life lies in `dir`, removing what was there, and waits until it answers.
    pub fn start(dir: &Path, switches: Switches) -> Result<Self> {
        Self::launch(dir, switches, false)
    }

    /// The one plain server, with a proxied listener, that the stories of a test binary share. Whoever uses it takes
    /// topic names of its own and leaves the server alone; stories that break the broker start one of their own.
    ///
    /// # Panics
    /// When it cannot be started: an absent Kafka is a failure, not a skip.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Kafka> = OnceLock::new();
        SHARED.get_or_init(|| {
            let dir = site::scratch().join(format!("kafka-shared-{}", std::process::id()));
            let switches = Switches { proxied: true, ..Switches::default() };
            Self::launch(&dir, switches, true).expect("a real Kafka is needed: see chaos-tests/services")
        })
    }

    fn launch(dir: &Path, switches: Switches, remove: bool) -> Result<Self> {
        let ports = Ports {
            plain: free_port(),
            controller: free_port(),
            proxied: free_port(),
            proxy: free_port(),
            sasl: free_port(),
            tls: free_port(),
            sasl_tls: free_port(),
        };
        let _ = fs::remove_dir_all(dir);
        fs::create_dir_all(dir).map_err(Error::io(format!("create {}", dir.display())))?;
        let child = spawn(dir, &switches, &ports, remove)?;
        let mut kafka = Self { child, dir: dir.to_owned(), switches, ports, remove };
        kafka.wait_ready()?;
        Ok(kafka)
    }

    /// Where clients of the plain listener connect to.
    pub fn bootstrap(&self) -> String {
        format!("127.0.0.1:{}", self.ports.plain)
    }

    /// Where clients that must pass the proxy connect to.
    pub fn proxied_bootstrap(&self) -> String {
        format!("127.0.0.1:{}", self.ports.proxy)
    }

    /// The ports between which a [`Proxy`](crate::proxy::Proxy) must stand.
    pub fn proxied(&self) -> Proxied {
        Proxied { listen: self.ports.proxy, upstream: self.ports.proxied }
    }

    /// Where clients with a name and a password connect to.
    pub fn sasl_bootstrap(&self) -> String {
        format!("127.0.0.1:{}", self.ports.sasl)
    }

    /// Where TLS clients connect to; the certificate is for this name.
    pub fn tls_bootstrap(&self) -> String {
        format!("localhost:{}", self.ports.tls)
    }

    /// Where TLS clients with a name and a password connect to.
    pub fn sasl_tls_bootstrap(&self) -> String {
        format!("localhost:{}", self.ports.sasl_tls)
    }

    /// The certificate of the authority that signed the server's, PEM.
    pub fn authority(&self) -> PathBuf {
        self.dir.join("tls/ca.pem")
    }

    /// Grants `operations` on `topic` (`*` for all) to a user of the SASL listeners.
    pub fn allow(&self, user: &str, operations: &[&str], topic: &str) -> Result<()> {
        self.change_rights("--add", user, operations, topic)
    }

    /// Takes back what [`allow`](Self::allow) granted.
    pub fn revoke(&self, user: &str, operations: &[&str], topic: &str) -> Result<()> {
        self.change_rights("--remove", user, operations, topic)
    }

    fn change_rights(&self, change: &str, user: &str, operations: &[&str], topic: &str) -> Result<()> {
        let principal = format!("User:{user}");
        let mut arguments = vec![change, "--allow-principal", &principal, "--topic", topic];
        if change == "--remove" {
            arguments.push("--force");
        }
        for operation in operations {
            arguments.extend(["--operation", operation]);
        }
        admin::tool(&self.bootstrap(), "AclCommand", &arguments).map(drop)
    }

    /// SIGSTOP: connections stay, nothing is answered.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// SIGCONT: goes on, with whatever lies in its sockets.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// SIGKILL. Its log stays as it was; records not yet flushed survive, since the machine does.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.child.wait().expect("our own child can be waited for");
    }

    /// Starts again after [`kill`](Self::kill) on the same folder and ports, and waits until it answers.
    pub fn restart(&mut self) -> Result<()> {
        self.child = spawn(&self.dir, &self.switches, &self.ports, self.remove)?;
        self.wait_ready()
    }

    fn signal(&self, signal: Signal) {
        // A server that is gone already has nothing left to signal.
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    fn wait_ready(&mut self) -> Result<()> {
        let consumer: BaseConsumer = rdkafka::ClientConfig::new()
            .set("bootstrap.servers", self.bootstrap())
            .set("reconnect.backoff.max.ms", "200")
            .set_log_level(rdkafka::config::RDKafkaLogLevel::Emerg)
            .create()
            .map_err(Error::kafka("make a client"))?;
        let log = self.dir.join("server.log");
        let child = &mut self.child;
        let ready = wait_for("a metadata answer of Kafka", READY_WITHIN, || {
            if let Ok(Some(status)) = child.try_wait() {
                return Ok(Err(Error::Ended {
                    program: "Kafka".to_owned(),
                    status: status.to_string(),
                    log: daemon::tail(&log),
                }));
            }
            match consumer.fetch_metadata(None, Duration::from_millis(500)) {
                Ok(metadata) if !metadata.brokers().is_empty() => Ok(Ok(())),
                Ok(_) => Err("no broker is registered".to_owned()),
                Err(error) => Err(error.to_string()),
            }
        });
        ready?
    }
}

impl Drop for Kafka {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }
}

fn spawn(dir: &Path, switches: &Switches, ports: &Ports, remove: bool) -> Result<Child> {
    let mut command = services::server("kafka/kafka.sh", dir, ports.plain)?;
    command.env("CONTROLLER_PORT", ports.controller.to_string());
    let switched = [
        (switches.proxied, "PROXIED_PORT", ports.proxied),
        (switches.proxied, "PROXY_PORT", ports.proxy),
        (switches.sasl, "SASL_PORT", ports.sasl),
        (switches.tls, "TLS_PORT", ports.tls),
        (switches.sasl_tls, "SASL_TLS_PORT", ports.sasl_tls),
    ];
    for (_, name, port) in switched.iter().filter(|(on, ..)| *on) {
        command.env(name, port.to_string());
    }
    if let Some(log_dir) = &switches.log_dir {
        command.env("LOG_DIR", log_dir);
    }
    if remove {
        command.env("REMOVE_AT_END", "1");
    }
    command.spawn().map_err(Error::io("start Kafka"))
}

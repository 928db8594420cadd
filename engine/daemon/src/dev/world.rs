//! What `dev` runs in: a broker inside the process, free ports, folders that vanish unless `--data` keeps them.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pico_config::{BadFile, Definition, Definitions, Engine, Env, Finding, Location, Severity, StateConfig};
use pico_devbroker::{Config, DEV_PORT, DevBroker};
use tempfile::TempDir;

use crate::cli::{Cli, DevArguments};
use crate::error::Error;

/// What runs when no definition is named. Its path is that of the repository, which is where people find it.
const EXAMPLE: &str = include_str!("../../../../config/examples/random.toml");
const EXAMPLE_PATH: &str = "config/examples/random.toml";

/// Ports tried from the wished one upwards.
const PORTS_TRIED: u16 = 50;

/// Silence after which a batch is nacked, short enough to watch. A definition may set another.
const BATCH_DEADLINE: Duration = Duration::from_secs(2);

/// What a stop waits for; the broker is in this process, so all that drains drains at once.
const GRACE: Duration = Duration::from_secs(5);

/// Everything `dev` made for itself.
pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) definitions: Definitions,
    pub(crate) broker: DevBroker,
    /// What was not as wished: another port.
    pub(crate) remarks: Vec<String>,
    /// The temporary folder, removed when dropped.
    pub(crate) folder: Option<TempDir>,
}

impl World {
    /// Starts the broker and reads the definitions.
    ///
    /// # Errors
    /// No definition can be used, no port is free, or the folder cannot be written.
    pub(crate) async fn make(cli: &Cli, arguments: &DevArguments, env: &Env) -> Result<World, Error> {
        let loaded = pico_config::load_engine(cli.config.as_deref(), env);
        let (mut engine, _findings) = loaded.map_err(Error::Config)?;
        let folder = Folder::make(arguments.data.as_deref())?;
        engine.state = StateConfig::File { path: folder.path.join("state") };
        engine.supervision.batch_deadline = BATCH_DEADLINE;
        engine.shutdown.grace = GRACE;
        let definitions = definitions(&arguments.files, &engine, env)?;
        let mut remarks = Vec::new();
        let broker = broker(folder.keeps.then(|| folder.path.join("broker")), &mut remarks).await?;
        engine.kafka =
            pico_config::Kafka { bootstrap_servers: broker.addr().to_string(), ..Default::default() };
        if engine.http.enabled {
            engine.http.address = free_address(&engine.http.address, &mut remarks)?;
        }
        Ok(World { engine, definitions, broker, remarks, folder: folder.temporary })
    }
}

/// Where state and topics go.
struct Folder {
    path: PathBuf,
    keeps: bool,
    temporary: Option<TempDir>,
}

impl Folder {
    fn make(data: Option<&Path>) -> Result<Folder, Error> {
        let failed = |cause: std::io::Error, path: &Path| {
            Error::environment("dev.no_folder", format!("{} cannot be used", path.display()))
                .with_hint("name a folder that can be written with --data")
                .because(cause)
        };
        match data {
            Some(path) => {
                let path = std::path::absolute(path).map_err(|cause| failed(cause, path))?;
                std::fs::create_dir_all(&path).map_err(|cause| failed(cause, &path))?;
                Ok(Folder { path, keeps: true, temporary: None })
            }
            None => {
                let made = tempfile::Builder::new().prefix("pico-connectors-dev-").tempdir();
                let temporary = made.map_err(|cause| failed(cause, &std::env::temp_dir()))?;
                Ok(Folder { path: temporary.path().to_owned(), keeps: false, temporary: Some(temporary) })
            }
        }
    }
}

fn definitions(files: &[PathBuf], engine: &Engine, env: &Env) -> Result<Definitions, Error> {
    let mut all = Definitions::default();
    let mut texts = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(file).map_err(|cause| {
            let location = Location::File(file.clone());
            Error::Config(vec![Finding::new(
                "config.unreadable",
                Severity::Error,
                location,
                cause.to_string(),
            )])
        })?;
        texts.push((file.clone(), text));
    }
    if files.is_empty() {
        texts.push((PathBuf::from(EXAMPLE_PATH), EXAMPLE.to_owned()));
    }
    for (file, text) in texts {
        let (definition, findings) = pico_config::check_definition(&file, &text, engine, env);
        match definition {
            Some(definition) if is_taken(&all.good, &definition) => all.bad.push(duplicate(definition)),
            Some(definition) => {
                all.warnings.extend(findings);
                all.good.push(definition);
            }
            None => all.bad.push(BadFile { key: stem(&file), file, findings }),
        }
    }
    // Nothing to try is no demonstration: said at once instead of run.
    if all.good.is_empty() {
        return Err(Error::Config(all.bad.into_iter().flat_map(|bad| bad.findings).collect()));
    }
    Ok(all)
}

fn is_taken(good: &[Definition], definition: &Definition) -> bool {
    good.iter().any(|other| other.key.folded() == definition.key.folded())
}

fn duplicate(definition: Definition) -> BadFile {
    let reason = format!("the key `{}` is that of another file named before", definition.key);
    let location = Location::File(definition.file.clone());
    let finding = Finding::new("config.duplicate_key", Severity::Error, location, reason).with_path("key");
    BadFile { key: stem(&definition.file), file: definition.file, findings: vec![finding] }
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

async fn broker(data: Option<PathBuf>, remarks: &mut Vec<String>) -> Result<DevBroker, Error> {
    let mut config = Config { auto_create: true, data, ..Config::default() };
    for port in DEV_PORT..DEV_PORT + PORTS_TRIED {
        config.address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        match pico_devbroker::start(config.clone()).await {
            Ok(broker) => {
                if port != DEV_PORT {
                    remarks.push(format!("port {DEV_PORT} is taken, the broker listens on {port}"));
                }
                return Ok(broker);
            }
            Err(pico_devbroker::Error::Bind { source, .. })
                if source.kind() == std::io::ErrorKind::AddrInUse => {}
            Err(cause) => {
                return Err(Error::environment("dev.no_broker", "the broker cannot be started")
                    .with_hint("another folder for its data is named with --data")
                    .because(cause));
            }
        }
    }
    let last = DEV_PORT + PORTS_TRIED - 1;
    Err(Error::environment(
        "dev.no_port",
        format!("the ports {DEV_PORT} to {last} of 127.0.0.1 are all taken"),
    )
    .with_hint("end another `pico-connectors dev`, or whatever listens there"))
}

/// The wished address, or the next free port above it. Another process may take it before we do: said then.
fn free_address(wished: &str, remarks: &mut Vec<String>) -> Result<String, Error> {
    let Some((host, port)) =
        wished.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)))
    else {
        return Ok(wished.to_owned());
    };
    for next in (port..port.saturating_add(PORTS_TRIED)).filter(|_| port != 0) {
        if TcpListener::bind((host.trim_matches(['[', ']']), next)).is_ok() {
            if next != port {
                remarks.push(format!("port {port} is taken, the API listens on {next}"));
            }
            return Ok(format!("{host}:{next}"));
        }
    }
    Ok(wished.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_is_said_and_the_next_free_one_used() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let wished = taken.local_addr().unwrap();
        let mut remarks = Vec::new();
        let found = free_address(&wished.to_string(), &mut remarks).unwrap();
        assert_ne!(found, wished.to_string());
        assert_eq!(remarks.len(), 1);
        assert!(remarks[0].contains(&wished.port().to_string()));
    }

    #[test]
    fn two_files_with_one_key_do_not_run_twice() {
        let engine = Engine::defaults(Path::new("/tmp"));
        let folder = tempfile::tempdir().unwrap();
        let files = ["a.toml", "b.toml"].map(|name| folder.path().join(name));
        for file in &files {
            std::fs::write(file, EXAMPLE).unwrap();
        }
        let found = definitions(&files, &engine, &Env::default()).unwrap();
        assert_eq!((found.good.len(), found.bad.len()), (1, 1));
    }

    #[test]
    fn the_example_that_comes_with_the_program_is_good() {
        let engine = Engine::defaults(Path::new("/tmp"));
        let found = definitions(&[], &engine, &Env::default()).unwrap();
        assert_eq!((found.good.len(), found.bad.len(), found.warnings.len()), (1, 0, 0));
    }
}

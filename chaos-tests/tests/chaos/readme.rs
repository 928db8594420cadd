//! README's section on PostgreSQL, as it stands there: its definition and its commands, on real servers. Then the slot that it made
//! is given up, with a daemon and without one.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use chaos_tests::consumer::LogReader;
use chaos_tests::kafka::Kafka;
use chaos_tests::ports::free_port;
use chaos_tests::postgres::Postgres;
use chaos_tests::site::scratch;
use chaos_tests::wait::wait_for;
use chaos_tests::{binaries, http};
use serde_json::Value;

const WITHIN: Duration = Duration::from_secs(60);
const HEADING: &str = "## Your own Postgres to your own Kafka";
const TABLES: &str = "CREATE TABLE orders (id bigserial PRIMARY KEY, amount numeric(10,2));
CREATE TABLE customers (id int PRIMARY KEY, name text);
INSERT INTO orders (amount) VALUES (12.50); INSERT INTO customers VALUES (1, 'Ada');";
const SLOTS: &str = "SELECT count(*) FROM pg_replication_slots";
const PUBLICATIONS: &str = "SELECT count(*) FROM pg_publication";

/// What the section says.
struct Section {
    definition: String,
    commands: Vec<Vec<String>>,
}

impl Section {
    fn read() -> Section {
        let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
        let text = std::fs::read_to_string(readme).unwrap();
        let (_, rest) = text.split_once(HEADING).expect("README has the section");
        let section = rest.split("\n## ").next().unwrap();
        let block = |fence: &str| {
            let (_, rest) = section.split_once(fence).unwrap_or_else(|| panic!("no {fence} in the section"));
            rest.split_once("```").unwrap().0.to_owned()
        };
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        let commands = block("```sh\n").lines().map(|line| words(line.split('#').next().unwrap())).collect();
        Section { definition: block("```toml\n"), commands }
    }
}

/// A folder with the definition in it, as a reader would have.
struct Place {
    dir: PathBuf,
    http: u16,
    url: String,
}

impl Place {
    fn new(version: u32, section: &Section, server: &Postgres) -> Place {
        let dir = scratch().join(format!("readme-{version}"));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(dir.join("sources")).unwrap();
        std::fs::write(dir.join("sources/shop.toml"), &section.definition).unwrap();
        Place { dir, http: free_port(), url: server.url() }
    }

    /// The words of a command line; only the addresses are this machine's own.
    fn command(&self, words: &[String]) -> Command {
        assert_eq!(words[0], "pico-connectors", "{words:?}");
        let mut command = Command::new(binaries::engine().unwrap());
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PICOMQ_")) {
            command.env_remove(name);
        }
        command.args(&words[1..]).current_dir(&self.dir).stdin(Stdio::null());
        command.env("SHOP_URL", &self.url);
        command.env("PICOMQ_CONNECTORS_KAFKA__BOOTSTRAP_SERVERS", Kafka::shared().bootstrap());
        command.env("PICOMQ_CONNECTORS_HTTP__ADDRESS", format!("127.0.0.1:{}", self.http));
        command.env("PICOMQ_CONNECTORS_URL", format!("http://127.0.0.1:{}", self.http));
        command
    }

    fn output(&self, line: &str) -> Output {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        self.command(&words).output().unwrap()
    }

    fn told(&self, line: &str, code: i32) -> String {
        let output = self.output(line);
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{line}: {said}");
        said
    }
}

/// The daemon; gone when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Follows the section to the letter and gives the daemon that its last command started.
fn follow(section: &Section, place: &Place) -> Running {
    let (last, first) = section.commands.split_last().expect("there are commands");
    for words in first {
        let output = place.command(words).output().unwrap();
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{words:?}: {said}");
    }
    let log = std::fs::File::create(place.dir.join("daemon.log")).unwrap();
    let child = place.command(last).stdout(Stdio::null()).stderr(log).spawn().unwrap();
    Running(child)
}

/// Waits for the next record of a topic: its operation and its row.
fn next(reader: &mut LogReader, topic: &str) -> (String, Value) {
    let mut found = Vec::new();
    wait_for("the next record", WITHIN, || {
        let mut take = |entry: chaos_tests::consumer::Entry| found.push(entry);
        reader.read_to_end(&[topic], &mut take).map_err(|error| error.to_string())?;
        if found.is_empty() { Err(format!("nothing in {topic}")) } else { Ok(()) }
    })
    .unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    let value: Value = serde_json::from_slice(found[0].payload.as_ref().unwrap()).unwrap();
    (value["operation_type"].as_str().unwrap().to_owned(), value["data"].clone())
}

fn story(version: u32, section: &Section, readers: &mut [LogReader; 2]) -> (Postgres, Place, Running) {
    let server = Postgres::start(&scratch().join(format!("readme-{version}-server")), version).unwrap();
    server.sql(TABLES).unwrap();
    let place = Place::new(version, section, &server);
    let daemon = follow(section, &place);
    let [orders, customers] = readers;
    assert_eq!(
        next(orders, "shop-orders"),
        ("READ".to_owned(), serde_json::json!({"id": 1, "amount": "12.50"}))
    );
    assert_eq!(next(customers, "shop-customers").1["name"], "Ada");
    server.sql("UPDATE orders SET amount = 13").unwrap();
    assert_eq!(
        next(orders, "shop-orders"),
        ("UPDATE".to_owned(), serde_json::json!({"id": 1, "amount": "13.00"}))
    );
    (server, place, daemon)
}

#[test]
fn the_readme_brings_a_database_to_kafka_and_its_slot_can_be_dropped() {
    let section = Section::read();
    let lines = section.definition.lines().filter(|line| !line.trim().is_empty()).count();
    assert!(section.commands.len() == 3 && lines <= 12, "three commands, twelve lines: that is the promise");
    let reader = || LogReader::new(&Kafka::shared().bootstrap()).unwrap();
    let mut readers = [reader(), reader()];

    // Through the daemon.
    let (server, place, daemon) = story(15, &section, &mut readers);
    let said = place.told("pico-connectors slot drop shop --yes", 1);
    assert!(said.contains("source.not_stopped") && said.contains("pico-connectors stop shop"), "{said}");
    place.told("pico-connectors stop shop --wait", 0);
    let said = place.told("pico-connectors slot drop shop", 4);
    assert!(said.contains("the server may free") && said.contains("nothing was dropped"), "{said}");
    assert_eq!(server.sql(SLOTS).unwrap(), "1");
    place.told("pico-connectors slot drop shop --yes --publication", 0);
    assert_eq!((server.sql(SLOTS).unwrap(), server.sql(PUBLICATIONS).unwrap()), ("0".into(), "0".into()));
    let said = place.told("pico-connectors slot drop shop --yes", 0);
    assert!(said.contains("nothing to drop"), "{said}");
    place.told("pico-connectors state reset shop --yes", 0);
    assert_eq!(http::request(place.http, "GET", "/sources/shop").unwrap().status, 200, "the daemon runs on");
    drop(daemon);

    // Without one: killed, and nobody gave the slot back.
    let (server, place, daemon) = story(18, &section, &mut readers);
    let locked = place.told("pico-connectors slot drop shop --yes --offline", 3);
    assert!(locked.contains("state.locked") && locked.contains("stop the source first"), "{locked}");
    drop(daemon);
    wait_for("the end of the connection of the killed daemon", WITHIN, || {
        let active = server.sql("SELECT count(*) FROM pg_replication_slots WHERE active")?;
        if active == "0" { Ok(()) } else { Err(active) }
    })
    .unwrap();
    let said = place.told("pico-connectors slot drop shop --yes --offline --json", 0);
    assert!(said.contains("\"is_done\": true") || said.contains("\"is_done\":true"), "{said}");
    assert_eq!((server.sql(SLOTS).unwrap(), server.sql(PUBLICATIONS).unwrap()), ("0".into(), "1".into()));
    let said = place.told("pico-connectors doctor shop", 3);
    assert!(said.contains("✗ shop: slot") && said.contains("postgres.slot_missing"), "{said}");
}

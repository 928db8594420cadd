//! What a registry says no to, as the status of the source shows it.

use serde_json::Value;

use crate::registry::Registry;
use crate::support::{Daemon, Folder};

fn definition(block: &str) -> String {
    format!(
        "type = \"source\"\nkey = \"a\"\npath = \"libpicomq_connector_random_source\"\n[[topics]]\ntopic = \"t\"\n\
         schema = \"avro\"\navro_schema_json = '{{\"type\": \"record\", \"name\": \"R\", \"fields\": [{{\"name\": \"FIELD\", \"type\": \"long\"}}]}}'\n{block}"
    )
    .replace("FIELD", "sequence")
}

/// The status and the last error of the only source, once it has one.
fn told(daemon: &Daemon) -> (String, String, String) {
    let source = || -> Value { serde_json::from_str::<Value>(&daemon.get("/sources").1).unwrap()[0].clone() };
    daemon.wait_for("an error", || source()["last_error"].is_object());
    let source = source();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let error = &source["last_error"];
    (text(&source["status"]), text(&error["code"]), text(&error["message"]))
}

#[test]
fn a_schema_that_is_not_registered_is_not_registered_by_us_and_halts_the_source() {
    let folder = Folder::new();
    let registry = Registry::start(&folder);
    folder.write("sources/a.toml", &definition(&registry.table("")));
    let daemon = Daemon::start(&folder);

    let (status, code, message) = told(&daemon);

    assert_eq!((status.as_str(), code.as_str()), ("error", "registry.refused"));
    assert!(
        message.contains("status 404: Subject 't-value' not found.; register the schema there"),
        "{message}"
    );
    assert_eq!(registry.requests(), ["POST /subjects/t-value 404"], "asked once, and only to look");
}

#[test]
fn an_incompatible_schema_is_refused_in_the_registrys_words() {
    let folder = Folder::new();
    let registry = Registry::start(&folder);
    let block = registry.table(", register = true");
    folder.write("sources/a.toml", &definition(&block));
    let daemon = Daemon::start(&folder);
    daemon.wait_for("the schema", || registry.requests() == ["POST /subjects/t-value/versions 200"]);
    drop(daemon);

    folder.write("sources/a.toml", &definition(&block).replace("sequence", "other"));
    let (status, code, message) = told(&Daemon::start(&folder));

    assert_eq!((status.as_str(), code.as_str()), ("error", "registry.refused"));
    assert!(message.contains("status 409: Schema being registered is incompatible"), "{message}");
}

#[test]
fn a_wrong_password_halts_the_source_and_is_shown_nowhere() {
    let folder = Folder::new();
    let registry = Registry::start(&folder);
    folder.write("sources/a.toml", &definition(&registry.table("")).replace("s3cret", "wr0ng"));
    let daemon = Daemon::start(&folder);

    let (status, code, message) = told(&daemon);

    assert_eq!((status.as_str(), code.as_str()), ("error", "registry.refused"));
    assert!(message.contains("status 401: Unauthorized; check username and password"), "{message}");
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(!log.contains("wr0ng") && !daemon.get("/sources").1.contains("wr0ng"));
}

#[test]
fn a_registry_that_cannot_be_reached_or_trusted_keeps_the_source_starting() {
    let folder = Folder::new();
    let registry = Registry::start(&folder);
    let block = registry.table("").replace("../registry.pem", "../other.pem");
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    folder.write("other.pem", &other.cert.pem());
    folder.write("sources/a.toml", &definition(&block));

    let (status, code, message) = told(&Daemon::start(&folder));

    assert_eq!((status.as_str(), code.as_str()), ("starting", "registry.unreachable"));
    assert!(message.contains("certificate"), "{message}");
    assert_eq!(registry.requests(), [] as [&str; 0]);
}

//! What a person asks of a stopped source, over the border as the engine asks it: dropping the slot, looking for what is wrong.

use std::sync::Arc;
use std::time::Duration;

use picomq_connector_sdk::State;
use picomq_connector_sdk::conformance;
use picomq_connector_sdk::ffi::host::{Library, Limits, Mode, OpenRequest, TracingSink};
use serde_json::{Value, json};

use crate::reading::{Reading, config};
use crate::server::{Database, Server, VERSIONS};

const TABLE: &str = "CREATE TABLE orders (id bigserial PRIMARY KEY, v text)";
const SLOTS: &str = "SELECT count(*) FROM pg_replication_slots WHERE database = current_database()";
const PUBLICATIONS: &str = "SELECT count(*) FROM pg_publication";

async fn ask(
    settings: Value,
    state: Option<&State>,
    mode: Mode,
    (name, arguments): (&str, Value),
) -> Result<Value, String> {
    let path = conformance::library(env!("CARGO_PKG_NAME"));
    let request = OpenRequest {
        key: "orders".to_owned(),
        config_json: settings.to_string(),
        state: state.map(|state| state.as_bytes().to_vec()),
        mode,
        limits: Limits { batch_records: 10_000, batch_bytes: 64 << 20 },
        record_bytes: 1_000_000,
        open_timeout: Duration::from_secs(30),
        verdict_timeout: Duration::from_secs(30),
        host: Arc::new(TracingSink::new("orders")),
    };
    let library = Library::load(&path).expect("cargo builds it beside the test");
    let answer = library.maintain(request, name, &arguments.to_string()).await;
    answer.map(|text| serde_json::from_str(&text).unwrap()).map_err(|error| error.to_string())
}

async fn drop_slot(
    database: &Database,
    state: Option<&State>,
    mode: Mode,
    wish: Value,
) -> Result<Value, String> {
    ask(config(database, json!({})), state, mode, ("slot_drop", wish)).await
}

async fn checks(settings: Value, state: Option<&State>) -> Vec<Value> {
    let answer = ask(settings, state, Mode::Inspect, ("doctor", Value::Null)).await;
    answer.unwrap()["checks"].as_array().unwrap().clone()
}

fn failed(checks: &[Value]) -> Vec<(String, String)> {
    let text = |check: &Value, field: &str| check[field].as_str().unwrap_or_default().to_owned();
    let failed = checks.iter().filter(|check| check["status"] == "error");
    failed.map(|check| (text(check, "name"), text(check, "advice"))).collect()
}

fn one<'a>(checks: &'a [Value], name: &str) -> &'a Value {
    checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("{name}: {checks:#?}"))
}

#[tokio::test]
async fn our_slot_is_dropped_when_told_and_nobody_elses_is() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(TABLE);
        let mut reading = Reading::streaming(&database, json!({})).await;
        database.sql("INSERT INTO orders (v) VALUES ('a')");
        reading.records(1).await;
        let state = reading.saved.clone().unwrap();
        let refused = drop_slot(&database, Some(&state), Mode::Run, json!({})).await.unwrap_err();
        assert!(refused.contains("postgres.slot_active") && refused.contains("pico-connectors"), "{refused}");
        drop(reading.again(config(&database, json!({}))).await);
        database.sql("INSERT INTO orders (v) SELECT repeat('x', 100) FROM generate_series(1, 1000)");

        let looked = drop_slot(&database, Some(&state), Mode::Inspect, Value::Null).await.unwrap();
        assert_eq!((&looked["refused"], &looked["is_done"]), (&Value::Null, &json!(false)));
        assert!(looked["unread_bytes"].as_u64().unwrap() > 100_000, "{looked}");
        assert!(looked["held_bytes"].as_u64() >= looked["unread_bytes"].as_u64(), "{looked}");
        let refused = drop_slot(&database, None, Mode::Run, json!({})).await.unwrap_err();
        assert!(refused.contains("postgres.slot_foreign") && refused.contains("--foreign"), "{refused}");
        assert_eq!(database.sql(SLOTS), "1", "looking and refusing drop nothing");

        let done = drop_slot(&database, Some(&state), Mode::Run, json!({})).await.unwrap();
        assert_eq!((done["is_done"].clone(), database.sql(SLOTS)), (json!(true), "0".to_owned()));
        assert_eq!(database.sql(PUBLICATIONS), "1", "the publication stays unless told");
        let done =
            drop_slot(&database, Some(&state), Mode::Run, json!({ "publication": true })).await.unwrap();
        assert_eq!(done["statements"], json!(["DROP PUBLICATION \"picomq_publication\";"]));
        assert_eq!(database.sql(PUBLICATIONS), "0");
    }
}

#[tokio::test]
async fn a_slot_of_another_tool_goes_only_when_told_so() {
    let database = Database::new(15);
    database.sql(&format!("SELECT pg_create_logical_replication_slot('{}', 'test_decoding')", database.name));
    let refused = drop_slot(&database, None, Mode::Run, json!({})).await.unwrap_err();
    assert!(refused.contains("plugin `test_decoding`"), "{refused}");
    drop_slot(&database, None, Mode::Run, json!({ "foreign": true })).await.unwrap();
    assert_eq!(database.sql(SLOTS), "0");
    let wrong = drop_slot(&database, None, Mode::Run, json!({ "forein": true })).await.unwrap_err();
    assert!(wrong.contains("`foreign`"), "{wrong}");
}

#[tokio::test]
async fn every_failed_check_is_shown_at_once_and_its_sql_mends_it() {
    for version in VERSIONS {
        let server = Server::start(version);
        server.psql("postgres", "ALTER SYSTEM SET wal_level = replica").unwrap();
        server.stop("INT");
        server.start_again();
        let database = Database::on(server);
        database.sql(TABLE);
        database.sql("CREATE ROLE reader LOGIN PASSWORD 'word'");
        let url = database.url().replace("postgres:secret", "reader:word");
        let settings = config(
            &database,
            json!({ "connection_string": url, "tables": ["orders"], "snapshot_mode": "initial" }),
        );

        let failed_checks = failed(&checks(settings.clone(), None).await);
        let names: Vec<&str> = failed_checks.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["wal_level", "replication_role", "publication", "rights"], "{failed_checks:#?}");
        for (name, advice) in &failed_checks {
            // What stands behind the last semicolon, and in brackets, is for people.
            let advice = advice.trim_start_matches("as owner of the tables, or superuser: ");
            let statement = &advice[..advice.find(';').unwrap_or_else(|| panic!("{name}: {advice}"))];
            database.sql(statement);
        }
        server.stop("INT");
        server.start_again();
        let mended = checks(settings.clone(), None).await;
        assert!(mended.iter().all(|check| check["status"] == "ok"), "{mended:#?}");
        let mut reading =
            Reading::open(settings, None).await.unwrap_or_else(|error| panic!("{}", error.chain()));
        database.sql("INSERT INTO orders (v) VALUES ('a')");
        assert_eq!(reading.records(1).await[0].data()["v"], "a");
    }
}

#[tokio::test]
async fn a_slot_in_use_a_lagging_and_a_lost_one_are_told_apart() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(TABLE);
        let slot = &database.name;
        let limited = config(&database, json!({ "max_retained_wal": "1MB" }));
        let mut reading = Reading::streaming(&database, json!({})).await;
        database.sql("INSERT INTO orders (v) VALUES ('a')");
        reading.records(1).await;
        let seen = checks(limited.clone(), reading.saved.as_ref()).await;
        // The bench reads under another key than the one that looks.
        let in_use = one(&seen, "slot");
        assert_eq!(in_use["status"], "warning", "{in_use}");
        assert!(in_use["detail"].as_str().unwrap().contains("(\"pico-connectors "), "{in_use}");
        assert!(in_use["advice"].as_str().unwrap().contains("SELECT pg_terminate_backend("), "{in_use}");

        let state = reading.saved.clone();
        drop(reading.again(config(&database, json!({}))).await);
        database.sql("INSERT INTO orders (v) SELECT repeat('x', 1000) FROM generate_series(1, 3000)");
        let seen = checks(limited.clone(), state.as_ref()).await;
        let lag = one(&seen, "slot_wal");
        assert_eq!(lag["status"], "error", "{lag}");
        assert!(lag["advice"].as_str().unwrap().contains("SELECT pid, xact_start"), "{lag}");
        assert!(lag["detail"].as_str().unwrap().contains("MB were written since"), "{lag}");

        let foreign = checks(limited.clone(), None).await;
        let advice = one(&foreign, "slot")["advice"].as_str().unwrap();
        assert_eq!(advice, format!("SELECT pg_drop_replication_slot('{slot}');"));
        database.sql(advice);
        let gone = checks(limited, state.as_ref()).await;
        assert!(
            one(&gone, "slot")["detail"].as_str().unwrap().contains("postgres.slot_missing"),
            "{gone:#?}"
        );
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_and_a_wrong_password_are_one_failed_check_each() {
    let settings = json!({ "connection_string": "postgres://me@127.0.0.1:1/db", "mode": "cdc" });
    let seen = checks(settings, None).await;
    assert!(seen.len() == 1 && seen[0]["advice"].as_str().unwrap().contains("is the server up"), "{seen:?}");
    let database = Database::new(15);
    let url = database.url().replace("secret", "hunter2");
    let seen = checks(config(&database, json!({ "connection_string": url })), None).await;
    assert_eq!(
        failed(&seen),
        [("connection".to_owned(), "mend user and password in connection_string".to_owned())]
    );
    assert!(!seen[0].to_string().contains("hunter2"), "{seen:?}");
}

#[tokio::test]
async fn polling_is_looked_at_for_its_tables_and_the_rights_to_them() {
    let database = Database::new(15);
    database.sql(TABLE);
    database.sql(&format!("CREATE ROLE poller_{} LOGIN PASSWORD 'word'", database.name));
    let url = database.url().replace("postgres:secret", &format!("poller_{}:word", database.name));
    let settings = json!({
        "connection_string": url, "mode": "polling", "tables": ["orders", "nothing"], "delete_after_read": true,
    });
    let failed = failed(&checks(settings, None).await);
    let names: Vec<&str> = failed.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["tables", "rights", "rights"]);
    assert!(failed[2].1.starts_with("GRANT DELETE ON \"public\".\"orders\" TO poller_"), "{failed:?}");
}

//! What is looked at before anything is read: settings of the server, roles, publication, slot.

use picomq_connector_sdk::conformance::{Bench, Setting};
use picomq_connector_sdk::{Error, Mode, State};
use serde_json::{Value, json};

use picomq_connector_postgres_source::PostgresSource;

use crate::reading::{Reading, config};
use crate::server::{Database, Server, VERSIONS};

const TABLE: &str = "CREATE TABLE orders (id bigserial PRIMARY KEY, v text)";

async fn refusal(config: Value, saved: Option<State>) -> String {
    match Reading::open(config, saved).await {
        Ok(_) => panic!("it opens"),
        Err(error) => {
            assert!(!error.is_transient(), "{}", error.chain());
            error.chain()
        }
    }
}

async fn refusal_of_poll(reading: &mut Reading) -> String {
    for _ in 0..100 {
        match reading.step().await {
            Ok(_) => {}
            Err(error) if error.is_transient() => {}
            Err(error) => return error.chain(),
        }
    }
    panic!("no poll fails")
}

#[tokio::test]
async fn an_empty_database_works_at_the_first_start_and_at_the_second_b051() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(TABLE);
        let mut reading = Reading::streaming(&database, json!({ "tables": ["orders"] })).await;
        database.sql("INSERT INTO orders (v) VALUES ('a')");
        reading.records(1).await;
        let mut reading = reading.again(config(&database, json!({ "tables": ["orders"] }))).await;
        database.sql("INSERT INTO orders (v) VALUES ('b')");
        assert_eq!(reading.records(1).await[0].data()["v"], "b");
    }
}

#[tokio::test]
async fn a_slot_of_another_plugin_is_refused_and_still_there_b051() {
    for version in VERSIONS {
        let database = Database::new(version);
        let name = &database.name;
        database.sql(&format!("SELECT pg_create_logical_replication_slot('{name}', 'test_decoding')"));
        let text = refusal(config(&database, json!({ "adopt_slot": true })), None).await;
        assert!(text.contains("postgres.slot_plugin") && text.contains(name.as_str()), "{text}");
        assert_eq!(
            database.sql(&format!("SELECT plugin FROM pg_replication_slots WHERE slot_name = '{name}'")),
            "test_decoding"
        );
    }
}

#[tokio::test]
async fn a_foreign_slot_is_refused_and_read_from_its_position_once_it_is_given_to_us() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(TABLE);
        database.sql("CREATE PUBLICATION picomq_publication FOR ALL TABLES");
        database.sql(&format!("SELECT pg_create_logical_replication_slot('{}', 'pgoutput')", database.name));
        database.sql("INSERT INTO orders (v) VALUES ('before')");
        let text = refusal(config(&database, json!({})), None).await;
        assert!(text.contains("postgres.slot_foreign"), "{text}");
        let mut reading =
            Reading::open(config(&database, json!({ "adopt_slot": true })), None).await.unwrap();
        assert_eq!(reading.records(1).await[0].data()["v"], "before");
    }
}

#[tokio::test]
async fn opening_to_look_makes_nothing() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(TABLE);
        let setting = Setting { mode: Mode::Inspect, ..Setting::new(config(&database, json!({}))) };
        drop(
            Bench::<PostgresSource>::open(setting).await.unwrap_or_else(|error| panic!("{}", error.chain())),
        );
        let made = "SELECT (SELECT count(*) FROM pg_publication) + (SELECT count(*) FROM pg_replication_slots WHERE database = current_database())";
        assert_eq!(database.sql(made), "0");
    }
}

#[tokio::test]
async fn a_dropped_publication_is_an_error_and_the_slot_stands_still_b052() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(TABLE);
        let mut reading = Reading::streaming(&database, json!({ "tables": ["orders"] })).await;
        database.sql("DROP PUBLICATION picomq_publication");
        let before = database.confirmed(&database.name);
        database.sql("INSERT INTO orders (v) VALUES ('nobody sees it')");
        let text = refusal_of_poll(&mut reading).await;
        assert!(text.contains("picomq_publication"), "{text}");
        let text = refusal_of_poll(&mut reading).await;
        assert!(
            text.contains("postgres.publication_missing") && text.contains("pg_drop_replication_slot"),
            "{text}"
        );
        assert_eq!(database.confirmed(&database.name), before);
    }
}

#[tokio::test]
async fn a_slot_in_use_is_waited_for_and_flows_by_itself_after_its_release_b053() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(TABLE);
        let first = Reading::streaming(&database, json!({})).await;
        // The first stream begins with its first poll.
        database.sql("INSERT INTO orders (v) VALUES ('a')");
        let (seen, _) = first.poll().await.unwrap();
        assert_eq!(seen.len(), 1);
        let mut second = Reading::open(config(&database, json!({})), first.saved.clone()).await.unwrap();
        let error = second.step().await.unwrap_err();
        assert!(error.is_transient() && error.chain().contains("is active for PID"), "{}", error.chain());
        drop(first);
        assert_eq!(second.records(1).await[0].data()["v"], "a");
    }
}

#[tokio::test]
async fn a_slot_that_disagrees_with_the_state_is_an_error_b055() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(TABLE);
        let name = database.name.clone();
        let mut reading = Reading::streaming(&database, json!({})).await;
        let old = reading.saved.clone();
        database.sql("INSERT INTO orders (v) VALUES ('a')");
        reading.records(1).await;
        drop(reading.again(config(&database, json!({}))).await);
        database.sql(&format!("SELECT pg_replication_slot_advance('{name}', pg_current_wal_lsn())"));
        let text = refusal(config(&database, json!({})), old.clone()).await;
        assert!(text.contains("postgres.slot_moved"), "{text}");
        database.sql(&format!("SELECT pg_drop_replication_slot('{name}')"));
        let text = refusal(config(&database, json!({})), old.clone()).await;
        assert!(text.contains("postgres.slot_missing"), "{text}");
        database.sql(&format!("SELECT pg_create_logical_replication_slot('{name}', 'pgoutput')"));
        let text = refusal(config(&database, json!({})), old).await;
        assert!(text.contains("postgres.slot_moved"), "{text}");
    }
}

#[tokio::test]
async fn the_state_of_another_server_is_refused() {
    let (here, there) = (Database::new(15), Database::new(18));
    here.sql(TABLE);
    let reading = Reading::streaming(&here, json!({})).await;
    let text = refusal(config(&there, json!({ "slot_name": here.name })), reading.saved.clone()).await;
    assert!(text.contains("postgres.other_server"), "{text}");
}

#[tokio::test]
async fn a_role_without_the_right_is_told_what_to_run_b057() {
    for version in VERSIONS {
        let database = Database::new(version);
        let role = format!("plain_{}", database.name);
        database.sql(&format!("CREATE ROLE {role} LOGIN PASSWORD 'word'"));
        let url = database.url().replace("postgres:secret", &format!("{role}:word"));
        let text = refusal(config(&database, json!({ "connection_string": url })), None).await;
        assert!(text.contains(&format!("ALTER ROLE \"{role}\" REPLICATION")), "{text}");
        assert!(!text.contains("word@"), "{text}");
    }
}

#[tokio::test]
async fn a_server_without_logical_wal_is_told_what_to_run_b057() {
    let server = Server::start(15);
    server.psql("postgres", "ALTER SYSTEM SET wal_level = replica").unwrap();
    server.stop("INT");
    server.start_again();
    let database = Database::on(server);
    let text = refusal(config(&database, json!({})), None).await;
    assert!(text.contains("ALTER SYSTEM SET wal_level = logical"), "{text}");
    // A role without the right would be refused anyway; what has to be mended first is said first.
    database.sql("CREATE ROLE plain LOGIN PASSWORD 'word'");
    let url = database.url().replace("postgres:secret", "plain:word");
    let text = refusal(config(&database, json!({ "connection_string": url })), None).await;
    assert!(text.contains("ALTER SYSTEM SET wal_level = logical"), "{text}");
}

#[tokio::test]
async fn a_wrong_password_is_an_error_without_the_password_b130() {
    for version in VERSIONS {
        let database = Database::new(version);
        let url = database.url().replace("secret", "hunter2");
        let text = refusal(config(&database, json!({ "connection_string": url })), None).await;
        assert!(text.contains("28P01") && !text.contains("hunter2"), "{text}");
    }
}

#[tokio::test]
async fn tls_is_had_when_it_is_asked_for_or_nothing_is_b059() {
    let database = Database::new(15);
    let authority = database.server.authority();
    let authority = authority.display();
    let with = |host: &str, query: String| {
        let url =
            format!("postgres://postgres:secret@{host}:{}/{}?{query}", database.server.port, database.name);
        config(&database, json!({ "connection_string": url }))
    };
    for (host, query) in [
        ("127.0.0.1", "sslmode=prefer".to_owned()),
        ("127.0.0.1", "sslmode=require&channel_binding=require".to_owned()),
        ("127.0.0.1", format!("sslmode=verify-ca&sslrootcert={authority}")),
        ("localhost", format!("sslmode=verify-full&sslrootcert={authority}&channel_binding=require")),
    ] {
        let opened = Reading::open(with(host, query.clone()), None).await;
        assert!(opened.is_ok(), "{query}: {}", opened.err().map_or_else(String::new, |error| error.chain()));
    }
    for (host, query) in [
        ("127.0.0.1", format!("sslmode=verify-full&sslrootcert={authority}")),
        ("localhost", "sslmode=verify-full".to_owned()),
        ("localhost", "sslmode=disable&channel_binding=require".to_owned()),
    ] {
        refusal(with(host, query), None).await;
    }
    // The server of 18 has no TLS.
    let plain = Database::new(18);
    let url = plain.url().replace("sslmode=disable", "sslmode=require");
    let text = refusal(config(&plain, json!({ "connection_string": url })), None).await;
    assert!(text.contains("has no TLS"), "{text}");
}

#[tokio::test]
async fn passwords_are_proven_the_way_the_server_asks_and_never_in_the_clear() {
    for version in VERSIONS {
        let database = Database::new(version);
        let server = database.server;
        // Roles are of the whole server, and pg_hba.conf names these two.
        let make = "DO $$ BEGIN CREATE ROLE plainuser SUPERUSER LOGIN PASSWORD 'p'; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$; \
                    SET password_encryption = 'md5'; \
                    DO $$ BEGIN CREATE ROLE md5user SUPERUSER LOGIN PASSWORD 'p'; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;";
        database.sql(make);
        let url = |user: &str, query: &str| json!({ "connection_string": format!("postgres://{user}:p@127.0.0.1:{}/{}?{query}", server.port, database.name) });
        assert!(Reading::open(config(&database, url("md5user", "sslmode=disable")), None).await.is_ok());
        let text = refusal(config(&database, url("plainuser", "sslmode=disable")), None).await;
        assert!(text.contains("clear text"), "{text}");
        if version == 15 {
            assert!(
                Reading::open(config(&database, url("plainuser", "sslmode=require")), None).await.is_ok()
            );
        }
    }
}

#[tokio::test]
async fn a_unix_socket_works() {
    let database = Database::new(15);
    database.sql(TABLE);
    let url = format!(
        "host={} port={} user=postgres dbname={}",
        database.server.socket().display(),
        database.server.port,
        database.name
    );
    let mut reading = Reading::streaming(&database, json!({ "connection_string": url })).await;
    database.sql("INSERT INTO orders (v) VALUES ('a')");
    assert_eq!(reading.records(1).await[0].data()["v"], "a");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_tried_again() {
    let config = json!({ "connection_string": "postgres://me@127.0.0.1:1/db", "mode": "cdc" });
    let error = Reading::open(config, None).await.err().expect("nobody is there");
    assert!(matches!(error, Error::Transient(_)), "{}", error.chain());
    assert!(error.chain().contains("127.0.0.1:1"), "{}", error.chain());
}

#[tokio::test]
async fn narrowing_the_tables_stops_their_rows_b060() {
    let database = Database::new(15);
    database.sql("CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int PRIMARY KEY)");
    let mut reading = Reading::streaming(&database, json!({ "tables": ["a", "b"] })).await;
    database.sql("INSERT INTO b VALUES (1)");
    reading.records(1).await;
    database.sql("INSERT INTO b VALUES (2)");
    let mut reading = reading.again(config(&database, json!({ "tables": ["a"] }))).await;
    database.sql("INSERT INTO b VALUES (3)");
    database.sql("INSERT INTO a VALUES (4)");
    assert_eq!(reading.records(1).await[0].data()["id"], 4);
    let mut reading = reading.again(config(&database, json!({ "tables": ["a", "b"] }))).await;
    database.sql("INSERT INTO b VALUES (5)");
    assert_eq!(reading.records(1).await[0].data()["id"], 5);
}

#[tokio::test]
async fn a_slot_that_the_server_gave_up_is_an_error_or_a_new_snapshot_as_asked() {
    for version in VERSIONS {
        let server = Server::start(version);
        server.psql("postgres", "ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'").unwrap();
        server.psql("postgres", "ALTER SYSTEM SET max_wal_size = '32MB'").unwrap();
        server.psql("postgres", "SELECT pg_reload_conf()").unwrap();
        let database = Database::on(server);
        database.sql(TABLE);
        database.sql("INSERT INTO orders (v) VALUES ('old')");
        let mut reading = Reading::streaming(&database, json!({})).await;
        database.sql("INSERT INTO orders (v) VALUES ('read')");
        reading.records(1).await;
        let saved = reading.saved.clone();
        drop(reading);
        // The log moves on by several segments while nobody reads.
        for _ in 0..4 {
            database.sql("SELECT pg_logical_emit_message(false, 'x', repeat('y', 1000000)), pg_switch_wal()");
        }
        database.sql("INSERT INTO orders (v) VALUES ('missed')");
        database.sql("CHECKPOINT");

        let text = refusal(config(&database, json!({})), saved.clone()).await;
        assert!(text.contains("postgres.slot_lost") && text.contains("when_needed"), "{text}");
        let again = config(&database, json!({ "snapshot_mode": "when_needed" }));
        let mut reading =
            Reading::open(again, saved).await.unwrap_or_else(|error| panic!("{}", error.chain()));
        let seen = reading.records(3).await;
        assert!(seen.iter().all(|record| record.operation() == "READ"), "{seen:?}");
        database.sql("INSERT INTO orders (v) VALUES ('next')");
        let seen = reading.records(1).await;
        assert_eq!((seen[0].operation(), &seen[0].data()["v"]), ("INSERT", &json!("next")));
    }
}

#[tokio::test]
async fn a_publication_made_by_hand_says_which_tables_are_read() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int PRIMARY KEY); INSERT INTO a VALUES (1); INSERT INTO b VALUES (2)");
        database.sql("CREATE PUBLICATION picomq_publication FOR TABLE a");
        let settings = json!({ "create_publication": false, "snapshot_mode": "initial" });
        let mut reading = Reading::open(config(&database, settings), None).await.unwrap();
        assert_eq!(reading.records(1).await[0].data()["id"], 1);
        database.sql("INSERT INTO b VALUES (3)");
        database.sql("INSERT INTO a VALUES (4)");
        assert_eq!(reading.records(1).await[0].data()["id"], 4);
        assert_eq!(database.sql("SELECT count(*) FROM pg_publication_tables"), "1");
    }
}

#[tokio::test]
async fn the_role_of_the_documentation_may_all_it_needs_and_is_told_what_it_may_not() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(TABLE);
        database.sql("INSERT INTO orders (v) VALUES ('old')");
        let role = format!("reader_{}", database.name);
        database.sql(&format!(
            "CREATE ROLE {role} LOGIN REPLICATION PASSWORD 'word'; GRANT SELECT ON orders TO {role}"
        ));
        let url = database.url().replace("postgres:secret", &format!("{role}:word"));
        let settings = config(
            &database,
            json!({ "connection_string": url, "tables": ["orders"], "snapshot_mode": "initial" }),
        );
        let mut reading =
            Reading::open(settings.clone(), None).await.unwrap_or_else(|error| panic!("{}", error.chain()));
        assert_eq!(reading.step().await.unwrap(), []);
        let text = reading.step().await.unwrap_err().chain();
        assert!(
            text.contains("run: CREATE PUBLICATION \"picomq_publication\" FOR TABLE \"public\".\"orders\""),
            "{text}"
        );

        database.sql(
            "CREATE PUBLICATION picomq_publication FOR TABLE orders WITH (publish_via_partition_root = true)",
        );
        assert_eq!(reading.records(1).await[0].data()["v"], "old");
        database.sql("INSERT INTO orders (v) VALUES ('new')");
        assert_eq!(reading.records(1).await[0].data()["v"], "new");
    }
}

//! Authentication, missing databases, and a server that goes and comes.

use picomq_connector_sdk::Error;
use serde_json::json;

use crate::influxql::config;
use crate::server::{Database, Server};
use crate::support::{open, read};

#[tokio::test]
async fn a_reader_reads_and_a_wrong_password_is_an_error_without_the_password_b130() {
    let server = Server::start(1, &[("AUTH", "true")]);
    server.influxql("", "CREATE USER admin WITH PASSWORD 'admin-pw' WITH ALL PRIVILEGES");
    let server: &'static Server = Box::leak(Box::new(server.logged_in("admin:admin-pw")));
    let database = Database::on(server);
    database.write("m v=1i 1\n");
    server.influxql("", "CREATE USER reader WITH PASSWORD 'reader-pw'");
    server.influxql("", &format!("GRANT READ ON {} TO reader", database.name));
    let login = json!({ "username": "reader", "password": "reader-pw" });
    let bench = open(config(&database, login), None).await.unwrap();
    assert_eq!(read(&bench, 1).await.len(), 1);
    for keys in [json!({ "username": "reader", "password": "wr0ng-pw" }), json!({})] {
        let error = open(config(&database, keys), None).await.err().unwrap();
        assert!(matches!(&error, Error::Permanent(_)), "{error:?}");
        assert!(error.chain().contains("401") && !error.chain().contains("wr0ng"), "{}", error.chain());
    }
}

#[tokio::test]
async fn a_database_that_is_made_later_is_waited_for_and_a_measurement_too() {
    let database = Database::on(Server::v1());
    let mut missing = config(&database, json!({ "max_open_retries": 1 }));
    missing["db"] = json!("made_later");
    let error = open(missing, None).await.err().unwrap();
    assert!(error.is_transient() && error.chain().contains("database not found"), "{}", error.chain());
    let bench = open(config(&database, json!({})), None).await.unwrap();
    let (_, wrote) = tokio::join!(
        async { assert_eq!(read(&bench, 1).await.len(), 1) },
        tokio::task::spawn_blocking(move || database.write("m v=1i 1\n"))
    );
    wrote.unwrap();
}

#[tokio::test]
async fn a_query_that_is_wrong_is_refused_with_the_servers_words() {
    let database = Database::on(Server::v1());
    database.write("m v=1i,s=\"x\" 1\n");
    // The first comes with 400, the others inside a 200.
    for (query, words) in [
        ("SELEC v FROM m WHERE time > '$cursor'", "found SELEC"),
        ("SELECT foo(v) FROM m WHERE time > '$cursor'", "undefined function foo()"),
        ("SELECT mean(v), v FROM m WHERE time > '$cursor'", "mixing aggregate"),
        ("SELECT v FROM m WHERE time > '$cursor' AND time < 'then'", "invalid operation"),
        ("SELECT v + s FROM m WHERE time > '$cursor'", "incompatible types"),
        ("SELECT mean(s) FROM m WHERE time > '$cursor' GROUP BY time(1m)", "unsupported mean"),
    ] {
        let keys = json!({ "measurement": null, "query": query });
        let error = open(config(&database, keys), None).await.err().expect(query);
        assert!(
            matches!(&error, Error::Permanent(_)) && error.chain().contains(words),
            "{query}: {}",
            error.chain()
        );
    }
}

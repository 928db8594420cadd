//! Points of one time, and pages that end among them.

use std::collections::BTreeSet;

use picomq_connector_sdk::State;
use serde_json::{Value, json};

use crate::influxql::config;
use crate::server::{Database, Server};
use crate::support::{Seen, is_quiet, next, open, read};

/// What tells the points of these tests apart.
fn names(records: &[Seen]) -> BTreeSet<String> {
    let name = |record: &Seen| {
        let record = record.json();
        format!("{} {}", record["timestamp"], record["tags"]["t"])
    };
    records.iter().map(name).collect()
}

fn written(query: &str) -> Value {
    json!({ "measurement": null, "query": query, "tags": ["t"], "batch_size": 500 })
}

#[tokio::test]
async fn a_page_of_500_that_holds_two_of_five_equal_times_loses_none_b100() {
    let database = Database::on(Server::v1());
    let mut lines: String = (1..=498).map(|row| format!("m,t=x v={row}i {row}\n")).collect();
    (0..5).for_each(|tag| lines.push_str(&format!("m,t={tag} v=1i 600\n")));
    database.write(&lines);
    for keys in [
        json!({}),
        written("SELECT v, t FROM m WHERE time > '$cursor' LIMIT $limit"),
        written("SELECT v, t FROM m WHERE time >= '$cursor' LIMIT $limit"),
    ] {
        let bench = open(config(&database, keys), None).await.unwrap();
        let read = read(&bench, 503).await;
        assert_eq!((read.len(), names(&read).len()), (503, 503));
        assert!(is_quiet(&bench).await);
    }
}

#[tokio::test]
async fn a_group_many_times_a_page_comes_whole_over_restarts_and_is_never_repeated_b100() {
    let database = Database::on(Server::v1());
    let mut lines = "m,t=before v=1i 1\n".to_owned();
    (0..3_000).for_each(|tag| lines.push_str(&format!("m,t={tag} v=1i 5\n")));
    lines.push_str("m,t=after v=1i 9\n");
    database.write(&lines);
    let page = json!({ "batch_size": 100, "stuck_batch_cap_factor": 4 });
    let own = json!({
        "measurement": null, "query": "SELECT v, t FROM m WHERE time > '$cursor' LIMIT $limit", "tags": ["t"],
        "batch_size": 100, "stuck_batch_cap_factor": 4,
    });
    for keys in [page, own] {
        let (mut all, mut state): (Vec<Seen>, Option<State>) = (Vec::new(), None);
        while all.len() < 3_002 {
            // Each batch by a process of its own.
            let bench = open(config(&database, keys.clone()), state.clone()).await.unwrap();
            let (records, now) = next(&bench).await.unwrap();
            assert!(records.len() <= 400, "{}", records.len());
            all.extend(records);
            state = now;
        }
        assert_eq!((all.len(), names(&all).len()), (3_002, 3_002));
        let bench = open(config(&database, keys), state).await.unwrap();
        assert!(is_quiet(&bench).await);
        database.write("m,t=more v=1i 10\n");
        assert_eq!(read(&bench, 1).await[0].json()["tags"]["t"], "more");
        database.server.influxql(&database.name, "DELETE FROM m WHERE t = 'more'");
    }
}

#[tokio::test]
async fn twelve_thousand_points_come_from_a_server_that_limits_rows_b102() {
    let server: &'static Server = Box::leak(Box::new(Server::start(1, &[("MAX_ROWS", "1000")])));
    let database = Database::on(server);
    let lines: String = (0..12_000).map(|row| format!("m,t={} v={row}i {}\n", row % 7, row / 7)).collect();
    database.write(&lines);
    let bench = open(config(&database, json!({ "batch_size": 5_000 })), None).await.unwrap();
    let read = read(&bench, 12_000).await;
    assert_eq!((read.len(), names(&read).len()), (12_000, 12_000));
    assert!(is_quiet(&bench).await);
}

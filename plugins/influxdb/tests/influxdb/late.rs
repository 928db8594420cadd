//! Points that come late, and how far that is looked for.

use serde_json::{Value, json};

use crate::influxql::config;
use crate::server::{Database, Server};
use crate::support::{is_quiet, next, open, read};

const SECOND: i64 = 1_000_000_000;

/// A point at that second.
fn point(second: i64, tag: &str) -> String {
    format!("m,t={tag} v=1i {}\n", second * SECOND)
}

fn overlapping() -> Value {
    json!({ "overlap": "60s", "batch_size": 10 })
}

#[tokio::test]
async fn a_point_within_the_overlap_comes_late_once_and_one_beyond_it_does_not_b094() {
    let database = Database::on(Server::v1());
    database.write(&(1_000..1_100).map(|second| point(second, "a")).collect::<String>());
    let bench = open(config(&database, overlapping()), None).await.unwrap();
    assert_eq!(read(&bench, 100).await.len(), 100);
    assert!(is_quiet(&bench).await);
    database.write(&(point(1_045, "late") + &point(1_099, "late") + &point(900, "lost")));
    // They may have come while the window was looked through: then the first one is seen the next time.
    let mut late: Vec<String> = read(&bench, 2).await.into_iter().map(|record| record.id).collect();
    late.sort();
    assert_eq!(late, ["m,t=late 1045000000000", "m,t=late 1099000000000"]);
    assert!(is_quiet(&bench).await, "each comes once, and what is too late does not");
}

#[tokio::test]
async fn a_late_point_comes_after_a_restart_too_and_nothing_is_repeated() {
    let database = Database::on(Server::v1());
    database.write(&(1_000..1_050).map(|second| point(second, "a")).collect::<String>());
    let bench = open(config(&database, overlapping()), None).await.unwrap();
    let mut state = None;
    let mut count = 0;
    while count < 50 {
        let (records, now) = next(&bench).await.unwrap();
        count += records.len();
        state = now;
    }
    drop(bench);
    database.write(&point(1_020, "late"));
    let bench = open(config(&database, overlapping()), state).await.unwrap();
    let late = read(&bench, 1).await;
    assert_eq!((late.len(), late[0].json()["tags"]["t"].as_str()), (1, Some("late")));
    assert!(is_quiet(&bench).await);
}

#[tokio::test]
async fn a_point_that_is_overwritten_within_the_overlap_comes_with_its_new_value_under_its_id() {
    let database = Database::on(Server::v1());
    database.write(&point(1_000, "a"));
    let bench = open(config(&database, overlapping()), None).await.unwrap();
    let first = read(&bench, 1).await.remove(0);
    database.write(&format!("m,t=a v=2i {}\n", 1_000 * SECOND));
    let second = read(&bench, 1).await.remove(0);
    assert_eq!((second.id.as_str(), second.json()["fields"]["v"].as_i64()), (first.id.as_str(), Some(2)));
}

#[tokio::test]
async fn more_points_than_are_remembered_shorten_the_overlap_and_a_check_says_so() {
    let database = Database::on(Server::v1());
    database.write(&(1_000..1_060).map(|second| point(second, "a")).collect::<String>());
    let keys = json!({ "overlap": "60s", "batch_size": 100, "overlap_points": 20 });
    let bench = open(config(&database, keys), None).await.unwrap();
    assert_eq!(read(&bench, 60).await.len(), 60);
    database.write(&(point(1_010, "forgotten") + &point(1_050, "late")));
    let late = read(&bench, 1).await;
    assert_eq!(late[0].json()["tags"]["t"], "late");
    assert!(is_quiet(&bench).await);
    let said = format!("{:?}", bench.reports());
    assert!(said.contains("overlap_points") && said.contains("Warn"), "{said}");
}

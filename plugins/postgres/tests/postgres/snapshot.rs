//! The rows that are there already, and the seam to the stream.

use std::collections::BTreeSet;

use picomq_connector_sdk::Verdict;
use serde_json::json;

use crate::reading::{Reading, Seen, config};
use crate::server::{Database, VERSIONS};

fn initial(database: &Database, more: serde_json::Value) -> serde_json::Value {
    let mut config = config(database, more);
    config["snapshot_mode"] = json!("initial");
    config
}

fn ids(seen: &[Seen]) -> Vec<i64> {
    seen.iter().map(|record| record.data()["id"].as_i64().unwrap()).collect()
}

#[tokio::test]
async fn every_row_comes_once_and_then_exactly_the_changes_after() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE a (id int PRIMARY KEY, v text); CREATE TABLE empty (id int PRIMARY KEY)");
        database.sql("CREATE TABLE bare (id int); INSERT INTO bare SELECT generate_series(1, 50)");
        database.sql("INSERT INTO a SELECT n, 'x' FROM generate_series(1, 1000) n");
        let mut reading =
            Reading::open(initial(&database, json!({ "batch_size": 100 })), None).await.unwrap();
        for _ in 0..2 {
            assert_eq!(reading.step().await.unwrap(), []);
        }
        // The slot is there, the rows are not read yet: what happens now belongs to the stream.
        database.sql("INSERT INTO a VALUES (1001, 'new'); UPDATE a SET v = 'changed' WHERE id = 500; DELETE FROM a WHERE id = 999");
        let seen = reading.records(1053).await;
        let (read, streamed) = seen.split_at(1050);
        assert!(read.iter().all(|record| record.operation() == "READ"));
        // Tables are read at the same time; within one nothing is out of order.
        let (a, bare): (Vec<Seen>, Vec<Seen>) =
            read.iter().cloned().partition(|record| record.value["table_name"] == "a");
        assert_eq!(ids(&a), (1..=1000).collect::<Vec<i64>>());
        assert_eq!(a[499].data()["v"], "x");
        assert_eq!(ids(&bare), (1..=50).collect::<Vec<i64>>());
        let operations: Vec<&str> = streamed.iter().map(Seen::operation).collect();
        assert_eq!(operations, ["INSERT", "UPDATE", "DELETE"]);
        assert_eq!((a[0].key.as_deref(), bare[0].key.as_deref()), (Some("1"), None));
    }
}

#[tokio::test]
async fn a_killed_snapshot_goes_on_where_it_was_and_loses_nothing() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE a (x text, y int, v text, PRIMARY KEY (x, y))");
        database.sql("INSERT INTO a SELECT 'k' || n % 7, n, 'x' FROM generate_series(1, 2000) n");
        let settings = initial(&database, json!({ "batch_size": 100 }));
        let mut reading = Reading::open(settings.clone(), None).await.unwrap();
        let mut seen = Vec::new();
        for kill in 0..5 {
            while seen.len() < (kill + 1) * 300 {
                seen.extend(reading.step().await.unwrap());
            }
            database.sql(&format!("UPDATE a SET v = 'late' WHERE y = {}", 1 + kill * 400));
            reading = reading.killed(settings.clone()).await;
        }
        let updates = 5;
        let count =
            |seen: &[Seen], operation| seen.iter().filter(|record| record.operation() == operation).count();
        while count(&seen, "UPDATE") < updates || count(&seen, "READ") < 2000 {
            seen.extend(reading.step().await.unwrap());
        }
        let read: Vec<&Seen> = seen.iter().filter(|record| record.operation() == "READ").collect();
        let rows: BTreeSet<i64> = read.iter().map(|record| record.data()["y"].as_i64().unwrap()).collect();
        assert_eq!(rows.len(), 2000, "{version}: rows are missing");
        assert_eq!(read.len(), 2000, "{version}: rows with a key come once");
        for kill in 0..5 {
            let key = 1 + kill * 400;
            let last = seen.iter().rev().find(|record| record.data()["y"] == key).unwrap();
            assert_eq!(last.data()["v"], "late");
        }
    }
}

#[tokio::test]
async fn a_nack_in_the_snapshot_repeats_the_same_rows() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE a (id int PRIMARY KEY); INSERT INTO a SELECT generate_series(1, 30)");
        let mut reading = Reading::open(initial(&database, json!({ "batch_size": 12 })), None).await.unwrap();
        for _ in 0..2 {
            assert_eq!(reading.step().await.unwrap(), []);
        }
        assert_eq!(ids(&reading.step().await.unwrap()).len(), 12);
        let (first, _) = reading.poll().await.unwrap();
        database.sql("UPDATE a SET id = id + 1000 WHERE id = 13");
        reading.bench.resolve(Verdict::Nack).await.unwrap();
        let (again, _) = reading.poll().await.unwrap();
        assert_eq!(ids(&again), ids(&first));
        assert_eq!(again[0].id, first[0].id);
    }
}

#[tokio::test]
async fn a_slot_that_was_made_but_not_saved_is_found_and_the_rows_are_read() {
    let database = Database::new(15);
    database.sql("CREATE TABLE a (id int PRIMARY KEY); INSERT INTO a SELECT generate_series(1, 30)");
    let mut reading = Reading::open(initial(&database, json!({})), None).await.unwrap();
    assert_eq!(reading.step().await.unwrap(), []);
    let intended = reading.saved.clone();
    reading.poll().await.unwrap();
    drop(reading);
    let mut reading = Reading::open(initial(&database, json!({})), intended).await.unwrap();
    database.sql("INSERT INTO a VALUES (31)");
    let mut seen = Vec::new();
    while seen.len() < 31 {
        seen.extend(reading.step().await.unwrap());
    }
    let rows: BTreeSet<i64> = ids(&seen).into_iter().collect();
    assert_eq!(rows, (1..=31).collect::<BTreeSet<i64>>());
    assert_eq!(seen.iter().filter(|record| record.operation() == "INSERT").count(), 1);
}

#[tokio::test]
async fn row_filters_and_column_lists_of_the_publication_count_for_the_snapshot_too() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE a (id int PRIMARY KEY, v text, secret text); INSERT INTO a SELECT n, 'v', 's' FROM generate_series(1, 10) n");
        database.sql("CREATE PUBLICATION picomq_publication FOR TABLE a (id, v) WHERE (id > 7)");
        let mut reading = Reading::open(initial(&database, json!({})), None).await.unwrap();
        let seen = reading.records(3).await;
        assert_eq!(ids(&seen), [8, 9, 10]);
        assert_eq!(seen[0].data(), &json!({"id": 8, "v": "v"}));
    }
}

#[tokio::test]
async fn a_snapshot_alone_reads_every_row_and_leaves_no_slot() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE a (id int PRIMARY KEY); INSERT INTO a SELECT generate_series(1, 30)");
        let settings = config(&database, json!({ "snapshot_mode": "initial_only", "batch_size": 12 }));
        let mut reading = Reading::open(settings.clone(), None).await.unwrap();
        let mut seen = reading.records(12).await;
        reading = reading.killed(settings.clone()).await;
        seen.extend(reading.records(18).await);
        assert_eq!(ids(&seen), (1..=30).collect::<Vec<i64>>());
        assert_eq!(reading.step().await.unwrap(), []);
        database.sql("INSERT INTO a VALUES (31)");
        reading.nothing().await;
        let mut reading = reading.again(settings).await;
        reading.nothing().await;
        assert_eq!(database.confirmed(&database.name), "");
    }
}

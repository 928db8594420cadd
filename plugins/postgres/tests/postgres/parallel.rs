//! Snapshots by several connections, in parts small enough that there are many.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::reading::{Reading, Seen, config};
use crate::server::{Database, VERSIONS};

/// Tables of every kind that is cut in its own way; each several parts of the least size long.
const TABLES: &str = "
CREATE TABLE keyed (id int PRIMARY KEY, v text);
INSERT INTO keyed SELECT n, repeat('k', 100) FROM generate_series(1, 4000) n;
CREATE TABLE pairs (a text COLLATE \"C\", b int, v text, PRIMARY KEY (b, a));
INSERT INTO pairs SELECT 'x' || n % 7, n / 2, repeat('p', 100) FROM generate_series(1, 3000) n;
CREATE TABLE uuids (id uuid PRIMARY KEY, v text);
INSERT INTO uuids SELECT md5(n::text)::uuid, repeat('u', 100) FROM generate_series(1, 3000) n;
CREATE TABLE bare (n int, v text);
INSERT INTO bare SELECT n, repeat('b', 100) FROM generate_series(1, 4000) n;
CREATE TABLE parted (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (1500);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (1500) TO (9000);
INSERT INTO parted SELECT n, repeat('r', 100) FROM generate_series(1, 3000) n;
CREATE TABLE parted_bare (id int, v text) PARTITION BY RANGE (id);
CREATE TABLE parted_bare_1 PARTITION OF parted_bare FOR VALUES FROM (0) TO (9000);
INSERT INTO parted_bare SELECT n, 'q' FROM generate_series(1, 500) n;";

const ROWS: usize = 4000 + 3000 + 3000 + 4000 + 3000 + 500;

/// Only those that are published: leaves are not, with their root.
const NAMES: [&str; 6] = ["keyed", "pairs", "uuids", "bare", "parted", "parted_bare"];

fn settings(database: &Database, workers: u32) -> Value {
    config(
        database,
        json!({
            "snapshot_mode": "initial_only", "snapshot_workers": workers, "snapshot_part_size": "64kB", "batch_size": 90,
            "tables": NAMES,
        }),
    )
}

/// Every row and how often it came.
fn counted(seen: &[Seen]) -> BTreeMap<String, u32> {
    let mut rows = BTreeMap::new();
    for record in seen {
        *rows.entry(format!("{}{}", record.value["table_name"], record.data())).or_default() += 1;
    }
    rows
}

#[tokio::test]
async fn a_snapshot_by_four_connections_is_the_one_by_a_single_one() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(TABLES);
        let mut all = Vec::new();
        for workers in [1, 4] {
            let mut reading = Reading::open(settings(&database, workers), None).await.unwrap();
            let seen = reading.records(ROWS).await;
            assert_eq!(reading.step().await.unwrap(), []);
            let rows = counted(&seen);
            assert!(rows.values().all(|count| *count == 1), "{version}: rows come twice");
            all.push(rows);
        }
        assert!(all[0] == all[1], "{version}: other rows");
        assert_eq!(all[0].len(), ROWS);
    }
}

#[tokio::test]
async fn parts_under_way_at_a_kill_go_on_where_each_of_them_was() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(TABLES);
        let settings = settings(&database, 4);
        let mut reading = Reading::open(settings.clone(), None).await.unwrap();
        let mut seen = Vec::new();
        let mut most_open = 0;
        for kill in 1..=8 {
            while seen.len() < kill * ROWS / 10 {
                seen.extend(reading.step().await.unwrap());
            }
            let state = reading.saved.as_ref().unwrap().describe().unwrap();
            let open = &state["state"]["cdc"]["phase"]["snapshot"]["progress"]["open"];
            most_open = most_open.max(open.as_array().map_or(0, Vec::len));
            assert!(reading.saved.as_ref().unwrap().as_bytes().len() < 2_000);
            // What was handed over and not acknowledged comes again.
            reading.poll().await.unwrap();
            reading = reading.killed(settings.clone()).await;
        }
        loop {
            let more = reading.step().await.unwrap();
            if more.is_empty() {
                break;
            }
            seen.extend(more);
        }
        assert!(most_open > 1, "{version}: nothing was under way at a kill");
        let rows = counted(&seen);
        assert_eq!(rows.len(), ROWS, "{version}: rows are missing");
        // Rows of a partitioned table without a key have no place to go on from.
        let twice: BTreeSet<&str> = rows
            .iter()
            .filter(|(row, count)| **count > 1 && !row.starts_with("\"parted_bare\""))
            .map(|(row, _)| row.as_str())
            .collect();
        assert!(twice.is_empty(), "{version}: {} rows came twice, such as {:?}", twice.len(), twice.first());
    }
}

#[tokio::test]
async fn a_table_without_a_key_that_was_written_anew_is_read_from_its_start() {
    let database = Database::new(15);
    database.sql("CREATE TABLE bare (n int); ALTER TABLE bare REPLICA IDENTITY FULL; INSERT INTO bare SELECT generate_series(1, 2000)");
    let settings = config(
        &database,
        json!({ "snapshot_mode": "initial_only", "snapshot_part_size": "64kB", "batch_size": 90, "tables": ["bare"] }),
    );
    let mut reading = Reading::open(settings.clone(), None).await.unwrap();
    let mut seen = reading.records(900).await;
    let saved = reading.saved.clone();
    drop(reading);
    // Its connections end in their tasks.
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    // Its rows now lie in another order.
    database.sql("DELETE FROM bare WHERE n <= 1000; INSERT INTO bare SELECT generate_series(1, 1000)");
    database.sql("VACUUM FULL bare");
    let mut reading = Reading::open(settings, saved).await.unwrap();
    loop {
        let more = reading.step().await.unwrap();
        if more.is_empty() {
            break;
        }
        seen.extend(more);
    }
    let rows: BTreeSet<i64> = seen.iter().map(|record| record.data()["n"].as_i64().unwrap()).collect();
    assert_eq!(rows, (1..=2000).collect());
}

//! The rows that are there before the first change.

use serde_json::json;

use super::peers::{copy, debezium_until, reader};
use super::progress::{Progress, watch};
use super::{Figure, Stage, TUNED, Wanted, mebibytes, rate};

const TABLE: &str = "snap";
/// Debezium warms up on this part of the rows.
const WARM_PERCENT: u32 = 25;

#[derive(Debug, Clone, Copy)]
struct Turn {
    engine: Progress,
    reader: Progress,
    copy: f64,
    debezium: Progress,
}

pub(super) fn figures(stage: &Stage<'_>) {
    let rows = stage.rows;
    stage.sql(&format!("CALL make('{TABLE}')"));
    stage.sql(&format!("CALL fill('{TABLE}', {rows}, 10000)"));
    stage.sql(&format!("VACUUM (ANALYZE) {TABLE}"));
    let turns: Vec<Turn> = (0..stage.bench.pairs).map(|_| turn(stage)).collect();
    for Turn { engine, reader, copy, debezium } in &turns {
        println!(
            "snapshot: engine {} in {}, reader alone {} in {}, COPY {}, Debezium {} in {}",
            rate(engine.rate),
            mebibytes(engine.peak_kib),
            rate(reader.rate),
            mebibytes(reader.peak_kib),
            rate(*copy),
            rate(debezium.rate),
            mebibytes(debezium.peak_kib)
        );
    }
    let best = |ratio: &dyn Fn(&Turn) -> f64| {
        turns.iter().copied().max_by(|one, other| ratio(one).total_cmp(&ratio(other))).unwrap()
    };
    let one = best(&|turn| turn.engine.rate / turn.debezium.rate);
    stage.note(Figure {
        what: "snapshot to Kafka ÷ Debezium".to_owned(),
        ours: rate(one.engine.rate),
        other: rate(one.debezium.rate),
        value: one.engine.rate / one.debezium.rate,
        wanted: Wanted::AtLeast(5.0),
    });
    let one = best(&|turn| turn.reader.rate / turn.copy);
    stage.note(Figure {
        what: "snapshot, reader alone ÷ COPY".to_owned(),
        ours: rate(one.reader.rate),
        other: rate(one.copy),
        value: one.reader.rate / one.copy,
        wanted: Wanted::AtLeast(0.6),
    });
    let most = turns.iter().map(|turn| turn.engine.peak_kib).max().unwrap_or_default();
    stage.note(Figure {
        what: "MiB resident during the snapshot".to_owned(),
        ours: mebibytes(most),
        other: String::new(),
        value: most as f64 / 1024.0,
        wanted: Wanted::AtMost(80.0),
    });
    stage.sql(&format!("DROP PUBLICATION {TABLE}; DROP TABLE {TABLE}"));
}

fn turn(stage: &Stage<'_>) -> Turn {
    let rows = stage.rows;
    let copy = copy(stage, TABLE, rows);
    let engine = engine(stage);
    let slot = stage.name("run");
    let config = json!({ "tables": [TABLE], "publication_name": TABLE, "create_publication": false,
        "slot_name": slot, "snapshot_mode": "initial_only" });
    let reader = reader(stage, &config, rows);
    stage.drop_slot(&slot);
    let more = [
        ("publication.name", TABLE),
        ("publication.autocreate.mode", "disabled"),
        ("snapshot.mode", "initial_only"),
    ];
    let debezium = debezium_until(stage, TABLE, &more, (rows / 100 * WARM_PERCENT, rows));
    Turn { engine, reader, copy, debezium }
}

fn engine(stage: &Stage<'_>) -> Progress {
    let (topic, slot) = (stage.name(TABLE), stage.name("run"));
    stage.bench.admin.create(&[&topic], &[]).unwrap();
    let keys = format!(
        "tables = [\"{TABLE}\"]\npublication_name = \"{TABLE}\"\ncreate_publication = false\n\
         slot_name = \"{slot}\"\nsnapshot_mode = \"initial_only\"\n"
    );
    let (_site, daemon) = stage.engine(&topic, 4, TUNED, &keys);
    let progress = watch(stage, &topic, (0, stage.rows), &|| daemon.resident_kib().expect("the engine runs"));
    stage.end(daemon);
    stage.bench.admin.delete(&[&topic]).unwrap();
    stage.drop_slot(&slot);
    progress
}

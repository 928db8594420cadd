//! Change capture of a backlog, in transactions of 1, 100 and 10,000 rows.

use serde_json::json;

use super::peers::{debezium_until, reader, recvlogical};
use super::progress::{Progress, watch};
use super::{Figure, Stage, TUNED, Wanted, mebibytes, rate};

/// Debezium is watched over this part of the rows at most: it would read all of them for minutes.
const DEBEZIUM_ROWS_MAX: u32 = 400_000;
/// Before that it warms up on so many in a hundred of them.
const WARM_PERCENT: u32 = 25;

/// What was written, and the slot from before it.
struct Written {
    table: String,
    base: String,
    /// The log ends here.
    end: String,
    rows: u32,
}

/// One turn of all four.
#[derive(Debug, Clone, Copy)]
struct Turn {
    engine: Progress,
    reader: Progress,
    recvlogical: f64,
    debezium: Progress,
}

pub(super) fn figures(stage: &Stage<'_>) {
    for per in [1, 100, 10_000] {
        let written = write(stage, per);
        let turns: Vec<Turn> = (0..stage.bench.pairs).map(|_| turn(stage, &written)).collect();
        for Turn { engine, reader, recvlogical, debezium } in &turns {
            println!(
                "transactions of {per}: engine {} in {}, reader alone {} in {}, pg_recvlogical {}, Debezium {} in {}",
                rate(engine.rate),
                mebibytes(engine.peak_kib),
                rate(reader.rate),
                mebibytes(reader.peak_kib),
                rate(*recvlogical),
                rate(debezium.rate),
                mebibytes(debezium.peak_kib)
            );
        }
        compare(stage, per, &turns);
        stage.drop_slot(&written.base);
        stage.sql(&format!("DROP PUBLICATION {0}; DROP TABLE {0}", written.table));
    }
}

fn write(stage: &Stage<'_>, per: u32) -> Written {
    let (table, base) = (format!("t{per}"), format!("base_{per}"));
    let rows = if per == 1 { stage.rows / 5 } else { stage.rows };
    stage.sql(&format!("CALL make('{table}')"));
    stage.sql(&format!("SELECT pg_create_logical_replication_slot('{base}', 'pgoutput')"));
    stage.sql(&format!("CALL fill('{table}', {rows}, {per})"));
    let end = stage.sql("SELECT pg_current_wal_lsn()");
    Written { table, base, end, rows }
}

fn turn(stage: &Stage<'_>, written: &Written) -> Turn {
    let Written { table, base, end, rows } = written;
    let recvlogical = recvlogical(stage, (table, base), end, *rows);
    let engine = engine(stage, written);
    let slot = stage.copy_slot(base);
    let config = json!({ "tables": [table], "publication_name": table, "create_publication": false,
        "slot_name": slot, "adopt_slot": true });
    let reader = reader(stage, &config, *rows);
    stage.drop_slot(&slot);
    let slot = stage.copy_slot(base);
    let watched = (*rows).min(DEBEZIUM_ROWS_MAX);
    let more = [
        ("slot.name", slot.as_str()),
        ("publication.name", table),
        ("publication.autocreate.mode", "disabled"),
        ("snapshot.mode", "no_data"),
    ];
    let debezium = debezium_until(stage, table, &more, (watched / 100 * WARM_PERCENT, watched));
    stage.drop_slot(&slot);
    Turn { engine, reader, recvlogical, debezium }
}

/// From a fresh state to the last record in the topic, counted from the first one there.
fn engine(stage: &Stage<'_>, written: &Written) -> Progress {
    let Written { table, base, rows, .. } = written;
    let (topic, slot) = (stage.name(table), stage.copy_slot(base));
    stage.bench.admin.create(&[&topic], &[]).unwrap();
    let keys = format!(
        "tables = [\"{table}\"]\npublication_name = \"{table}\"\ncreate_publication = false\n\
         slot_name = \"{slot}\"\nadopt_slot = true\n"
    );
    let (_site, daemon) = stage.engine(&topic, 4, TUNED, &keys);
    let progress = watch(stage, &topic, (0, *rows), &|| daemon.resident_kib().expect("the engine runs"));
    stage.end(daemon);
    let reader = chaos_tests::consumer::LogReader::new(&stage.bench.kafka.bootstrap()).unwrap();
    assert_eq!(reader.end(&topic).unwrap(), Some(i64::from(*rows)), "each row once");
    stage.bench.admin.delete(&[&topic]).unwrap();
    stage.drop_slot(&slot);
    progress
}

/// The best turn of each ratio.
fn compare(stage: &Stage<'_>, per: u32, turns: &[Turn]) {
    let best = |ratio: &dyn Fn(&Turn) -> f64| {
        turns.iter().copied().max_by(|one, other| ratio(one).total_cmp(&ratio(other))).unwrap()
    };
    // A server that decodes single rows is not what a backlog is made of: printed, and asked for nothing.
    let asked = |least: f64| Wanted::AtLeast(if per == 1 { 0.0 } else { least });
    let one = best(&|turn| turn.engine.rate / turn.recvlogical);
    stage.note(Figure {
        what: format!("CDC to Kafka ÷ pg_recvlogical, transactions of {per}"),
        ours: rate(one.engine.rate),
        other: rate(one.recvlogical),
        value: one.engine.rate / one.recvlogical,
        wanted: asked(1.0),
    });
    let one = best(&|turn| turn.reader.rate / turn.recvlogical);
    stage.note(Figure {
        what: format!("reader alone ÷ pg_recvlogical, transactions of {per}"),
        ours: rate(one.reader.rate),
        other: rate(one.recvlogical),
        value: one.reader.rate / one.recvlogical,
        wanted: asked(1.8),
    });
    let one = best(&|turn| turn.engine.rate / turn.debezium.rate);
    stage.note(Figure {
        what: format!("CDC to Kafka ÷ Debezium, transactions of {per}"),
        ours: rate(one.engine.rate),
        other: rate(one.debezium.rate),
        value: one.engine.rate / one.debezium.rate,
        wanted: Wanted::AtLeast(5.0),
    });
    memory(stage, per, turns);
}

/// The most that any turn took.
fn memory(stage: &Stage<'_>, per: u32, turns: &[Turn]) {
    let ours = turns.iter().map(|turn| turn.engine.peak_kib).max().unwrap_or_default();
    let theirs = turns.iter().map(|turn| turn.debezium.peak_kib).max().unwrap_or_default();
    stage.note(Figure {
        what: format!("MiB resident during CDC, transactions of {per}"),
        ours: mebibytes(ours),
        other: String::new(),
        value: ours as f64 / 1024.0,
        wanted: Wanted::AtMost(80.0),
    });
    stage.note(Figure {
        what: format!("memory of Debezium ÷ ours during CDC, transactions of {per}"),
        ours: mebibytes(ours),
        other: mebibytes(theirs),
        value: theirs as f64 / ours as f64,
        wanted: Wanted::AtLeast(15.0),
    });
}

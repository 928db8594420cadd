//! The PostgreSQL source beside its peers, each on a copy of the same slot, in alternating turns: `pg_recvlogical` and `COPY` to
//! nowhere, which only read, and a tuned Debezium, which delivers as we do. Server, broker, engine and peers share the
//! machine, so ratios of one run count.
//!
//! `POSTGRES_ROWS` is the size of each table (1,000,000; a fifth of it in transactions of one row), `POSTGRES_HUGE_ROWS` that of
//! the one large transaction (10,000,000), `POSTGRES_LATENCY_SECONDS` the length of each measurement of latency (20).

mod huge;
mod latency;
mod peers;
mod progress;
mod snapshot;
mod stream;

use std::cell::{Cell, OnceCell, RefCell};

use chaos_tests::connect::Connect;
use chaos_tests::daemon::Daemon;
use chaos_tests::launch::Launch;
use chaos_tests::postgres::Postgres;
use chaos_tests::site::{Site, scratch};

use super::Bench;

const KEY: &str = "bench";
/// For throughput, as Debezium's producer has it too: requests of a megabyte, which a linger lets fill.
const TUNED: &str = "batch_length = 10000\nlinger_time = \"5ms\"\n";
/// Five columns, some 190 bytes a row as text. `fill` writes transactions of `per` rows.
const SCHEMA: &str = "
CREATE PROCEDURE make(name text) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE TABLE %I (id bigint PRIMARY KEY, tenant text NOT NULL, amount numeric(12,2) NOT NULL, '
    'payload text NOT NULL, updated_at timestamptz NOT NULL)', name);
  EXECUTE format('CREATE PUBLICATION %I FOR TABLE %I', name, name);
END $$;
CREATE PROCEDURE fill(name text, total bigint, per bigint) LANGUAGE plpgsql AS $$
DECLARE done bigint := 0;
BEGIN
  WHILE done < total LOOP
    EXECUTE format('INSERT INTO %I SELECT n, ''tenant-'' || n %% 100, n %% 100000 / 7.0, repeat(md5(n::text), 4), '
      'clock_timestamp() FROM generate_series($1, $2) n', name) USING done + 1, least(done + per, total);
    COMMIT;
    done := done + per;
  END LOOP;
END $$;";

/// One measured figure and what it must be.
#[derive(Debug)]
struct Figure {
    what: String,
    ours: String,
    other: String,
    value: f64,
    wanted: Wanted,
}

#[derive(Debug, Clone, Copy)]
enum Wanted {
    AtLeast(f64),
    AtMost(f64),
}

impl Figure {
    fn is_good(&self) -> bool {
        match self.wanted {
            Wanted::AtLeast(least) => self.value >= least,
            Wanted::AtMost(most) => self.value <= most,
        }
    }

    /// A row of a table in Markdown.
    fn row(&self) -> String {
        let Figure { what, ours, other, value, wanted } = self;
        let wanted = match wanted {
            Wanted::AtLeast(least) => format!("≥ {least}"),
            Wanted::AtMost(most) => format!("≤ {most}"),
        };
        let verdict = if self.is_good() { "reached" } else { "**missed**" };
        format!("| {what} | {ours} | {other} | {value:.2} | {wanted} | {verdict} |")
    }
}

/// A name on the command line, and what it measures.
type Part = (&'static str, fn(&Stage<'_>));

/// What all of these measurements share.
struct Stage<'a> {
    bench: &'a Bench,
    server: Postgres,
    worker: OnceCell<Connect>,
    figures: RefCell<Vec<Figure>>,
    /// Of slots, topics and connectors, so that no turn meets what a former one left.
    number: Cell<u32>,
    rows: u32,
}

/// Runs what `wants` asks for: everything with `postgres`, or a part. True when every figure is what it must be.
pub(super) fn figures(bench: &Bench, wants: &dyn Fn(&str) -> bool) -> bool {
    let parts: [Part; 4] = [
        ("postgres-stream", stream::figures),
        ("postgres-snapshot", snapshot::figures),
        ("postgres-latency", latency::figures),
        ("postgres-huge", huge::figures),
    ];
    let wanted: Vec<_> = parts.iter().filter(|(name, _)| wants("postgres") || wants(name)).collect();
    if wanted.is_empty() {
        return true;
    }
    let stage = Stage::start(bench);
    for (_, part) in wanted {
        part(&stage);
    }
    let figures = stage.figures.borrow();
    println!("\n| Figure | PicoMQ | beside | value | wanted | |\n|---|---|---|---|---|---|");
    for figure in figures.iter() {
        println!("{}", figure.row());
    }
    println!();
    figures.iter().all(Figure::is_good)
}

impl<'a> Stage<'a> {
    fn start(bench: &'a Bench) -> Stage<'a> {
        let server = Postgres::start(&scratch().join("bench-postgres"), 15).unwrap();
        server.sql(SCHEMA).unwrap();
        Stage {
            bench,
            server,
            worker: OnceCell::new(),
            figures: RefCell::default(),
            number: Cell::default(),
            rows: chaos_tests::campaign::count("POSTGRES_ROWS", 1_000_000),
        }
    }

    /// The worker with Debezium, started when it is first needed: it takes a gigabyte.
    fn worker(&self) -> &Connect {
        self.worker.get_or_init(|| {
            Connect::start(&scratch().join("bench-connect"), &self.bench.kafka.bootstrap()).unwrap()
        })
    }

    fn sql(&self, sql: &str) -> String {
        self.server.sql(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// A name that nothing had before.
    fn name(&self, of: &str) -> String {
        self.number.set(self.number.get() + 1);
        format!("{of}_{}", self.number.get())
    }

    /// A fresh copy of a slot, at the position that one has.
    fn copy_slot(&self, base: &str) -> String {
        let slot = self.name("run");
        self.sql(&format!("SELECT pg_copy_logical_replication_slot('{base}', '{slot}')"));
        slot
    }

    /// Drops a slot once its reader is gone, if it is there.
    fn drop_slot(&self, slot: &str) {
        let sql = format!(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '{slot}'"
        );
        let within = std::time::Duration::from_secs(30);
        chaos_tests::wait::wait_for("the end of a slot", within, || self.server.sql(&sql).map(drop)).unwrap();
    }

    /// An engine with one source that reads into `topic`, `window` batches at a time. More of them, not larger ones, is what
    /// keeps a slow save of one state from holding up the rows behind it; fewer take less memory.
    fn engine(&self, topic: &str, window: u32, topic_keys: &str, plugin_keys: &str) -> (Site, Daemon) {
        let site = Site::new(&scratch().join("bench-source"), &self.bench.kafka.bootstrap(), "").unwrap();
        let definition = format!(
            "type = \"source\"\nkey = \"{KEY}\"\nenabled = true\nname = \"Bench\"\n\
             path = \"picomq_connector_postgres_source\"\nmax_in_flight = {window}\n\n\
             [[topics]]\ntopic = \"{topic}\"\n{topic_keys}\n\
             [plugin_config]\nconnection_string = \"{url}\"\nmode = \"cdc\"\n{plugin_keys}",
            url = self.server.url(),
        );
        site.define(KEY, &definition).unwrap();
        let mut daemon = site.start(&Launch::default()).unwrap();
        daemon.wait_serving().unwrap();
        (site, daemon)
    }

    /// Asks an engine to drain and leave.
    fn end(&self, mut daemon: Daemon) {
        daemon.terminate();
        let status = daemon.wait_exit(std::time::Duration::from_secs(60)).unwrap();
        assert_eq!(status.code(), Some(0), "the engine drains when asked to");
    }

    fn note(&self, figure: Figure) {
        println!("{}", figure.row());
        self.figures.borrow_mut().push(figure);
    }
}

/// Thousands a second.
fn rate(rate: f64) -> String {
    format!("{:.0} k/s", rate / 1e3)
}

fn mebibytes(kib: u64) -> String {
    format!("{:.0} MiB", kib as f64 / 1024.0)
}

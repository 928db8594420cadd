//! Who we are measured beside, and our own reader without engine and broker.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Instant;

use chaos_tests::binaries;
use chaos_tests::connect::debezium;
use serde_json::json;

use super::Stage;
use super::progress::{Progress, watch};

/// As its users tune it for throughput.
const TUNED: [(&str, &str); 4] = [
    ("max.batch.size", "8192"),
    ("max.queue.size", "32768"),
    ("producer.override.linger.ms", "5"),
    ("producer.override.batch.size", "1048576"),
];

/// `pg_recvlogical` from a copy of `base` to `end`, to nowhere: rows a second.
pub(super) fn recvlogical(stage: &Stage<'_>, (table, base): (&str, &str), end: &str, rows: u32) -> f64 {
    let slot = stage.copy_slot(base);
    let mut program = Command::new("pg_recvlogical");
    program
        .args(["--host=127.0.0.1", "--username=postgres", "--dbname=postgres", "--no-loop", "--start"])
        .args([format!("--port={}", stage.server.port()), format!("--slot={slot}")])
        .args(["--option=proto_version=1".to_owned(), format!("--option=publication_names={table}")])
        .args([format!("--endpos={end}"), "--file=/dev/null".to_owned()])
        .env("PGPASSWORD", "secret");
    let began = Instant::now();
    let output = program.output().expect("pg_recvlogical is installed by services/install.sh");
    let seconds = began.elapsed().as_secs_f64();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    stage.drop_slot(&slot);
    f64::from(rows) / seconds
}

/// `COPY table TO STDOUT` to nowhere: rows a second.
pub(super) fn copy(stage: &Stage<'_>, table: &str, rows: u32) -> f64 {
    let mut program = Command::new("psql");
    program
        .args(["-X", "-q", "-h", "127.0.0.1", "-U", "postgres", "-c", &format!("COPY {table} TO STDOUT")])
        .env("PGPORT", stage.server.port().to_string())
        .env("PGPASSWORD", "secret")
        .stdout(Stdio::null());
    let began = Instant::now();
    let status = program.status().expect("psql is installed by services/install.sh");
    let seconds = began.elapsed().as_secs_f64();
    assert!(status.success(), "COPY {table}");
    f64::from(rows) / seconds
}

/// The plugin's library alone, driven by the SDK's example `drain`: rows a second, over all `rows`.
pub(super) fn reader(stage: &Stage<'_>, more: &serde_json::Value, rows: u32) -> Progress {
    let mut config = json!({ "connection_string": stage.server.url(), "mode": "cdc" });
    for (name, value) in more.as_object().expect("an object of settings") {
        config[name] = value.clone();
    }
    let folder = binaries::folder();
    let mut program = Command::new(folder.join("examples/drain"))
        .arg(folder.join("libpicomq_connector_postgres_source.so"))
        .arg(rows.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the example `drain` of the SDK is built");
    program.stdin.take().unwrap().write_all(config.to_string().as_bytes()).unwrap();
    let output = program.wait_with_output().unwrap();
    assert!(output.status.success(), "the reader alone failed: {config}");
    let text = String::from_utf8(output.stdout).unwrap();
    let value = |name: &str| -> f64 {
        let found = text.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        found.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
    };
    assert_eq!(value("records") as u32, rows, "the reader alone read something else than was written");
    Progress { rate: value("records") / value("seconds"), peak_kib: value("resident_kib") as u64 }
}

/// A Debezium connector that has delivered `rows` of `table`, watched once it is warm: it is Java.
pub(super) fn debezium_until(
    stage: &Stage<'_>,
    table: &str,
    more: &[(&str, &str)],
    (warm, rows): (u32, u32),
) -> Progress {
    let name = stage.name("debezium");
    let worker = stage.worker();
    let settings: Vec<(&str, &str)> = TUNED.iter().chain(more).copied().collect();
    worker.create(&name, &debezium(&stage.server, &name, &format!("public.{table}"), &settings)).unwrap();
    let topic = format!("{name}.public.{table}");
    let progress = watch(stage, &topic, (warm, rows), &|| worker.resident_kib().expect("the worker runs"));
    worker.delete(&name).unwrap();
    stage.bench.admin.delete(&[topic]).unwrap();
    stage.drop_slot(&name);
    progress
}

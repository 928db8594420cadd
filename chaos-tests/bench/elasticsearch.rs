//! Documents of 1 KB from one index into Kafka, ÷ a bare loop that reads the same pages from the same server and does nothing
//! with them: the server's own limit. Server, engine and broker share the machine, the bare loop has it with the server alone.

use std::fs;
use std::time::{Duration, Instant};

use chaos_tests::campaign::count;
use chaos_tests::http::send;
use chaos_tests::launch::Launch;
use chaos_tests::search::{Kind, Search};
use chaos_tests::site::{Site, scratch};
use chaos_tests::wait::{pause, wait_for};
use serde_json::{Value, json};

use super::{Bench, report, report_most};

const KEY: &str = "documents";
const SENT: &str = "picomq_connector_messages_sent_total";
/// The default of `batch_size`.
const PAGE: usize = 1_000;
/// `BENCH_DOCUMENTS` is another number.
const DOCUMENTS: u32 = 300_000;
const BULK: u32 = 5_000;
/// Documents that share a timestamp.
const GROUP: u64 = 7;
const SOON: Duration = Duration::from_secs(60);
const READ_WITHIN: Duration = Duration::from_secs(600);

/// What the engine did.
struct Seen {
    rate: f64,
    resident_mib: f64,
}

/// The best turn must reach four fifths of what the server gives, or thirty thousand documents a second.
pub(super) fn documents(bench: &Bench) -> bool {
    let documents = count("BENCH_DOCUMENTS", DOCUMENTS);
    let server = Search::start(&scratch().join("bench-search"), Kind::OpenSearch).unwrap();
    fill(&server, documents);
    bare(&server, documents);
    let (mut best_ratio, mut best_rate, mut resident): (f64, f64, f64) = (0.0, 0.0, 0.0);
    for turn in 0..bench.pairs {
        let engine = engine(bench, &server, documents, turn);
        let bare = bare(&server, documents);
        let ratio = engine.rate / bare;
        println!(
            "elasticsearch, turn {turn}: {:.1} k documents/s, pages alone {:.1} k/s, ratio {ratio:.3}; engine {:.0} MiB at most",
            engine.rate / 1e3,
            bare / 1e3,
            engine.resident_mib
        );
        (best_ratio, best_rate) = (best_ratio.max(ratio), best_rate.max(engine.rate));
        resident = resident.max(engine.resident_mib);
    }
    let good = if best_rate >= 30_000.0 {
        report("elasticsearch: documents/s", best_rate, 30_000.0)
    } else {
        report(&format!("elasticsearch: best ratio to pages alone of {} turns", bench.pairs), best_ratio, 0.8)
    };
    report_most("elasticsearch: MiB resident", resident, 80.0) && good
}

fn fill(server: &Search, documents: u32) {
    let index = json!({
        "settings": { "number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1" },
        "mappings": { "dynamic": false, "properties": { "at": { "type": "date" } } },
    });
    server.ask("PUT /bench", &index.to_string()).unwrap();
    let padding = "abcdefghij".repeat(93);
    for first in (0..documents).step_by(BULK as usize) {
        let line = |number: u32| {
            let at = 1_767_225_600_000 + u64::from(number) / GROUP;
            format!(
                "{{\"index\":{{\"_id\":\"{number}\"}}}}\n{{\"number\":{number},\"at\":{at},\"padding\":\"{padding}\"}}\n"
            )
        };
        let lines: String = (first..documents.min(first + BULK)).map(line).collect();
        assert_eq!(server.ask("POST /bench/_bulk?filter_path=errors", &lines).unwrap()["errors"], false);
    }
    server.ask("POST /bench/_refresh", "").unwrap();
}

/// Documents a second, page after page in a point in time, each read whole and dropped.
fn bare(server: &Search, documents: u32) -> f64 {
    let pit = server.ask("POST /bench/_search/point_in_time?keep_alive=1m", "").unwrap();
    let pit = pit["pit_id"].as_str().unwrap();
    let (mut read, mut after) = (0, Value::Null);
    let began = Instant::now();
    while read < documents as usize {
        let mut body = json!({
            "size": PAGE,
            "pit": { "id": pit, "keep_alive": "1m" },
            "query": { "bool": { "filter": [{ "exists": { "field": "at" } }] } },
            "sort": [{ "at": { "order": "asc" } }, { "_seq_no": "asc" }],
            "seq_no_primary_term": true,
            "version": true,
        });
        if !after.is_null() {
            body["search_after"] = after;
        }
        let line = "POST /_search?allow_partial_search_results=false&track_total_hits=false";
        let answer = send(server.port(), line, &body.to_string(), SOON).unwrap().body;
        read += answer.matches("\"_seq_no\":").count();
        let sort = answer.rfind("\"sort\":").expect("a page is not empty");
        let rest = &answer[sort + 7..];
        after = serde_json::from_str(&rest[..=rest.find(']').expect("a list ends")]).unwrap();
    }
    let rate = f64::from(documents) / began.elapsed().as_secs_f64();
    server.ask("DELETE /_search/point_in_time", &json!({ "pit_id": [pit] }).to_string()).unwrap();
    rate
}

/// From the first batch to the last document.
fn engine(bench: &Bench, server: &Search, documents: u32, turn: u32) -> Seen {
    let dir = scratch().join("bench-documents");
    let site = Site::new(&dir, &bench.kafka.bootstrap(), "").unwrap();
    let topic = format!("bench-documents-{turn}");
    let definition = format!(
        "type = \"source\"\nkey = \"{KEY}\"\nenabled = true\nname = \"Bench\"\n\
         path = \"picomq_connector_elasticsearch_source\"\nmax_in_flight = 2\n\n\
         [[topics]]\ntopic = \"{topic}\"\ncreate_topics = true\nbatch_length = 10000\n\n\
         [plugin_config]\nurl = \"{url}\"\nindex = \"bench\"\ntimestamp_field = \"at\"\nbatch_size = {PAGE}\n",
        url = server.url(),
    );
    site.define(KEY, &definition).unwrap();
    let mut daemon = site.start(&Launch::default()).unwrap();
    let mut resident_kib = 0;
    let mut began = None;
    let sent = wait_for("every document", READ_WITHIN, || {
        let sent = daemon.metric(SENT, KEY).unwrap_or(0.0);
        if sent > 0.0 && began.is_none() {
            began = Some((Instant::now(), sent));
        }
        resident_kib = daemon.resident_kib().unwrap_or(0).max(resident_kib);
        if sent >= f64::from(documents) {
            return Ok(sent);
        }
        pause(Duration::from_millis(20));
        Err(format!("{sent} of {documents}"))
    })
    .unwrap();
    let (began, first) = began.expect("set when the first were sent");
    let rate = (sent - first) / began.elapsed().as_secs_f64();
    daemon.terminate();
    assert_eq!(daemon.wait_exit(SOON).unwrap().code(), Some(0), "the engine drains when asked to");
    bench.admin.delete(&[topic]).unwrap();
    let _ = fs::remove_dir_all(&dir);
    Seen { rate, resident_mib: resident_kib as f64 / 1024.0 }
}

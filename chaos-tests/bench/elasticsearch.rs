//! Documents of 1 KB from one index into Kafka, ÷ a bare loop that reads the same pages from the same server and does nothing
//! with them: the server's own limit. Server, engine and broker share the machine, the bare loop has it with the server alone.

use std::time::{Duration, Instant};

use chaos_tests::campaign::count;
use chaos_tests::http::send;
use chaos_tests::search::{Kind, Search};
use chaos_tests::site::scratch;
use serde_json::{Value, json};

use super::Bench;
use super::backlog::{self, Backlog};

/// The default of `batch_size`.
const PAGE: usize = 1_000;
/// `BENCH_DOCUMENTS` is another number.
const DOCUMENTS: u32 = 300_000;
const BULK: u32 = 5_000;
/// Documents that share a timestamp.
const GROUP: u64 = 7;
const SOON: Duration = Duration::from_secs(60);

pub(super) fn documents(bench: &Bench) -> bool {
    let records = count("BENCH_DOCUMENTS", DOCUMENTS);
    let server = Search::start(&scratch().join("bench-search"), Kind::OpenSearch).unwrap();
    fill(&server, records);
    let url = server.url();
    let config =
        format!("url = \"{url}\"\nindex = \"bench\"\ntimestamp_field = \"at\"\nbatch_size = {PAGE}\n");
    let backlog =
        Backlog { system: "elasticsearch", unit: "documents", records, config: &config, enough: 30_000.0 };
    backlog::figures(bench, &backlog, || bare(&server, records))
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

//! An index that is written to all the time, its source killed again and again, the server crashed under way: every document that
//! the server acknowledged is in the topic, and a version of one repeats at most as often as the engine was killed with it in
//! flight. A fifth of `CHAOS_KILLS`; 20 by default.
//!
//! The ledger is the writer's: what the server said yes to. What it does not prove: anything about a cluster of several nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use chaos_tests::campaign::{count, seed};
use chaos_tests::consumer::Entry;
use chaos_tests::search::{Kind, Search, ask};
use chaos_tests::site::scratch;
use chaos_tests::wait::{pause, wait_for};
use serde_json::json;

use crate::stage::{Stage, WITHIN};

const KEY: &str = "documents";
const KILLS: u32 = 100;
const BATCH: usize = 200;
const IN_FLIGHT: usize = 2;
const SETTLED_WITHIN: Duration = Duration::from_secs(120);

fn definition(topic: &str, url: &str) -> String {
    format!(
        "type = \"source\"\nkey = \"{KEY}\"\nenabled = true\nname = \"Documents\"\n\
         path = \"picomq_connector_elasticsearch_source\"\nmax_in_flight = {IN_FLIGHT}\n\n\
         [[topics]]\ntopic = \"{topic}\"\ncreate_topics = true\n\n\
         [plugin_config]\nurl = \"{url}\"\nindex = \"d-*\"\ntimestamp_field = \"at\"\nbatch_size = {BATCH}\n\
         polling_interval = \"50ms\"\n"
    )
}

/// Two indices of three shards each, which show what is written at different times. A killed source leaves its point in time
/// behind, and each holds a context for every shard: of these the server soon has as many as it may.
fn create(server: &Search) {
    let settings = json!({ "persistent": { "search.max_open_pit_context": 20 } });
    server.ask("PUT /_cluster/settings", &settings.to_string()).unwrap();
    for (index, refresh) in [("d-quick", "100ms"), ("d-slow", "900ms")] {
        let body = json!({
            "settings": { "number_of_shards": 3, "number_of_replicas": 0, "refresh_interval": refresh },
            "mappings": { "properties": { "at": { "type": "date" } } },
        });
        server.ask(&format!("PUT /{index}"), &body.to_string()).unwrap();
    }
}

/// When a document says that it was written, and how long after that the server said yes, in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Written {
    at: u64,
    took: u64,
}

/// Writes until it is told to stop: all documents of a bulk have one timestamp, and a fifth of the bulks that of the one before.
fn writer(port: u16) -> (Arc<AtomicBool>, JoinHandle<BTreeMap<u64, Written>>) {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    let mut random = fastrand::Rng::with_seed(seed());
    let thread = std::thread::spawn(move || {
        let (mut acknowledged, mut next, mut at) = (BTreeMap::new(), 0_u64, now_ms());
        while !asked.load(Ordering::SeqCst) {
            let count = if random.u32(..60) == 0 { 2_000 } else { random.u64(1..30) };
            if random.u32(..5) > 0 {
                at = now_ms();
            }
            let numbers = next..next + count;
            next += count;
            let lines: String = numbers.clone().map(|number| line(number, at, &mut random)).collect();
            // The server may be away: then the same documents are written again, perhaps as new versions.
            while !is_taken(port, &lines) && !asked.load(Ordering::SeqCst) {
                pause(Duration::from_millis(100));
            }
            if !asked.load(Ordering::SeqCst) {
                let written = Written { at, took: now_ms() - at };
                acknowledged.extend(numbers.map(|number| (number, written)));
            }
            pause(Duration::from_millis(random.u64(5..40)));
        }
        acknowledged
    });
    (stop, thread)
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

fn line(number: u64, at: u64, random: &mut fastrand::Rng) -> String {
    let index = if random.bool() { "d-quick" } else { "d-slow" };
    let action = json!({ "index": { "_index": index, "_id": number.to_string() } });
    format!("{action}\n{}\n", json!({ "number": number, "at": at }))
}

fn is_taken(port: u16, lines: &str) -> bool {
    ask(port, "POST /_bulk", lines).is_ok_and(|answer| answer["errors"] == false)
}

/// What is missing, by timestamp: documents that were acknowledged later than `overlap` after theirs may be.
fn told(missing: &[(&u64, &Written)], all: usize) -> String {
    let mut times: BTreeMap<u64, (usize, u64)> = BTreeMap::new();
    for (_, written) in missing {
        times.entry(written.at).or_insert((0, written.took)).0 += 1;
    }
    let count = missing.len();
    format!(
        "{count} of {all} are missing; seed {}; of each time so many, acknowledged so many ms later: {times:?}",
        seed()
    )
}

fn header<'a>(entry: &'a Entry, name: &str) -> &'a str {
    let (_, value) = entry.headers.iter().find(|(known, _)| known == name).expect("every document has it");
    std::str::from_utf8(value).unwrap()
}

/// How often each version of each document is in the topic, and which numbers are.
fn in_topic(stage: &Stage, topic: &str) -> (BTreeMap<String, usize>, BTreeSet<u64>) {
    let (mut versions, mut numbers) = (BTreeMap::new(), BTreeSet::new());
    for entry in stage.entries(topic) {
        let document: serde_json::Value = serde_json::from_slice(entry.payload.as_ref().unwrap()).unwrap();
        let number = document["number"].as_u64().unwrap();
        assert_eq!(entry.key.as_deref(), Some(number.to_string().as_bytes()));
        numbers.insert(number);
        *versions.entry(header(&entry, "picomq.id").to_owned()).or_insert(0) += 1;
    }
    (versions, numbers)
}

#[test]
fn a_storm_of_kills_loses_no_document_b094() {
    let name = "elasticsearch-kills";
    let mut server = Search::start(&scratch().join(format!("{name}-server")), Kind::OpenSearch).unwrap();
    create(&server);
    let stage = Stage::new(name);
    let topic = format!("{name}-{}", seed());
    stage.site.define(KEY, &definition(&topic, &server.url())).unwrap();
    let mut random = fastrand::Rng::with_seed(seed());
    let (stop, writing) = writer(server.port());

    let kills = count("CHAOS_KILLS", KILLS).div_ceil(5);
    for kill in 0..kills {
        let mut daemon = stage.start();
        pause(Duration::from_millis(random.u64(200..2_000)));
        if kill == kills / 2 {
            server.crash().unwrap();
            pause(Duration::from_millis(500));
        }
        assert!(daemon.kill(), "the engine ended by itself; see {}", stage.site.log().display());
    }
    server.wait_ready().unwrap();
    stop.store(true, Ordering::SeqCst);
    let acknowledged = writing.join().unwrap();

    let mut daemon = stage.start();
    let (versions, numbers) = wait_for("every acknowledged document in the topic", SETTLED_WITHIN, || {
        let (versions, numbers) = in_topic(&stage, &topic);
        let missing: Vec<_> = acknowledged.iter().filter(|(number, _)| !numbers.contains(number)).collect();
        if missing.is_empty() {
            return Ok((versions, numbers));
        }
        pause(Duration::from_millis(500));
        Err(told(&missing, acknowledged.len()))
    })
    .unwrap();
    daemon.terminate();
    assert_eq!(daemon.wait_exit(WITHIN).unwrap().code(), Some(0));

    assert!(acknowledged.len() > 50 * kills as usize, "the writer hardly wrote: {}", acknowledged.len());
    let repeats: usize = versions.values().map(|times| times - 1).sum();
    let most = kills as usize * BATCH * IN_FLIGHT;
    assert!(repeats <= most, "{repeats} repeats, at most {most}; seed {}", seed());
    let beyond = numbers.len() - acknowledged.len();
    assert!(beyond <= 2_000, "{beyond} documents that were never acknowledged");
    eprintln!("{name}: {} documents, {kills} kills, {repeats} repeats of at most {most}", acknowledged.len());
}

/// The definition that people copy, with another address and another topic.
#[test]
fn the_example_of_elasticsearch_runs_as_it_stands() {
    let name = "elasticsearch-example";
    let server = Search::start(&scratch().join(format!("{name}-server")), Kind::Elasticsearch8).unwrap();
    let line = |id: u32| {
        let action = json!({ "index": { "_index": format!("orders-{}", id % 2), "_id": id.to_string() } });
        format!("{action}\n{}\n", json!({ "order": id, "updated_at": "2026-11-29T10:00:00Z" }))
    };
    let lines: String = (0..1_500).map(line).collect();
    assert_eq!(server.ask("POST /_bulk?refresh=true&filter_path=errors", &lines).unwrap()["errors"], false);

    let stage = Stage::new(name);
    let topic = format!("{name}-{}", seed());
    let example =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/examples/elasticsearch.toml");
    let text = std::fs::read_to_string(example).unwrap();
    let (url, target) = ("\"http://localhost:9200\"", "topic = \"orders\"");
    assert!(text.contains(url) && text.contains(target), "{text}");
    let text = text.replacen(url, &format!("\"{}\"", server.url()), 1);
    stage.site.define(name, &text.replacen(target, &format!("topic = \"{topic}\""), 1)).unwrap();
    let mut daemon = stage.start();
    let entries = wait_for("every order in the topic", WITHIN, || {
        let entries = stage.entries(&topic);
        if entries.len() >= 1_500 { Ok(entries) } else { Err(format!("{} orders", entries.len())) }
    })
    .unwrap();
    daemon.terminate();
    assert_eq!(daemon.wait_exit(WITHIN).unwrap().code(), Some(0));

    let ids: BTreeSet<&str> = entries.iter().map(|entry| header(entry, "picomq.document_id")).collect();
    assert_eq!((entries.len(), ids.len()), (1_500, 1_500));
}

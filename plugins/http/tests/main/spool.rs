//! `ack = "spooled"`: answered when it is on disk, delivered whatever happens then.

use std::fs;
use std::path::Path;

use picomq_connector_http_source::HttpSource;
use picomq_connector_sdk::conformance::{Bench, Setting};
use picomq_connector_sdk::{Error, Mode, Source, State};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{config, open, post, seen_of, try_open};

fn spooled(folder: &TempDir) -> Value {
    json!({ "ack": "spooled", "spool_dir": folder.path(), "id_header": "x-id" })
}

fn segments(folder: &Path) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(folder.join("bench")).unwrap().map(|entry| entry.unwrap().path());
    entries
        .filter(|path| path.extension().is_some_and(|end| end == "spool"))
        .map(|path| fs::read(path).unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_post_is_answered_without_a_poll_once_it_is_on_disk_b106() {
    let folder = TempDir::new().unwrap();
    let source = open(spooled(&folder)).await;
    let reply = source.send(post("{\"unmistakable\":1}")).await;
    assert_eq!((reply.status, reply.body.as_str()), (200, r#"{"status":"spooled"}"#));
    let on_disk = segments(folder.path()).concat();
    assert!(on_disk.windows(14).any(|window| window == b"\"unmistakable\""));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_is_delivered_by_the_next_process_b106() {
    let folder = TempDir::new().unwrap();
    let source = open(spooled(&folder)).await;
    for number in 0..20 {
        assert_eq!(source.send(post(number.to_string()).with("x-id", number.to_string())).await.status, 200);
    }
    // Handed out, but never acknowledged.
    assert_eq!(source.poll().await.len(), 20);
    drop(source);
    let source = open(spooled(&folder)).await;
    let records = seen_of(&source.poll().await);
    let payloads: Vec<String> =
        records.iter().map(|record| String::from_utf8_lossy(&record.payload).into_owned()).collect();
    assert_eq!(payloads, (0..20).map(|number| number.to_string()).collect::<Vec<_>>());
    // And a sender that did not see its answer is told without a second record.
    source.ack().await;
    assert_eq!(source.send(post("7").with("x-id", "7")).await.status, 200);
    assert!(source.has_nothing().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_about_a_record_survives_the_spool() {
    let folder = TempDir::new().unwrap();
    let mut keys = spooled(&folder);
    keys["key"] = json!("{id}");
    keys["forward_headers"] = json!(["x-shop"]);
    let source = open(keys.clone()).await;
    source.send(post("{ }").with("x-id", "1").with("x-shop", "s1")).await;
    let before = seen_of(&source.poll().await);
    drop(source);
    let source = open(keys).await;
    assert_eq!(seen_of(&source.poll().await), before);
    assert_eq!(
        (before[0].key.as_deref(), before[0].header("x-shop").as_deref()),
        (Some(&b"1"[..]), Some("s1"))
    );
}

/// Posts that arrive while a group is being synced share the next one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_posts_share_a_sync() {
    let folder = TempDir::new().unwrap();
    let source = open(spooled(&folder)).await;
    let sending: Vec<_> = (0..100).map(|number| source.sending(post(number.to_string()))).collect();
    for sending in sending {
        assert_eq!(sending.await.unwrap().status, 200);
    }
    let bytes = segments(folder.path()).concat();
    let header = picomq_connector_http_source::spool::segment::Header::decode(&bytes).unwrap();
    let (mut at, mut next, mut groups) = (32, header.first, 0);
    while let picomq_connector_http_source::spool::segment::Step::Group(group) =
        header.step(&bytes[at..], next)
    {
        (at, next, groups) = (at + group.bytes, next + u64::from(group.count), groups + 1);
    }
    assert_eq!(next, 100);
    assert!(groups < 100, "{groups} groups for 100 posts");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_spool_says_so_and_takes_nothing_more_b106() {
    let folder = TempDir::new().unwrap();
    let mut keys = spooled(&folder);
    keys["spool_max_bytes"] = json!(64 << 20);
    keys["schema"] = json!("text");
    let source = open(keys).await;
    let body = "x".repeat(900_000);
    let mut taken = 0;
    let reply = loop {
        let reply = source.send(post(body.clone())).await;
        // 503 is a disk that is too slow just now: the post may be in the spool, and a sender sends it again.
        if !matches!(reply.status, 200 | 503) {
            break reply;
        }
        taken += 1;
        assert!(taken < 100, "it never becomes full");
    };
    assert_eq!(reply.status, 429);
    let on_disk: usize = segments(folder.path()).iter().map(Vec::len).sum();
    assert!(on_disk <= 64 << 20 && taken > 60, "{on_disk} bytes, {taken} posts");
    // Delivered files make room.
    for _ in 0..taken {
        if source.poll().await.is_empty() {
            break;
        }
        source.ack().await;
        if matches!(source.send(post(body.clone())).await.status, 200 | 503) {
            return;
        }
    }
    panic!("there is no room after everything was delivered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_spool_that_is_gone_or_unread_is_never_passed_over() {
    let folder = TempDir::new().unwrap();
    let source = open(spooled(&folder)).await;
    source.send(post("1")).await;
    let state = source.poll().await.state().map(State::from_bytes);
    source.ack().await;
    source.send(post("2")).await;
    source.bench.source().close().await;
    drop(source);

    // Back to answers after delivery, while a post waits in the spool.
    for keys in [json!({ "spool_dir": folder.path() }), json!({})] {
        let error = try_open(keys, state.clone()).await.err().unwrap();
        assert!(matches!(&error, Error::Config(_)) && error.to_string().contains("not delivered"), "{error}");
    }
    let elsewhere = TempDir::new().unwrap();
    let error = try_open(spooled(&elsewhere), state.clone()).await.err().unwrap();
    assert!(matches!(&error, Error::Permanent(_)) && error.to_string().contains("holds no spool"), "{error}");

    // Once it is delivered the change is possible.
    let source = try_open(spooled(&folder), state).await.unwrap();
    let state = source.poll().await.state().map(State::from_bytes);
    source.ack().await;
    source.bench.source().close().await;
    drop(source);
    try_open(json!({ "spool_dir": folder.path() }), state).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn looking_at_a_source_opens_no_port_and_leaves_its_spool_alone() {
    let folder = TempDir::new().unwrap();
    let source = open(spooled(&folder)).await;
    source.send(post("1")).await;
    drop(source);
    let before = segments(folder.path());
    let setting = Setting { mode: Mode::Inspect, ..Setting::new(config(spooled(&folder))) };
    let looking = Bench::<HttpSource>::open(setting).await.unwrap();
    assert_eq!(looking.source().local_addr(), None);
    assert_eq!(looking.poll().await.unwrap().len(), 1);
    drop(looking);
    assert_eq!(segments(folder.path()), before);
}

/// The disk is full, here: the folder is gone from under the spool when it needs a new file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_spool_that_cannot_be_written_answers_503_shows_it_and_goes_on_by_itself() {
    let folder = TempDir::new().unwrap();
    let mut keys = spooled(&folder);
    keys["schema"] = json!("text");
    keys["spool_max_bytes"] = json!(64 << 20);
    let source = open(keys).await;
    let (spool, aside) = (folder.path().join("bench"), folder.path().join("aside"));
    // Until the first file is full and the next one is due.
    for _ in 0..19 {
        assert_eq!(source.send(post("x".repeat(900_000))).await.status, 200);
    }
    fs::rename(&spool, &aside).unwrap();
    assert_eq!(source.send(post("lost?")).await.status, 503);
    let failing =
        |report: &picomq_connector_sdk::report::Report| format!("{report:?}").contains("status: Fail");
    assert!(source.bench.reports().iter().any(failing));
    fs::rename(&aside, &spool).unwrap();
    let again = async {
        while source.send(post("lost?")).await.status != 200 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(crate::support::PATIENCE, again).await.expect("it mends itself");
    let mut records = Vec::new();
    while records.len() < 20 {
        records.extend(seen_of(&source.poll().await));
        source.ack().await;
    }
    assert_eq!(records.iter().filter(|record| record.payload == b"lost?").count(), 1);
}

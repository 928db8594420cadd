//! Webhooks while the engine is killed: every post that was answered 2xx is in the topic, nothing else is, and repeats
//! are bounded by what was in flight. A fifth of `CHAOS_KILLS` for each way to answer; 20 by default.
//!
//! What they do not prove: what a power loss leaves of the spool. Its files are cut at every byte in the tests of the
//! plugin.

use std::collections::BTreeMap;
use std::time::Duration;

use chaos_tests::campaign::{count, seed};
use chaos_tests::consumer::LogReader;
use chaos_tests::ports::free_port;
use chaos_tests::posts::{Posted, Senders, body, post};
use chaos_tests::wait::{pause, wait_for};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::stage::{Stage, WITHIN};

const KEY: &str = "hooks";
const PATH: &str = "/topics/a";
const SENDERS: usize = 8;
const BATCH: u64 = 50;
const KILLS: u32 = 100;

/// A source at `port`, with more keys for `[plugin_config]`.
fn definition(topic: &str, port: u16, keys: &str) -> String {
    format!(
        "type = \"source\"\nkey = \"{KEY}\"\nenabled = true\nname = \"Hooks\"\n\
         path = \"picomq_connector_http_source\"\n\n\
         [[topics]]\ntopic = \"{topic}\"\ncreate_topics = true\n\n\
         [plugin_config]\nlisten_addr = \"127.0.0.1:{port}\"\ntopic_path = \"a\"\nid_header = \"x-id\"\n\
         max_batch_size = {BATCH}\n{keys}\n"
    )
}

/// How often each number is in the topic.
fn in_topic(stage: &Stage, topic: &str) -> BTreeMap<u64, u64> {
    let mut seen = BTreeMap::new();
    let mut reader = LogReader::new(&stage.bootstrap).unwrap();
    reader
        .read_to_end(&[topic], &mut |entry| {
            let payload = String::from_utf8(entry.payload.unwrap()).unwrap();
            let record: serde_json::Value = serde_json::from_str(&payload).unwrap();
            let number = record["number"].as_u64().unwrap();
            assert_eq!(payload, body(number), "a record is a post, byte for byte");
            *seen.entry(number).or_insert(0) += 1;
        })
        .unwrap();
    seen
}

/// Waits until everything that was answered is in the topic, then judges.
fn judge(stage: &Stage, topic: &str, posted: &Posted, repeats_max: u64) {
    let seen = wait_for("every answered post in the topic", WITHIN, || {
        let seen = in_topic(stage, topic);
        match posted.answered.iter().find(|number| !seen.contains_key(number)) {
            None => Ok(seen),
            Some(number) => Err(format!("{number} was answered 2xx and is not there")),
        }
    })
    .unwrap();
    assert!(seen.keys().all(|number| *number < posted.begun), "something that nobody posted");
    let repeats: u64 = seen.values().map(|times| times - 1).sum();
    assert!(repeats <= repeats_max, "{repeats} repeats, at most {repeats_max}");
    eprintln!(
        "{topic}: {} posts answered, {} tries were not, {repeats} repeats of at most {repeats_max}",
        posted.answered.len(),
        posted.refused
    );
}

fn storm(name: &str, spool: bool) {
    let stage = Stage::new(name);
    let (topic, port) = (format!("{name}-{}", seed()), free_port());
    let keys = match spool {
        true => format!("ack = \"spooled\"\nspool_dir = {:?}", stage.site.dir().join("spool")),
        false => String::new(),
    };
    stage.site.define(KEY, &definition(&topic, port, &keys)).unwrap();
    let mut random = fastrand::Rng::with_seed(seed() ^ port as u64);
    let senders = Senders::start(SENDERS, port, PATH);
    let kills = count("CHAOS_KILLS", KILLS).div_ceil(5);
    for kill in 0..kills {
        let (mut daemon, before) = (stage.start(), senders.answered());
        // Some lives end while it opens, the others under load.
        if kill % 4 != 3 {
            wait_for("an answered post", WITHIN, || match senders.answered() {
                now if now > before => Ok(()),
                now => Err(format!("{now} answered")),
            })
            .unwrap();
        }
        pause(Duration::from_millis(random.u64(0..800)));
        assert!(daemon.kill(), "the engine ended by itself; see {}", stage.site.log().display());
    }
    let mut daemon = stage.start();
    let posted = senders.finish();
    let in_flight = if spool { BATCH } else { SENDERS as u64 };
    judge(&stage, &topic, &posted, u64::from(kills) * in_flight);
    daemon.terminate();
    assert_eq!(daemon.wait_exit(WITHIN).unwrap().code(), Some(0));
}

#[test]
fn posts_answered_after_delivery_survive_a_storm_of_kills_b106() {
    storm("hooks-delivered", false);
}

#[test]
fn posts_answered_from_the_spool_survive_a_storm_of_kills_b106() {
    storm("hooks-spooled", true);
}

/// A hundred posts while the broker cannot be reached, then a stop, a kill, and a start with the broker back.
#[test]
fn posts_taken_while_the_broker_is_away_are_answered_by_the_spool_alone_b106() {
    for spool in [false, true] {
        let name = if spool { "hooks-away-spooled" } else { "hooks-away" };
        let good = Stage::new(name);
        let (topic, port) = (format!("{name}-{}", seed()), free_port());
        let spool_dir = good.site.dir().join("spool");
        let keys = match spool {
            true => format!(
                "ack = \"spooled\"\nspool_dir = {spool_dir:?}\nspool_while_stalled = true\nanswer_timeout = \"1s\""
            ),
            false => "answer_timeout = \"1s\"".to_owned(),
        };
        good.site.define(KEY, &definition(&topic, port, &keys)).unwrap();
        // Nobody listens there.
        let away = format!("127.0.0.1:{}", free_port());
        good.site.configure(&away, "\n[shutdown]\ngrace = \"1s\"\n").unwrap();
        let mut daemon = good.start();
        wait_for("the listener", WITHIN, || post(port, PATH, 1_000_000).map_err(|error| error.to_string()))
            .unwrap();
        let answers: Vec<u16> = std::thread::scope(|scope| {
            let posts: Vec<_> =
                (0..100).map(|number| scope.spawn(move || post(port, PATH, number))).collect();
            posts.into_iter().map(|post| post.join().unwrap().unwrap_or(0)).collect()
        });
        let right = if spool { [200, 200] } else { [503, 429] };
        assert!(answers.iter().all(|status| right.contains(status)), "{answers:?}");
        // A stop that cannot deliver what there is, then a life that is killed.
        daemon.terminate();
        daemon.wait_exit(WITHIN).unwrap();
        let mut daemon = good.start();
        wait_for("the listener again", WITHIN, || {
            post(port, PATH, 1_000_001).map_err(|error| error.to_string())
        })
        .unwrap();
        daemon.kill();
        good.site.configure(&good.bootstrap, "").unwrap();
        let _daemon = good.start();
        let answered = if spool { (0..100).collect() } else { Default::default() };
        judge(&good, &topic, &Posted { answered, begun: 1_000_002, refused: 0 }, 0);
    }
}

/// As many as a person with one machine can send.
#[test]
fn two_thousand_connections_that_send_a_byte_a_second_are_cut_and_others_served_b109() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }).unwrap();
    let stage = Stage::new("hooks-slow");
    let (topic, port) = (format!("hooks-slow-{}", seed()), free_port());
    let keys = "max_connections = 1500\nheader_timeout = \"2s\"";
    stage.site.define(KEY, &definition(&topic, port, keys)).unwrap();
    let daemon = stage.start();
    wait_for("a good post", WITHIN, || match post(port, PATH, 0) {
        Ok(200) => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .unwrap();
    let mut slow = Vec::new();
    for _ in 0..2_000 {
        slow.extend(std::net::TcpStream::connect(("127.0.0.1", port)));
    }
    let mut left = slow.len();
    wait_for("every slow connection to be cut", WITHIN, || {
        slow.retain_mut(is_open);
        left = left.min(slow.len());
        pause(Duration::from_millis(500));
        if slow.is_empty() { Ok(()) } else { Err(format!("{left} are open")) }
    })
    .unwrap();
    wait_for("a good post afterwards", WITHIN, || match post(port, PATH, 1) {
        Ok(200) => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .unwrap();
    assert_eq!(daemon.source(KEY).unwrap().status, "running");
    judge(&stage, &topic, &Posted { answered: (0..2).collect(), begun: 2, refused: 0 }, 0);
}

/// Sends one more byte of a head; whether the other side still takes it.
fn is_open(stream: &mut std::net::TcpStream) -> bool {
    use std::io::{ErrorKind, Read, Write};

    stream.set_nonblocking(true).unwrap();
    let is_written = !matches!(stream.write(b"P"), Err(error) if error.kind() != ErrorKind::WouldBlock);
    let mut byte = [0];
    let is_ended = match stream.read(&mut byte) {
        Ok(0) => true,
        Ok(_) => false,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    };
    is_written && !is_ended
}

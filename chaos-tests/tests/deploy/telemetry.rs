//! OpenTelemetry: a collector gets log lines and a span for each stage of a batch, and no secret.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use chaos_tests::kafka::Kafka;
use chaos_tests::launch::Launch;
use chaos_tests::site::{Site, scratch};
use chaos_tests::wait::wait_for;
use chaos_tests::workload::Workload;

const WITHIN: Duration = Duration::from_secs(60);

/// Path and body of every request.
type Requests = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// Takes everything that is posted.
fn collector() -> (u16, Requests) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let requests = Requests::default();
    let taken = requests.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let taken = taken.clone();
            thread::spawn(move || serve(stream, &taken));
        }
    });
    (port, requests)
}

fn serve(stream: TcpStream, taken: &Requests) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut writer = stream;
    loop {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if line.trim().is_empty() {
                break;
            }
            head.push(line);
        }
        let path = head.first()?.split(' ').nth(1)?.to_owned();
        let length = head.iter().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
        });
        let mut body = vec![0; length?];
        reader.read_exact(&mut body).ok()?;
        taken.lock().unwrap().push((path, body));
        writer.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").ok()?;
    }
}

/// Whether one of the bodies to `path` holds every one of these texts.
fn has(requests: &Requests, path: &str, texts: &[&str]) -> bool {
    let holds = |body: &[u8], text: &str| body.windows(text.len()).any(|part| part == text.as_bytes());
    let requests = requests.lock().unwrap();
    requests.iter().any(|(to, body)| to == path && texts.iter().all(|text| holds(body, text)))
}

#[test]
fn a_collector_gets_log_lines_and_a_span_for_each_stage_of_a_batch() {
    let (port, requests) = collector();
    let more = format!(
        "sasl.password = \"canary-9d1f\"\n[telemetry]\nenabled = true\nservice_name = \"told\"\n\
         logs.endpoint = \"http://127.0.0.1:{port}\"\ntraces.endpoint = \"http://127.0.0.1:{port}/v1/traces\"\n"
    );
    let site = Site::new(&scratch().join("telemetry"), &Kafka::shared().bootstrap(), &more).unwrap();
    let source = Workload::new("traced", 1);
    site.define("traced", &source.definition()).unwrap();
    let mut daemon = site.start(&Launch::default()).unwrap();
    daemon.wait_serving().unwrap();

    let spans = ["told", "traced", "batch", "poll", "prepare", "broker_send", "state_save", "sent_count"];
    wait_for("spans", WITHIN, || match has(&requests, "/v1/traces", &spans) {
        true => Ok(()),
        false => Err(format!("{} requests", requests.lock().unwrap().len())),
    })
    .unwrap();
    wait_for("log lines", WITHIN, || match has(&requests, "/v1/logs", &["told", "status changed"]) {
        true => Ok(()),
        false => Err(format!("{} requests", requests.lock().unwrap().len())),
    })
    .unwrap();

    daemon.terminate();
    assert!(daemon.wait_exit(WITHIN).unwrap().success());
    let last = "all sources stopped, everything in flight was delivered and saved";
    assert!(has(&requests, "/v1/logs", &[last]), "what was said last is sent before the process ends");
    for path in ["/v1/logs", "/v1/traces"] {
        assert!(!has(&requests, path, &["canary-9d1f"]), "a secret was sent to {path}");
    }
}

#[test]
fn a_collector_that_is_down_costs_no_record_and_no_stop() {
    let more = "[telemetry]\nenabled = true\nlogs.endpoint = \"http://127.0.0.1:1\"\ntraces.endpoint = \"http://127.0.0.1:1\"\n";
    let site = Site::new(&scratch().join("telemetry-down"), &Kafka::shared().bootstrap(), more).unwrap();
    site.define("untold", &Workload::new("untold", 1).definition()).unwrap();
    let mut daemon = site.start(&Launch::default()).unwrap();
    daemon.wait_serving().unwrap();
    wait_for("records", WITHIN, || match daemon.metric("picomq_connector_messages_sent_total", "untold") {
        Ok(sent) if sent > 100.0 => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .unwrap();
    daemon.terminate();
    assert!(daemon.wait_exit(WITHIN).unwrap().success());
}

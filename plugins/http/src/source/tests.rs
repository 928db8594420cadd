//! The conformance kit, once for each way to answer.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use picomq_connector_sdk::Limits;
use picomq_connector_sdk::conformance::{self, Subject};
use picomq_connector_sdk::ffi::host::RecordView;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::*;
use crate::listener::desk_at;
use crate::post::{Headers, Post};

const POSTS: usize = 20;
const SMALL: Limits = Limits { batch_records: 3, batch_bytes: 64 << 20 };

fn names() -> Vec<String> {
    (0..POSTS).map(|number| number.to_string()).collect()
}

fn id(record: &RecordView<'_>) -> String {
    record.id.expect("every post of these tests has a name").to_owned()
}

/// A spool that a former process left behind.
struct LeftBehind(TempDir);

impl LeftBehind {
    fn folder(&self) -> PathBuf {
        self.0.path().join("spool")
    }
}

impl Subject for LeftBehind {
    type Source = HttpSource;

    async fn reset(&self) {
        let folder = self.folder().join("bench");
        let _ = std::fs::remove_dir_all(&folder);
        let opening = Opening {
            folder: &folder,
            committed: 0,
            is_expected: false,
            is_inspection: false,
            segment_bytes: 300,
        };
        let mut writer = Opened::open(&opening, &mut |_| {}).unwrap().writer.unwrap();
        for chunk in names().chunks(2) {
            let encoded = chunk.iter().map(|name| {
                let (payload, id) = (name.clone().into(), Some(name.clone()));
                let (key, digest, headers) = (None, None, Headers::default());
                let mut bytes = Vec::new();
                Post { payload, key, id, digest, received_ms: 0, event_time_ns: 0, headers }
                    .encode(&mut bytes);
                bytes
            });
            writer.append(&encoded.collect::<Vec<_>>()).unwrap();
        }
    }

    fn config(&self) -> Value {
        json!({
            "listen_addr": "127.0.0.1:0", "topic_path": "a", "ack": "spooled", "spool_dir": self.folder(), "schema": "text",
        })
    }

    fn limits(&self) -> Limits {
        SMALL
    }

    fn expected(&self) -> Vec<String> {
        names()
    }

    fn identity(&self, record: &RecordView<'_>) -> String {
        id(record)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_with_a_spool_keeps_the_rules() {
    conformance::check(&LeftBehind(TempDir::new().unwrap())).await;
}

/// A sender that posts everything, in order, to whatever listens, and again until it was answered 2xx.
struct Sender {
    address: SocketAddr,
    sending: Mutex<Option<JoinHandle<()>>>,
}

impl Subject for Sender {
    type Source = HttpSource;

    async fn reset(&self) {
        let address = self.address;
        let sending = tokio::spawn(send_all(address));
        if let Some(former) = self.sending.lock().unwrap().replace(sending) {
            former.abort();
        }
    }

    fn config(&self) -> Value {
        json!({ "listen_addr": self.address.to_string(), "topic_path": "a", "schema": "text", "id_header": "x-id" })
    }

    fn limits(&self) -> Limits {
        SMALL
    }

    fn expected(&self) -> Vec<String> {
        names()
    }

    fn identity(&self, record: &RecordView<'_>) -> String {
        id(record)
    }
}

async fn send_all(address: SocketAddr) {
    let answered = Arc::new(Mutex::new(HashSet::new()));
    loop {
        let Some(desk) = desk_at(address) else {
            sleep(Duration::from_millis(1)).await;
            continue;
        };
        for number in 0..POSTS {
            if !answered.lock().unwrap().contains(&number) {
                send(&desk, address, number, &answered).await;
            }
        }
        while desk_at(address).is_some_and(|now| Arc::ptr_eq(&now, &desk)) {
            sleep(Duration::from_millis(1)).await;
        }
    }
}

/// Returns once the post is in the gate or was answered 2xx, so that the next one comes after it; or when that source
/// is gone.
async fn send(desk: &Arc<Desk>, address: SocketAddr, number: usize, answered: &Arc<Mutex<HashSet<usize>>>) {
    while desk_at(address).is_some_and(|now| Arc::ptr_eq(&now, desk)) {
        let before = desk.gate.next_number();
        let filed = Arc::clone(answered);
        let request = tokio::spawn(async move {
            if post(address, number).await.is_ok_and(|is_good| is_good) {
                filed.lock().unwrap().insert(number);
            }
        });
        while desk.gate.next_number() == before && !request.is_finished() {
            sleep(Duration::from_millis(1)).await;
        }
        if desk.gate.next_number() != before || answered.lock().unwrap().contains(&number) {
            return;
        }
    }
}

/// Posts one; whether it was answered 200.
async fn post(address: SocketAddr, number: usize) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!(
        "POST /topics/a HTTP/1.1\r\nhost: a\r\nconnection: close\r\nx-id: {number}\r\ncontent-length: 1\r\n\r\nx"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).await?;
    Ok(reply.starts_with(b"HTTP/1.1 200"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_that_answers_after_delivery_keeps_the_rules() {
    // The kit opens the source on it again and again; below the range of outgoing connections.
    let mut ports =
        std::iter::repeat_with(|| SocketAddr::from(([127, 0, 0, 1], fastrand::u16(10_000..18_000))));
    let free = ports.find(|port| std::net::TcpListener::bind(port).is_ok()).unwrap();
    let sender = Sender { address: free, sending: Mutex::default() };
    conformance::check(&sender).await;
    sender.sending.lock().unwrap().take().unwrap().abort();
}

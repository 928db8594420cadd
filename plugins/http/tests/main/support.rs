//! An open source behind its socket, and a client that says exactly what it is told to.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use picomq_connector_http_source::HttpSource;
use picomq_connector_sdk::conformance::{Bench, Setting};
use picomq_connector_sdk::ffi::host::GuestBatch;
use picomq_connector_sdk::{Error, Source, State, Verdict};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// Longer than anything takes; it only ends a test that would hang.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A port that nobody listens on, below the range from which the kernel takes those of outgoing connections.
pub(crate) fn free_port() -> u16 {
    let ports = std::iter::repeat_with(|| fastrand::u16(10_000..18_000)).take(1_000);
    ports
        .into_iter()
        .find(|port| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("a thousand ports are not all taken")
}

/// An open source.
pub(crate) struct Open {
    pub(crate) bench: Arc<Bench<HttpSource>>,
    pub(crate) address: SocketAddr,
}

/// One that is polled and acknowledged all the time.
pub(crate) struct Served {
    pub(crate) open: Open,
    records: Arc<Mutex<Vec<Seen>>>,
    driving: JoinHandle<()>,
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) payload: Vec<u8>,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) id: Option<String>,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// A request to `/topics/a` unless its path is set.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// With the keys of a test, a free port and `/topics/a`.
pub(crate) fn config(keys: Value) -> Value {
    let mut config = json!({ "listen_addr": "127.0.0.1:0", "topic_path": "a" });
    for (key, value) in keys.as_object().unwrap() {
        config[key] = value.clone();
    }
    config
}

pub(crate) async fn try_open(keys: Value, state: Option<State>) -> Result<Open, Error> {
    let bench = Bench::<HttpSource>::open(Setting::new(config(keys)).with_state(state)).await?;
    let address = bench.source().local_addr().unwrap();
    Ok(Open { bench: Arc::new(bench), address })
}

pub(crate) async fn open(keys: Value) -> Open {
    try_open(keys, None).await.unwrap()
}

impl Open {
    pub(crate) async fn poll(&self) -> GuestBatch {
        timeout(PATIENCE, self.bench.poll()).await.expect("a batch comes").unwrap()
    }

    pub(crate) async fn ack(&self) {
        self.bench.resolve(Verdict::Ack).await.unwrap();
    }

    pub(crate) async fn nack(&self) {
        self.bench.resolve(Verdict::Nack).await.unwrap();
    }

    /// A poll that finds nothing, ended at once.
    pub(crate) async fn has_nothing(&self) -> bool {
        self.bench.ask(true);
        let polled = self.bench.poll().await;
        self.bench.ask(false);
        matches!(polled, Err(Error::Interrupted))
    }

    /// Sends in the background.
    pub(crate) fn sending(&self, ask: Ask) -> JoinHandle<Reply> {
        tokio::spawn(send(self.address, ask))
    }

    pub(crate) async fn send(&self, ask: Ask) -> Reply {
        send(self.address, ask).await
    }

    /// What the command `status` says.
    pub(crate) async fn status(&self) -> Value {
        self.bench.source().command("status", json!(null)).await.unwrap().unwrap()
    }

    /// Waits until so many posts are held.
    pub(crate) async fn wait_held(&self, posts: u64) {
        let held = async {
            while self.status().await["posts_waiting"] != posts {
                sleep(Duration::from_millis(2)).await;
            }
        };
        timeout(PATIENCE, held).await.expect("the posts arrive");
    }
}

impl Served {
    pub(crate) async fn start(keys: Value) -> Served {
        let open = open(keys).await;
        let records = Arc::new(Mutex::new(Vec::new()));
        let (bench, seen) = (Arc::clone(&open.bench), Arc::clone(&records));
        let driving = tokio::spawn(async move {
            loop {
                let batch = bench.poll().await.expect("nobody interrupts");
                seen.lock().unwrap().extend(seen_of(&batch));
                bench.resolve(Verdict::Ack).await.unwrap();
            }
        });
        Served { open, records, driving }
    }

    pub(crate) async fn send(&self, ask: Ask) -> Reply {
        self.open.send(ask).await
    }

    pub(crate) fn records(&self) -> Vec<Seen> {
        self.records.lock().unwrap().clone()
    }

    /// The answer to this request, and the record it made.
    pub(crate) async fn record_of(&self, ask: Ask) -> Seen {
        let before = self.records().len();
        let reply = self.send(ask).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        let records = self.records();
        assert_eq!(records.len(), before + 1);
        records[before].clone()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.driving.abort();
    }
}

pub(crate) fn seen_of(batch: &GuestBatch) -> Vec<Seen> {
    let seen = batch.records().map(|record| Seen {
        payload: record.payload.unwrap().to_vec(),
        key: record.key.map(<[u8]>::to_vec),
        id: record.id.map(str::to_owned),
        headers: record.headers().map(|(name, value)| (name.to_owned(), value.to_vec())).collect(),
    });
    seen.collect()
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let found = self.headers.iter().find(|(known, _)| known == name)?;
        Some(String::from_utf8_lossy(&found.1).into_owned())
    }
}

pub(crate) fn post(body: impl Into<Vec<u8>>) -> Ask {
    Ask { method: "POST", path: "/topics/a".to_owned(), headers: Vec::new(), body: body.into() }
}

impl Ask {
    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Ask {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn to(mut self, path: &str) -> Ask {
        path.clone_into(&mut self.path);
        self
    }

    pub(crate) fn method(mut self, method: &'static str) -> Ask {
        self.method = method;
        self
    }

    /// Head and body, on a connection of its own.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut head =
            format!("{} {} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !self.headers.iter().any(|(name, _)| name == "transfer-encoding" || name == "content-length") {
            head.push_str(&format!("content-length: {}\r\n", self.body.len()));
        }
        [head.as_bytes(), b"\r\n", self.body.as_slice()].concat()
    }
}

pub(crate) async fn send(address: SocketAddr, ask: Ask) -> Reply {
    let stream = TcpStream::connect(address).await.unwrap();
    exchange(stream, &ask.bytes()).await
}

/// Writes all of it and reads until the other side closes.
pub(crate) async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, request: &[u8]) -> Reply {
    // A refusal may come before everything was written.
    let _ = stream.write_all(request).await;
    let mut bytes = Vec::new();
    let _ = timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.expect("the connection is closed");
    reply(&bytes)
}

/// Status 0: nothing came.
pub(crate) fn reply(bytes: &[u8]) -> Reply {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Reply { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
}

//! Real servers, one of each kind for the whole test binary; an index for each test.
//!
//! A server ends when this process ends, however that ends: it holds the other end of the server's stdin.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use picomq_connector_sdk::http::{Auth, BaseUrl, Client, Method, Request, Settings};
use serde_json::{Value, json};

/// The first start fetches what is missing; later ones take three seconds on a quiet machine.
const READY_WITHIN: Duration = Duration::from_secs(240);

/// What is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// 2.19: a point in time by its own path.
    OpenSearch,
    /// 7.10: no point in time.
    Elasticsearch7,
    /// 8.19: a point in time that adds a tie-break of its own; no answer to `GET /`.
    Elasticsearch8,
}

pub(crate) const KINDS: [Kind; 3] = [Kind::OpenSearch, Kind::Elasticsearch7, Kind::Elasticsearch8];

/// One server.
#[derive(Debug)]
pub(crate) struct Server {
    port: u16,
    /// Kept, so that its stdin stays open.
    _child: Child,
}

impl Server {
    /// The shared server of that kind.
    ///
    /// # Panics
    /// When it cannot be started: an absent server is a failure, not a skip.
    async fn of(kind: Kind) -> &'static Server {
        static SHARED: [OnceLock<Server>; KINDS.len()] = [const { OnceLock::new() }; KINDS.len()];
        // One JVM after the other: three at once take longer than in turn.
        static STARTING: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
        let place = KINDS.iter().position(|known| *known == kind).unwrap();
        let _turn = STARTING.lock().await;
        if let Some(server) = SHARED[place].get() {
            return server;
        }
        let server = Server::launch(kind, "shared");
        server.wait_until_ready(kind).await;
        SHARED[place].get_or_init(|| server)
    }

    fn launch(kind: Kind, whose: &str) -> Server {
        let name = match kind {
            Kind::OpenSearch => "opensearch",
            Kind::Elasticsearch7 => "elasticsearch7",
            Kind::Elasticsearch8 => "elasticsearch8",
        };
        let dir = std::env::temp_dir().join(format!("picomq-{name}-{whose}-{}", std::process::id()));
        let port = free_port(kind as u32);
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../chaos-tests/services/search/search.sh");
        std::fs::create_dir_all(&dir).unwrap();
        let log = || std::fs::File::options().create(true).append(true).open(dir.join("log")).unwrap();
        let mut command = Command::new(script);
        command.env("DATA_DIR", &dir).env("PORT", port.to_string()).env("KIND", name).env("HEAP", "400m");
        command.env("STOP_ON_EOF", "1").env("REMOVE_AT_END", "1");
        command.stdin(Stdio::piped()).stdout(log()).stderr(log());
        Server { port, _child: command.spawn().expect("the script runs") }
    }

    async fn wait_until_ready(&self, kind: Kind) {
        let until = Instant::now() + READY_WITHIN;
        let (client, health) = (self.client().await, Request::get(["_cluster", "health"]));
        while !client.send(&health).await.is_ok_and(|answer| answer.head().is_success()) {
            assert!(
                Instant::now() < until,
                "{kind:?} does not answer; see its log under {:?}",
                std::env::temp_dir()
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    async fn client(&self) -> Client {
        let hosts = vec![BaseUrl::parse("url", &self.url()).unwrap()];
        let settings = Settings {
            hosts,
            auth: Auth::None,
            ca_file: None,
            client_certificate: None,
            timeout: Duration::from_secs(60),
            is_gzip_wanted: false,
        };
        Client::open(settings).await.unwrap()
    }
}

/// Below the range from which the kernel takes ports for outgoing connections.
fn free_port(number: u32) -> u16 {
    let first = std::process::id().wrapping_mul(97).wrapping_add(number.wrapping_mul(211)) % 1_000;
    let ports = (0..1_000).map(|step| 17_000 + ((first + step) % 1_000) as u16);
    let mut free = ports.filter(|port| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.next().expect("a free port")
}

/// A name of a test's own on a shared server: of an index, or the beginning of several.
pub(crate) struct Place {
    pub(crate) name: String,
    server: &'static Server,
    client: Client,
}

impl Place {
    /// A name that nothing has.
    pub(crate) async fn new(kind: Kind) -> Place {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("t{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let server = Server::of(kind).await;
        Place { name, server, client: server.client().await }
    }

    /// On a server that no other test uses, for settings of the whole server.
    pub(crate) async fn alone(kind: Kind) -> Place {
        let server: &'static Server = Box::leak(Box::new(Server::launch(kind, "alone")));
        server.wait_until_ready(kind).await;
        Place { name: "alone".to_owned(), server, client: server.client().await }
    }

    /// An index of that name, whose documents become visible when a test says so.
    pub(crate) async fn with_index(kind: Kind, shards: u32, properties: Value) -> Place {
        let place = Place::new(kind).await;
        place.create(&place.name, shards, properties).await;
        place
    }

    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    /// Makes an index.
    pub(crate) async fn create(&self, index: &str, shards: u32, properties: Value) {
        let body = json!({
            "settings": { "number_of_shards": shards, "number_of_replicas": 0, "refresh_interval": "-1" },
            "mappings": { "properties": properties },
        });
        self.ask(Method::PUT, &[index], Some(body)).await;
    }

    /// Writes documents; they are not visible yet.
    pub(crate) async fn write(&self, index: &str, documents: impl IntoIterator<Item = (String, Value)>) {
        let mut body = String::new();
        for (id, document) in documents {
            body.push_str(&format!("{}\n{document}\n", json!({ "index": { "_index": index, "_id": id } })));
        }
        self.bulk(body).await;
    }

    /// Sends lines of the bulk format as they are.
    pub(crate) async fn bulk(&self, lines: String) {
        let request = Request::post(["_bulk"]).body("application/x-ndjson", lines);
        let answer = self.send(&request).await;
        assert_eq!(answer["errors"], false, "{answer}");
    }

    /// Makes what was written visible.
    pub(crate) async fn refresh(&self, index: &str) {
        self.ask(Method::POST, &[index, "_refresh"], None).await;
    }

    /// Writes documents into the index of this name and makes them visible.
    pub(crate) async fn put(&self, documents: impl IntoIterator<Item = (String, Value)>) {
        self.write(&self.name, documents).await;
        self.refresh(&self.name).await;
    }

    /// Asks the server; it must be pleased.
    pub(crate) async fn ask(&self, method: Method, path: &[&str], body: Option<Value>) -> Value {
        let mut request = Request::new(method, path.iter().copied());
        if let Some(body) = body {
            request = request.json(body.to_string());
        }
        self.send(&request).await
    }

    async fn send(&self, request: &Request) -> Value {
        let mut body = Vec::new();
        let answer = self.client.send(request).await.unwrap();
        let (head, _) = answer.read(&mut body, 16 << 20).await.unwrap();
        assert!(head.is_success(), "{}: {}", head.status(), String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).unwrap_or_default()
    }

    /// Scrolls and points in time that the server holds on the index of this name.
    pub(crate) async fn open_contexts(&self) -> u64 {
        let stats = self.ask(Method::GET, &[&self.name, "_stats", "search"], None).await;
        stats["_all"]["total"]["search"]["open_contexts"].as_u64().unwrap()
    }
}

/// `n` documents with this timestamp, called `prefix0` and so on.
pub(crate) fn documents(prefix: &str, n: usize, at: &str) -> Vec<(String, Value)> {
    (0..n).map(|number| (format!("{prefix}{number}"), json!({ "at": at, "n": number }))).collect()
}

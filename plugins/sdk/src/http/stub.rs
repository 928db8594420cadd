//! A server for tests that answers as it is told, broken answers included: faults that no real server shows on demand.
//! It speaks as much HTTP/1.1 as that takes, and is nothing to serve anybody with.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// What was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    /// `GET`, `POST`, ….
    pub method: String,
    /// Path and query, as sent.
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Vec<u8>,
}

impl Asked {
    /// The first header of this name, in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// What is answered.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// Status code.
    pub status: u16,
    /// In the order sent; `content-length` is added.
    pub headers: Vec<(String, String)>,
    /// The body as it goes over the wire.
    pub body: Vec<u8>,
    /// Break the connection after so many bytes of the body.
    pub cut_at: Option<usize>,
    /// Wait before the head is sent.
    pub delay: Duration,
}

impl Reply {
    /// A JSON body with this status.
    pub fn json(status: u16, body: impl Into<Vec<u8>>) -> Reply {
        Reply { status, body: body.into(), ..Reply::default() }.with("content-type", "application/json")
    }

    /// Adds a header.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Reply {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

type Script = Arc<dyn Fn(&Asked) -> Reply + Send + Sync>;

/// A running server; it ends when dropped.
#[derive(Debug)]
pub struct Stub {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    task: JoinHandle<()>,
}

impl Stub {
    /// Listens on a free port of the loopback and answers with `script`, which may be asked from several tasks.
    ///
    /// # Panics
    /// When no port can be had.
    pub async fn start(script: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Stub {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port of the loopback");
        let address = listener.local_addr().expect("a bound listener has an address");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (script, seen): (Script, _) = (Arc::new(script), Arc::clone(&asked));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&script), Arc::clone(&seen)));
            }
        });
        Stub { address, asked, task }
    }

    /// Of its root, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything asked so far, in order.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Answers the requests of one connection until it ends.
pub(super) async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    script: Script,
    asked: Arc<Mutex<Vec<Asked>>>,
) {
    let mut stream = BufReader::new(stream);
    while let Ok(Some(request)) = read(&mut stream).await {
        let reply = script(&request);
        asked.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        tokio::time::sleep(reply.delay).await;
        if !matches!(write(&mut stream, &reply).await, Ok(true)) {
            return;
        }
    }
}

async fn read(stream: &mut (impl AsyncBufReadExt + Unpin)) -> io::Result<Option<Asked>> {
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let mut words = line.split(' ').map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = Vec::new();
    loop {
        line.clear();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut asked = Asked { method, target, headers, body: Vec::new() };
    let bytes = asked.header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    asked.body.resize(bytes, 0);
    stream.read_exact(&mut asked.body).await?;
    Ok(Some(asked))
}

/// Whether the connection may be used again.
async fn write(stream: &mut (impl AsyncWrite + Unpin), reply: &Reply) -> io::Result<bool> {
    let mut head = format!("HTTP/1.1 {} Told\r\ncontent-length: {}\r\n", reply.status, reply.body.len());
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await?;
    let sent = reply.cut_at.unwrap_or(reply.body.len()).min(reply.body.len());
    stream.write_all(&reply.body[..sent]).await?;
    stream.flush().await?;
    Ok(reply.cut_at.is_none())
}

//! As much of an HTTP client as the engine's API needs: one request a connection, the whole answer in memory.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use crate::{Error, Result};

/// An API on this machine that does not answer in this time is taken as hanging.
const PATIENCE: Duration = Duration::from_secs(5);

/// What came back.
#[derive(Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The body as text.
    pub body: String,
}

impl Answer {
    /// The body as JSON.
    pub fn json(&self) -> Result<serde_json::Value> {
        serde_json::from_str(&self.body)
            .map_err(|error| Error::malformed("the answer of the API", format!("{error}: {}", self.body)))
    }
}

/// Sends `method path` to 127.0.0.1:`port` and reads the answer to its end. HTTP/1.0, so that the server neither
/// keeps the connection nor sends chunks.
pub fn request(port: u16, method: &str, path: &str) -> Result<Answer> {
    send(port, &format!("{method} {path}"), "", PATIENCE)
}

/// The same with a JSON body, empty for none, to a server that may take its time. `line` is `method path`.
pub fn send(port: u16, line: &str, body: &str, patience: Duration) -> Result<Answer> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let exchange = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&address, patience)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        let kind = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
        let length = body.len();
        // In one piece: a server may answer and close after its first read.
        let request = format!(
            "{line} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n{kind}Content-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes())?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    };
    let text = exchange().map_err(Error::io(format!("{line} on port {port}")))?;
    parse(&text).ok_or_else(|| Error::malformed(format!("the answer to {line}"), text.clone()))
}

fn parse(text: &str) -> Option<Answer> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    // Elasticsearch sends chunks whatever version it was asked in.
    let is_chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if is_chunked { joined(body)? } else { body.to_owned() };
    Some(Answer { status, body })
}

/// The chunks of a body put together; none when they do not add up.
fn joined(mut rest: &str) -> Option<String> {
    let mut whole = String::new();
    loop {
        let (size, after) = rest.split_once("\r\n")?;
        let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
        if size == 0 {
            return Some(whole);
        }
        whole.push_str(after.get(..size)?);
        rest = after.get(size..)?.strip_prefix("\r\n")?;
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    #[test]
    fn chunks_are_put_together() {
        let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\n\r\n";
        assert_eq!(parse(text).unwrap().body, "abcde");
        assert!(parse(&text.replace("3\r\n", "4\r\n")).is_none());
    }

    #[test]
    fn an_answer_is_split_into_status_and_body() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut seen = [0; 512];
            let count = stream.read(&mut seen).unwrap();
            stream.write_all(b"HTTP/1.0 404 Not Found\r\nA: b\r\n\r\n{\"code\":\"x\"}").unwrap();
            String::from_utf8_lossy(&seen[..count]).into_owned()
        });

        let answer = request(port, "POST", "/sources/a/restart").unwrap();

        assert_eq!((answer.status, answer.json().unwrap()["code"].as_str()), (404, Some("x")));
        assert!(server.join().unwrap().starts_with("POST /sources/a/restart HTTP/1.0\r\n"));
    }
}

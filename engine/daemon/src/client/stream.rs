//! Server-sent events, as the daemon sends them.

use axum::body::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

/// Longest event that is read; the daemon cuts its own far below.
const EVENT_BYTES_MAX: usize = 4 << 20;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Event {
    /// To go on from after it.
    pub(crate) id: Option<String>,
    /// What kind it is; `message` when nothing was said.
    pub(crate) kind: String,
    /// Its lines.
    pub(crate) data: String,
}

/// Events as they come.
pub(crate) struct Stream {
    body: Incoming,
    parser: Parser,
}

#[derive(Debug, Default)]
struct Parser {
    unread: Vec<u8>,
}

impl Stream {
    pub(super) fn new(body: Incoming) -> Stream {
        Stream { body, parser: Parser::default() }
    }

    /// The next one; `None` when the daemon ended the stream or the connection broke.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.parser.next() {
                return Some(event);
            }
            let frame = self.body.frame().await?.ok()?;
            if let Ok(bytes) = frame.into_data() {
                self.parser.take(&bytes)?;
            }
        }
    }
}

impl Parser {
    /// `None` when an event has no end.
    fn take(&mut self, bytes: &Bytes) -> Option<()> {
        self.unread.extend_from_slice(bytes);
        (self.unread.len() <= EVENT_BYTES_MAX).then_some(())
    }

    fn next(&mut self) -> Option<Event> {
        loop {
            let end = self.unread.windows(2).position(|pair| pair == b"\n\n")?;
            let block: Vec<u8> = self.unread.drain(..end + 2).collect();
            let event = parsed(&String::from_utf8_lossy(&block));
            // A comment alone keeps the connection open and says nothing.
            if !event.data.is_empty() || event.id.is_some() {
                return Some(event);
            }
        }
    }
}

fn parsed(block: &str) -> Event {
    let mut event = Event { kind: "message".to_owned(), ..Event::default() };
    let mut lines = Vec::new();
    for line in block.lines() {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "id" => event.id = Some(value.to_owned()),
            "event" => event.kind = value.to_owned(),
            "data" => lines.push(value),
            _ => {}
        }
    }
    event.data = lines.join("\n");
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_whole_however_the_bytes_are_cut_and_comments_are_passed_over() {
        let text = "id: a-1\nevent: nack\ndata: {\"a\":1}\n\n: keep\n\nevent: end\ndata: x\ndata: y\n\n";
        let nack =
            Event { id: Some("a-1".to_owned()), kind: "nack".to_owned(), data: "{\"a\":1}".to_owned() };
        let end = Event { id: None, kind: "end".to_owned(), data: "x\ny".to_owned() };
        for cut in 1..text.len() {
            let mut parser = Parser::default();
            let mut events = Vec::new();
            for piece in text.as_bytes().chunks(cut) {
                parser.take(&Bytes::copy_from_slice(piece)).unwrap();
                while let Some(event) = parser.next() {
                    events.push(event);
                }
            }
            assert_eq!(events, [nack.clone(), end.clone()], "pieces of {cut}");
        }
    }

    #[test]
    fn an_event_without_an_end_is_given_up() {
        let mut parser = Parser::default();
        assert_eq!(parser.take(&Bytes::from(vec![b'x'; EVENT_BYTES_MAX])), Some(()));
        assert_eq!(parser.take(&Bytes::from_static(b"x")), None);
    }
}

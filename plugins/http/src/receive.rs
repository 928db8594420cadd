//! One request, from its head to its answer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, ORIGIN};
use hyper::{HeaderMap, Method, Request, Response};
use tokio::time::{Duration, timeout};

use crate::admission::Admission;
use crate::answer::Answer;
use crate::auth::{self, Family, Proof};
use crate::body::{self, BadBody};
use crate::desk::Desk;
use crate::gate::{Offer, Outcome};
use crate::key::Subject;
use crate::post::{Headers, Post};
use crate::replays::Digest;
use crate::settings::{Durability, Target};

/// Longest name of a delivery.
const ID_BYTES_MAX: usize = 256;
/// Memory that a body is given before it comes.
const AHEAD_BYTES_MAX: usize = 64 << 10;
/// What is read of a body whose post is refused already, so that the sender sees the answer and no reset.
const DRAINED_BYTES_MAX: usize = 256 << 10;
const DRAINED_WITHIN: Duration = Duration::from_secs(1);
/// A source that is not polled, or whose batch fails, for so long makes `/health` say so.
const HEALTH_PATIENCE: Duration = Duration::from_secs(60);

/// The other side of a connection.
pub(crate) struct Peer {
    address: SocketAddr,
    /// As records say it: written once, and not for each of them.
    text: String,
}

impl Peer {
    pub(crate) fn new(address: SocketAddr) -> Peer {
        Peer { address, text: address.to_string() }
    }
}

/// From where and when a request came.
#[derive(Clone, Copy)]
struct Arrival<'a> {
    from: &'a Peer,
    unix: Duration,
}

/// Answers one request to a listener with these sources.
pub(crate) async fn answer(
    desks: &[Arc<Desk>],
    from: &Peer,
    request: Request<Incoming>,
) -> Response<Full<Bytes>> {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let arrival = Arrival { from, unix };
    if request.uri().path() == "/health" && request.method() == Method::GET {
        let is_healthy = desks.iter().all(|desk| desk.gate.is_healthy(HEALTH_PATIENCE));
        return if is_healthy { Answer::Healthy } else { Answer::Unhealthy }.response();
    }
    let path = request.uri().path();
    let found = desks.iter().find_map(|desk| Some((desk, desk.target(path, arrival.seconds())?)));
    let Some((desk, target)) = found else {
        let (parts, body) = request.into_parts();
        drain(&parts.headers, body).await;
        return Answer::NotFound.response();
    };
    let (parts, mut body) = request.into_parts();
    let posting = Posting { desk, target: &target, headers: &parts.headers, arrival };
    let answer = match posting.check_head(&parts.method) {
        Ok(()) => posting.receive(&mut body).await,
        Err(answer) => Err(answer),
    };
    let answer = answer.unwrap_or_else(|refused| refused);
    if !matches!(answer, Answer::Delivered | Answer::Spooled) {
        drain(&parts.headers, body).await;
    }
    let response = answer.response();
    desk.counts.add(response.status().as_u16());
    response
}

/// One post under way.
struct Posting<'a> {
    desk: &'a Arc<Desk>,
    target: &'a Target,
    headers: &'a HeaderMap,
    arrival: Arrival<'a>,
}

impl Posting<'_> {
    /// Everything that can be refused before the body is read.
    fn check_head(&self, method: &Method) -> Result<(), Answer> {
        if method != Method::POST {
            return Err(Answer::MethodNotAllowed);
        }
        let family = self.target.credentials.family();
        // A page in a browser names itself; whoever posts webhooks does not.
        if family == Family::None && self.headers.contains_key(ORIGIN) {
            return Err(Answer::FromBrowser);
        }
        self.target.credentials.check_head(self.headers).map_err(|refused| self.unauthorized(refused))?;
        self.check_type()?;
        self.is_gzip()?;
        let length = self.content_length();
        if length.is_some_and(|length| length > self.desk.settings.body_bytes_max) {
            return Err(Answer::BadBody(BadBody::TooLarge));
        }
        admitted(self.desk.gate.admission(length.unwrap_or(0)))
    }

    /// Reads and judges the body, takes the post in and waits until it is safe.
    async fn receive(&self, body: &mut Incoming) -> Result<Answer, Answer> {
        let settings = &self.desk.settings;
        let raw = timeout(settings.body_timeout, self.read(body)).await.unwrap_or(Err(Answer::TooSlow))?;
        if raw.is_empty() {
            return Err(Answer::BadBody(BadBody::Empty));
        }
        let request = auth::Request { headers: self.headers, body: &raw, now_s: self.arrival.seconds() };
        let proof = self.target.credentials.check(&request).map_err(|refused| self.unauthorized(refused))?;
        let plain = match self.is_gzip()? {
            true => body::gunzip(&raw, bytes_max(settings.body_bytes_max)).map_err(Answer::BadBody)?,
            false => raw,
        };
        settings.format.check(&plain).map_err(Answer::BadBody)?;
        if let Some(challenge) = self.challenge(&plain) {
            return Ok(Answer::Challenge(challenge));
        }
        let post = self.post(plain, proof)?;
        let ticket = match self.desk.gate.offer(post) {
            Offer::Wait(ticket) => ticket,
            Offer::Safe => return Ok(self.safe()),
            Offer::Full => return Err(Answer::Full),
            Offer::Unavailable => return Err(Answer::Unavailable),
        };
        match timeout(settings.answer_timeout, ticket.outcome()).await {
            Ok(Outcome::Safe) => Ok(self.safe()),
            Ok(Outcome::Lost) | Err(_) => Err(Answer::NotSafe),
        }
    }

    /// The body, never more of it than may be, with room for it in the gate.
    async fn read(&self, body: &mut Incoming) -> Result<Vec<u8>, Answer> {
        let most = bytes_max(self.desk.settings.body_bytes_max);
        let expected = self.content_length().map_or(0, bytes_max);
        // What is only announced takes no room.
        let mut read = Vec::with_capacity(expected.min(most).min(AHEAD_BYTES_MAX));
        let mut reserved = self.desk.gate.reserving();
        while let Some(frame) = body.frame().await {
            // The sender went away or broke the framing; there is nobody to answer.
            let frame = frame.map_err(|_| Answer::BadRequest(r#"{"error":"the body ended early"}"#))?;
            let Ok(data) = frame.into_data() else { continue };
            if read.len() + data.len() > most {
                return Err(Answer::BadBody(BadBody::TooLarge));
            }
            reserved.add(data.len() as u64);
            if self.desk.gate.admission(0) == Admission::Full {
                return Err(Answer::Full);
            }
            read.extend_from_slice(&data);
        }
        Ok(read)
    }

    fn check_type(&self) -> Result<(), Answer> {
        let Some(value) = self.headers.get(CONTENT_TYPE) else { return Ok(()) };
        let text = value.to_str().map_err(|_| Answer::BadType)?;
        let settings = &self.desk.settings;
        let is_taken = match &settings.content_types {
            Some(types) => types.contains(&body::essence(text)),
            None => settings.format.takes_type(text),
        };
        if is_taken { Ok(()) } else { Err(Answer::BadType) }
    }

    fn is_gzip(&self) -> Result<bool, Answer> {
        let mut encodings = self.headers.get_all(CONTENT_ENCODING).iter();
        let first = encodings.next().map(|value| value.as_bytes().to_ascii_lowercase());
        match first.as_deref() {
            _ if encodings.next().is_some() => Err(Answer::BadEncoding),
            None | Some(b"identity") => Ok(false),
            Some(b"gzip" | b"x-gzip") if self.desk.settings.takes_gzip => Ok(true),
            Some(_) => Err(Answer::BadEncoding),
        }
    }

    fn content_length(&self) -> Option<u64> {
        self.headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
    }

    /// Slack asks once whether a path is ours by a signed challenge, which is no event.
    fn challenge(&self, body: &[u8]) -> Option<String> {
        if self.target.credentials.family() != Family::Slack {
            return None;
        }
        body::field(body, "type").filter(|kind| kind == "url_verification")?;
        body::field(body, "challenge").filter(|challenge| challenge.len() <= ID_BYTES_MAX)
    }

    fn post(&self, payload: Vec<u8>, proof: Proof) -> Result<Post, Answer> {
        let signed = proof.delivery_id.clone().or_else(|| self.id_in(&payload));
        // Where the time is signed, a copy of the request must be known whatever its other headers say.
        let is_signed = signed.is_some();
        let id = signed.or_else(|| self.id_in_header());
        if id.as_ref().is_some_and(|id| id.len() > ID_BYTES_MAX) {
            return Err(Answer::BadRequest(r#"{"error":"the name of the delivery is too long"}"#));
        }
        let path = &self.target.path;
        let digest = match (&id, &proof.fingerprint) {
            (_, Some(fingerprint)) if !is_signed => Some(Digest::of(path, &format!("signed {fingerprint}"))),
            (Some(id), _) => Some(Digest::of(path, id)),
            (None, _) => None,
        };
        let subject = Subject { headers: self.headers, body: &payload, id: id.as_deref(), path };
        let key = self.desk.settings.key.as_ref().and_then(|template| template.key(&subject));
        let received_ms = i64::try_from(self.arrival.unix.as_millis()).unwrap_or(i64::MAX);
        let arrived_ns = i64::try_from(self.arrival.unix.as_nanos()).unwrap_or(i64::MAX);
        let event_time_ns = proof.signed_at_s.map_or(arrived_ns, |at| at.saturating_mul(1_000_000_000));
        let headers = self.record_headers();
        let post = Post { payload: payload.into(), key, id, digest, received_ms, event_time_ns, headers };
        // A larger record would fail its batch, and with it the posts of others.
        if post.bytes() as u64 > self.desk.settings.record_bytes_max {
            return Err(Answer::BadBody(BadBody::TooLarge));
        }
        Ok(post)
    }

    /// The name of the delivery in the body, for the families that keep it there.
    fn id_in(&self, payload: &[u8]) -> Option<String> {
        let field = self.target.credentials.family().id_in_body()?;
        body::field(payload, field).filter(|id| !id.is_empty())
    }

    fn id_in_header(&self) -> Option<String> {
        let name = self.desk.settings.id_header.as_deref()?;
        self.headers.get(name)?.to_str().ok().filter(|id| !id.is_empty()).map(str::to_owned)
    }

    fn record_headers(&self) -> Headers {
        let (settings, mut headers) = (&self.desk.settings, Headers::default());
        if settings.has_metadata {
            headers.push("picomq.http.source", settings.name.as_bytes());
            headers.push("picomq.http.path", self.target.path.as_bytes());
            if let Some(name) = &self.target.name {
                headers.push("picomq.http.endpoint", name.as_bytes());
            }
            headers.push("picomq.http.remote_addr", self.arrival.from.text.as_bytes());
            headers.push("picomq.http.received_at", self.arrival.unix.as_micros().to_string().as_bytes());
        }
        for name in &settings.forwarded {
            for value in self.headers.get_all(name) {
                headers.push(name, value.as_bytes());
            }
        }
        headers
    }

    fn safe(&self) -> Answer {
        match self.desk.settings.bounds.durability {
            Durability::Delivered => Answer::Delivered,
            Durability::Spooled { .. } => Answer::Spooled,
        }
    }

    fn unauthorized(&self, refused: auth::Refused) -> Answer {
        tracing::debug!(path = self.target.path, from = %self.arrival.from.address, reason = %refused, "post refused");
        Answer::Unauthorized
    }
}

impl Arrival<'_> {
    fn seconds(&self) -> i64 {
        i64::try_from(self.unix.as_secs()).unwrap_or(i64::MAX)
    }
}

fn admitted(admission: Admission) -> Result<(), Answer> {
    match admission {
        Admission::Admitted => Ok(()),
        Admission::Full => Err(Answer::Full),
        Admission::Unavailable => Err(Answer::Unavailable),
    }
}

fn bytes_max(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Reads on for a moment. One who waits for `100 Continue` has sent nothing yet.
async fn drain(headers: &HeaderMap, mut body: Incoming) {
    if headers.contains_key(EXPECT) {
        return;
    }
    let _ = timeout(DRAINED_WITHIN, async {
        let mut drained = 0;
        while let Some(Ok(frame)) = body.frame().await {
            drained += frame.data_ref().map_or(0, Bytes::len);
            if drained > DRAINED_BYTES_MAX {
                break;
            }
        }
    })
    .await;
}

//! From a request on the wire to the shelf, through the faults that were planned.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};

use crate::faulty_shelf::{Fault, Inner, Shared};
use crate::shelf::{Condition, Reply, Save, Tags, strong};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// A larger state is answered with 413.
const STATE_BYTES_MAX: usize = 64 << 20;

/// The connection is to end without an answer.
#[derive(Debug)]
pub(crate) struct Cut;

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cut on purpose")
    }
}

impl std::error::Error for Cut {}

type Answer = Response<Full<Bytes>>;

/// A save has an idempotency key or a method that saves; a removal is a DELETE; anything else loads.
pub(crate) async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Answer, Cut> {
    let (parts, body) = request.into_parts();
    let has_key = parts.headers.contains_key(IDEMPOTENCY_KEY);
    let is_save = has_key || matches!(parts.method, Method::PUT | Method::PATCH);
    let path = parts.uri.path().to_owned();
    {
        let mut inner = shared.lock();
        inner.requests += 1;
        inner.heads.push(format!("{} {}\n{:?}", parts.method, parts.uri, parts.headers));
    }
    let Ok(state) = Limited::new(body, STATE_BYTES_MAX).collect().await else {
        return Ok(status(413));
    };
    let condition = condition(&parts.headers);
    if is_save {
        let key = parts.headers.get(IDEMPOTENCY_KEY).map(text);
        return save(shared, Save { path, condition, key, state: state.to_bytes() }).await;
    }
    if parts.method == Method::DELETE {
        let is_gone = shared.lock().shelf.remove(&path, &condition);
        return Ok(status(if is_gone { 204 } else { 412 }));
    }
    load(&shared, &path).await
}

async fn save(shared: Arc<Shared>, save: Save) -> Result<Answer, Cut> {
    let fault = {
        let mut inner = shared.lock();
        inner.judge.saving(&save);
        inner.saves.pop_front().unwrap_or(Fault::Works)
    };
    let know = |is_definite| shared.lock().judge.answered(&save, is_definite);
    match fault {
        Fault::Works => {
            let answer = apply(&shared, &save);
            know(true);
            Ok(answer)
        }
        Fault::Status { status, applies, retry_after } => {
            if applies {
                apply(&shared, &save);
            }
            know(!applies && (400..500).contains(&status) && !matches!(status, 408 | 409));
            Ok(with_retry_after(self::status(status), retry_after))
        }
        Fault::Cut { applies } => {
            if applies {
                apply(&shared, &save);
            }
            know(false);
            Err(Cut)
        }
        Fault::Late(wait) => {
            let answer = apply(&shared, &save);
            know(false);
            tokio::time::sleep(wait).await;
            // This goes on only while the client waits.
            know(true);
            Ok(answer)
        }
        Fault::Held => {
            know(false);
            let answer = held(shared.clone(), save.clone()).await?;
            shared.lock().judge.answered(&save, true);
            Ok(answer)
        }
    }
}

/// Takes effect later, also when its client is gone by then.
async fn held(shared: Arc<Shared>, save: Save) -> Result<Answer, Cut> {
    let late = tokio::spawn(async move {
        let released = shared.released.notified();
        tokio::pin!(released);
        // Registered before it is counted: a release that sees it held reaches it.
        released.as_mut().enable();
        shared.lock().held += 1;
        released.await;
        let answer = apply(&shared, &save);
        shared.lock().held -= 1;
        answer
    });
    late.await.map_err(|_| Cut)
}

fn apply(shared: &Shared, save: &Save) -> Answer {
    let mut inner = shared.lock();
    match inner.shelf.save(save) {
        Reply::Saved(version) => tagged(status(200), &inner, version),
        Reply::Refused => status(412),
    }
}

async fn load(shared: &Shared, path: &str) -> Result<Answer, Cut> {
    let fault = {
        let mut inner = shared.lock();
        inner.judge.loading(path);
        inner.loads.pop_front().unwrap_or(Fault::Works)
    };
    match fault {
        Fault::Works | Fault::Held => {}
        Fault::Status { status, retry_after, .. } => {
            return Ok(with_retry_after(self::status(status), retry_after));
        }
        Fault::Cut { .. } => return Err(Cut),
        Fault::Late(wait) => tokio::time::sleep(wait).await,
    }
    let inner = shared.lock();
    let Some(entry) = inner.shelf.get(path) else { return Ok(status(404)) };
    let mut answer = tagged(status(200), &inner, entry.version);
    if let Some(encoding) = inner.encoding {
        answer.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    *answer.body_mut() = Full::new(entry.state.clone());
    Ok(answer)
}

fn condition(headers: &HeaderMap) -> Condition {
    match (headers.get(header::IF_MATCH), headers.get(header::IF_NONE_MATCH)) {
        (Some(tag), _) => Condition::Is(text(tag)),
        (None, Some(_)) => Condition::Absent,
        (None, None) => Condition::None,
    }
}

fn text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

fn tagged(mut answer: Answer, inner: &Inner, version: u64) -> Answer {
    let tag = match inner.tags {
        Tags::Strong => strong(version),
        Tags::Weak => format!("W/{}", strong(version)),
        Tags::Missing => return answer,
    };
    let value = HeaderValue::try_from(tag).expect("a number in quotes is a header's value");
    answer.headers_mut().insert(header::ETAG, value);
    answer
}

fn with_retry_after(mut answer: Answer, seconds: Option<u32>) -> Answer {
    if let Some(seconds) = seconds {
        answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    answer
}

fn status(status: u16) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::new()));
    *answer.status_mut() = StatusCode::from_u16(status).expect("a test names a legal status");
    answer
}

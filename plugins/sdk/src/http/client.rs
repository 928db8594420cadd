//! Sends requests to one server, or to several that answer for each other.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{ACCEPT_ENCODING, AUTHORIZATION, HeaderValue};
use tokio::time::Instant;
use tracing::debug;

use super::answer::Answer;
use super::auth::Auth;
use super::base_url::BaseUrl;
use super::head::{Head, Place};
use super::outbound;
use super::request::Request;
use super::tls::{self, ClientCertificate};
use crate::{Error, Interrupt};

/// Longest wait for a connection; a host that is away must not hold up its fellows for the whole timeout.
const CONNECT_TIMEOUT_MAX: Duration = Duration::from_secs(10);

/// A whole answer takes at most so many times [`Settings::timeout`], however steadily it trickles.
const WHOLE_ANSWER_FACTOR: u32 = 10;

/// How a client asks.
#[derive(Clone, Debug)]
pub struct Settings {
    /// One or more servers that answer for each other.
    pub hosts: Vec<BaseUrl>,
    /// Who asks, at every host.
    pub auth: Auth,
    /// PEM: trust these authorities alone, instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// For servers that ask for a certificate.
    pub client_certificate: Option<ClientCertificate>,
    /// Longest silence: until the head of an answer, and between two pieces of its body. A whole answer takes ten times
    /// as long at most; a connection at most this long, or ten seconds.
    pub timeout: Duration,
    /// Ask for compressed answers: less on the wire, more work at both ends.
    pub is_gzip_wanted: bool,
}

/// Sends requests; one a source. Every method may be called from several tasks.
#[derive(Debug)]
pub struct Client {
    inner: reqwest::Client,
    hosts: Vec<Host>,
    /// Index of the host that answered last.
    current: AtomicUsize,
    /// Until when the server asked to be left alone.
    quiet_until: Mutex<Option<Instant>>,
    timeout: Duration,
    is_gzip_wanted: bool,
}

#[derive(Debug)]
struct Host {
    base: BaseUrl,
    place: Arc<Place>,
    authorization: Option<HeaderValue>,
}

impl Client {
    /// Reads certificates and prepares connections; asks nothing yet.
    ///
    /// # Errors
    /// [`Error::Config`] for files that cannot be used, credentials given twice or that no header can carry.
    pub async fn open(settings: Settings) -> Result<Client, Error> {
        // Reading certificates may block.
        let building = tokio::task::spawn_blocking(move || Client::build(&settings)).await;
        building.map_err(|error| Error::transient("the HTTP client could not be made").with_cause(error))?
    }

    fn build(settings: &Settings) -> Result<Client, Error> {
        let hosts: Result<Vec<Host>, Error> =
            settings.hosts.iter().map(|base| host(base, &settings.auth)).collect();
        let hosts = hosts?;
        if hosts.is_empty() {
            return Err(Error::config("url: no address; right is one such as https://example.com:9200"));
        }
        let is_tls = hosts.iter().any(|host| host.base.is_tls());
        let whole = settings.timeout.saturating_mul(WHOLE_ANSWER_FACTOR);
        let mut builder = outbound::client(whole, is_tls)
            .connect_timeout(settings.timeout.min(CONNECT_TIMEOUT_MAX))
            .read_timeout(settings.timeout);
        // Content codings are undone here, within the limit of the answer.
        builder = builder.no_gzip().no_deflate().no_brotli().no_zstd();
        if let Some(file) = &settings.ca_file {
            builder = tls::trust(builder, file)?;
        }
        if let Some(own) = &settings.client_certificate {
            builder = tls::show(builder, own)?;
        }
        let inner = builder.build().map_err(|error| {
            Error::config("the HTTP client cannot be made").with_cause(outbound::reason(error))
        })?;
        Ok(Client {
            inner,
            hosts,
            current: AtomicUsize::new(0),
            quiet_until: Mutex::new(None),
            timeout: settings.timeout,
            is_gzip_wanted: settings.is_gzip_wanted,
        })
    }

    /// Waits as long as the server asked to be left alone, by the `Retry-After` of a 429 or 503 before; at once when it
    /// did not. Call it first in `poll`: an error that is returned is polled again sooner than many servers ask for.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub async fn ready(&self, interrupt: &Interrupt) -> Result<(), Error> {
        interrupt.sleep(self.quiet_left().unwrap_or_default()).await
    }

    /// What is left of the time for which the server asked to be left alone.
    pub fn quiet_left(&self) -> Option<Duration> {
        let until = *self.quiet_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.map(|until| until.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
    }

    /// Asks the host that answered last; when it cannot be reached, is silent or answers 502, 503 or 504, each other
    /// host once, in turn. So use it for requests that may be done twice.
    ///
    /// Any status is an answer: look at [`Answer::head`].
    ///
    /// # Errors
    /// [`Error::Transient`] when no host answered, [`Error::Permanent`] when a certificate is not to be trusted.
    pub async fn send(&self, request: &Request) -> Result<Answer, Error> {
        let first = self.current.load(Ordering::Relaxed);
        let mut last = None;
        for step in 0..self.hosts.len() {
            let index = (first + step) % self.hosts.len();
            let outcome = self.ask(&self.hosts[index], request).await;
            match outcome {
                Ok(answer) if !is_away(answer.head()) => {
                    self.current.store(index, Ordering::Relaxed);
                    return Ok(self.noted(answer));
                }
                Ok(answer) => last = Some(Ok(answer)),
                Err(error) => {
                    debug!(host = %self.hosts[index].base, error = error.chain(), "host does not answer");
                    // What a server said goes before what a connection said.
                    last = last.filter(Result::is_ok).or(Some(Err(error)));
                }
            }
        }
        let answer = last.expect("there is a host, and each leaves an answer or an error")?;
        Ok(self.noted(answer))
    }

    async fn ask(&self, host: &Host, request: &Request) -> Result<Answer, Error> {
        let mut url = host.base.below(&request.segments);
        if !request.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&request.query);
        }
        let mut asking = self.inner.request(request.method.clone(), url);
        if let Some(authorization) = &host.authorization {
            asking = asking.header(AUTHORIZATION, authorization);
        }
        if self.is_gzip_wanted {
            asking = asking.header(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        }
        for (name, value) in &request.headers {
            asking = asking.header(name, value);
        }
        if !request.body.is_empty() {
            asking = asking.body(request.body.clone());
        }
        match asking.send().await {
            Ok(response) => Answer::new(Arc::clone(&host.place), response),
            Err(error) => Err(self.failure(host, error)),
        }
    }

    fn failure(&self, host: &Host, error: reqwest::Error) -> Error {
        let place = &host.place.name;
        if tls::is_untrusted(&error) {
            let text = format!("the certificate of {place} is not trusted; name its authority with ca_file");
            return Error::permanent(text).with_cause(outbound::reason(error));
        }
        if tls::is_plain(&error) {
            let text = format!("{place} speaks no TLS; if that is right, write http:// in its address");
            return Error::transient(text).with_cause(outbound::reason(error));
        }
        let text = match (error.is_connect(), error.is_timeout()) {
            (true, _) => format!("cannot connect to {place}"),
            (false, true) => format!("{place} did not answer within {} ms", self.timeout.as_millis()),
            (false, false) => format!("{place} gave no answer"),
        };
        Error::transient(text).with_cause(outbound::reason(error))
    }

    /// Remembers a wish to be left alone.
    fn noted(&self, answer: Answer) -> Answer {
        if let (429 | 503, Some(wait)) = (answer.head().status(), answer.head().retry_after()) {
            *self.quiet_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + wait);
        }
        answer
    }
}

/// Whether another host may do what this one cannot.
fn is_away(head: &Head) -> bool {
    matches!(head.status(), 502..=504)
}

fn host(base: &BaseUrl, auth: &Auth) -> Result<Host, Error> {
    let auth = match (auth, base.login()) {
        (Auth::None, Some((user, password))) => {
            Auth::Basic { user: user.to_owned(), password: password.clone() }
        }
        (Auth::Basic { .. } | Auth::Scheme { .. }, Some(_)) => {
            return Err(Error::config(format!(
                "url: {base} has a user of its own, beside other credentials; keep one of the two"
            )));
        }
        (other, None) => other.clone(),
    };
    let place = Arc::new(Place { name: base.to_string(), secrets: auth.secrets() });
    Ok(Host { base: base.clone(), place, authorization: auth.header()? })
}

//! The requests the source makes, and what the server's refusals mean. It knows no position and keeps no page.

use std::sync::{Mutex, PoisonError};

use picomq_connector_sdk::Error;
use picomq_connector_sdk::http::{Answer, Client, Extent, Head, Kind, Method, Request};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::page::{Refusal, Shards};

/// Longest answer that is no page: mappings of wide patterns are the largest.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// The server, as one source asks it.
#[derive(Debug)]
pub(crate) struct Server {
    client: Client,
    index: String,
    keep_alive: String,
    /// Keeps the pages of a plain search on the same copies of the shards.
    preference: String,
    /// How points in time are had, once it was found out.
    dialect: Mutex<Option<Dialect>>,
}

/// How a server opens a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `POST /index/_pit`; searches sort by `_shard_doc` last.
    Elastic,
    /// `POST /index/_search/point_in_time`.
    OpenSearch,
    /// Not at all.
    Without,
}

/// What a chain of pages holds on to at the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Context {
    /// A point in time.
    Pit { id: String, dialect: Dialect },
    /// A scroll.
    Scroll { id: String },
}

/// Which page to ask for.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    /// A search of its own.
    Plain(Value),
    /// A search in a point in time, whose id is put into the body.
    Pit(Value),
    /// The first page of a scroll.
    FirstOfScroll(Value),
    /// The next page of a scroll.
    NextOfScroll(String),
}

/// Why there is no page.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The point in time or scroll is gone: begin again from what is known.
    ContextMissing(Error),
    /// Fewer documents would do.
    TooLarge(String),
    /// The server holds as many points in time or scrolls as it may; a search of its own needs neither.
    Crowded(Error),
    /// Everything else.
    Other(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Other(error)
    }
}

impl Server {
    pub(crate) fn new(client: Client, index: &str, keep_alive: &str, key: &str) -> Server {
        let (index, keep_alive) = (index.to_owned(), keep_alive.to_owned());
        // A preference must not begin with an underscore; keys may not either.
        Server { client, index, keep_alive, preference: key.to_owned(), dialect: Mutex::new(None) }
    }

    /// The client, for its waits.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// How it opens points in time, if that was found out.
    pub(crate) fn dialect(&self) -> Option<Dialect> {
        *self.dialect.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a page of at most `limit` bytes into `page`.
    pub(crate) async fn page(&self, ask: &Ask, page: &mut Vec<u8>, limit: usize) -> Result<(), Fault> {
        let answer = self.client.send(&self.request(ask)).await?;
        let (head, extent) = answer.read(page, limit).await?;
        if extent == Extent::TooLong {
            return Err(Fault::TooLarge(format!("the page is larger than {limit} bytes")));
        }
        if head.is_success() {
            return Ok(());
        }
        let refusal = Refusal::parse(page);
        if refusal.is_context_missing() {
            return Err(Fault::ContextMissing(head.refusal("the search", &refusal.reason)));
        }
        if refusal.is_page_too_large() {
            return Err(Fault::TooLarge(head.said(&refusal.reason)));
        }
        if refusal.is_crowd() {
            return Err(Fault::Crowded(head.refusal("opening a scroll", &refusal.reason)));
        }
        Err(self.refused("the search", &head, &refusal).into())
    }

    fn request(&self, ask: &Ask) -> Request {
        // A shard that fails must fail the search: the default is to answer with what the others have.
        let search =
            |segments: Vec<&str>| Request::post(segments).query("allow_partial_search_results", "false");
        match ask {
            Ask::Plain(body) => search(vec![&self.index, "_search"])
                .query("track_total_hits", "false")
                .query("preference", &self.preference)
                .json(body.to_string()),
            Ask::Pit(body) => {
                search(vec!["_search"]).query("track_total_hits", "false").json(body.to_string())
            }
            Ask::FirstOfScroll(body) => {
                search(vec![&self.index, "_search"]).query("scroll", &self.keep_alive).json(body.to_string())
            }
            Ask::NextOfScroll(id) => Request::post(["_search", "scroll"])
                .json(json!({ "scroll": self.keep_alive, "scroll_id": id }).to_string()),
        }
    }

    /// `body` as it is asked in a point in time.
    pub(crate) fn in_pit(&self, id: &str, mut body: serde_json::Map<String, Value>) -> Value {
        body.insert("pit".into(), json!({ "id": id, "keep_alive": self.keep_alive }));
        Value::Object(body)
    }

    /// Opens a point in time over every shard; none where the server has no such thing, or does not allow it.
    ///
    /// # Errors
    /// What is no answer to the question whether there are points in time; and one that leaves shards out.
    pub(crate) async fn open_pit(&self) -> Result<Option<Context>, Fault> {
        let ways = match self.dialect() {
            Some(Dialect::Without) => return Ok(None),
            Some(known) => vec![known],
            None => vec![Dialect::Elastic, Dialect::OpenSearch],
        };
        let is_known = ways.len() == 1;
        for dialect in ways {
            let (head, body) = self.small(&self.pit_request(dialect)).await?;
            let opened = serde_json::from_slice::<OpenedPit>(&body).ok();
            if let Some(OpenedPit { id, shards }) = opened.filter(|_| head.is_success()) {
                self.learn(dialect);
                let context = Context::Pit { id, dialect };
                let Some(why) = shards.distrust() else { return Ok(Some(context)) };
                // It would answer every page as if the other shards held nothing.
                let _ = self.close(&context).await;
                let why = why.chars().take(400).collect::<String>();
                return Err(Error::transient(format!("a point in time was not taken: {why}")).into());
            }
            let refusal = Refusal::parse(&body);
            if refusal.is_crowd() {
                self.learn(dialect);
                return Err(Fault::Crowded(self.refused("opening a point in time", &head, &refusal)));
            }
            let is_no_such_thing = matches!(head.status(), 400 | 403 | 404 | 405 | 501);
            if is_known || !is_no_such_thing || refusal.kind == "index_not_found_exception" {
                return Err(self.refused("opening a point in time", &head, &refusal).into());
            }
        }
        self.learn(Dialect::Without);
        Ok(None)
    }

    fn pit_request(&self, dialect: Dialect) -> Request {
        let request = match dialect {
            Dialect::Elastic => Request::post([&*self.index, "_pit"]),
            // By default it is opened over the shards that can be had, and the answer is a 200.
            Dialect::OpenSearch | Dialect::Without => {
                Request::post([&*self.index, "_search", "point_in_time"])
                    .query("allow_partial_pit_creation", "false")
            }
        };
        request.query("keep_alive", &self.keep_alive)
    }

    fn learn(&self, dialect: Dialect) {
        *self.dialect.lock().unwrap_or_else(PoisonError::into_inner) = Some(dialect);
    }

    /// Lets go of what the server holds for us.
    ///
    /// # Errors
    /// When it did not answer, or refused; it lets go by itself when the time is over.
    pub(crate) async fn close(&self, context: &Context) -> Result<(), Error> {
        let (segments, body): (&[&str], Value) = match context {
            Context::Pit { id, dialect: Dialect::Elastic } => (&["_pit"], json!({ "id": id })),
            Context::Pit { id, dialect: Dialect::OpenSearch | Dialect::Without } => {
                (&["_search", "point_in_time"], json!({ "pit_id": [id] }))
            }
            Context::Scroll { id } => (&["_search", "scroll"], json!({ "scroll_id": [id] })),
        };
        let request = Request::new(Method::DELETE, segments.iter().copied()).json(body.to_string());
        let (head, body) = self.small(&request).await?;
        // 404: it was gone already.
        match head.is_success() || head.status() == 404 {
            true => Ok(()),
            false => Err(head.refusal("closing a search context", &Refusal::parse(&body).reason)),
        }
    }

    /// The kinds of `fields` under the index, as `_field_caps` tells them.
    ///
    /// # Errors
    /// [`Error::Transient`] when there is no such index yet, others by the answer.
    pub(crate) async fn field_kinds(&self, fields: &str) -> Result<Value, Error> {
        let request = Request::get([&*self.index, "_field_caps"]).query("fields", fields);
        self.json("asking which kind the field is", &request).await
    }

    /// A search that is no page.
    ///
    /// # Errors
    /// By the answer.
    pub(crate) async fn count(&self, body: &Value) -> Result<Value, Error> {
        let request = Request::post([&*self.index, "_search"]).json(body.to_string());
        self.json("the search", &request).await
    }

    async fn json(&self, what: &str, request: &Request) -> Result<Value, Error> {
        let (head, body) = self.small(request).await?;
        if !head.is_success() {
            return Err(self.refused(what, &head, &Refusal::parse(&body)));
        }
        serde_json::from_slice(&body).map_err(|error| {
            Error::transient(format!("{what}: {} did not answer with JSON", head.place())).with_cause(error)
        })
    }

    async fn small(&self, request: &Request) -> Result<(Head, Vec<u8>), Error> {
        let answer: Answer = self.client.send(request).await?;
        let mut body = Vec::new();
        let (head, extent) = answer.read(&mut body, ANSWER_BYTES_MAX).await?;
        match extent {
            Extent::Whole => Ok((head, body)),
            Extent::TooLong => {
                let text = format!(
                    "{} answers with more than {ANSWER_BYTES_MAX} bytes; name fewer indices",
                    head.place()
                );
                Err(Error::permanent(text))
            }
        }
    }

    fn refused(&self, what: &str, head: &Head, refusal: &Refusal) -> Error {
        let error = head.refusal(what, &refusal.reason);
        match (&*refusal.kind, head.kind()) {
            // Not in the form in which these servers refuse: something else listens there.
            ("", _) if head.status() == 404 => {
                Error::permanent(format!("{error}; url must lead to Elasticsearch or OpenSearch"))
            }
            ("index_not_found_exception", _) => Error::transient(format!(
                "{}; index = \"{}\" is read as soon as it is there",
                error, self.index
            )),
            // Shards that are not assigned, a cluster that is starting or blocked: it says 4xx to some of them.
            (
                "cluster_block_exception" | "no_shard_available_action_exception" | "index_closed_exception",
                Kind::Permanent,
            ) => Error::transient(error.to_string()),
            _ => error,
        }
    }
}

#[derive(Deserialize)]
struct OpenedPit<'a> {
    #[serde(alias = "pit_id")]
    id: String,
    #[serde(rename = "_shards", borrow, default)]
    shards: Shards<'a>,
}

//! A chain: the pages of one round of reading, from a floor to the end of what is there.

use std::sync::{Mutex, PoisonError};

use picomq_connector_sdk::{Error, Host};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tracing::debug;

use crate::client::{Ask, Context, Dialect, Fault, Server};
use crate::config::Pagination;
use crate::key::{Key, Unit};
use crate::page::Page;
use crate::position::Settled;
use crate::query::{self, After, Begin, Field};
use crate::settings::{PAGE_DOCUMENTS_MAX, Settings};

/// How the pages of a chain are had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The first page, a search of its own: most rounds need no more.
    First,
    /// The first page was full, and how to go on is not settled.
    Undecided,
    /// Each page is a search of its own.
    Plain,
    /// In a point in time.
    Pit { id: String, dialect: Dialect },
    /// The next request opens a scroll.
    NewScroll,
    /// In a scroll.
    Scroll { id: String },
}

/// Where a round of reading stands.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) way: Way,
    pub(crate) after: After,
    pub(crate) field: Field,
    /// How many documents the position counts that this chain goes on from.
    pub(crate) documents: u64,
    pub(crate) began: Instant,
    /// What was settled before its searches, when that was asked. Most rounds are one page, which does not need it.
    pub(crate) settled: Option<Settled>,
    /// Documents of the key that the next page begins with, which come again.
    edge: usize,
    /// While what lies ahead was delivered already: so many names a page are asked for, and no documents. 0 from the first on that
    /// was not.
    names: usize,
    ahead: Option<Ahead>,
}

/// A page as it came.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) bytes: Vec<u8>,
    /// Documents asked for; fewer mean that there are no more.
    pub(crate) asked: usize,
}

/// A page that is fetched while the one before is worked on. It ends with its chain.
#[derive(Debug)]
struct Ahead(JoinHandle<Result<Got, Fault>>);

impl Drop for Ahead {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// One request for a page, with all it takes.
#[derive(Debug)]
pub(crate) struct Errand {
    ask: Ask,
    asked: usize,
    limit: usize,
    buffer: Vec<u8>,
}

impl Errand {
    /// Fetches the page.
    pub(crate) async fn run(mut self, server: &Server) -> Result<Got, Fault> {
        server.page(&self.ask, &mut self.buffer, self.limit).await?;
        Ok(Got { bytes: self.buffer, asked: self.asked })
    }
}

impl Chain {
    /// A chain that begins at `floor`.
    ///
    /// By nanoseconds a scroll is what every server gets right: OpenSearch 2.19 and Elasticsearch 7.10 pass over documents
    /// of other shards that share a millisecond when `search_after` is used (docs/decisions/0015).
    ///
    /// # Errors
    /// [`Error::Permanent`] when the definition insists on what loses documents.
    pub(crate) fn new(
        settings: &Settings,
        field: Field,
        floor: Option<Key>,
        documents: u64,
    ) -> Result<Chain, Error> {
        let way = match (settings.pagination, field.unit) {
            (Pagination::Scroll, _) | (Pagination::Auto, Unit::Nanos) => Way::NewScroll,
            (Pagination::Pit, Unit::Nanos) => Way::Undecided,
            (Pagination::SearchAfter, Unit::Nanos) => return Err(loses("search_after")),
            (Pagination::Auto | Pagination::Pit | Pagination::SearchAfter, _) => Way::First,
        };
        let after = After::Floor(floor);
        let began = Instant::now();
        let settled = query::settled(settings, &field, None).is_none().then_some(Settled::All);
        Ok(Chain { way, after, field, documents, began, settled, edge: 0, names: 0, ahead: None })
    }

    /// Decides how to go on after a full first page. `floor` is that of the position reached.
    ///
    /// # Errors
    /// When the server cannot be asked, or has no point in time and the definition insists on one.
    pub(crate) async fn decide(
        &mut self,
        server: &Server,
        settings: &Settings,
        floor: Option<&Key>,
    ) -> Result<(), Fault> {
        self.way = match server.open_pit().await? {
            Some(Context::Pit { dialect: Dialect::OpenSearch, .. }) if self.field.unit == Unit::Nanos => {
                return Err(loses("pit").into());
            }
            Some(Context::Pit { id, dialect }) => Way::Pit { id, dialect },
            Some(Context::Scroll { .. }) | None if settings.pagination == Pagination::Pit => {
                return Err(Error::permanent(
                    "pagination = \"pit\": the server has no point in time, or this user may not open one; leave the key out",
                )
                .into());
            }
            Some(Context::Scroll { .. }) | None => {
                (self.after, self.edge, self.names) = (After::Floor(floor.cloned()), 0, 0);
                Way::NewScroll
            }
        };
        Ok(())
    }

    /// Goes on by searches of their own, since the server holds as many contexts as it may; `why` is what it said.
    ///
    /// # Errors
    /// `why`, when nothing else will do.
    pub(crate) fn without_context(mut self, settings: &Settings, why: Error) -> Result<Chain, Error> {
        if settings.pagination != Pagination::Auto || self.field.unit == Unit::Nanos {
            return Err(why);
        }
        self.way = Way::Plain;
        Ok(self)
    }

    /// Looks first for what is new among `known` documents that will come again, by their names alone: far fewer bytes than the
    /// documents, and most rounds find nothing.
    pub(crate) fn look_for_news(&mut self, known: usize) {
        if self.way == Way::First {
            self.names = known + 1;
        }
    }

    /// Whether the next page is one of names.
    pub(crate) fn is_looking(&self) -> bool {
        self.names > 0
    }

    /// Asks for documents from here on.
    pub(crate) fn stop_looking(&mut self) {
        self.names = 0;
    }

    /// The request for the next page, `size` new documents at most.
    pub(crate) fn errand(
        &self,
        server: &Server,
        settings: &Settings,
        size: usize,
        buffer: Vec<u8>,
    ) -> Errand {
        let asked = match self.way {
            Way::NewScroll | Way::Scroll { .. } => size,
            Way::First | Way::Undecided | Way::Plain | Way::Pit { .. } => {
                let wanted = if self.is_looking() { self.names } else { size };
                (wanted + self.edge).min((PAGE_DOCUMENTS_MAX as usize).max(self.edge + 1))
            }
        };
        let body = |begin| {
            let mut body = query::body(settings, &self.field, begin, &self.after, asked);
            if self.is_looking() {
                body.insert("_source".into(), false.into());
            }
            body
        };
        let search_after = |own_values| Begin::SearchAfter { own_values };
        let ask = match &self.way {
            Way::First | Way::Undecided | Way::Plain => Ask::Plain(body(search_after(0)).into()),
            Way::Pit { id, dialect: Dialect::Elastic } => Ask::Pit(server.in_pit(id, body(search_after(1)))),
            Way::Pit { id, dialect: Dialect::OpenSearch | Dialect::Without } => {
                Ask::Pit(server.in_pit(id, body(search_after(0))))
            }
            Way::NewScroll => Ask::FirstOfScroll(body(Begin::Query).into()),
            Way::Scroll { id } => Ask::NextOfScroll(id.clone()),
        };
        Errand { ask, asked, limit: settings.page_bytes, buffer }
    }

    /// Whether the page was asked for already, and then what came of it.
    pub(crate) async fn fetched(&mut self) -> Option<Result<Got, Fault>> {
        let mut ahead = self.ahead.take()?;
        Some(match (&mut ahead.0).await {
            Ok(got) => got,
            Err(error) => Err(Error::transient("a page was not fetched").with_cause(error).into()),
        })
    }

    /// Fetches the next page meanwhile.
    pub(crate) fn fetch_ahead(&mut self, host: &Host, server: &std::sync::Arc<Server>, errand: Errand) {
        let server = std::sync::Arc::clone(server);
        self.ahead = Some(Ahead(tokio::spawn(host.scope(async move { errand.run(&server).await }))));
    }

    /// Goes on behind `page`, whose keys are `keys`.
    pub(crate) fn follow(&mut self, page: &Page<'_>, keys: &[Key], settings: &Settings) {
        self.go_behind(page, keys, settings);
        if self.way == Way::First {
            let is_plain = settings.pagination == Pagination::SearchAfter;
            self.way = if is_plain { Way::Plain } else { Way::Undecided };
        }
    }

    /// Goes on with the first document of `page`, a page of names, that was not delivered; `known` are the keys before it.
    pub(crate) fn read_behind(&mut self, page: &Page<'_>, known: &[Key], settings: &Settings) {
        self.go_behind(page, known, settings);
        self.stop_looking();
    }

    fn go_behind(&mut self, page: &Page<'_>, keys: &[Key], settings: &Settings) {
        if let Some(last) = keys.last() {
            let is_shared = settings.order.is_tie_shared();
            self.edge = if is_shared { keys.iter().rev().take_while(|key| *key == last).count() } else { 0 };
            self.after = After::Document(last.clone());
        }
        match &mut self.way {
            Way::Pit { id, .. } => {
                if let Some(newest) = &page.pit_id {
                    id.clone_from(newest);
                }
            }
            Way::NewScroll | Way::Scroll { .. } => {
                if let Some(id) = page.scroll_id.clone() {
                    self.way = Way::Scroll { id };
                }
            }
            Way::First | Way::Undecided | Way::Plain => {}
        }
    }

    /// Whether the next page can be asked for at once.
    pub(crate) fn is_decided(&self) -> bool {
        self.way != Way::Undecided && self.settled.is_some()
    }

    /// Whether a page of fewer documents can be had without beginning anew.
    pub(crate) fn can_shrink(&self) -> bool {
        !matches!(self.way, Way::Scroll { .. })
    }

    /// What the server holds for it.
    pub(crate) fn context(&self) -> Option<Context> {
        match &self.way {
            Way::Pit { id, dialect } => Some(Context::Pit { id: id.clone(), dialect: *dialect }),
            Way::Scroll { id } => Some(Context::Scroll { id: id.clone() }),
            Way::First | Way::Undecided | Way::Plain | Way::NewScroll => None,
        }
    }
}

fn loses(pagination: &str) -> Error {
    Error::permanent(format!(
        "pagination = \"{pagination}\" with a field of nanoseconds: such servers pass over documents then; leave the key out"
    ))
}

/// What the server holds for chains, so that it is let go of also when a chain was dropped under way.
#[derive(Debug, Default)]
pub(crate) struct Contexts {
    /// Of the chain that runs, or of one that was dropped.
    held: Mutex<Option<Context>>,
}

impl Contexts {
    /// `context` is what is held now; it is the one held before under its newest name, or there was none.
    pub(crate) fn hold(&self, context: Option<Context>) {
        if context.is_some() {
            *self.held.lock().unwrap_or_else(PoisonError::into_inner) = context;
        }
    }

    /// Lets go of what is held, if something is.
    pub(crate) async fn let_go(&self, server: &Server) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(context) = held
            && let Err(error) = server.close(&context).await
        {
            debug!(error = error.chain(), "the server keeps a search context until its time is over");
        }
    }
}

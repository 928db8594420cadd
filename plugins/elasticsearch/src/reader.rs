//! Rounds of reading: what is asked when, and what a page makes of a position.

use std::sync::Arc;
use std::time::Duration;

use picomq_connector_sdk::{Batch, CheckStatus, Error, Gauge, Host};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{debug, info, warn};

use crate::chain::{Chain, Contexts, Got, Way};
use crate::check::{Checks, Concern};
use crate::client::{Dialect, Fault, Server};
use crate::fill::{self, Filled};
use crate::key::{Key, Point, Unit};
use crate::page::Page;
use crate::position::{Position, SEEN_MAX, SETTLED_MAX, Settled};
use crate::query::{self, Field};
use crate::settings::{Order, Settings};
use crate::survey::{Survey, survey};

/// Between two rounds that brought nothing, however short `polling_interval` is.
const PAUSE_MIN: Duration = Duration::from_millis(100);
/// Before documents that have to wait are looked for again, `polling_interval` at most.
const PAUSE_HELD: Duration = Duration::from_secs(1);
/// What kind of field there is, is asked again after so long: indices come and go under a pattern.
const SURVEY_EVERY: Duration = Duration::from_secs(60);
/// How often documents that are not read are counted.
const COUNT_EVERY: Duration = Duration::from_secs(300);
/// A point in time keeps segments from being removed, so a chain ends after so long and the next one goes on.
const CHAIN_AGE_MAX: Duration = Duration::from_secs(600);
/// Search contexts that are gone one after the other, before it is an error.
const LOST_CONTEXTS_MAX: u32 = 3;

/// Reads one source's documents.
#[derive(Debug)]
pub(crate) struct Reader {
    server: Arc<Server>,
    settings: Settings,
    host: Host,
    checks: Checks,
    contexts: Contexts,
    inner: Mutex<Inner>,
}

/// What lives from poll to poll, and may be lost.
#[derive(Debug)]
struct Inner {
    chain: Option<Chain>,
    /// Documents a page; fewer than configured after pages that were too large.
    size: usize,
    survey: Option<(Instant, Survey)>,
    next_round: Instant,
    next_count: Instant,
    /// The last poll failed, and nothing was returned since.
    has_failed: bool,
    spare: Vec<u8>,
}

/// What came of a page.
struct Step {
    batch: Batch,
    position: Position,
    is_last: bool,
}

impl Reader {
    pub(crate) fn new(server: Server, settings: Settings, host: Host) -> Reader {
        let now = Instant::now();
        let inner = Inner {
            chain: None,
            size: settings.page_documents,
            survey: None,
            next_round: now,
            next_count: now,
            has_failed: false,
            spare: Vec::new(),
        };
        let checks = Checks::new(host.clone());
        let (server, contexts, inner) = (Arc::new(server), Contexts::default(), Mutex::new(inner));
        Reader { server, settings, host, checks, contexts, inner }
    }

    /// Where reports go.
    pub(crate) fn checks(&self) -> &Checks {
        &self.checks
    }

    /// Waits for documents after `head`; after an error also for the first round that finds none, so that the engine sees that
    /// all is well. The future may be dropped at any await: it then begins anew at its position.
    ///
    /// # Errors
    /// What the server said, or that it said nothing.
    pub(crate) async fn read(&self, head: Position) -> Result<(Batch, Position), Error> {
        let mut inner = self.inner.lock().await;
        let outcome = self.news(&mut inner, head).await;
        inner.has_failed = outcome.is_err();
        outcome
    }

    async fn news(&self, inner: &mut Inner, mut head: Position) -> Result<(Batch, Position), Error> {
        sleep(self.server.client().quiet_left().unwrap_or_default()).await;
        let mut lost = 0;
        loop {
            let going = inner.chain.take().filter(|chain| chain.documents == head.documents);
            let mut chain = match going {
                Some(chain) => chain,
                None => match self.begin(inner, &mut head).await? {
                    Some(chain) => chain,
                    None if inner.has_failed => return Ok((Batch::empty(), head)),
                    None => continue,
                },
            };
            match self.step(inner, &mut chain, &head).await {
                Ok(Step { batch, position, is_last }) => {
                    self.stepped(inner, chain, &position, is_last).await;
                    if position.is_done || !batch.is_empty() || (is_last && inner.has_failed) {
                        return Ok((batch, position));
                    }
                    head = position;
                }
                Err(Fault::ContextMissing(error)) => {
                    lost += 1;
                    if lost > LOST_CONTEXTS_MAX {
                        return Err(error);
                    }
                    info!(
                        error = error.chain(),
                        "a search context is gone; reading goes on from the position reached"
                    );
                }
                Err(Fault::TooLarge(why)) => {
                    if chain.is_looking() {
                        chain.stop_looking();
                    } else {
                        inner.size = self.smaller(inner.size, &why)?;
                    }
                    inner.chain = Some(chain).filter(Chain::can_shrink);
                }
                Err(Fault::Crowded(error)) => {
                    let advice = format!("{}: each page is a search of its own meanwhile", error.chain());
                    inner.chain = Some(chain.without_context(&self.settings, error)?);
                    self.checks.warn(Concern::Pagination, advice);
                }
                Err(Fault::Other(error)) => return Err(error),
            }
        }
    }

    /// Lets go of what the server holds.
    pub(crate) async fn close(&self) {
        self.inner.lock().await.chain = None;
        self.contexts.let_go(&self.server).await;
    }

    /// A new round, when its time has come; none when there is nothing to be read yet.
    async fn begin(&self, inner: &mut Inner, head: &mut Position) -> Result<Option<Chain>, Error> {
        self.contexts.let_go(&self.server).await;
        sleep_until(inner.next_round).await;
        let known = inner.survey.take().filter(|(at, _)| at.elapsed() < SURVEY_EVERY);
        let (asked_at, found) = match known {
            Some(known) => known,
            None => (Instant::now(), survey(&self.server, &self.settings).await?),
        };
        let Survey::Field(field) = found else {
            // Not kept: what is created meanwhile should not wait for the next survey.
            inner.next_round = Instant::now() + self.pause();
            return Ok(None);
        };
        inner.survey = Some((asked_at, Survey::Field(field.clone())));
        head.count_in(field.unit)?;
        if let Some(offset) = self.settings.initial_offset.as_deref().filter(|_| head.is_fresh()) {
            head.floor = Some(Key { at: offset_in(offset, field.unit)?, tie: Point::Int(i64::MAX) });
        }
        let mut chain = Chain::new(&self.settings, field, head.floor.clone(), head.documents)?;
        if head.seen.len() > inner.size / 2 {
            chain.look_for_news(head.seen.len());
        }
        if head.seen.len() > SETTLED_MAX / 2 {
            self.settle(&mut chain, head.floor.as_ref()).await?;
        }
        Ok(Some(chain))
    }

    /// Asks what is settled, once in a chain. What is searched for later has everything of it.
    async fn settle(&self, chain: &mut Chain, floor: Option<&Key>) -> Result<(), Error> {
        if chain.settled.is_some() {
            return Ok(());
        }
        let settled = match query::settled(&self.settings, &chain.field, floor) {
            None => Settled::All,
            Some(body) => {
                let answer = self.server.count(&body).await?;
                let hits = Vec::<Value>::deserialize(&answer["hits"]["hits"]).map_err(strange)?;
                let newest = hits.first().map(|hit| Point::deserialize(&hit["sort"][0]));
                Settled::Until(newest.transpose().map_err(strange)?.filter(|at| !at.is_missing()))
            }
        };
        chain.settled = Some(settled);
        Ok(())
    }

    /// One page.
    async fn step(&self, inner: &mut Inner, chain: &mut Chain, head: &Position) -> Result<Step, Fault> {
        let got = match chain.fetched().await {
            Some(got) => got?,
            None => self.fetch(inner, chain, head).await?,
        };
        let page = Page::parse(&got.bytes).map_err(strange)?;
        if let Some(why) = page.distrust() {
            let why = why.chars().take(400).collect::<String>();
            return Err(
                Error::transient(format!("a page was not taken, since it is not everything: {why}")).into()
            );
        }
        let keys = fill::keys(&page, &self.settings.order)?;
        let is_looking = chain.is_looking();
        if is_looking && let Some(place) = fill::first_new(&page, &keys, head) {
            debug!(names = keys.len(), known = place, "something new is there");
            chain.read_behind(&page, &keys[..place], &self.settings);
            self.contexts.hold(chain.context());
            return Ok(Step { batch: Batch::empty(), position: head.clone(), is_last: false });
        }
        let is_end = keys.len() < got.asked;
        let is_last = is_end || chain.began.elapsed() > CHAIN_AGE_MAX;
        chain.follow(&page, &keys, &self.settings);
        self.contexts.hold(chain.context());
        if !is_last && !is_looking && chain.is_decided() {
            let buffer = std::mem::take(&mut inner.spare);
            let errand = chain.errand(&self.server, &self.settings, inner.size, buffer);
            chain.fetch_ahead(&self.host, &self.server, errand);
        }
        let unit = chain.field.unit;
        let filled = match is_looking {
            true => Filled::nothing(&keys),
            false => fill::fill(&page, keys, head, unit, &self.settings)?,
        };
        let is_held = filled.is_cut;
        let (is_end, is_last) = (is_end && !is_held, is_last || is_held);
        let (batch, position) = self.moved(head.clone(), filled, chain, is_end);
        debug!(documents = page.hits().len(), new = batch.len(), is_end, is_held, "page read");
        if is_last {
            let pause = match (is_held, is_end) {
                (true, _) => self.pause().min(PAUSE_HELD),
                (false, true) => self.pause(),
                (false, false) => Duration::ZERO,
            };
            inner.next_round = Instant::now() + pause;
        }
        if !is_looking {
            self.take_back(inner, got);
        }
        Ok(Step { batch, position, is_last })
    }

    /// Asks for a page that was not asked for ahead.
    async fn fetch(&self, inner: &mut Inner, chain: &mut Chain, head: &Position) -> Result<Got, Fault> {
        let floor = head.floor.as_ref();
        if chain.way != Way::First {
            self.settle(chain, floor).await?;
        }
        if chain.way == Way::Undecided {
            chain.decide(&self.server, &self.settings, floor).await?;
            self.contexts.hold(chain.context());
            self.tell_pagination();
        }
        let errand = chain.errand(&self.server, &self.settings, inner.size, std::mem::take(&mut inner.spare));
        errand.run(&self.server).await
    }

    fn tell_pagination(&self) {
        if self.server.dialect() == Some(Dialect::Without) {
            let advice =
                "the server has no point in time, or this user may not open one: a scroll is used instead";
            self.checks.tell(Concern::Pagination, CheckStatus::Ok, advice.to_owned());
        } else {
            self.checks.well(Concern::Pagination);
        }
    }

    /// The batch of a page, and the position it leads to.
    fn moved(
        &self,
        mut position: Position,
        filled: Filled,
        chain: &Chain,
        is_end: bool,
    ) -> (Batch, Position) {
        let Filled { batch, delivered, reached, is_cut } = filled;
        position.take(delivered);
        if let Some(reached) = &reached {
            let settled = chain.settled.as_ref().unwrap_or(&Settled::Until(None));
            position.move_floor(reached, self.settings.overlap_nanos, settled);
        }
        match (is_cut, is_end) {
            (true, _) => self.checks.warn(
                Concern::Overlap,
                format!(
                    "more than {SEEN_MAX} documents are younger than overlap: newer ones wait until these are older, so that \
                     none that becomes visible late is missed; a shorter overlap ends the wait"
                ),
            ),
            (false, true) => self.checks.well(Concern::Overlap),
            (false, false) => {}
        }
        position.is_done = is_end && self.settings.order == Order::Sequence;
        self.tell_lag(&position, chain.field.unit, is_end);
        (batch, position)
    }

    /// After a page that led to `position`.
    async fn stepped(&self, inner: &mut Inner, mut chain: Chain, position: &Position, is_last: bool) {
        if is_last {
            let field = chain.field.clone();
            drop(chain);
            self.contexts.let_go(&self.server).await;
            self.count_unread(inner, &field).await;
        } else {
            chain.documents = position.documents;
            inner.chain = Some(chain);
        }
        if position.is_done {
            let documents = position.documents;
            let advice = format!(
                "everything was read: {documents} documents; give the source another key to read again"
            );
            self.checks.tell(Concern::Snapshot, CheckStatus::Ok, advice);
            info!(documents, "the snapshot was read to its end");
        }
    }

    /// Grows pages back while they are small, and keeps the buffer.
    fn take_back(&self, inner: &mut Inner, got: Got) {
        if got.bytes.len() < self.settings.page_bytes / 4 {
            inner.size = (inner.size * 2).min(self.settings.page_documents);
        }
        inner.spare = got.bytes;
    }

    fn smaller(&self, size: usize, why: &str) -> Result<usize, Error> {
        if size == 1 {
            return Err(Error::permanent(format!(
                "a page of one document cannot be read: {why}; leave the document out with query"
            )));
        }
        warn!(documents = size / 2, why, "pages are made smaller");
        Ok(size / 2)
    }

    fn pause(&self) -> Duration {
        self.settings.interval.max(PAUSE_MIN)
    }

    fn tell_lag(&self, position: &Position, unit: Unit, is_end: bool) {
        let Some(newest) = position.newest().and_then(|at| unit.nanos(at)) else { return };
        let now = i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX);
        let behind = if is_end { 0 } else { now.saturating_sub(newest).max(0) };
        self.host.gauge(Gauge::LagSeconds, behind as f64 / 1e9);
    }

    /// Counts documents that are not read, or not yet, now and then.
    async fn count_unread(&self, inner: &mut Inner, field: &Field) {
        if Instant::now() < inner.next_count {
            return;
        }
        inner.next_count = Instant::now() + COUNT_EVERY;
        let missing = "have no timestamp_field and are not read; mode = \"snapshot\" reads them";
        self.count(Concern::MissingTimestamps, query::without_field(&self.settings, field), missing).await;
        self.count(Concern::Future, query::dated_ahead(&self.settings, field), query::AHEAD).await;
    }

    /// A server that does not say leaves things as they are.
    async fn count(&self, concern: Concern, body: Option<Value>, what: &str) {
        let Some(body) = body else { return };
        match self.server.count(&body).await.map(|answer| answer["hits"]["total"]["value"].as_u64()) {
            Ok(Some(0)) => self.checks.well(concern),
            Ok(Some(count)) => self.checks.warn(concern, format!("{count} documents {what}")),
            Ok(None) => {}
            Err(error) => debug!(error = error.chain(), "documents that are not read were not counted"),
        }
    }
}

fn strange(error: serde_json::Error) -> Error {
    Error::transient("the answer to the search is not what a search answers").with_cause(error)
}

/// `initial_offset` as the field counts.
fn offset_in(text: &str, unit: Unit) -> Result<Point, Error> {
    let wrong = |right: &str| Error::permanent(format!("initial_offset = \"{text}\": right is {right}"));
    match unit {
        Unit::Millis | Unit::Nanos => {
            let time: jiff::Timestamp = text
                .parse()
                .map_err(|_| wrong("a time such as 2026-01-01T00:00:00Z, since the field is a date"))?;
            let nanos =
                i64::try_from(time.as_nanosecond()).map_err(|_| wrong("a time between 1678 and 2262"))?;
            Ok(Point::Int(unit.of_nanos(nanos)))
        }
        Unit::Number => {
            text.parse().map(Point::Int).map_err(|_| wrong("a whole number, as the field is one"))
        }
        Unit::Text | Unit::Sequence => Ok(Point::Text(text.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_read_as_the_field_counts() {
        assert_eq!(offset_in("2026-01-01T00:00:00.5Z", Unit::Millis).unwrap(), Point::Int(1_767_225_600_500));
        assert_eq!(
            offset_in("2026-01-01T01:00:00+01:00", Unit::Nanos).unwrap(),
            Point::Int(1_767_225_600_000_000_000)
        );
        assert_eq!(offset_in("-7", Unit::Number).unwrap(), Point::Int(-7));
        assert!(offset_in("yesterday", Unit::Millis).unwrap_err().chain().contains("initial_offset"));
        assert!(offset_in("7.5", Unit::Number).is_err());
    }
}

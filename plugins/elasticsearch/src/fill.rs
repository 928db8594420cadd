//! Turns a page into a batch: what is not delivered yet, in its order.

use std::fmt::Write;

use picomq_connector_sdk::{Batch, Error, Schema};

use crate::key::{Key, Point, Unit};
use crate::page::{Hit, Page};
use crate::position::Position;
use crate::seen;
use crate::settings::{Order, Settings};

/// What a page held.
#[derive(Debug)]
pub(crate) struct Filled {
    pub(crate) batch: Batch,
    /// The documents of the batch, in its order.
    pub(crate) delivered: Vec<(Key, u32)>,
    /// The place of the last document of the page that is delivered now or was before.
    pub(crate) reached: Option<Key>,
    /// Whether the page has more than can be remembered, which has to wait.
    pub(crate) is_cut: bool,
}

impl Filled {
    /// Of a page of which everything was delivered before.
    pub(crate) fn nothing(keys: &[Key]) -> Filled {
        let reached = keys.last().cloned();
        Filled { batch: Batch::empty(), delivered: Vec::new(), reached, is_cut: false }
    }
}

/// The place in the page of the first document that `position` does not know.
pub(crate) fn first_new(page: &Page<'_>, keys: &[Key], position: &Position) -> Option<usize> {
    let is_new = |(hit, key): (&Hit<'_>, &Key)| !position.has(key, seen::name(&hit.index, &hit.id));
    page.hits().iter().zip(keys).position(is_new)
}

/// The keys of the documents of a page.
///
/// # Errors
/// [`Error::Permanent`] when a document has no place in the order.
pub(crate) fn keys(page: &Page<'_>, order: &Order) -> Result<Vec<Key>, Error> {
    page.hits().iter().map(|hit| key(hit, order)).collect()
}

fn key(hit: &Hit<'_>, order: &Order) -> Result<Key, Error> {
    let value = |place: usize, name: &str| match hit.sort.get(place) {
        Some(point) if !point.is_missing() => Ok(point.clone()),
        Some(_) | None => Err(Error::permanent(format!(
            "document {} of index {} has no value of {name} that it could be sorted by",
            hit.id, hit.index
        ))),
    };
    match order {
        Order::Timestamp { field, tie } => Ok(Key { at: value(0, field)?, tie: value(1, tie)? }),
        Order::Sequence => Ok(Key { at: value(0, crate::settings::SEQUENCE)?, tie: Point::None }),
    }
}

/// Makes records of the documents that `position` does not know. `keys` are those of the page.
///
/// # Errors
/// [`Error::Permanent`] for a document whose source the index does not keep.
pub(crate) fn fill(
    page: &Page<'_>,
    keys: Vec<Key>,
    position: &Position,
    unit: Unit,
    settings: &Settings,
) -> Result<Filled, Error> {
    let bytes = page.hits().iter().map(|hit| hit.source.map_or(0, |source| source.get().len()) + 256).sum();
    let mut batch = Batch::with_capacity(Schema::Json, keys.len(), bytes);
    let mut delivered = Vec::with_capacity(keys.len());
    let (mut text, mut is_cut, mut reached) = (String::new(), false, None);
    for (hit, key) in page.hits().iter().zip(keys) {
        let name = seen::name(&hit.index, &hit.id);
        if position.has(&key, name) {
            reached = Some(key);
            continue;
        }
        if !position.admits(&key, delivered.len()) {
            is_cut = true;
            break;
        }
        add(&mut batch, hit, unit.nanos(&key.at), settings.has_metadata, &mut text)?;
        reached = Some(key.clone());
        delivered.push((key, name));
    }
    Ok(Filled { batch, delivered, reached, is_cut })
}

fn add(
    batch: &mut Batch,
    hit: &Hit<'_>,
    time_ns: Option<i64>,
    has_metadata: bool,
    text: &mut String,
) -> Result<(), Error> {
    let Some(source) = hit.source else {
        return Err(Error::permanent(format!(
            "document {} of index {} comes without _source: the index does not keep it, so there is nothing to send",
            hit.id, hit.index
        )));
    };
    let mut record = batch.add();
    record.payload(source.get().as_bytes()).key(hit.id.as_bytes());
    if let Some(time_ns) = time_ns {
        record.event_time_ns(time_ns);
    }
    // The same document changed has another number, so a replay is told from a new version.
    text.clear();
    let sequence = hit.sequence.unwrap_or(-1);
    write!(text, "{}/{}/{}", hit.index, hit.id, sequence).expect("a string takes everything");
    record.id(text);
    if !has_metadata {
        return Ok(());
    }
    record.header("picomq.index", hit.index.as_bytes()).header("picomq.document_id", hit.id.as_bytes());
    let numbers =
        [("picomq.seq_no", hit.sequence), ("picomq.primary_term", hit.term), ("picomq.version", hit.version)];
    for (name, number) in numbers {
        if let Some(number) = number {
            text.clear();
            write!(text, "{number}").expect("a string takes everything");
            record.header(name, text.as_bytes());
        }
    }
    Ok(())
}

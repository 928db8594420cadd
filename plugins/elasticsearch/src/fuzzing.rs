//! An entrance for fuzzers: whatever a server answers to a search, nothing panics, and a part of a page is never taken for the
//! whole. No part of what the plugin offers.

use picomq_connector_sdk::ffi::host::GuestBatch;
use picomq_connector_sdk::{Limits, State};
use serde_json::{Value, json};

use crate::config::ElasticsearchConfig;
use crate::fill::{self, Filled};
use crate::key::Unit;
use crate::page::{Page, Refusal};
use crate::position::{Position, STATE_VERSION, Settled};
use crate::settings::Settings;

const UNITS: [Unit; 4] = [Unit::Millis, Unit::Nanos, Unit::Number, Unit::Text];

/// An answer behind two bytes that choose: the order of reading and what the timestamps count; where the answer is cut. It is a
/// page that the server vouches for, or none is taken; what is taken is delivered byte for byte, once; and no shorter answer is
/// the same page.
///
/// # Panics
/// When that is not so.
pub fn page(bytes: &[u8]) {
    let Some((&[choice, cut], answer)) = bytes.split_first_chunk::<2>() else { return };
    drop(Refusal::parse(answer));
    let Ok(page) = Page::parse(answer) else { return };
    cut_at(answer, answer.len() * usize::from(cut) / 256);
    // A page nested too deep for a tree is judged by the other assertions alone.
    if let Ok(tree) = serde_json::from_slice::<Value>(answer) {
        assert_eq!(page.distrust().is_none(), is_vouched_for(&tree), "{tree}");
    }
    if page.distrust().is_none() {
        delivered_once(&page, choice);
    }
}

fn cut_at(answer: &[u8], end: usize) {
    let is_only_blank = answer[end..].iter().all(u8::is_ascii_whitespace);
    assert!(is_only_blank || Page::parse(&answer[..end]).is_err(), "half a page is one, cut at {end}");
}

/// The same question as [`Page::distrust`] answers, asked of the whole tree.
fn is_vouched_for(tree: &Value) -> bool {
    let count = |place: &str| tree.pointer(place).and_then(Value::as_u64);
    let is_zero = |place: &str| count(place).unwrap_or(0) == 0;
    let shards = (count("/_shards/total").unwrap_or(0), count("/_shards/successful"));
    tree["timed_out"] != json!(true)
        && is_zero("/_shards/failed")
        && shards.1.is_none_or(|successful| successful >= shards.0)
        && ["/_clusters/skipped", "/_clusters/failed", "/_clusters/partial"].into_iter().all(is_zero)
}

fn delivered_once(page: &Page<'_>, choice: u8) {
    let settings = settings(choice);
    let unit = if choice & 1 == 0 { UNITS[usize::from(choice >> 2) % UNITS.len()] } else { Unit::Sequence };
    let Ok(keys) = fill::keys(page, &settings.order) else { return };
    let mut position = Position { unit: Some(unit), ..Position::default() };
    let Ok(filled) = fill::fill(page, keys.clone(), &position, unit, &settings) else {
        return;
    };
    let Filled { batch, delivered, reached, is_cut } = filled;
    assert!(batch.check().is_ok() && !is_cut && reached.as_ref() == keys.last());
    assert_eq!((batch.len(), delivered.len()), (page.hits().len(), page.hits().len()));
    let sources = page.hits().iter().map(|hit| hit.source.map(|source| source.get().as_bytes()));
    assert!(GuestBatch::from_batch(batch).records().map(|record| record.payload).eq(sources));

    position.take(delivered);
    if let Some(reached) = reached {
        position.move_floor(&reached, settings.overlap_nanos, &Settled::All);
    }
    let again = fill::fill(page, keys, &position, unit, &settings).expect("it was taken before");
    assert_eq!(again.batch.len(), 0, "a document is delivered twice");
    let saved = State::encode(&position, STATE_VERSION).expect("a position can be written");
    assert_eq!(saved.decode::<Position>(STATE_VERSION).ok(), Some(position));
}

fn settings(choice: u8) -> Settings {
    let mode = if choice & 1 == 0 { "incremental" } else { "snapshot" };
    let config = json!({
        "url": "http://host:9200", "index": "d", "timestamp_field": "at", "mode": mode, "include_metadata": choice & 2 == 0,
    });
    let config: ElasticsearchConfig = serde_json::from_value(config).expect("these keys are right");
    config.check(&Limits { batch_records: 1_000, batch_bytes: 1 << 20 }).expect("these settings are right")
}

#[cfg(test)]
mod tests;

//! Where a source stands: what the engine saves with every batch.

use picomq_connector_sdk::{Error, State};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::key::{Key, Point, Unit};
use crate::seen::{Seen, packed_key};

/// Of the state. Raised when an older build could not read what is written.
pub(crate) const STATE_VERSION: u32 = 1;

/// Documents remembered although nothing can become visible among them any more: more of them make each save larger, fewer
/// would bring the floor closer to the newest document than `overlap` where there is no need to.
pub(crate) const SETTLED_MAX: usize = 4_096;

/// Most documents remembered: what comes within the default `overlap` at 10,000 documents a second. Each is some ten bytes of
/// a state that is saved with every batch.
pub(crate) const SEEN_MAX: usize = 100_000;

/// How far back documents may still become visible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// Nowhere: there is no `overlap`.
    All,
    /// After this time. Before any, when none is given.
    Until(Option<Point>),
}

/// Of all documents whose key lies past the floor, those remembered were delivered and no others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Position {
    /// Delivered since the first start.
    pub(crate) documents: u64,
    /// What the keys count; none before the first document.
    pub(crate) unit: Option<Unit>,
    /// Nothing at or before it is read again.
    #[serde(with = "packed_key")]
    pub(crate) floor: Option<Key>,
    pub(crate) seen: Seen,
    /// A snapshot that has come to its end.
    pub(crate) is_done: bool,
}

impl Position {
    /// The timestamp of the newest document read.
    pub(crate) fn newest(&self) -> Option<&Point> {
        self.seen.newest().or(self.floor.as_ref()).map(|key| &key.at)
    }

    /// Whether no document was ever read.
    pub(crate) fn is_fresh(&self) -> bool {
        self.floor.is_none() && self.seen.len() == 0
    }

    /// Whether this document was delivered, or lies where nothing is read any more.
    pub(crate) fn has(&self, key: &Key, name: u32) -> bool {
        self.floor.as_ref().is_some_and(|floor| key <= floor) || self.seen.contains(key, name)
    }

    /// Whether a document that was not delivered may be, when `more` others are before it. When as many are remembered as can
    /// be, those behind the newest have to wait until older ones are settled; the late ones need not.
    pub(crate) fn admits(&self, key: &Key, more: usize) -> bool {
        let count = self.seen.len() + more;
        count < SEEN_MAX || count < 2 * SEEN_MAX && self.seen.newest().is_some_and(|newest| key <= newest)
    }

    /// Takes documents that are delivered with the next batch.
    pub(crate) fn take(&mut self, delivered: Vec<(Key, u32)>) {
        self.documents += delivered.len() as u64;
        for (key, name) in delivered {
            self.seen.insert(key, name);
        }
    }

    /// Moves the floor up after the documents from it to `reached` were read: to `overlap_nanos` before the newest, and
    /// further when many are remembered; never past what is not settled, nor past what this round of reading did not see.
    pub(crate) fn move_floor(&mut self, reached: &Key, overlap_nanos: i64, settled: &Settled) {
        let Some(newest) = self.seen.newest().map(|key| key.at.clone()) else { return };
        let from = match (&newest, self.unit) {
            (Point::Int(at), Some(unit)) if unit.is_time() => {
                Point::Int(at.saturating_sub(unit.of_nanos(overlap_nanos)))
            }
            _ => newest,
        };
        let settled = match settled {
            Settled::All => self.seen.len(),
            Settled::Until(at) => at.as_ref().map_or(0, |at| self.seen.up_to_time(at)),
        };
        let excess = self.seen.len().saturating_sub(SETTLED_MAX).min(settled);
        // Others with the very key reached may come with the next page.
        let most = self.seen.before(reached);
        if let Some(floor) = self.seen.forget(self.seen.before_time(&from).max(excess).min(most)) {
            // A late document may have been inserted before a floor that is there already.
            self.floor = self.floor.take().max(Some(floor));
        }
    }

    /// Counts in `unit` from now on.
    ///
    /// # Errors
    /// [`Error::Permanent`] when the field is now of a kind that cannot be compared with what is saved.
    pub(crate) fn count_in(&mut self, unit: Unit) -> Result<(), Error> {
        let Some(before) = self.unit.replace(unit).filter(|before| *before != unit) else { return Ok(()) };
        let converted = self.floor.as_mut().is_none_or(|floor| {
            before.convert(&floor.at, unit).is_some_and(|at| {
                floor.at = at;
                true
            })
        });
        let seen = self.seen.map(|at| before.convert(at, unit));
        if converted && seen.is_some() {
            return Ok(());
        }
        Err(Error::permanent(format!(
            "the saved position counts {before:?}, and the field now holds {unit:?}: they cannot be compared; give the \
             source another key to begin anew"
        )))
    }
}

/// A saved state for people.
pub(crate) fn describe(state: &State) -> Result<Value, Error> {
    let position: Position = state.decode(STATE_VERSION)?;
    let show = |at: Option<&Point>| at.zip(position.unit).map(|(at, unit)| unit.show(at));
    Ok(json!({
        "version": state.version()?,
        "state": {
            "documents": position.documents,
            "newest": show(position.newest()),
            "floor": show(position.floor.as_ref().map(|key| &key.at)),
            "remembered": position.seen.len(),
            "is_done": position.is_done,
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(at: i64, tie: i64) -> Key {
        Key { at: Point::Int(at), tie: Point::Int(tie) }
    }

    const UNSETTLED: Settled = Settled::Until(None);

    fn after(position: &mut Position, keys: &[(i64, i64)], overlap_millis: i64) {
        until(position, keys, overlap_millis, &UNSETTLED);
    }

    fn until(position: &mut Position, keys: &[(i64, i64)], overlap_millis: i64, settled: &Settled) {
        let delivered = keys.iter().map(|(at, tie)| (key(*at, *tie), 0)).collect();
        position.take(delivered);
        if let Some(reached) = position.seen.newest().cloned() {
            position.move_floor(&reached, overlap_millis * 1_000_000, settled);
        }
    }

    fn fresh() -> Position {
        Position { unit: Some(Unit::Millis), ..Position::default() }
    }

    #[test]
    fn the_window_reaches_back_from_the_newest_document_b094() {
        let mut position = fresh();
        after(&mut position, &[(1000, 1), (5000, 2), (9000, 3)], 4000);
        assert_eq!(position.floor, Some(key(1000, 1)));
        // Visible late, inside the window and before it.
        assert!(!position.has(&key(5500, 1), 0) && position.has(&key(900, 7), 0));
        assert!(position.has(&key(5000, 2), 0));
    }

    #[test]
    fn without_overlap_documents_of_the_newest_time_are_still_told_apart_b093() {
        let mut position = fresh();
        after(&mut position, &[(1, 1), (1, 2), (2, 1), (2, 2)], 0);
        assert_eq!((position.floor.clone(), position.seen.len()), (Some(key(1, 2)), 2));
        assert!(position.has(&key(2, 1), 0) && !position.has(&key(2, 0), 0) && !position.has(&key(2, 3), 0));
    }

    #[test]
    fn many_documents_of_a_settled_time_move_the_floor_into_them_b093() {
        let group: Vec<_> = (0..SETTLED_MAX as i64 + 100).map(|tie| (7, tie)).collect();
        for settled in [Settled::All, Settled::Until(Some(Point::Int(7)))] {
            let mut position = fresh();
            until(&mut position, &group, 10_000, &settled);
            assert_eq!((position.floor.clone(), position.seen.len()), (Some(key(7, 99)), SETTLED_MAX));
            assert!(group.iter().all(|(at, tie)| position.has(&key(*at, *tie), 0)));
            assert!(!position.has(&key(7, SETTLED_MAX as i64 + 100), 0));
        }
    }

    #[test]
    fn what_is_not_settled_is_never_passed_however_much_it_is_b094() {
        let mut position = fresh();
        let group: Vec<_> = (0..SEEN_MAX as i64).map(|tie| (7, tie)).collect();
        until(&mut position, &group, 10_000, &UNSETTLED);
        until(&mut position, &[], 10_000, &Settled::Until(Some(Point::Int(6))));
        assert_eq!(position.floor, None);
        let (late, next) = (key(6, 1), key(7, SEEN_MAX as i64));
        assert!(position.admits(&late, 0) && !position.admits(&next, 0) && !position.has(&late, 0));
        until(&mut position, &[], 10_000, &Settled::Until(Some(Point::Int(7))));
        assert!(position.admits(&next, 0) && position.seen.len() == SETTLED_MAX);
    }

    #[test]
    fn the_floor_does_not_pass_what_this_round_has_not_read_b094() {
        let mut position = fresh();
        let group: Vec<_> = (0..SETTLED_MAX as i64 + 100).map(|tie| (7, tie)).collect();
        after(&mut position, &group, 10_000);
        position.move_floor(&key(7, 0), 0, &Settled::All);
        assert_eq!(position.floor, None);
        position.move_floor(&key(7, 30), 0, &Settled::All);
        assert_eq!(position.floor, Some(key(7, 29)));
        assert!(!position.has(&key(7, 30), 1), "a document of another shard with the key reached");
        position.move_floor(&key(7, 3_000), 0, &Settled::All);
        assert_eq!(position.floor, Some(key(7, 99)));
    }

    #[test]
    fn late_documents_do_not_fill_memory_without_end() {
        let mut position = fresh();
        after(&mut position, &[(7, 1)], 10_000);
        assert!(position.admits(&key(8, 1), SEEN_MAX - 2) && !position.admits(&key(8, 1), SEEN_MAX - 1));
        assert!(
            position.admits(&key(6, 1), 2 * SEEN_MAX - 2) && !position.admits(&key(6, 1), 2 * SEEN_MAX - 1)
        );
    }

    #[test]
    fn a_late_document_never_lowers_the_floor() {
        let mut position = fresh();
        after(&mut position, &[(1, 1), (100, 1)], 10);
        after(&mut position, &[(95, 1)], 10);
        assert_eq!(position.floor, Some(key(1, 1)));
        after(&mut position, &[(200, 1)], 10);
        assert_eq!(position.floor, Some(key(100, 1)));
    }

    #[test]
    fn a_position_survives_that_the_field_becomes_finer() {
        let mut position = fresh();
        after(&mut position, &[(1, 1), (100, 1)], 10);
        position.count_in(Unit::Nanos).unwrap();
        assert!(position.has(&key(100_000_000, 1), 0) && !position.has(&key(100_000_001, 1), 0));
        assert!(position.count_in(Unit::Text).is_err());
    }

    #[test]
    fn a_saved_position_is_shown_in_time() {
        let mut position = fresh();
        after(&mut position, &[(1_767_225_600_000, 1), (1_767_225_700_000, 1)], 10);
        let state = State::encode(&position, STATE_VERSION).unwrap();
        assert_eq!(state.decode::<Position>(STATE_VERSION).unwrap(), position);
        let shown = describe(&state).unwrap();
        assert_eq!(shown["state"]["newest"], "2026-01-01T00:01:40Z");
        assert_eq!((&shown["state"]["documents"], &shown["state"]["remembered"]), (&json!(2), &json!(1)));
    }
}

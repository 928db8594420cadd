//! Where a source stands: what the engine saves with every batch.

use picomq_connector_sdk::{Error, State};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::key::{Key, Point, Unit};
use crate::seen::{SEEN_MAX, Seen, packed_key};

/// Of the state. Raised when an older build could not read what is written.
pub(crate) const STATE_VERSION: u32 = 1;

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

/// What moving the floor up says about the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Window {
    /// Everything in it is remembered.
    Whole,
    /// It holds more documents than can be remembered, so it is shorter.
    Short,
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

    /// Takes documents that are delivered with the next batch, and moves the floor up to `overlap_nanos` before the newest.
    pub(crate) fn advance(&mut self, delivered: Vec<(Key, u32)>, overlap_nanos: i64) -> Window {
        self.documents += delivered.len() as u64;
        for (key, name) in delivered {
            self.seen.insert(key, name);
        }
        let Some(newest) = self.seen.newest().map(|key| key.at.clone()) else { return Window::Whole };
        let from = match (&newest, self.unit) {
            (Point::Int(at), Some(unit)) if unit.is_time() => {
                Point::Int(at.saturating_sub(unit.of_nanos(overlap_nanos)))
            }
            _ => newest,
        };
        match self.seen.forget(&from, SEEN_MAX) {
            None => Window::Whole,
            Some((floor, is_short)) => {
                // A late document may have been inserted before a floor that is there already.
                self.floor = self.floor.take().max(Some(floor));
                if is_short { Window::Short } else { Window::Whole }
            }
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

    fn after(position: &mut Position, keys: &[(i64, i64)], overlap_millis: i64) -> Window {
        let delivered = keys.iter().map(|(at, tie)| (key(*at, *tie), 0)).collect();
        position.advance(delivered, overlap_millis * 1_000_000)
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
    fn a_group_larger_than_memory_moves_the_floor_into_it_b093() {
        let mut position = fresh();
        let group: Vec<_> = (0..SEEN_MAX as i64 + 100).map(|tie| (7, tie)).collect();
        assert_eq!(after(&mut position, &group, 10_000), Window::Short);
        assert_eq!((position.floor.clone(), position.seen.len()), (Some(key(7, 99)), SEEN_MAX));
        assert!(group.iter().all(|(at, tie)| position.has(&key(*at, *tie), 0)));
        assert!(!position.has(&key(7, SEEN_MAX as i64 + 100), 0));
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

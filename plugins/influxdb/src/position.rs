//! Where reading stands: the exact time before which everything was read, a group half read, and what was seen near the end.

use picomq_connector_sdk::{Error, State};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::time;

/// Raised when a field changes its meaning.
pub(crate) const STATE_VERSION: u32 = 1;

/// What the engine keeps for us.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Position {
    /// Every point before this time was read, in nanoseconds since the Unix epoch.
    pub(crate) from: i64,
    /// Points of one time, too many for a batch, of which some were read.
    #[serde(default)]
    pub(crate) group: Option<Group>,
    /// `seen` is complete for points from this time on.
    pub(crate) floor: i64,
    /// The points read from `floor` on, by time.
    #[serde(default)]
    pub(crate) seen: Vec<Seen>,
    /// Of the settings that decide what a row is: digests of other settings mean nothing.
    pub(crate) fingerprint: u64,
}

/// How much of a group was read: the rows up to and with this one, in the order of their digests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Group {
    pub(crate) time: i64,
    /// None: nothing of it.
    pub(crate) after: Option<Mark>,
}

/// A row among those of one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub(crate) digest: Digest,
    /// Rows that are equal in everything are counted, from 0.
    pub(crate) occurrence: u32,
}

/// The first 128 bits of the SHA-256 of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Digest(pub(crate) u64, pub(crate) u64);

/// A point that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Seen(pub(crate) i64, pub(crate) u64);

impl Seen {
    /// Equal rows of one time count by their occurrence.
    pub(crate) fn new(time: i64, mark: Mark) -> Seen {
        Seen(time, mark.digest.0 ^ u64::from(mark.occurrence).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

impl Position {
    /// Before the first reading.
    pub(crate) fn fresh(from: i64, fingerprint: u64) -> Position {
        Position { from, group: None, floor: from, seen: Vec::new(), fingerprint }
    }

    /// As this one, for settings with this fingerprint: a group begins anew when the digests no longer fit.
    pub(crate) fn fitted(mut self, fingerprint: u64) -> Position {
        if self.fingerprint != fingerprint {
            self.fingerprint = fingerprint;
            self.group = None;
            self.forget_all();
        }
        self
    }

    /// Whether a point was read before; asked for times before `from`.
    pub(crate) fn has(&self, seen: &Seen) -> bool {
        self.seen.binary_search(seen).is_ok()
    }

    /// Notes points that were read, and forgets what lies before `window` or is too much: whole times, oldest first.
    /// `from` must be that after them. Answers whether something inside the window had to be forgotten.
    pub(crate) fn remember(&mut self, read: impl Iterator<Item = Seen>, window: i64, most: usize) -> bool {
        if window <= 0 || most == 0 {
            self.forget_all();
            return false;
        }
        self.seen.extend(read);
        self.seen.sort_unstable();
        let floor = self.from.saturating_sub(window).max(self.floor);
        self.raise_floor(floor);
        let excess = self.seen.len().saturating_sub(most);
        if excess == 0 {
            return false;
        }
        self.raise_floor(self.seen[excess - 1].0.saturating_add(1));
        true
    }

    fn raise_floor(&mut self, floor: i64) {
        self.floor = floor;
        let gone = self.seen.partition_point(|seen| seen.0 < floor);
        self.seen.drain(..gone);
    }

    fn forget_all(&mut self) {
        self.floor = self.from;
        self.seen = Vec::new();
    }
}

/// The state for people.
pub(crate) fn describe(state: &State) -> Result<Value, Error> {
    let position: Position = state.decode(STATE_VERSION)?;
    Ok(json!({
        "read_before": time::text(position.from),
        "read_before_ns": position.from,
        "group": position.group.map(|group| json!({
            "time": time::text(group.time),
            "is_begun": group.after.is_some(),
        })),
        "points_remembered": position.seen.len(),
        "remembered_from": time::text(position.floor),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(from: i64, floor: i64) -> Position {
        Position { from, floor, ..Position::fresh(0, 7) }
    }

    fn seen(times: &[i64]) -> Vec<Seen> {
        times.iter().map(|time| Seen(*time, *time as u64)).collect()
    }

    #[test]
    fn what_is_older_than_the_window_is_forgotten() {
        let mut position = position(100, 0);
        assert!(!position.remember(seen(&[10, 59, 60, 99]).into_iter(), 40, 100));
        assert_eq!((position.floor, position.seen.len()), (60, 2));
        assert!(position.has(&Seen(60, 60)) && !position.has(&Seen(59, 59)));
    }

    #[test]
    fn too_much_is_forgotten_by_whole_times_and_the_floor_says_so() {
        let mut position = position(100, 0);
        let read = [Seen(60, 1), Seen(60, 2), Seen(60, 3), Seen(70, 1), Seen(80, 1)];
        assert!(position.remember(read.into_iter(), 100, 4));
        assert_eq!((position.floor, position.seen.clone()), (61, vec![Seen(70, 1), Seen(80, 1)]));
    }

    #[test]
    fn without_a_window_nothing_is_kept() {
        let mut position = position(100, 0);
        assert!(!position.remember(seen(&[99]).into_iter(), 0, 100));
        assert_eq!((position.floor, position.seen.len()), (100, 0));
    }

    #[test]
    fn a_group_begins_anew_when_rows_are_written_otherwise() {
        let group = Some(Group { time: 100, after: Some(Mark { digest: Digest(1, 2), occurrence: 0 }) });
        let half = Position { group, ..position(100, 50) };
        assert_eq!(half.clone().fitted(7), half);
        let anew = half.fitted(8);
        assert_eq!((anew.group, anew.from, anew.floor), (None, 100, 100));
    }

    #[test]
    fn the_nth_of_equal_rows_is_another_point() {
        let mark = |occurrence| Mark { digest: Digest(5, 6), occurrence };
        assert_ne!(Seen::new(1, mark(0)), Seen::new(1, mark(1)));
    }
}

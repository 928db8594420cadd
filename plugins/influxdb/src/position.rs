//! Where reading stands: the exact time before which everything was read, a group half read, and what was seen near the end.

use picomq_connector_sdk::{Error, State};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::mark::Mark;
use crate::time;
use crate::window::Window;

/// Raised when a field changes its meaning.
pub(crate) const STATE_VERSION: u32 = 2;

/// What the engine keeps for us, as [`Saved`], and what is known while the process lives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Saved", into = "Saved")]
pub(crate) struct Position {
    /// Every point before this time was read, in nanoseconds since the Unix epoch.
    pub(crate) from: i64,
    /// Points of one time, too many for a batch, of which some were read.
    pub(crate) group: Option<Group>,
    /// The points read from its floor on.
    pub(crate) window: Window,
    /// Of the settings that decide what a row is: digests of other settings mean nothing.
    pub(crate) fingerprint: u64,
    /// From here on everything was read so long after its time that nothing comes late there.
    pub(crate) loose: i64,
    /// More was waiting when it was reached.
    pub(crate) is_behind: bool,
    /// `overlap_points` did not suffice for what lies before.
    pub(crate) shortened: i64,
}

/// How much of a group was read: the rows up to and with this one, in the order of their digests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Group {
    pub(crate) time: i64,
    /// None: nothing of it.
    pub(crate) after: Option<Mark>,
}

/// A position as it is stored. While reading is behind and nothing can come late, no points are kept.
#[derive(Serialize, Deserialize)]
struct Saved {
    from: i64,
    #[serde(default)]
    group: Option<Group>,
    /// A state of before has none: then nothing is remembered.
    #[serde(default)]
    window: Option<Window>,
    fingerprint: u64,
}

impl From<Position> for Saved {
    fn from(position: Position) -> Saved {
        let is_lean = position.is_behind && position.is_settled();
        let Position { from, group, window, fingerprint, .. } = position;
        let window = if is_lean { Window::from(from) } else { window };
        Saved { from, group, window: Some(window), fingerprint }
    }
}

impl From<Saved> for Position {
    fn from(saved: Saved) -> Position {
        let Saved { from, group, window, fingerprint } = saved;
        let window = window.unwrap_or(Window::from(from));
        Position { group, window, ..Position::fresh(from, fingerprint) }
    }
}

impl Position {
    /// Before the first reading.
    pub(crate) fn fresh(from: i64, fingerprint: u64) -> Position {
        Position {
            from,
            group: None,
            window: Window::from(from),
            fingerprint,
            loose: from,
            is_behind: false,
            shortened: i64::MIN,
        }
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

    /// Nothing of the window can have come late, or will.
    pub(crate) fn is_settled(&self) -> bool {
        self.loose <= self.window.floor()
    }

    /// Remembers nothing.
    pub(crate) fn forget_all(&mut self) {
        self.window = Window::from(self.from);
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
        "points_remembered": position.window.len(),
        "remembered_from": time::text(position.window.floor()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mark::Digest;
    use crate::window::Seen;

    fn position(from: i64, floor: i64, times: &[i64]) -> Position {
        let mut window = Window::from(floor);
        window.remember(&seen(times), 16);
        Position { window, ..Position::fresh(from, 7) }
    }

    fn seen(times: &[i64]) -> Vec<Seen> {
        let mark = Mark { digest: Digest(1, 1), occurrence: 0 };
        times.iter().map(|time| Seen::new(*time, mark)).collect()
    }

    fn restored(position: &Position) -> Position {
        State::encode(position, STATE_VERSION).unwrap().decode(STATE_VERSION).unwrap()
    }

    #[test]
    fn a_group_begins_anew_when_rows_are_written_otherwise() {
        let group = Some(Group { time: 100, after: Some(Mark { digest: Digest(1, 2), occurrence: 0 }) });
        let half = Position { group, ..position(100, 50, &[60]) };
        assert_eq!(half.clone().fitted(7), half);
        let anew = half.fitted(8);
        assert_eq!((anew.group, anew.from, anew.window), (None, 100, Window::from(100)));
    }

    #[test]
    fn a_position_comes_back_as_it_was_saved() {
        let whole = position(100, 50, &[60, 70, 99]);
        assert_eq!(restored(&whole), whole);
        assert_eq!(describe(&State::encode(&whole, STATE_VERSION).unwrap()).unwrap()["points_remembered"], 3);
    }

    #[test]
    fn while_it_is_behind_what_is_settled_is_not_saved() {
        let head = position(100, 50, &[60, 70, 99]);
        let behind = Position { is_behind: true, ..head.clone() };
        assert_eq!(restored(&behind).window, head.window, "points may come late until 100");
        let behind = Position { loose: 50, ..behind };
        let saved = restored(&behind);
        assert_eq!((saved.window, saved.from, saved.loose), (Window::from(100), 100, 100));
        assert_eq!(restored(&Position { is_behind: false, ..behind }).window, head.window);
    }

    #[test]
    fn a_state_of_before_the_window_remembers_nothing() {
        let old = json!({ "from": 100, "floor": 50, "seen": [[60, 1]], "fingerprint": 7 });
        let state = State::encode(&old, 1).unwrap();
        let position: Position = state.decode(STATE_VERSION).unwrap();
        assert_eq!(position, Position::fresh(100, 7));
    }
}

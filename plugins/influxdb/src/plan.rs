//! What to ask next, and what an answer means. Nothing here waits.
//!
//! A cycle begins where points may still come late (`floor`) and ends when everything there is was read; then the source waits.

use crate::error::Error;
use crate::position::{Group, Position, Seen};
use crate::query::Span;
use crate::selection::{Page, Room, Want};

/// How a source reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    /// Of a page.
    pub(crate) room: Room,
    /// Of a page that looks back: most of its rows are known.
    pub(crate) look: Room,
    /// Of a piece of a group.
    pub(crate) piece: Room,
    /// Points may come so many nanoseconds late; 0 does not look for them.
    pub(crate) overlap: i64,
    /// So many points are remembered at most.
    pub(crate) overlap_points: usize,
    /// Points after now are left until their time has come.
    pub(crate) is_until_now: bool,
    /// Servers sort the whole span: it is kept short.
    pub(crate) has_short_spans: bool,
}

impl Pace {
    /// What is remembered before `from`: looks are half an overlap apart at most, so that each point has its whole overlap.
    pub(crate) fn window(&self) -> i64 {
        self.overlap.saturating_add(self.overlap / 2)
    }
}

/// The next question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) span: Span,
    pub(crate) group: Option<Group>,
    /// It begins before the cursor.
    pub(crate) is_look: bool,
    pub(crate) is_inclusive: bool,
}

impl Ask {
    /// What is taken of its answer, when `cursor` and `limit` went into it.
    pub(crate) fn want(&self, pace: &Pace, cursor: Option<i64>, limit: Option<u64>) -> Want {
        let group = self.group.as_ref().map(|group| group.after);
        let room = match (group, self.is_look) {
            (Some(_), _) => pace.piece,
            (None, true) => pace.look,
            (None, false) => pace.room,
        };
        Want { low: self.span.low, high: self.span.high, group, room, limit, cursor }
    }
}

/// What an answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Its rows are the next ones; there may be none.
    Rows,
    /// The points of this time are too many for a page.
    Group(i64),
    /// The query brings rows at `$cursor` itself.
    Inclusive,
    /// The limit cut the group.
    Short,
}

/// Tells what `page` means.
///
/// # Errors
/// When no question of this kind can bring more.
pub(crate) fn meaning(page: &Page, is_inclusive: bool) -> Result<Meaning, Error> {
    if page.want.group.is_some() {
        return match (page.facts.is_short, page.facts.is_truncated) {
            (false, _) => Ok(Meaning::Rows),
            (true, false) => Ok(Meaning::Short),
            (true, true) => Err(Error::Unreadable(format!(
                "the server cuts its answers, and more points than that have the time {}: raise its max-row-limit",
                crate::time::text(page.want.low)
            ))),
        };
    }
    match page.horizon {
        None => Ok(Meaning::Rows),
        Some(_) if !page.entries.is_empty() => Ok(Meaning::Rows),
        // Rows at $cursor itself took the place of new ones.
        Some(_) if page.facts.has_cursor && !is_inclusive => Ok(Meaning::Inclusive),
        Some(horizon) if horizon >= page.want.low => Ok(Meaning::Group(horizon)),
        Some(_) => Err(Error::Unreadable(
            "query: a whole page of rows is older than $cursor, so it would bring the same ones for ever: compare the time of its rows with \
             $cursor"
                .to_owned(),
        )),
    }
}

/// Where a cycle stands; forgotten with the process, which then begins one anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cycle {
    /// Everything before was looked at in this cycle; `None` at its beginning.
    low: Option<i64>,
    /// `from` when the last look back began.
    looked: Option<i64>,
    pub(crate) is_inclusive: bool,
    /// Rows of a table that a group is asked with.
    group_limit: u64,
    /// Length of a short span.
    width: i64,
    is_over: bool,
}

/// An hour: a span grows or shrinks to what holds a page.
const WIDTH_FIRST: i64 = 3_600_000_000_000;
const WIDTH_MIN: i64 = 1_000_000;
const WIDTH_MAX: i64 = i64::MAX / 4;

impl Cycle {
    pub(crate) fn new(pace: &Pace) -> Cycle {
        Cycle {
            low: None,
            looked: None,
            is_inclusive: false,
            group_limit: pace.piece.records as u64 * 2,
            width: WIDTH_FIRST,
            is_over: false,
        }
    }

    /// Everything there was is read.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Begins anew: after a wait, or because batches are read again.
    pub(crate) fn restart(&mut self) {
        (self.low, self.looked, self.is_over) = (None, None, false);
    }

    /// The limit cut a group: the next one is larger.
    ///
    /// # Errors
    /// When no larger one is taken.
    pub(crate) fn grow(&mut self) -> Result<(), Error> {
        if self.group_limit >= crate::query::written::LIMIT_MAX {
            return Err(Error::Unreadable(
                "query: more than two thousand million rows have one time; narrow it by a tag".to_owned(),
            ));
        }
        self.group_limit = self.group_limit.saturating_mul(4).min(crate::query::written::LIMIT_MAX);
        Ok(())
    }

    /// The question after `position`; `is_generated` ones name a group's time exactly.
    pub(crate) fn next(&mut self, position: &Position, pace: &Pace, is_generated: bool, now: i64) -> Ask {
        if let Some(group) = position.group.clone() {
            let limit = (!is_generated).then_some(self.group_limit);
            let span = Span { low: group.time, high: Some(group.time.saturating_add(1)), limit };
            return Ask { span, group: Some(group), is_look: false, is_inclusive: self.is_inclusive };
        }
        if self.low.is_none() {
            self.looked = Some(position.from);
        }
        let low = self.low.unwrap_or(position.floor);
        let until = pace.is_until_now.then(|| now.saturating_add(1));
        let short = low.max(crate::time::MIN).saturating_add(self.width);
        let high = until.map(|until| if pace.has_short_spans { until.min(short) } else { until });
        let is_look = low < position.from;
        let room = if is_look { pace.look } else { pace.room };
        let span = Span { low, high, limit: Some(room.records as u64) };
        Ask { span, group: None, is_look, is_inclusive: self.is_inclusive }
    }

    /// Moves on after the rows of `page`.
    pub(crate) fn moved(&mut self, page: &Page, outcome: &Outcome, pace: &Pace, now: i64) {
        let position = &outcome.position;
        self.is_inclusive |= page.facts.has_cursor;
        let want = &page.want;
        if want.group.is_some() {
            if position.group.is_none() {
                self.low = Some(want.low.saturating_add(1));
            }
            return;
        }
        let is_short = |high: i64| pace.has_short_spans && high <= now;
        match (outcome.horizon, want.high) {
            (Some(horizon), _) => {
                self.width = horizon.saturating_sub(want.low).max(WIDTH_MIN);
                self.low = Some(horizon);
            }
            (None, Some(high)) if is_short(high) => {
                if page.entries.len() * 2 <= want.room.records {
                    self.width = self.width.saturating_mul(2).min(WIDTH_MAX);
                }
                self.low = Some(high);
            }
            (None, _) => self.is_over = true,
        }
        let looked = self.looked.unwrap_or(position.from);
        if pace.overlap > 0 && position.from.saturating_sub(looked) > pace.overlap / 2 {
            self.low = None;
        }
    }
}

/// What a page brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Which of its entries are new.
    pub(crate) fresh: Vec<usize>,
    /// Where reading stands after them.
    pub(crate) position: Position,
    /// Points within the overlap had to be forgotten.
    pub(crate) has_forgotten: bool,
    /// Times from here on are left for the next page.
    pub(crate) horizon: Option<i64>,
}

/// Tells which entries of a page are new, and where reading stands after it.
pub(crate) fn outcome(page: &Page, position: &Position, pace: &Pace) -> Outcome {
    let marks = page.marks();
    let (mut fresh, mut read) = (Vec::new(), Vec::new());
    let mut horizon = page.horizon;
    for (index, (entry, mark)) in page.entries.iter().zip(&marks).enumerate() {
        let seen = Seen::new(entry.time, *mark);
        if entry.time < position.from && position.has(&seen) {
            continue;
        }
        // A look back takes larger pages than a batch may be: the batch ends between two times.
        let last = fresh.last().map(|last: &usize| page.entries[*last].time);
        let is_full = page.want.group.is_none() && fresh.len() >= pace.room.records;
        if is_full && last.is_some_and(|last| last < entry.time) {
            horizon = Some(entry.time);
            break;
        }
        fresh.push(index);
        read.push(seen);
    }
    let mut next = position.clone();
    let time = page.want.low;
    if page.want.group.is_none() {
        let is_taken = |entry: &&crate::selection::Entry| horizon.is_none_or(|horizon| entry.time < horizon);
        let last = page.entries.iter().rev().find(is_taken);
        next.from = last.map_or(next.from, |last| next.from.max(last.time.saturating_add(1)));
    } else if page.has_more {
        next.group = Some(Group { time, after: marks.last().copied().or(page.want.group.flatten()) });
    } else {
        next.group = None;
        next.from = next.from.max(time.saturating_add(1));
    }
    let has_forgotten = next.remember(read.into_iter(), pace.window(), pace.overlap_points);
    // Late points of a group that is forgotten cannot be told from those read before: they are too late now.
    if time < position.from && next.floor > time {
        next.group = None;
    }
    Outcome { fresh, position: next, has_forgotten, horizon }
}

#[cfg(test)]
mod tests;

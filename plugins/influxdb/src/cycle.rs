//! What to ask next: ahead as long as there is more, and back to where points may have come late.
//!
//! A cycle begins at the cursor and reads until nothing more waits; then it looks through the whole window, and is over. While
//! more waits, a look back is only for times that are about to leave the window, and as many rows are read again at most as
//! were new: so catching up is never slower than by half, however wide the window is and however often the process ends.

use crate::error::Error;
use crate::plan::{Ask, Outcome, Pace, Side};
use crate::position::Position;
use crate::query::Span;
use crate::selection::Page;

/// Where a cycle stands; forgotten with the process, which then begins one anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cycle {
    /// Everything before was asked for in this cycle; `None` at its beginning.
    low: Option<i64>,
    /// When what lies between the cursor and `low` was asked for.
    since: i64,
    /// Nothing more was waiting.
    is_caught_up: bool,
    /// The look through the window, once it has begun.
    look: Option<Look>,
    /// New rows that no look back was paid with.
    credit: usize,
    /// Rows of the next page ahead: more and more while it is behind.
    ahead: usize,
    /// A look back met more points of one time than it asked for.
    is_wide: bool,
    /// Credit that is spent on a look back while more waits: little at first, so that one ends before a process that is killed
    /// often does.
    stride: usize,
    pub(crate) is_inclusive: bool,
    /// Rows of a table that a group is asked with.
    group_limit: u64,
    /// Length of a short span.
    width: i64,
    is_over: bool,
}

/// A look through the whole window, from where to where.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Look {
    low: i64,
    high: i64,
    /// A page ahead comes between two of its pages.
    is_next: bool,
}

/// An hour: a span grows or shrinks to what holds a page.
const WIDTH_FIRST: i64 = 3_600_000_000_000;
const WIDTH_MIN: i64 = 1_000_000;
const WIDTH_MAX: i64 = i64::MAX / 4;

impl Cycle {
    pub(crate) fn new(pace: &Pace) -> Cycle {
        Cycle {
            low: None,
            since: i64::MAX,
            is_caught_up: false,
            look: None,
            credit: 0,
            ahead: pace.room.records,
            is_wide: false,
            stride: (pace.room.records / 2).max(1),
            is_inclusive: false,
            group_limit: pace.piece.records.max(pace.look.records) as u64 * 2,
            width: WIDTH_FIRST,
            is_over: false,
        }
    }

    /// Everything there was is read, and the window looked through.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Nothing more was waiting when it was asked last.
    pub(crate) fn is_caught_up(&self) -> bool {
        self.is_caught_up
    }

    /// Begins anew: after a wait, or because batches are read again.
    pub(crate) fn restart(&mut self) {
        (self.low, self.is_caught_up, self.look, self.is_over) = (None, false, None, false);
    }

    /// A page held nothing but points of one time. Answers whether a larger one is asked for.
    pub(crate) fn widen(&mut self, page: &Page, ask: &Ask, pace: &Pace) -> bool {
        let limit = ask.span.limit.unwrap_or(u64::MAX);
        // Fewer rows: they are large, or the server cut them.
        if limit >= pace.look.records as u64 || page.facts.rows < limit {
            return false;
        }
        match ask.side {
            Side::Ahead => self.ahead = pace.look.records,
            Side::Back => self.is_wide = true,
        }
        true
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
        let since = if self.low.is_some() { self.since } else { now };
        let is_inclusive = self.is_inclusive;
        let ask = |span, side| Ask { span, group: None, side, is_inclusive, at: now, since };
        if let Some(group) = position.group.clone() {
            let limit = (!is_generated).then_some(self.group_limit);
            let span = Span { low: group.time, high: Some(group.time.saturating_add(1)), limit };
            let side = if group.time < position.from { Side::Back } else { Side::Ahead };
            return Ask { group: Some(group), ..ask(span, side) };
        }
        if let Some(span) = self.back(position, pace, now) {
            return ask(span, Side::Back);
        }
        let low = self.low.unwrap_or(position.from);
        let until = pace.is_until_now.then(|| now.saturating_add(1));
        let short = low.max(crate::time::MIN).saturating_add(self.width);
        let high = until.map(|until| if pace.has_short_spans { until.min(short) } else { until });
        ask(Span { low, high, limit: Some(self.ahead as u64) }, Side::Ahead)
    }

    /// What is to be looked at again now.
    fn back(&self, position: &Position, pace: &Pace, now: i64) -> Option<Span> {
        if !pace.looks_back() {
            return None;
        }
        let (low, high, most) = match &self.look {
            Some(look) if self.is_caught_up => {
                (look.is_next).then_some((look.low, look.high, pace.look.records))?
            }
            Some(_) | None => {
                let high = position.loose.min(pace.last_look(position.from, now));
                let low = position.window.floor();
                self.is_due(position, pace, (low, high)).then_some((low, high, self.credit))?
            }
        };
        let most = if self.is_wide { pace.look.records } else { most };
        // Its limit is larger than what is known to be there: an answer of just as many rows would count as cut.
        let high = position.window.reach(low, most - most / 8).map_or(high, |reach| reach.min(high));
        Some(Span { low, high: Some(high), limit: Some(most as u64) })
    }

    /// Whether a look back is worth a question while more waits, and paid for.
    fn is_due(&self, position: &Position, pace: &Pace, (low, high): (i64, i64)) -> bool {
        let is_much = || position.window.count(low, high) >= self.stride;
        low < high
            && !self.is_caught_up
            && self.credit >= self.stride
            && (high.saturating_sub(low) >= pace.overlap / 2 || is_much())
    }

    /// Whether a page without new rows is worth a save: else a process that is killed often looks back at the same times for
    /// ever. Where nothing more waits the next batch saves it.
    pub(crate) fn is_worth_saving(&self, ask: &Ask, before: &Position, after: &Position) -> bool {
        !self.is_caught_up && ask.side == Side::Back && before.window.floor() < after.window.floor()
    }

    /// Moves on after the rows of `page`.
    pub(crate) fn moved(&mut self, page: &Page, ask: &Ask, outcome: &Outcome, pace: &Pace) {
        self.is_inclusive |= page.facts.has_cursor;
        match ask.side {
            Side::Ahead => self.moved_ahead(page, ask, outcome, pace),
            Side::Back => self.moved_back(page, ask, outcome, pace),
        }
    }

    fn moved_ahead(&mut self, page: &Page, ask: &Ask, outcome: &Outcome, pace: &Pace) {
        let (want, position) = (&page.want, &outcome.position);
        self.since = if page.entries.is_empty() { ask.since } else { ask.at };
        self.credit = self.credit.saturating_add(outcome.fresh.len()).min(pace.look.records);
        if want.group.is_some() {
            if position.group.is_none() {
                self.low = Some(want.low.saturating_add(1));
            }
            return;
        }
        match (outcome.horizon, want.high) {
            (Some(horizon), _) => {
                self.low = Some(horizon);
                if page.horizon == Some(horizon) {
                    self.width = horizon.saturating_sub(want.low).max(WIDTH_MIN);
                    self.grow_page(page, pace);
                }
            }
            (None, Some(high)) if ask.has_more(None) => {
                if page.entries.len() * 2 <= want.room.records {
                    self.width = self.width.saturating_mul(2).min(WIDTH_MAX);
                }
                self.low = Some(high);
            }
            (None, _) => return self.caught_up(position, pace),
        }
        self.is_caught_up = false;
    }

    /// The next page is twice as large, or as this one if something else than its limit cut it.
    fn grow_page(&mut self, page: &Page, pace: &Pace) {
        let (rows, limit) = (page.entries.len(), page.want.room.records);
        let next = if rows.saturating_mul(2) < limit { rows } else { limit.saturating_mul(2) };
        self.ahead = next.clamp(pace.room.records, pace.look.records.max(pace.room.records));
    }

    /// Nothing more waits: the window is looked through from its floor to the cursor.
    fn caught_up(&mut self, position: &Position, pace: &Pace) {
        (self.is_caught_up, self.low, self.ahead) = (true, None, pace.room.records);
        let (floor, from) = (position.window.floor(), position.from);
        let look = self.look.take().unwrap_or(Look { low: floor, high: from, is_next: true });
        let low = look.low.max(floor);
        match pace.looks_back() && low < look.high {
            true => self.look = Some(Look { low, is_next: true, ..look }),
            false => self.is_over = true,
        }
    }

    fn moved_back(&mut self, page: &Page, ask: &Ask, outcome: &Outcome, pace: &Pace) {
        if outcome.position.group.is_some() {
            return;
        }
        let end = outcome.horizon.or(ask.span.high).unwrap_or(ask.span.low);
        match &mut self.look {
            Some(look) if self.is_caught_up => {
                (look.low, look.is_next) = (look.low.max(end), false);
                if look.low >= look.high {
                    (self.look, self.is_over) = (None, true);
                }
            }
            // What is left of a page was paid with its first part.
            Some(_) | None if page.facts.rows == 0 => {}
            Some(_) | None => {
                self.is_wide = false;
                let rows = usize::try_from(page.facts.rows).unwrap_or(usize::MAX);
                self.credit = self.credit.saturating_sub(rows);
                self.stride = self.stride.saturating_mul(2).min(pace.look.records.max(pace.room.records));
            }
        }
    }
}

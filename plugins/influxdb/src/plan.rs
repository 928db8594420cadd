//! What an answer means, and where reading stands after it. Nothing here waits.
//!
//! Reading is *ahead*, from the cursor on, or it *looks back* at times before the cursor, where points may have come late. What is
//! remembered begins at the window's floor, and the floor passes a time only when it was looked at after the cursor had come an
//! overlap past it, or when it was read so late that nothing comes there any more.

use crate::error::Error;
use crate::position::{Group, Position};
use crate::query::Span;
use crate::selection::{Entry, Page, Room, Want};
use crate::window::Seen;

/// How a source reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    /// Records of a batch, and rows of the first page.
    pub(crate) room: Room,
    /// Of the largest page: a page is handed over in several batches.
    pub(crate) look: Room,
    /// Records of a batch that holds a piece of a group.
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
    /// Whether points that come late are looked for.
    pub(crate) fn looks_back(&self) -> bool {
        self.overlap > 0 && self.overlap_points > 0
    }

    /// What lies before and is asked for at `at`, by this machine's clock, is complete: nothing comes late there any more. Half an
    /// overlap more than need be, since clocks differ.
    fn settled(&self, at: i64) -> i64 {
        at.saturating_sub(self.overlap.saturating_add(self.overlap / 2))
    }

    /// A look at `at` from the cursor `from` is the last one for what lies before. A cursor that a wrong clock carried into the
    /// future counts as now.
    pub(crate) fn last_look(&self, from: i64, at: i64) -> i64 {
        from.min(at).saturating_sub(self.overlap)
    }
}

/// Where a page lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// From the cursor on.
    Ahead,
    /// Before it.
    Back,
}

/// The next question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) span: Span,
    pub(crate) group: Option<Group>,
    pub(crate) side: Side,
    pub(crate) is_inclusive: bool,
    /// When it is asked, by this machine's clock.
    pub(crate) at: i64,
    /// When what lies between the cursor and the beginning of its span was asked for.
    pub(crate) since: i64,
}

impl Ask {
    /// What is taken of its answer, when `cursor` and `limit` went into it.
    pub(crate) fn want(&self, pace: &Pace, cursor: Option<i64>, limit: Option<u64>) -> Want {
        let group = self.group.as_ref().map(|group| group.after);
        let records =
            self.span.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let room = match group {
            Some(_) => Room { records: pace.look.records.max(pace.piece.records), ..pace.look },
            None => Room { records: records.min(pace.look.records), ..pace.look },
        };
        Want { low: self.span.low, high: self.span.high, group, room, limit, cursor }
    }

    /// Whether more waits behind the page: it was cut, or asked for a part of what there is.
    pub(crate) fn has_more(&self, horizon: Option<i64>) -> bool {
        horizon.is_some() || self.span.high.is_some_and(|high| high <= self.at)
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

/// What a page brings, or what was left of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Which of its entries are new.
    pub(crate) fresh: Vec<usize>,
    /// Those from here on are left for the next batch.
    pub(crate) taken: usize,
    /// Where reading stands after them.
    pub(crate) position: Position,
    /// Times from here on are left, in the page or behind it.
    pub(crate) horizon: Option<i64>,
}

/// What goes into one batch.
#[derive(Debug, Default)]
struct Cut {
    fresh: Vec<usize>,
    read: Vec<Seen>,
    taken: usize,
}

/// Takes whole times as long as they fit. Of a time that alone is too much a piece is taken.
fn cut(page: &Page, position: &Position, pace: &Pace) -> Cut {
    let mut cut = Cut { taken: page.taken(), ..Cut::default() };
    let (mut time, mut begin, mut before) = (None, cut.taken, 0);
    for (index, entry) in page.entries.iter().enumerate().skip(page.taken()) {
        if time != Some(entry.time) {
            if cut.fresh.len() >= pace.room.records {
                return cut;
            }
            (time, begin, before) = (Some(entry.time), index, cut.fresh.len());
        }
        let seen = Seen::new(entry.time, entry.mark());
        // What lies before the floor was forgotten meanwhile: it is too late now.
        let is_known = || entry.time < position.window.floor() || position.window.has(&seen);
        if entry.time >= position.from || !is_known() {
            if before > 0 && cut.fresh.len() >= pace.room.records {
                cut.fresh.truncate(before);
                cut.read.truncate(before);
                cut.taken = begin;
                return cut;
            }
            if cut.fresh.len() >= pace.piece.records {
                return cut;
            }
            cut.fresh.push(index);
            cut.read.push(seen);
        }
        cut.taken = index + 1;
    }
    cut
}

/// Tells which entries of a page are new, and where reading stands after as many as a batch holds.
pub(crate) fn outcome(page: &Page, ask: &Ask, position: &Position, pace: &Pace) -> Outcome {
    let Cut { fresh, read, taken } = cut(page, position, pace);
    let (before, after) = page.entries.split_at(taken);
    let last = before.last();
    let horizon = after.first().map(|entry| entry.time).or(page.horizon);
    let mut next = position.clone();
    let is_split = last.zip(after.first()).is_some_and(|(last, after)| last.time == after.time);
    let is_open = is_split || (page.want.group.is_some() && page.has_more);
    let group = is_open.then(|| Group {
        time: last.map_or(page.want.low, |last| last.time),
        after: last.map(Entry::mark).or(page.want.group.flatten()),
    });
    if group.is_none() {
        let end = page.want.group.map(|_| page.want.low).or(last.map(|last| last.time));
        next.from = end.map_or(next.from, |end| next.from.max(end.saturating_add(1)));
    }
    next.group = group;
    remember(&mut next, &read, pace);
    move_floor(&mut next, position.from, ask, horizon, pace);
    // Late points of a group that is forgotten cannot be told from those read before: they are too late now.
    let floor = next.window.floor();
    next.group = next.group.filter(|group| group.time >= position.from || group.time >= floor);
    Outcome { fresh, taken, position: next, horizon }
}

/// The position from which the points of `time`, too many for a page, are read. What lies before them is complete.
pub(crate) fn begun(time: i64, ask: &Ask, position: &Position, pace: &Pace) -> Position {
    let mut next = position.clone();
    if ask.side == Side::Back {
        looked(&mut next, ask, time, pace);
    }
    next.group = Some(Group { time, after: None });
    next
}

fn remember(next: &mut Position, read: &[Seen], pace: &Pace) {
    if !pace.looks_back() {
        return next.forget_all();
    }
    next.window.remember(read, pace.overlap_points);
    if next.window.shorten(pace.overlap_points) {
        next.shortened = next.window.floor();
    }
}

/// Forgets what needs no further look.
fn move_floor(next: &mut Position, before: i64, ask: &Ask, horizon: Option<i64>, pace: &Pace) {
    match ask.side {
        Side::Ahead => {
            // The pieces of a group are read at several times.
            let is_settled = ask.group.is_none() && next.from <= pace.settled(ask.since);
            if next.from > before && !is_settled {
                next.loose = next.loose.max(next.from);
            }
            // A short span that was not cut may be the last one with points: then they must be known after a restart.
            let is_whole = ask.group.is_none() && next.group.is_none();
            next.is_behind = is_whole && horizon.is_some();
            if is_whole && ask.has_more(horizon) && next.is_settled() {
                next.window.raise(pace.last_look(next.from, ask.at));
            }
        }
        Side::Back => {
            next.is_behind = false;
            if let Some(end) = horizon.or(ask.span.high).filter(|_| next.group.is_none()) {
                looked(next, ask, end, pace);
            }
        }
    }
}

/// Everything from the beginning of `ask` to before `end` was looked at.
fn looked(next: &mut Position, ask: &Ask, end: i64, pace: &Pace) {
    if ask.span.low <= next.window.floor() {
        next.window.raise(end.min(pace.last_look(next.from, ask.at)));
    }
}

#[cfg(test)]
mod tests;

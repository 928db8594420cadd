use proptest::prelude::*;

use picomq_connector_sdk::State;

use super::*;
use crate::cycle::Cycle;
use crate::position::STATE_VERSION;
use crate::selection::{Draft, Selection};

/// So late that nothing comes late any more.
const LONG_AFTER: i64 = i64::MAX - 1;

const ROOM: Room = Room { records: 4, bytes: 1 << 20 };
const LOOK: Room = Room { records: 11, ..ROOM };
const PIECE: Room = Room { records: 7, ..ROOM };

fn pace(overlap: i64) -> Pace {
    Pace {
        room: ROOM,
        look: LOOK,
        piece: PIECE,
        overlap,
        overlap_points: 1_000,
        is_until_now: false,
        has_short_spans: false,
    }
}

/// A server with points (time, name), and how it is asked.
struct Server {
    points: Vec<(i64, u32)>,
    /// Points that can be seen from a time on.
    coming: Vec<(i64, (i64, u32))>,
    is_inclusive: bool,
    is_generated: bool,
}

impl Server {
    fn new(points: &[(i64, u32)]) -> Server {
        Server { points: points.to_vec(), coming: Vec::new(), is_inclusive: false, is_generated: false }
    }

    /// As a server answers: in the order of time, cut at the limit.
    fn answer(&self, ask: &Ask, pace: &Pace) -> Page {
        let cursor = if ask.is_inclusive { ask.span.low } else { ask.span.low - 1 };
        let least = if self.is_inclusive || self.is_generated { cursor } else { cursor + 1 };
        let least = if self.is_generated { ask.span.low } else { least };
        let come = self.coming.iter().filter(|(visible, _)| *visible <= ask.at).map(|(_, point)| *point);
        let mut rows: Vec<(i64, u32)> =
            self.points.iter().copied().chain(come).filter(|point| point.0 >= least).collect();
        if self.is_generated {
            rows.retain(|point| ask.span.high.is_none_or(|high| point.0 < high));
        }
        rows.sort_by_key(|point| point.0);
        if let Some(limit) = ask.span.limit {
            rows.truncate(limit as usize);
        }
        let cursor = (!self.is_generated).then_some(cursor);
        let mut selection = Selection::new(ask.want(pace, cursor, ask.span.limit));
        for (time, name) in rows {
            let draw = |draft: &mut Draft| {
                draft.payload.extend_from_slice(format!("{time}/{name}").as_bytes());
                Ok(())
            };
            selection.row(time, draw).unwrap();
        }
        selection.finish(false).unwrap()
    }
}

/// A source with a clock of its own and no network.
struct Reading {
    position: Position,
    /// After the last batch, as the engine keeps it.
    saved: Option<State>,
    cycle: Cycle,
    kept: Option<(Page, Ask)>,
    pace: Pace,
    read: Vec<String>,
    asked: usize,
    rows: u64,
    now: i64,
}

impl Reading {
    fn new(pace: Pace) -> Reading {
        Reading {
            position: Position::fresh(0, 1),
            saved: None,
            cycle: Cycle::new(&pace),
            kept: None,
            pace,
            read: Vec::new(),
            asked: 0,
            rows: 0,
            now: LONG_AFTER,
        }
    }

    /// One question and its answer, or what is left of the one before.
    fn step(&mut self, server: &Server) -> Result<(), Error> {
        if let Some((page, ask)) = self.kept.take() {
            self.take(page, ask);
            return Ok(());
        }
        self.asked += 1;
        assert!(self.asked < 20_000, "it asks for ever at {:?}", self.position);
        let ask = self.cycle.next(&self.position, &self.pace, server.is_generated, self.now);
        let page = server.answer(&ask, &self.pace);
        self.rows += page.facts.rows;
        match meaning(&page, ask.is_inclusive)? {
            Meaning::Group(_) if self.cycle.widen(&page, &ask, &self.pace) => {}
            Meaning::Group(time) => self.position = begun(time, &ask, &self.position, &self.pace),
            Meaning::Inclusive => self.cycle.is_inclusive = true,
            Meaning::Short => self.cycle.grow()?,
            Meaning::Rows => self.take(page, ask),
        }
        Ok(())
    }

    fn take(&mut self, mut page: Page, mut ask: Ask) {
        let outcome = outcome(&page, &ask, &self.position, &self.pace);
        let text = |index: &usize| String::from_utf8_lossy(page.payload(&page.entries[*index])).into_owned();
        self.read.extend(outcome.fresh.iter().map(text));
        assert!(outcome.fresh.len() <= self.pace.room.records.max(self.pace.piece.records));
        self.cycle.moved(&page, &ask, &outcome, &self.pace);
        let before = std::mem::replace(&mut self.position, outcome.position);
        let is_worth = self.cycle.is_worth_saving(&ask, &before, &self.position);
        if !outcome.fresh.is_empty() || is_worth {
            self.saved = Some(State::encode(&self.position, STATE_VERSION).unwrap());
        }
        if page.take(outcome.taken) {
            ask.span.low = outcome.horizon.unwrap_or(ask.span.low);
            self.kept = Some((page, ask));
        }
    }

    /// The process ends, and the next one knows what was saved.
    fn kill(&mut self) {
        let saved = self.saved.as_ref().map(|state| state.decode(STATE_VERSION).unwrap());
        self.position = saved.unwrap_or_else(|| Position::fresh(0, 1));
        self.cycle = Cycle::new(&self.pace);
        self.kept = None;
    }

    /// Until there is nothing more.
    fn cycle(&mut self, server: &Server) -> Result<(), Error> {
        self.kept = None;
        self.cycle.restart();
        while self.kept.is_some() || !self.cycle.is_over() {
            self.step(server)?;
        }
        Ok(())
    }

    fn sorted(&self) -> Vec<String> {
        let mut read = self.read.clone();
        read.sort();
        read
    }
}

fn names(points: &[(i64, u32)]) -> Vec<String> {
    let mut names: Vec<String> = points.iter().map(|(time, name)| format!("{time}/{name}")).collect();
    names.sort();
    names
}

#[test]
fn a_page_that_ends_inside_a_group_loses_none_of_it_b100() {
    let mut points: Vec<(i64, u32)> = (1..=2).map(|time| (time, 0)).collect();
    points.extend((0..5).map(|name| (9, name)));
    for is_inclusive in [false, true] {
        let server = Server { is_inclusive, ..Server::new(&points) };
        let mut reading = Reading::new(pace(0));
        reading.cycle(&server).unwrap();
        assert_eq!(reading.sorted(), names(&points));
        // The first time it may see that the query brings rows at the cursor itself.
        reading.cycle(&server).unwrap();
        let asked = reading.asked;
        reading.cycle(&server).unwrap();
        assert_eq!((reading.sorted(), reading.asked), (names(&points), asked + 1), "idle it repeats nothing");
    }
}

#[test]
fn groups_far_larger_than_any_page_come_once_and_whole_b100() {
    let points: Vec<(i64, u32)> = (0..500).map(|name| (5 + i64::from(name / 250), name)).collect();
    for (is_inclusive, is_generated) in [(false, false), (true, false), (false, true)] {
        let server = Server { is_inclusive, is_generated, ..Server::new(&points) };
        let mut reading = Reading::new(pace(0));
        reading.cycle(&server).unwrap();
        assert_eq!(reading.sorted(), names(&points));
    }
}

#[test]
fn what_is_in_a_page_is_handed_over_without_another_question_groups_too() {
    let mut points: Vec<(i64, u32)> = (0..300).map(|time| (time, 0)).collect();
    points.extend((0..60).map(|name| (150, name + 1)));
    let server = Server { is_generated: true, ..Server::new(&points) };
    let look = Room { records: 100, ..ROOM };
    let mut reading = Reading::new(Pace { look, ..pace(0) });
    let mut batches = 0;
    while reading.kept.is_some() || !reading.cycle.is_over() {
        reading.step(&server).unwrap();
        batches += 1;
    }
    assert_eq!(reading.sorted(), names(&points));
    // 4, 8, 16, 32, 64 and then 100 rows each; two of them meet the group, one end is the last.
    assert!(reading.asked <= 11 && batches > 70, "{} questions, {batches} batches", reading.asked);
}

#[test]
fn a_late_point_within_the_overlap_comes_and_one_beyond_it_does_not() {
    let mut server = Server::new(&[(10, 0), (100, 0), (200, 0)]);
    let mut reading = Reading::new(pace(50));
    reading.cycle(&server).unwrap();
    server.points.extend([(160, 7), (20, 7), (200, 7)]);
    reading.cycle(&server).unwrap();
    assert_eq!(reading.read[3..], ["160/7", "200/7"]);
    reading.cycle(&server).unwrap();
    assert_eq!(reading.read.len(), 5);
}

#[test]
fn a_query_that_ignores_the_cursor_is_an_error_and_no_endless_loop() {
    let mut server = Server::new(&(0..20).map(|name| (i64::from(name), 0)).collect::<Vec<_>>());
    let mut reading = Reading::new(pace(0));
    reading.cycle(&server).unwrap();
    // As many rows as a page holds, all of them before the cursor.
    server.points = (0..20).map(|name| (-20 + i64::from(name), 0)).collect();
    let ask = reading.cycle.next(&reading.position, &reading.pace, true, LONG_AFTER);
    let ignoring = Ask { span: Span { low: -20, ..ask.span }, ..ask.clone() };
    let mut page = server.answer(&ignoring, &reading.pace);
    page.want.low = 20;
    page.entries.clear();
    assert!(meaning(&page, true).unwrap_err().to_string().contains("$cursor"));
}

#[test]
fn short_spans_grow_over_gaps_and_shrink_where_points_are_dense() {
    let far = 40_i64 * 365 * 86_400 * 1_000_000_000;
    let mut points: Vec<(i64, u32)> = (0..50).map(|step| (far + step * 1_000_000, 0)).collect();
    points.push((0, 0));
    let server = Server { is_generated: true, ..Server::new(&points) };
    let mut reading = Reading::new(Pace { is_until_now: true, has_short_spans: true, ..pace(0) });
    reading.cycle(&server).unwrap();
    assert_eq!(reading.sorted(), names(&points));
    assert!(reading.asked < 200, "{} questions", reading.asked);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Points come in any order, in bursts, while it reads; it is killed and nacked in between. What is never later than the
    /// overlap comes; nothing comes twice unless it was nacked.
    #[test]
    fn every_point_comes_once_whatever_happens_b100(
        bursts in prop::collection::vec(prop::collection::vec((0_i64..25, 0_u32..6), 0..30), 1..6),
        is_inclusive: bool,
        is_generated: bool,
        restarts in prop::collection::vec(any::<bool>(), 6),
    ) {
        let overlap = 40;
        let mut server = Server { is_inclusive, is_generated, ..Server::new(&[]) };
        let mut reading = Reading::new(pace(overlap));
        for (number, burst) in bursts.iter().enumerate() {
            // Each burst lies up to 20 before and 5 after the newest point there can be.
            let base = number as i64 * 5 + 100;
            for (offset, name) in burst {
                let point = (base + offset - 20, *name);
                if !server.points.contains(&point) {
                    server.points.push(point);
                }
            }
            if restarts[number] {
                reading.kill();
            }
            reading.cycle(&server).unwrap();
        }
        prop_assert_eq!(reading.sorted(), names(&server.points));
    }

    /// With little room to remember, late points may be passed over, but nothing comes twice.
    #[test]
    fn with_little_room_to_remember_nothing_comes_twice(
        bursts in prop::collection::vec(prop::collection::vec((0_i64..25, 0_u32..12), 0..40), 1..6),
        overlap_points in 0_usize..30,
        kills in prop::collection::vec(0_u32..5, 60),
    ) {
        let mut kills = kills.into_iter();
        let mut server = Server::new(&[]);
        let mut reading = Reading::new(Pace { overlap_points, ..pace(40) });
        for (number, burst) in bursts.iter().enumerate() {
            for (offset, name) in burst {
                let point = (number as i64 * 5 + 80 + offset, *name);
                if !server.points.contains(&point) {
                    server.points.push(point);
                }
            }
            reading.cycle.restart();
            while reading.kept.is_some() || !reading.cycle.is_over() {
                reading.step(&server).unwrap();
                if kills.next() == Some(0) {
                    reading.kill();
                }
            }
        }
        let mut read = reading.sorted();
        let length = read.len();
        read.dedup();
        prop_assert_eq!(read.len(), length);
    }

    /// Without late points nothing is needed to remember, whatever the groups.
    #[test]
    fn points_in_order_come_once_with_any_sizes_of_groups_b100(
        groups in prop::collection::vec(1_u32..30, 1..12),
        is_inclusive: bool,
        is_generated: bool,
        stops in prop::collection::vec(0_usize..4, 40),
    ) {
        let points: Vec<(i64, u32)> = groups
            .iter()
            .enumerate()
            .flat_map(|(time, size)| (0..*size).map(move |name| (time as i64 + 1, name)))
            .collect();
        let server = Server { is_inclusive, is_generated, ..Server::new(&points) };
        let mut reading = Reading::new(pace(0));
        let mut stops = stops.iter();
        reading.cycle.restart();
        while reading.kept.is_some() || !reading.cycle.is_over() {
            reading.step(&server).unwrap();
            if stops.next() == Some(&0) {
                reading.kill();
            }
        }
        prop_assert_eq!(reading.sorted(), names(&points));
    }
}

mod late;

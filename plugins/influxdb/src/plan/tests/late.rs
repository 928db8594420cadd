//! Points that come late while a source is behind, is killed, and catches up: none is lost, and little is read again.

use super::*;

const OVERLAP: i64 = 400;

fn pace(records: usize) -> Pace {
    let room = |records| Room { records, bytes: 1 << 20 };
    Pace {
        room: room(records),
        look: room(records * 20),
        piece: room(records * 2),
        overlap_points: 100_000,
        ..super::pace(OVERLAP)
    }
}

/// One point a nanosecond, all of them there.
fn dense(times: std::ops::Range<i64>) -> Vec<(i64, u32)> {
    times.map(|time| (time, 0)).collect()
}

/// A source that stands at the head of `window` points, with a server that has as many as `times` say.
fn at_the_head(records: usize, overlap: i64, times: std::ops::Range<i64>) -> (Reading, Server) {
    let server = Server { is_generated: true, ..Server::new(&dense(times.clone())) };
    let pace = Pace { overlap, is_until_now: true, ..pace(records) };
    let mut reading = Reading { now: times.end, ..Reading::new(pace) };
    reading.cycle(&server).unwrap();
    assert_eq!(reading.read.len(), server.points.len());
    reading.kill();
    (reading.rows, reading.asked) = (0, 0);
    (reading, server)
}

/// Reads until nothing more waits, killed after so many questions each time.
fn catch_up(reading: &mut Reading, server: &Server, questions: usize) {
    let mut asked = 0;
    while !reading.cycle.is_caught_up() {
        reading.step(server).unwrap();
        if reading.asked - asked >= questions {
            asked = reading.asked;
            reading.kill();
        }
    }
}

#[test]
fn a_source_that_is_behind_and_killed_every_few_pages_reads_at_most_three_times_what_is_new() {
    for (records, questions) in [(20, 2), (20, 3), (20, 7), (100, 2), (100, 50), (7, usize::MAX)] {
        // Points may come late everywhere: the backlog is shorter than one and a half overlaps.
        let (mut reading, mut server) = at_the_head(records, 4_000, 0..5_000);
        server.points.extend(dense(5_000..10_000));
        reading.now = 10_000;
        catch_up(&mut reading, &server, questions);
        assert_eq!(reading.sorted(), names(&server.points));
        assert!(reading.rows <= 3 * 5_000, "{records} {questions}: {} rows for 5000", reading.rows);
        // An overlap, what was new since the last look, and what was not looked at before.
        let window = reading.position.window.len();
        assert!(window <= 8_000, "{records} {questions}: {window} points are remembered");
    }
}

#[test]
fn a_source_far_behind_reads_nothing_twice_and_saves_no_points() {
    let (mut reading, mut server) = at_the_head(50, OVERLAP, 0..1_000);
    server.points.extend(dense(1_000..20_000));
    reading.now = 1_000_000;
    let remembered = reading.position.window.len() as u64;
    let mut largest = 0;
    while !reading.cycle.is_caught_up() {
        reading.step(&server).unwrap();
        if reading.read.len() > 3_000 && !reading.cycle.is_caught_up() {
            largest = largest.max(reading.saved.as_ref().unwrap().as_bytes().len());
        }
    }
    assert_eq!(reading.sorted(), names(&server.points));
    assert!(largest < 100, "{largest} bytes of state");
    // Those that may have come late before, and of each page the last time.
    let most = 19_000 + 19_000 / 40 + remembered;
    assert!(reading.rows <= most, "{} rows for 19000, at most {most}", reading.rows);
}

#[test]
fn what_comes_late_to_a_time_passed_while_it_was_behind_is_found_at_the_head() {
    let (mut reading, mut server) = at_the_head(10, OVERLAP, 0..500);
    server.points.extend(dense(500..1_000));
    reading.now = 1_000;
    while reading.position.from < 980 {
        reading.step(&server).unwrap();
    }
    server.points.extend([(700, 7), (601, 7), (960, 7)]);
    reading.kill();
    reading.cycle(&server).unwrap();
    assert_eq!(reading.sorted(), names(&server.points));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Whatever becomes visible at most an overlap after its time comes, exactly once: with points in any order, a source that
    /// begins late, whose pages take time, that is killed at any moment and comes back with pages of another size.
    #[test]
    fn no_point_within_the_overlap_is_lost_however_far_behind_and_often_killed_it_is_b094(
        points in prop::collection::vec((0_i64..3_000, 0_u32..4, 0..=OVERLAP), 1..400),
        is_inclusive: bool,
        is_generated: bool,
        has_short_spans: bool,
        begin in 0_i64..4_000,
        steps in prop::collection::vec((0_i64..40, 0_u32..12, 1_usize..30), 1..200),
    ) {
        let mut names_of = std::collections::BTreeSet::new();
        let coming = points
            .iter()
            .filter(|(time, name, _)| names_of.insert((*time, *name)))
            .map(|(time, name, late)| (time + late, (*time, *name)))
            .collect();
        let server = Server { coming, is_inclusive, is_generated, ..Server::new(&[]) };
        let has_short_spans = has_short_spans && is_generated;
        let pace = |records| Pace { is_until_now: is_generated, has_short_spans, ..pace(records) };
        let mut reading = Reading { now: begin, ..Reading::new(pace(5)) };
        for (passes, event, records) in steps {
            if event == 0 {
                reading.pace = pace(records);
                reading.kill();
            }
            if reading.kept.is_none() && reading.cycle.is_over() {
                reading.cycle.restart();
            }
            reading.step(&server).unwrap();
            reading.now += passes;
        }
        // Every point is visible now, and each time is looked at once more.
        reading.now = reading.now.max(3_000 + OVERLAP);
        reading.cycle(&server).unwrap();
        let all: Vec<(i64, u32)> = names_of.into_iter().collect();
        prop_assert_eq!(reading.sorted(), names(&all));
    }

    /// As before, where a look through the window takes several pages, and new points come between them.
    #[test]
    fn a_look_of_many_pages_loses_no_late_point_while_new_ones_come_b094(
        late in prop::collection::vec((0_i64..500, 1_u32..4, 60_i64..=100), 20..60),
        passes in prop::collection::vec(0_i64..16, 400),
        kills in prop::collection::vec(0_u32..40, 400),
    ) {
        let mut all: std::collections::BTreeMap<(i64, u32), i64> =
            (0..500).map(|time| ((time, 0), time)).collect();
        all.extend(late.iter().map(|(time, name, late)| ((*time, *name), time + late)));
        let coming = all.iter().map(|(point, visible)| (*visible, *point)).collect();
        let server = Server { coming, is_generated: true, ..Server::new(&[]) };
        let look = Room { records: 30, bytes: 1 << 20 };
        let pace = Pace { overlap: 100, look, is_until_now: true, ..pace(5) };
        let mut reading = Reading { now: 0, ..Reading::new(pace) };
        for (passes, kill) in passes.into_iter().zip(kills) {
            if reading.kept.is_none() && reading.cycle.is_over() {
                reading.cycle.restart();
            }
            reading.step(&server).unwrap();
            if kill == 0 {
                reading.kill();
            }
            reading.now += passes;
        }
        reading.now = reading.now.max(600);
        reading.cycle(&server).unwrap();
        let all: Vec<(i64, u32)> = all.into_keys().collect();
        prop_assert_eq!(reading.sorted(), names(&all));
    }
}

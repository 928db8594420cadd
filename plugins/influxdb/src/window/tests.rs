use picomq_connector_sdk::State;
use proptest::prelude::*;

use super::*;
use crate::mark::Digest;

fn seen(time: i64, name: u64) -> Seen {
    Seen::new(time, Mark { digest: Digest(name, 0), occurrence: 0 })
}

fn window(floor: i64, points: &[(i64, u64)], most: usize) -> Window {
    let mut window = Window::from(floor);
    let points: Vec<Seen> = points.iter().map(|(time, name)| seen(*time, *name)).collect();
    window.remember(&points, most);
    window
}

#[test]
fn what_lies_before_the_floor_is_forgotten() {
    let mut window = window(0, &[(10, 1), (59, 1), (60, 1), (99, 1)], 16);
    window.raise(60);
    assert_eq!((window.floor(), window.len()), (60, 2));
    assert!(window.has(&seen(60, 1)) && !window.has(&seen(59, 1)));
    window.raise(5);
    assert_eq!(window.floor(), 60, "a floor never sinks");
}

#[test]
fn too_much_is_forgotten_by_whole_times_and_the_floor_says_so() {
    let mut window = window(0, &[(60, 1), (60, 2), (60, 3), (70, 1), (80, 1)], 16);
    assert!(window.shorten(4));
    assert_eq!((window.floor(), window.len()), (61, 2));
    assert!(!window.shorten(4));
    let mut group = self::window(0, &[(60, 1), (60, 2), (60, 3)], 16);
    assert!(group.shorten(2));
    assert_eq!((group.floor(), group.len()), (61, 0));
}

#[test]
fn the_nth_of_equal_rows_is_another_point() {
    let mark = |occurrence| Mark { digest: Digest(5, 6), occurrence };
    assert_ne!(Seen::new(1, mark(0)), Seen::new(1, mark(1)));
}

#[test]
fn a_reach_holds_no_more_points_than_asked_for_and_is_past_its_beginning() {
    let points: Vec<(i64, u64)> = (0..100).map(|time| (time, 1)).collect();
    let window = window(0, &points, 160);
    assert_eq!(window.reach(0, 25), Some(20));
    assert_eq!(window.reach(35, 1), Some(40), "a slot at least");
    assert_eq!(window.reach(95, 25), None);
    assert_eq!((window.count(0, 100), window.count(95, 100), window.count(100, 200)), (100, 10, 0));
}

#[test]
fn twenty_two_thousand_points_take_five_bytes_each() {
    let points: Vec<(i64, u64)> = (0..22_000).map(|number| (number * 900_000, number as u64)).collect();
    let state = State::encode(&window(0, &points, 50_000), 1).unwrap();
    assert!(state.as_bytes().len() < 112_000, "{}", state.as_bytes().len());
}

#[test]
fn damaged_points_are_refused() {
    let whole = window(3, &[(10, 1), (11, 2), (30, 3)], 16).pack();
    assert!(Window::unpack(&whole).is_some());
    for end in (0..whole.len()).filter(|end| !(end + 8 - 8 == 8 || end.is_multiple_of(25) && *end >= 33)) {
        let cut = Window::unpack(&whole[..end]);
        assert!(cut.is_none_or(|window| window.len() < 3), "cut at {end}");
    }
    let mut backwards = whole.clone();
    backwards[8..16].copy_from_slice(&i64::MAX.to_le_bytes());
    assert_eq!(Window::unpack(&backwards), None);
}

proptest! {
    /// Beside a plain set: nothing remembered is unknown, and nothing else is known, over floors and saves.
    #[test]
    fn a_window_knows_what_it_was_told_and_nothing_else(
        pages in prop::collection::vec((prop::collection::vec((0_i64..60, 0_u64..5), 0..40), 0_i64..60), 1..6),
        most in 1_usize..200,
    ) {
        let (mut window, mut plain) = (Window::from(0), std::collections::BTreeSet::new());
        for (mut points, floor) in pages {
            points.sort_unstable();
            points.dedup();
            points.retain(|point| point.0 >= window.floor() && !plain.contains(point));
            let read: Vec<Seen> = points.iter().map(|(time, name)| seen(*time, *name)).collect();
            window.remember(&read, most);
            plain.extend(points);
            window.raise(floor.min(window.floor() + 10));
            window.shorten(most);
            plain.retain(|point| point.0 >= window.floor());
            let packed = Window::unpack(&window.pack());
            prop_assert_eq!(packed.as_ref(), Some(&window));
            prop_assert!(window.len() <= most && window.len() >= plain.len());
            for time in window.floor()..60 {
                for name in 0..5 {
                    prop_assert_eq!(window.has(&seen(time, name)), plain.contains(&(time, name)), "{} {}", time, name);
                }
            }
        }
    }
}

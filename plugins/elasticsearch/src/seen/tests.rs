use proptest::prelude::*;

use super::*;

fn key(at: i64, tie: i64) -> Key {
    Key { at: Point::Int(at), tie: Point::Int(tie) }
}

fn seen(keys: &[(i64, i64, u32)]) -> Seen {
    let mut seen = Seen::default();
    keys.iter().for_each(|(at, tie, name)| seen.insert(key(*at, *tie), *name));
    seen
}

#[test]
fn documents_of_one_key_are_told_apart_by_their_names() {
    let seen = seen(&[(5, 1, 10), (5, 1, 11), (3, 9, 12)]);
    assert!(seen.contains(&key(5, 1), 10) && seen.contains(&key(5, 1), 11) && seen.contains(&key(3, 9), 12));
    assert!(
        !seen.contains(&key(5, 1), 12) && !seen.contains(&key(5, 2), 10) && !seen.contains(&key(4, 1), 10)
    );
    assert_eq!(seen.newest(), Some(&key(5, 1)));
}

#[test]
fn a_new_version_of_a_document_is_another_document() {
    // Its sequence number rose.
    assert!(!seen(&[(5, 1, 10)]).contains(&key(5, 2), 10));
}

#[test]
fn what_is_forgotten_gives_the_floor() {
    let mut all = seen(&[(1, 0, 1), (2, 0, 2), (3, 0, 3), (3, 1, 4)]);
    assert_eq!(
        (all.before_time(&Point::Int(3)), all.up_to_time(&Point::Int(3)), all.before(&key(3, 1))),
        (2, 4, 3)
    );
    assert_eq!((all.forget(2), all.len()), (Some(key(2, 0)), 2));
    assert_eq!((all.forget(9), all.len(), all.newest()), (Some(key(3, 1)), 0, None));
}

#[test]
fn index_and_id_do_not_run_into_each_other() {
    assert_ne!(name("ab", "c"), name("a", "bc"));
    assert_eq!(name("a", "b"), name("a", "b"));
}

#[test]
fn four_thousand_documents_take_some_ten_bytes_each() {
    let entries: Vec<_> = (0..4096).map(|n| (1_767_225_600_000 + n * 3, n * 7, n as u32)).collect();
    let bytes = rmp(&seen(&entries));
    assert!(bytes.len() < 4096 * 11, "{} bytes", bytes.len());
}

fn rmp(seen: &Seen) -> Vec<u8> {
    picomq_connector_sdk::State::encode(seen, 1).unwrap().into_bytes()
}

#[test]
fn damage_is_found() {
    let packed = seen(&[(1, 0, 1), (2, 0, 2)]).pack();
    for length in 1..packed.len() {
        let read = Seen::unpack(&packed[..length]);
        assert!(read.is_none_or(|read| read.len() < 2), "cut at {length}");
    }
    for wrong in
        [&[9][..], &[INT, 0x80], &[TEXT, 200, 1], &[INT, 4, INT, 0, 0, 0, 0, 0, INT, 3, INT, 0, 0, 0, 0, 0]]
    {
        assert_eq!(Seen::unpack(wrong), None, "{wrong:?}");
    }
}

fn point() -> impl Strategy<Value = Point> {
    prop_oneof![
        any::<i64>().prop_map(Point::Int),
        "[a-zß]{0,9}".prop_map(|text| Point::Text(text.into())),
        Just(Point::None)
    ]
}

fn place() -> impl Strategy<Value = (i64, i64, u32)> {
    (0..40_i64, 0..40_i64, 0..3_u32)
}

proptest! {
    #[test]
    fn parts_are_one_sorted_list(
        bulk in 0..3_000_i64,
        late in prop::collection::vec(place(), 0..1_500),
        gone in 0..3_000_usize,
        asked in prop::collection::vec(place(), 40),
    ) {
        let mut all = Seen::default();
        let mut model: Vec<_> = (0..bulk).map(|n| (n / 90, n % 90, 0)).chain(late).collect();
        model.iter().for_each(|(at, tie, name)| all.insert(key(*at, *tie), *name));
        model.sort_unstable();
        let copy = all.clone();
        let last = model[..gone.min(model.len())].last().map(|(at, tie, _)| key(*at, *tie));
        prop_assert_eq!(all.forget(gone), last);
        model.drain(..gone.min(model.len()));
        prop_assert_eq!(all.len(), model.len());
        let listed: Vec<_> = all.entries().map(|entry| (entry.key.clone(), entry.name)).collect();
        let expected: Vec<_> = model.iter().map(|(at, tie, name)| (key(*at, *tie), *name)).collect();
        prop_assert_eq!(listed, expected);
        for (at, tie, name) in asked {
            prop_assert_eq!(all.contains(&key(at, tie), name), model.contains(&(at, tie, name)));
            let before = model.iter().filter(|other| (other.0, other.1) < (at, tie)).count();
            prop_assert_eq!(all.before(&key(at, tie)), before);
            prop_assert_eq!(all.before_time(&Point::Int(at)), model.iter().filter(|other| other.0 < at).count());
            prop_assert_eq!(all.up_to_time(&Point::Int(at)), model.iter().filter(|other| other.0 <= at).count());
        }
        prop_assert!(copy.len() >= all.len() && copy.entries().is_sorted());
    }

    #[test]
    fn what_is_packed_comes_back(entries in prop::collection::vec((point(), point(), any::<u32>()), 0..60)) {
        let mut all = Seen::default();
        for (at, tie, name) in entries {
            all.insert(Key { at, tie }, name);
        }
        let state = picomq_connector_sdk::State::encode(&all, 1).unwrap();
        prop_assert_eq!(state.decode::<Seen>(1).unwrap(), all);
    }
}

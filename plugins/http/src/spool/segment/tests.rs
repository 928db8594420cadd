use proptest::prelude::*;

use super::*;

const HEADER: Header = Header { first: 100, salt: 0x1234_5678_9abc_def0 };

/// A file with these groups of posts.
fn file(groups: &[Vec<Vec<u8>>]) -> Vec<u8> {
    let (mut bytes, mut next) = (HEADER.encode().to_vec(), HEADER.first);
    for group in groups {
        HEADER.write_group(&mut bytes, next, group);
        next += group.len() as u64;
    }
    bytes
}

fn three_groups() -> Vec<Vec<Vec<u8>>> {
    vec![
        vec![b"one".to_vec(), b"".to_vec()],
        vec![vec![7; 300]],
        vec![b"four".to_vec(), b"five".to_vec(), b"six".to_vec()],
    ]
}

fn posts(bytes: &[u8], scan: &Scan) -> Vec<Vec<u8>> {
    let (mut at, mut next, mut posts) = (HEADER_BYTES, scan.header.first, Vec::new());
    while let Step::Group(group) = scan.header.step(&bytes[at..scan.good_bytes], next) {
        posts.extend(group.posts().map(<[u8]>::to_vec));
        at += group.bytes;
        next += u64::from(group.count);
    }
    posts
}

#[test]
fn what_was_written_is_read_back() {
    let groups = three_groups();
    let bytes = file(&groups);
    let scan = Header::scan(&bytes).unwrap();
    assert_eq!((scan.next, scan.good_bytes, scan.is_torn), (106, bytes.len(), false));
    assert_eq!(posts(&bytes, &scan), groups.concat());
}

/// The last write may end at any byte: what was synced before is all there, and nothing else is.
#[test]
fn a_write_torn_at_any_byte_loses_only_itself() {
    let groups = three_groups();
    let synced = file(&groups[..2]);
    let whole = file(&groups);
    for end in synced.len()..whole.len() {
        let scan = Header::scan(&whole[..end]).unwrap();
        assert_eq!((scan.next, scan.good_bytes), (103, synced.len()), "cut at {end}");
        assert_eq!(scan.is_torn, end > synced.len(), "cut at {end}");
        assert_eq!(posts(&whole[..end], &scan), groups[..2].concat(), "cut at {end}");
    }
}

/// As the last write leaves it where room was made ahead: cut at any byte, and zeros behind it.
#[test]
fn room_behind_the_last_group_is_its_end_and_behind_a_torn_one_it_is_torn() {
    let groups = three_groups();
    let (synced, whole) = (file(&groups[..2]), file(&groups));
    for end in synced.len()..=whole.len() {
        let roomy = [&whole[..end], &[0; 100][..]].concat();
        let scan = Header::scan(&roomy).unwrap();
        let is_whole = end == whole.len();
        let (next, good_bytes) = if is_whole { (106, whole.len()) } else { (103, synced.len()) };
        assert_eq!((scan.next, scan.good_bytes), (next, good_bytes), "cut at {end}");
        assert_eq!(scan.is_torn, end > synced.len() && !is_whole, "cut at {end}");
    }
    let damaged = [&synced[..], &[0; 30], &whole[synced.len()..]].concat();
    assert_eq!(Header::scan(&damaged), Err(Damage::Group { at: synced.len() }));
}

/// Blocks of the last write may be missing in any place, as zeros.
#[test]
fn a_write_with_a_hole_at_any_byte_loses_only_itself() {
    let groups = three_groups();
    let synced = file(&groups[..2]);
    let whole = file(&groups);
    for hole in synced.len()..whole.len() {
        let mut bytes = whole.clone();
        if bytes[hole] == 0 {
            continue;
        }
        bytes[hole] = 0;
        let scan = Header::scan(&bytes).unwrap();
        assert_eq!((scan.next, scan.good_bytes, scan.is_torn), (103, synced.len(), true), "hole at {hole}");
    }
}

/// Before the last group every changed byte is damage, never a shorter file.
#[test]
fn a_byte_changed_in_what_was_synced_is_damage() {
    let whole = file(&three_groups());
    let last = file(&three_groups()[..2]).len();
    for at in 0..last {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        let right = if at < HEADER_BYTES { Damage::Header } else { Damage::Group { at: 0 } };
        match (Header::scan(&bytes), right) {
            (Err(Damage::Header), Damage::Header) | (Err(Damage::Group { .. }), Damage::Group { .. }) => {}
            (other, _) => panic!("byte {at}: {other:?}"),
        }
    }
}

#[test]
fn a_group_that_a_sender_posted_is_no_group() {
    // With the right layout, but without knowing the salt of the file.
    let mut forged = Vec::new();
    Header { salt: 1, ..HEADER }.write_group(&mut forged, 101, &[b"forged".to_vec()]);
    let bytes = file(&[vec![[b"x".repeat(50), forged].concat()]]);
    let torn = &bytes[..bytes.len() - 1];
    assert!(Header::scan(torn).unwrap().is_torn);
}

#[test]
fn a_group_out_of_turn_is_damage() {
    let mut bytes = file(&three_groups()[..1]);
    HEADER.write_group(&mut bytes, 103, &[b"skipped one".to_vec()]);
    assert!(matches!(Header::scan(&bytes), Err(Damage::Group { .. })));
}

proptest! {
    #[test]
    fn any_groups_come_back(groups in proptest::collection::vec(
        proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50), 1..6), 0..6), cut in 0..40_usize)
    {
        let bytes = file(&groups);
        let scan = Header::scan(&bytes).unwrap();
        prop_assert_eq!(posts(&bytes, &scan), groups.concat());
        // A torn tail never takes more than the last group with it.
        if let Some((_, before)) = groups.split_last() {
            let end = bytes.len() - cut.min(bytes.len() - file(before).len());
            let scan = Header::scan(&bytes[..end]).unwrap();
            let kept = posts(&bytes, &scan);
            prop_assert!(kept == groups.concat() || kept == before.concat());
        }
    }

    #[test]
    fn rubbish_is_judged_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = Header::scan(&bytes);
        let after = [HEADER.encode().as_slice(), &bytes].concat();
        prop_assert!(Header::scan(&after).is_ok_and(|scan| scan.good_bytes == HEADER_BYTES));
    }
}

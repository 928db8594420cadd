//! Offsets on disk: what is read back, and from a torn or damaged file.

use super::*;

fn committed(group: &str, topic: &str, offset: i64) -> Entry {
    let offset = Committed { offset, leader_epoch: 0, metadata: "m".to_owned() };
    Entry::Committed { group: group.to_owned(), topic: topic.to_owned(), offset }
}

fn entries() -> [Entry; 3] {
    [committed("g", "t", 1), Entry::Forgotten { topic: "t".to_owned() }, committed("g", "u", 2)]
}

#[test]
fn what_was_appended_is_read_back_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second, third] = entries();
    let mut file = OffsetFile::create(folder.path(), std::slice::from_ref(&first)).unwrap();
    file.append(&second).unwrap();
    file.append(&third).unwrap();

    assert_eq!(OffsetFile::read(folder.path()).unwrap(), [first, second, third]);
}

#[test]
fn a_missing_file_has_no_entries_and_a_foreign_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(OffsetFile::read(folder.path()).unwrap(), []);

    fs::write(folder.path().join("offsets"), "my notes").unwrap();
    assert!(matches!(OffsetFile::read(folder.path()), Err(Error::NotOurs { .. })));
}

#[test]
fn every_cut_and_every_flipped_bit_keeps_the_entries_before_it() {
    let folder = tempfile::tempdir().unwrap();
    OffsetFile::create(folder.path(), &entries()).unwrap();
    let path = folder.path().join("offsets");
    let whole = fs::read(&path).unwrap();
    let ends: Vec<usize> = entries()
        .iter()
        .scan(MAGIC.len(), |end, entry| {
            *end += encode(entry).len();
            Some(*end)
        })
        .collect();

    for at in MAGIC.len()..whole.len() {
        let kept = ends.iter().filter(|end| **end <= at).count();
        fs::write(&path, &whole[..at]).unwrap();
        assert_eq!(OffsetFile::read(folder.path()).unwrap(), entries()[..kept], "cut at {at}");
        let mut flipped = whole.clone();
        flipped[at] ^= 4;
        fs::write(&path, flipped).unwrap();
        assert_eq!(OffsetFile::read(folder.path()).unwrap(), entries()[..kept], "flipped at {at}");
    }
}

#[test]
fn a_long_file_is_short_again_after_a_rewrite() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = OffsetFile::create(folder.path(), &[]).unwrap();
    let entry = committed(&"g".repeat(1_000), "t", 1);
    while !file.is_long() {
        file.append(&entry).unwrap();
    }

    file.rewrite(std::slice::from_ref(&entry)).unwrap();
    file.append(&committed("g", "u", 2)).unwrap();

    assert!(!file.is_long());
    assert_eq!(OffsetFile::read(folder.path()).unwrap(), [entry, committed("g", "u", 2)]);
}

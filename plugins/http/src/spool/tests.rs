use std::fs;
use std::path::Path;

use picomq_connector_sdk::ffi::host::GuestBatch;
use picomq_connector_sdk::{Batch, Schema};
use tempfile::TempDir;

use super::segment::HEADER_BYTES;
use super::*;
use crate::post::{Headers, Post};
use crate::replays::Digest;

const ROOM: Room = Room { records: 1000, bytes: 1 << 20 };

fn post(number: u64) -> Post {
    Post {
        payload: format!("post {number}").into(),
        key: None,
        id: Some(number.to_string()),
        digest: Some(Digest::of("/topics/a", &number.to_string())),
        received_ms: 1,
        event_time_ns: 2,
        headers: Headers::default(),
    }
}

fn encoded(numbers: impl IntoIterator<Item = u64>) -> Vec<Vec<u8>> {
    let one = |number| {
        let mut bytes = Vec::new();
        post(number).encode(&mut bytes);
        bytes
    };
    numbers.into_iter().map(one).collect()
}

fn try_open(folder: &Path, committed: u64) -> Result<Opened, SpoolError> {
    let opening =
        Opening { folder, committed, is_expected: committed > 0, is_inspection: false, segment_bytes: 200 };
    Opened::open(&opening, &mut |_| {})
}

fn open(folder: &Path, committed: u64) -> (Spool, Writer) {
    let opened = try_open(folder, committed).unwrap();
    (opened.spool, opened.writer.unwrap())
}

fn append(spool: &Spool, writer: &mut Writer, numbers: impl IntoIterator<Item = u64>) {
    spool.grew(writer.append(&encoded(numbers)).unwrap());
}

/// The numbers of the posts from `from` on.
fn read(spool: &Spool, from: u64, room: Room) -> (Vec<u64>, u64) {
    let mut batch = Batch::new(Schema::Text);
    let next = spool.read(from, room, &mut batch).unwrap();
    let batch = GuestBatch::from_batch(batch);
    let number =
        |payload: &[u8]| String::from_utf8_lossy(payload).trim_start_matches("post ").parse().unwrap();
    (batch.records().map(|record| number(record.payload.unwrap())).collect(), next)
}

fn all(spool: &Spool, from: u64) -> Vec<u64> {
    read(spool, from, ROOM).0
}

fn files(folder: &Path) -> usize {
    files::segments(folder).unwrap().len()
}

#[test]
fn posts_are_read_in_order_over_many_files_in_batches_of_any_size() {
    let folder = TempDir::new().unwrap();
    let (spool, mut writer) = open(folder.path(), 0);
    for first in (0..60).step_by(3) {
        append(&spool, &mut writer, first..first + 3);
    }
    assert!(files(folder.path()) > 5);
    for size in 1..10 {
        let (mut next, mut seen) = (0, Vec::new());
        while next < 60 {
            let (numbers, after) = read(&spool, next, Room { records: size, bytes: 1 << 20 });
            assert!(numbers.len() <= size && after > next);
            seen.extend(numbers);
            next = after;
        }
        assert_eq!(seen, (0..60).collect::<Vec<u64>>());
    }
    // Backwards too, as after a Nack.
    for from in (0..60).rev() {
        assert_eq!(all(&spool, from), (from..60).collect::<Vec<u64>>());
    }
}

#[test]
fn what_was_synced_is_there_after_the_process_died() {
    let folder = TempDir::new().unwrap();
    let (spool, mut writer) = open(folder.path(), 0);
    append(&spool, &mut writer, 0..5);
    drop((spool, writer));
    let (spool, mut writer) = open(folder.path(), 0);
    append(&spool, &mut writer, 5..8);
    assert_eq!(all(&spool, 0), (0..8).collect::<Vec<u64>>());
}

/// The file as a crash may leave it, cut at every byte of its last write: all posts answered before are there, the
/// spool goes on, and the next life sees the same again.
#[test]
fn a_file_torn_at_any_byte_of_its_last_write_opens_with_all_that_was_answered() {
    let template = TempDir::new().unwrap();
    let (spool, mut writer) = open(template.path(), 0);
    append(&spool, &mut writer, 0..3);
    let answered = writer.segment().bytes as usize;
    append(&spool, &mut writer, 3..5);
    let written = writer.segment().bytes as usize;
    drop((spool, writer));
    let path = files::segments(template.path()).unwrap().remove(0);
    let whole = fs::read(&path).unwrap()[..written].to_vec();
    for end in answered..whole.len() {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join(path.file_name().unwrap()), &whole[..end]).unwrap();
        let (spool, mut writer) = open(folder.path(), 0);
        assert_eq!(all(&spool, 0), [0, 1, 2], "cut at {end}");
        append(&spool, &mut writer, [30]);
        drop((spool, writer));
        assert_eq!(all(&open(folder.path(), 0).0, 0), [0, 1, 2, 30], "cut at {end}");
    }
}

#[test]
fn a_file_has_room_made_ahead_and_gives_it_back_when_it_is_opened_again() {
    let folder = TempDir::new().unwrap();
    let opening = Opening {
        folder: folder.path(),
        committed: 0,
        is_expected: false,
        is_inspection: false,
        segment_bytes: 5 << 20,
    };
    let opened = Opened::open(&opening, &mut |_| {}).unwrap();
    let (spool, mut writer) = (opened.spool, opened.writer.unwrap());
    let path = files::segments(folder.path()).unwrap().remove(0);
    let on_disk = || fs::metadata(&path).unwrap().len();
    append(&spool, &mut writer, 0..3);
    // The next ones lie in what is there: the file keeps its length, which is what makes their syncs cheap.
    let roomy = on_disk();
    assert!(roomy > writer.segment().bytes && spool.bytes() == roomy);
    (3..50).for_each(|number| append(&spool, &mut writer, [number]));
    assert_eq!((on_disk(), spool.bytes()), (roomy, roomy));
    // One that does not fit brings more, and none behind the end of a segment.
    while writer.segment().bytes < 5 << 20 {
        let large = vec![vec![7; 700_000]];
        spool.grew(writer.append(&large).unwrap());
        assert!(on_disk() == spool.bytes() && on_disk() >= writer.segment().bytes);
    }
    assert_eq!(on_disk(), writer.segment().bytes);
    append(&spool, &mut writer, 57..60);
    let written = writer.segment();
    drop((spool, writer));
    let path = files::segments(folder.path()).unwrap().remove(1);
    assert!(fs::metadata(&path).unwrap().len() > written.bytes);
    let opened = Opened::open(&opening, &mut |_| {}).unwrap();
    assert_eq!(opened.spool.next(), written.next);
    assert_eq!(fs::metadata(&path).unwrap().len(), written.bytes);
}

#[test]
fn a_new_file_without_its_header_never_held_anything() {
    for end in 0..HEADER_BYTES {
        let folder = TempDir::new().unwrap();
        let (spool, mut writer) = open(folder.path(), 0);
        append(&spool, &mut writer, 0..2);
        drop((spool, writer));
        fs::write(folder.path().join(format!("{:020}.spool", 2)), vec![0; end]).unwrap();
        let (spool, _) = open(folder.path(), 0);
        assert_eq!((all(&spool, 0), spool.next()), (vec![0, 1], 2));
    }
}

#[test]
fn damage_to_what_was_synced_is_refused_by_the_name_of_its_file() {
    let folder = TempDir::new().unwrap();
    let (spool, mut writer) = open(folder.path(), 0);
    (0..12).for_each(|number| append(&spool, &mut writer, [number]));
    drop((spool, writer));
    let path = files::segments(folder.path()).unwrap().remove(1);
    let mut bytes = fs::read(&path).unwrap();
    bytes[HEADER_BYTES + 30] ^= 1;
    fs::write(&path, bytes).unwrap();
    let error = try_open(folder.path(), 0).err().unwrap();
    assert!(matches!(&error, SpoolError::Damaged { path: named, .. } if *named == path), "{error}");
}

#[test]
fn a_missing_file_in_the_middle_is_refused_with_the_numbers_that_are_gone() {
    let folder = TempDir::new().unwrap();
    let (spool, mut writer) = open(folder.path(), 0);
    (0..12).for_each(|number| append(&spool, &mut writer, [number]));
    drop((spool, writer));
    fs::remove_file(files::segments(folder.path()).unwrap().remove(1)).unwrap();
    assert!(matches!(try_open(folder.path(), 0).err(), Some(SpoolError::Gap { .. })));
}

#[test]
fn a_spool_that_is_gone_is_refused_and_not_begun_anew() {
    let folder = TempDir::new().unwrap();
    assert!(matches!(try_open(folder.path(), 7).err(), Some(SpoolError::Gone { next: 7, .. })));
}

#[test]
fn delivered_files_are_removed_and_numbers_never_start_again() {
    let folder = TempDir::new().unwrap();
    let (spool, mut writer) = open(folder.path(), 0);
    (0..30).for_each(|number| append(&spool, &mut writer, [number]));
    let before = files(folder.path());
    spool.delivered(10);
    assert!(files(folder.path()) < before);
    assert_eq!(all(&spool, 10), (10..30).collect::<Vec<u64>>());
    spool.delivered(30);
    assert_eq!(files(folder.path()), 1, "the one being written stays");
    drop((spool, writer));
    // The state was saved, and the process died before it was told: the rest is removed by the next opening.
    let (spool, mut writer) = open(folder.path(), 30);
    append(&spool, &mut writer, [30]);
    assert_eq!((all(&spool, 30), files(folder.path())), (vec![30], 1));
}

#[test]
fn two_cannot_have_one_spool() {
    let folder = TempDir::new().unwrap();
    let first = open(folder.path(), 0);
    assert!(matches!(try_open(folder.path(), 0).err(), Some(SpoolError::Busy { .. })));
    drop(first);
    open(folder.path(), 0);
}

#[test]
fn a_failed_write_takes_no_number_and_the_next_one_works() {
    let folder = TempDir::new().unwrap();
    let (spool, mut writer) = open(folder.path(), 0);
    append(&spool, &mut writer, [0]);
    writer.break_file();
    assert!(matches!(writer.append(&encoded([99])), Err(SpoolError::Io { .. })));
    append(&spool, &mut writer, [1]);
    assert_eq!(all(&spool, 0), [0, 1]);
    drop((spool, writer));
    assert_eq!(all(&open(folder.path(), 0).0, 0), [0, 1]);
}

#[test]
fn looking_changes_nothing() {
    let folder = TempDir::new().unwrap();
    let (spool, mut writer) = open(folder.path(), 0);
    append(&spool, &mut writer, 0..3);
    drop((spool, writer));
    let path = files::segments(folder.path()).unwrap().remove(0);
    let torn = [fs::read(&path).unwrap(), vec![1; 9]].concat();
    fs::write(&path, &torn).unwrap();
    let opening = Opening {
        folder: folder.path(),
        committed: 1,
        is_expected: true,
        is_inspection: true,
        segment_bytes: 200,
    };
    let opened = Opened::open(&opening, &mut |_| {}).unwrap();
    assert_eq!(all(&opened.spool, 1), [1, 2]);
    assert!(opened.writer.is_none());
    assert_eq!(fs::read(&path).unwrap(), torn);
    assert_eq!(leftovers(folder.path(), 1).unwrap(), 2);
}

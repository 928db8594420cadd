//! Restarts, torn files and foreign files.

use std::sync::Arc;

use super::*;
use crate::config::Config;
use crate::faults::FaultKnobs;
use crate::testing::{self, From, plain};
use crate::topic::Topic;
use crate::topics::Topics;

fn config(folder: &Path) -> Config {
    Config { data: Some(folder.to_owned()), ..Config::default() }
}

fn create(topics: &Topics, name: &str) -> Arc<Topic> {
    topics.create(name, TopicSettings::default()).unwrap()
}

fn append(topic: &Topic, values: &[&str]) {
    testing::append(topic, plain(values), &FaultKnobs::none()).unwrap();
}

fn values(topic: &Topic) -> Vec<String> {
    let records = topic.records(topic.bounds().0, usize::MAX).unwrap().unwrap();
    records.into_iter().map(|r| String::from_utf8(r.value.unwrap().to_vec()).unwrap()).collect()
}

fn file_of(folder: &Path, topic: &str) -> PathBuf {
    folder.join("topics").join(format!("{topic}.log"))
}

/// Two topics with three batches in the first, closed.
fn written(folder: &Path) {
    let topics = Topics::open(&config(folder)).unwrap();
    let topic = create(&topics, "a");
    append(&topic, &["1", "2"]);
    append(&topic, &["3"]);
    append(&topic, &["4"]);
    create(&topics, "b");
}

#[test]
fn a_restart_keeps_topics_records_ids_and_settings() {
    let folder = tempfile::tempdir().unwrap();
    let entries = BTreeMap::from([("retention.ms".to_owned(), "5".to_owned())]);
    let settings = TopicSettings::check(entries).unwrap();
    let before = {
        let topics = Topics::open(&config(folder.path())).unwrap();
        let topic = topics.create("a", settings.clone()).unwrap();
        append(&topic, &["1", "2"]);
        create(&topics, "b");
        topic.info()
    };

    let topics = Topics::open(&config(folder.path())).unwrap();

    let topic = topics.get("a").unwrap();
    assert_eq!(topic.info(), before);
    assert_eq!(topic.settings(), &settings);
    assert_eq!(values(&topic), ["1", "2"]);
    append(&topic, &["3"]);
    assert_eq!(topic.bounds(), (0, 3));
    assert!(topics.get("b").is_some());
}

#[test]
fn a_restart_still_recognises_duplicates_and_gaps() {
    let folder = tempfile::tempdir().unwrap();
    let batch = |sequence| testing::stamped(&["x"], From { producer: 7, epoch: 0, sequence });
    {
        let topic = create(&Topics::open(&config(folder.path())).unwrap(), "a");
        testing::append(&topic, batch(0), &FaultKnobs::none()).unwrap();
        testing::append(&topic, batch(1), &FaultKnobs::none()).unwrap();
    }

    let topics = Topics::open(&config(folder.path())).unwrap();

    let topic = topics.get("a").unwrap();
    let again = testing::append(&topic, batch(1), &FaultKnobs::none()).unwrap();
    assert_eq!((again.base_offset, again.is_new), (1, false));
    assert!(testing::append(&topic, batch(3), &FaultKnobs::none()).is_err());
    assert!(testing::append(&topic, batch(2), &FaultKnobs::none()).unwrap().is_new);
    assert_eq!(topics.highest_producer(), Some(7));
}

#[test]
fn a_file_torn_at_any_byte_keeps_the_whole_batches_before_it_and_can_be_written_on() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path());
    let path = file_of(folder.path(), "a");
    let whole = fs::read(&path).unwrap();
    let sizes = [plain(&["1", "2"]).len(), plain(&["3"]).len(), plain(&["4"]).len()];
    let head = whole.len() - sizes.iter().sum::<usize>();

    for length in head..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let topic = Topics::open(&config(folder.path())).unwrap().get("a").unwrap();
        let expected: &[&str] = match length - head {
            torn if torn < sizes[0] => &[],
            torn if torn < sizes[0] + sizes[1] => &["1", "2"],
            _ => &["1", "2", "3"],
        };
        assert_eq!(values(&topic), expected, "torn at byte {length}");
        append(&topic, &["new"]);
        drop(topic);
        let again = Topics::open(&config(folder.path())).unwrap().get("a").unwrap();
        assert_eq!(values(&again), [expected, &["new"]].concat(), "torn at byte {length}");
    }
}

#[test]
fn a_flipped_bit_ends_the_file_there() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path());
    let path = file_of(folder.path(), "a");
    let mut bytes = fs::read(&path).unwrap();
    let in_the_second_batch = bytes.len() - plain(&["4"]).len() - 3;
    bytes[in_the_second_batch] ^= 1;
    fs::write(&path, bytes).unwrap();

    let topic = Topics::open(&config(folder.path())).unwrap().get("a").unwrap();
    assert_eq!(values(&topic), ["1", "2"]);
    append(&topic, &["x"]);
    drop(topic);

    let topic = Topics::open(&config(folder.path())).unwrap().get("a").unwrap();
    assert_eq!(values(&topic), ["1", "2", "x"], "what stood behind the flipped bit does not come back");
}

#[test]
fn a_topic_whose_creation_was_cut_off_is_gone_and_can_be_created() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path());
    let path = file_of(folder.path(), "b");
    let head = fs::read(&path).unwrap();

    for length in 0..head.len() {
        fs::write(&path, &head[..length]).unwrap();
        let topics = Topics::open(&config(folder.path())).unwrap();
        assert!(topics.get("b").is_none(), "{length} bytes");
        create(&topics, "b");
    }
}

#[test]
fn a_file_that_is_not_ours_is_named_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path());
    let path = file_of(folder.path(), "notes");
    fs::write(&path, "these are my notes, not a topic").unwrap();

    let refused = Topics::open(&config(folder.path()));

    assert!(matches!(refused, Err(Error::NotOurs { path: named, .. }) if named == path));
    assert!(path.exists());
}

#[test]
fn a_folder_serves_one_broker_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let first = Topics::open(&config(folder.path())).unwrap();
    create(&first, "a");

    assert!(matches!(Topics::open(&config(folder.path())), Err(Error::DataInUse { .. })));
    first.close();

    assert!(Topics::open(&config(folder.path())).unwrap().get("a").is_some());
    assert_eq!(first.all().len(), 1, "a closed one is still readable");
}

#[test]
fn a_deleted_topic_stays_deleted() {
    let folder = tempfile::tempdir().unwrap();
    {
        let topics = Topics::open(&config(folder.path())).unwrap();
        append(&create(&topics, "a"), &["1"]);
        topics.delete("a").unwrap();
    }

    assert!(Topics::open(&config(folder.path())).unwrap().get("a").is_none());
    assert!(!file_of(folder.path(), "a").exists());
}

#[test]
fn the_file_of_a_topic_at_its_limit_does_not_grow_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let size = plain(&["x"]).len() as u64;
    let limited = Config { topic_bytes_max: 10 * size, ..config(folder.path()) };
    {
        let topic = create(&Topics::open(&limited).unwrap(), "a");
        for _ in 0..1_000 {
            append(&topic, &["x"]);
        }
        assert_eq!(topic.bounds(), (990, 1_000));
    }

    assert!(fs::metadata(file_of(folder.path(), "a")).unwrap().len() < 25 * size);
    let topic = Topics::open(&limited).unwrap().get("a").unwrap();
    assert_eq!(topic.bounds(), (990, 1_000));
}

#[test]
fn a_batch_that_cannot_be_written_is_refused_and_so_are_those_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let topics = Topics::open(&config(folder.path())).unwrap();
    let topic = create(&topics, "a");
    append(&topic, &["1"]);
    let read_only = File::open(file_of(folder.path(), "a")).unwrap();
    let writable = topic.swap_file_for_test(read_only);

    let refused = Err(kafka_protocol::ResponseError::KafkaStorageError);
    assert_eq!(testing::append(&topic, plain(&["2"]), &FaultKnobs::none()), refused);
    topic.swap_file_for_test(writable);
    assert_eq!(
        testing::append(&topic, plain(&["3"]), &FaultKnobs::none()),
        refused,
        "the failed write could not be undone"
    );
    assert_eq!(values(&topic), ["1"]);
}

//! Names, limits and the life of topics.

use super::*;
use crate::faults::FaultKnobs;
use crate::testing::{self, From, plain};

fn topics(config: Config) -> Topics {
    Topics::open(&config).unwrap()
}

fn create(topics: &Topics, name: &str) -> Result<Arc<Topic>, CreateRefusal> {
    topics.create(name, TopicSettings::default())
}

fn settings(name: &str, value: &str) -> Result<TopicSettings, CreateRefusal> {
    TopicSettings::check(BTreeMap::from([(name.to_owned(), value.to_owned())]))
}

#[test]
fn names_obey_kafkas_rules() {
    let longest = "x".repeat(NAME_LENGTH_MAX);
    for good in ["a", "user-0", "A.b_c-9", "...", longest.as_str()] {
        assert_eq!(check_name(good), Ok(()), "{good}");
    }
    let too_long = "x".repeat(NAME_LENGTH_MAX + 1);
    for bad in ["", ".", "..", "a b", "a/b", "ü", too_long.as_str()] {
        assert_eq!(check_name(bad).unwrap_err().code(), ResponseError::InvalidTopicException, "{bad}");
    }
}

#[test]
fn names_that_metrics_cannot_tell_apart_collide_until_one_is_gone() {
    let topics = topics(Config::default());
    create(&topics, "a.b").unwrap();

    let refusal = create(&topics, "a_b").unwrap_err();
    assert_eq!(refusal, CreateRefusal::Collides("a.b".to_owned()));
    assert_eq!(refusal.code(), ResponseError::InvalidTopicException);

    topics.delete("a.b").unwrap();
    create(&topics, "a_b").unwrap();
}

#[test]
fn a_topic_exists_once_and_their_number_is_limited() {
    let topics = topics(Config { topics_max: 2, ..Config::default() });
    create(&topics, "a").unwrap();
    create(&topics, "b").unwrap();

    assert_eq!(create(&topics, "a").unwrap_err(), CreateRefusal::Exists);
    assert_eq!(create(&topics, "c").unwrap_err(), CreateRefusal::TooMany(2));
}

#[test]
fn a_deleted_topic_refuses_appends_through_a_kept_reference() {
    let topics = topics(Config::default());
    let kept = create(&topics, "a").unwrap();

    topics.delete("a").unwrap();

    let refused = testing::append(&kept, plain(&["x"]), &FaultKnobs::none());
    assert_eq!(refused, Err(ResponseError::UnknownTopicOrPartition));
    assert_eq!(topics.delete("a"), Err(ResponseError::UnknownTopicOrPartition));
}

#[test]
fn unknown_or_senseless_configuration_is_refused() {
    assert!(settings("retention.ms", "1000").is_ok());
    assert!(settings("retention.bytes", "-1").is_ok());
    for (name, value) in [("retention.mss", "1"), ("max.message.bytes", "many"), ("retention.bytes", "-2")] {
        assert_eq!(settings(name, value).unwrap_err().code(), ResponseError::InvalidConfig, "{name}");
    }
}

#[test]
fn a_batch_over_the_topics_own_limit_is_too_large() {
    let topics = topics(Config::default());
    let size = plain(&["x"]).len();
    let own = settings("max.message.bytes", &size.to_string()).unwrap();
    let topic = topics.create("a", own).unwrap();

    let faults = FaultKnobs::none();
    assert!(testing::append(&topic, plain(&["x"]), &faults).is_ok());
    assert_eq!(testing::append(&topic, plain(&["xx"]), &faults), Err(ResponseError::MessageTooLarge));
}

#[test]
fn past_its_byte_limit_a_topic_drops_its_oldest_batches() {
    let size = plain(&["x"]).len() as u64;
    let topics = topics(Config { topic_bytes_max: 3 * size, ..Config::default() });
    let topic = create(&topics, "a").unwrap();

    for _ in 0..10 {
        testing::append(&topic, plain(&["x"]), &FaultKnobs::none()).unwrap();
    }

    assert_eq!(topic.bounds(), (7, 10));
    assert_eq!(topic.info().bytes, 3 * size);
}

#[test]
fn past_the_limit_of_all_topics_the_one_appended_to_drops_its_own() {
    let size = plain(&["x"]).len() as u64;
    let topics = topics(Config { total_bytes_max: 4 * size, ..Config::default() });
    let (quiet, busy) = (create(&topics, "quiet").unwrap(), create(&topics, "busy").unwrap());
    testing::append(&quiet, plain(&["x"]), &FaultKnobs::none()).unwrap();

    for _ in 0..10 {
        testing::append(&busy, plain(&["x"]), &FaultKnobs::none()).unwrap();
    }

    assert_eq!(quiet.bounds(), (0, 1));
    assert_eq!(busy.bounds(), (7, 10));
    topics.delete("quiet").unwrap();
    testing::append(&busy, plain(&["x"]), &FaultKnobs::none()).unwrap();
    assert_eq!(busy.bounds(), (7, 11), "the room of a deleted topic is free again");
}

#[test]
fn a_full_topic_refuses_until_there_is_room_and_takes_the_same_batch_then() {
    let topics = topics(Config::default());
    let topic = create(&topics, "a").unwrap();
    let batch = |sequence| testing::stamped(&["x"], From { producer: 1, epoch: 0, sequence });
    let faults = FaultKnobs::none();
    testing::append(&topic, batch(0), &faults).unwrap();

    faults.fill_up("a", Some(batch(0).len() as u64));
    assert_eq!(testing::append(&topic, batch(1), &faults), Err(ResponseError::KafkaStorageError));
    assert_eq!(testing::append(&topic, batch(2), &faults), Err(ResponseError::OutOfOrderSequenceNumber));
    faults.fill_up("a", None);

    assert_eq!(testing::append(&topic, batch(1), &faults).unwrap().base_offset, 1);
    assert_eq!(faults.counts().filled, 1);
}

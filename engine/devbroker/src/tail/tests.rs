//! The live tail: in order, counted when slow, ended with the broker.

use super::*;
use crate::config::Config;
use crate::faults::FaultKnobs;
use crate::testing::{compressed, plain};
use crate::topic_settings::TopicSettings;
use crate::topics::Topics;

/// A topic and the announcer that hears of its appends.
struct Scene {
    announcer: Announcer,
    topic: Arc<Topic>,
}

impl Scene {
    fn new(places_max: usize, config: Config) -> Self {
        let topics = Topics::open(&config).unwrap();
        let topic = topics.create("t", TopicSettings::default()).unwrap();
        Self { announcer: Announcer::new(places_max), topic }
    }

    fn append(&self, batch: crate::batch::Batch) {
        let count = batch.count as u64;
        let announce = |base_offset| self.announcer.announce(&self.topic, base_offset, count);
        self.topic.append(batch, &FaultKnobs::none(), announce).unwrap();
    }
}

async fn offsets(tail: &mut Tail) -> Vec<i64> {
    let mut offsets = Vec::new();
    while let Some(event) = tail.next().await {
        match event {
            TailEvent::Record { record, .. } => offsets.push(record.offset),
            TailEvent::Opaque { offset, .. } => offsets.push(offset),
        }
    }
    offsets
}

#[tokio::test]
async fn a_tail_shows_what_comes_after_it_in_order_and_ends_with_the_broker() {
    let scene = Scene::new(10, Config::default());
    scene.append(plain(&["before"]));
    let mut tail = scene.announcer.subscribe();
    scene.append(plain(&["a", "b"]));
    scene.append(plain(&["c"]));
    scene.announcer.close();

    assert_eq!(offsets(&mut tail).await, [1, 2, 3]);
    assert_eq!(tail.missed(), 0);
    assert_eq!(scene.announcer.subscribe().next().await, None, "one made too late ends at once");
}

#[tokio::test]
async fn a_slow_tail_loses_the_oldest_and_counts_them_in_records() {
    let scene = Scene::new(2, Config::default());
    let mut tail = scene.announcer.subscribe();
    for _ in 0..5 {
        scene.append(plain(&["a", "b", "c"]));
    }
    scene.announcer.close();

    assert_eq!(offsets(&mut tail).await, [9, 10, 11, 12, 13, 14]);
    assert_eq!(tail.missed(), 9);
}

#[tokio::test]
async fn records_that_the_log_dropped_first_count_as_missed() {
    let scene = Scene::new(10, Config { topic_bytes_max: 1, ..Config::default() });
    let mut tail = scene.announcer.subscribe();
    scene.append(plain(&["a", "b"]));
    scene.append(plain(&["c"]));
    scene.announcer.close();

    assert_eq!(offsets(&mut tail).await, [2]);
    assert_eq!(tail.missed(), 2);
}

#[tokio::test]
async fn compressed_batches_are_shown_as_such() {
    let scene = Scene::new(10, Config::default());
    let mut tail = scene.announcer.subscribe();
    scene.append(compressed());

    let event = tail.next().await.unwrap();

    let reason = Undecodable::Compressed(crate::Compression::Zstd);
    assert_eq!(event, TailEvent::Opaque { topic: "t".to_owned(), offset: 0, count: 1, reason });
}

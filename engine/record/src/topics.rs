//! The topics that a source has sent to since it was opened, under small numbers.

use std::sync::Arc;

/// A topic of one block. Two blocks that send to one name have two: each block is a producer of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TopicId(u32);

/// Names are kept once, so that a batch points to them instead of copying them. They are bounded by the
/// `max_topics` of the blocks.
#[derive(Debug, Default)]
pub(crate) struct Topics(Vec<Topic>);

#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) block: u16,
    pub(crate) name: Arc<str>,
}

impl TopicId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl Topics {
    pub(crate) fn add(&mut self, block: u16, name: Arc<str>) -> TopicId {
        let id = u32::try_from(self.0.len()).expect("2^16 blocks would have to reach their max_topics first");
        self.0.push(Topic { block, name });
        TopicId(id)
    }

    pub(crate) fn get(&self, topic: TopicId) -> &Topic {
        &self.0[topic.index()]
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

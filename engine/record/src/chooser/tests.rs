use pico_config::{FieldPath, Rule, Template, Value};
use picomq_connector_sdk::ffi::host::GuestBatch;
use picomq_connector_sdk::{Batch, Record, Schema};

use super::*;
use crate::json::{FieldTree, Fields};
use crate::origin::Origin;

/// A rule by record key, and what it needs around it.
struct Given {
    chooser: Chooser,
    topics: Topics,
}

fn by_key(max_topics: u32, illegal: Illegal) -> Given {
    let rule = Rule::Dynamic {
        from: Value::Key,
        template: Template::value(),
        fallback: Some("rest".into()),
        illegal,
    };
    let block = TopicBlock { max_topics, ..TopicBlock::new(rule) };
    let pattern = Pattern::compile(&Template::value(), Some(&Origin::Key), &mut FieldTree::default());
    let mut topics = Topics::default();
    let mut chooser = Chooser::new(0, &block, pattern.unwrap(), illegal).unwrap();
    chooser.set_fallback("rest", &mut topics);
    Given { chooser, topics }
}

impl Given {
    fn choose(&mut self, keys: impl IntoIterator<Item = String>) {
        let mut batch = Batch::new(Schema::Raw);
        keys.into_iter().for_each(|key| batch.push(Record::new("").with_key(key)));
        let batch = GuestBatch::from_batch(batch);
        let fields = Fields::default();
        for record in batch.records() {
            self.chooser
                .choose(
                    &Subject { record, payload: record.payload, is_changed: false, fields: &fields },
                    &mut self.topics,
                )
                .unwrap();
        }
    }
}

#[test]
fn what_is_remembered_is_bounded_and_known_topics_keep_their_number() {
    let mut given = by_key(10, Illegal::Missing);

    given.choose((0..2 * VALUES_REMEMBERED_MAX + 5).map(|number| format!("t{number}")));
    given.choose(["t0".to_owned(), "t9".to_owned()]);

    assert!(given.chooser.remembered.len() <= VALUES_REMEMBERED_MAX);
    assert_eq!(given.topics.len(), 11);
}

#[test]
fn a_long_value_is_not_remembered() {
    let mut given = by_key(10, Illegal::Missing);

    given.choose(["x".repeat(VALUE_BYTES_REMEMBERED_MAX), "x".repeat(VALUE_BYTES_REMEMBERED_MAX + 1)]);

    assert_eq!(given.chooser.remembered.len(), 1);
}

#[test]
fn a_value_that_was_forgotten_does_not_clash_with_itself() {
    let mut given = by_key(10, Illegal::Replace);

    given.choose(["a@b".to_owned()]);
    given.choose((0..VALUES_REMEMBERED_MAX).map(|number| format!("t{number}")));
    assert!(!given.chooser.remembered.contains_key(&b"a@b"[..]));
    given.choose(["a@b".to_owned()]);
    assert_eq!(given.chooser.clashes, []);
    given.choose(["a$b".to_owned()]);

    assert_eq!(given.chooser.clashes.len(), 1);
}

#[test]
fn only_what_stands_between_two_values_separates_them() {
    let separators = |text: &str| {
        let template = Template::parse(text).unwrap();
        let value = Origin::of_field(&FieldPath::parse("v").unwrap(), &mut FieldTree::default());
        separators(&Pattern::compile(&template, Some(&value), &mut FieldTree::default()).unwrap())
    };

    assert_eq!(separators("ab{value}c.{key}d{header:h}ef"), Some(['c', '.', 'd'].into()));
    assert_eq!(separators("a{value}b{value}c"), Some([].into()));
    assert_eq!(separators("{value}{value}-{key}"), Some(['-'].into()));
    assert_eq!(separators("a{value}{key}b"), None);
}

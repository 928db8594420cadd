//! What is asked of a payload, as a tree of paths, and what was found there.

use std::fmt;
use std::ops::Range;

use crate::target::index_of;

/// Where the value of one asked path is filed; the same path always has the same slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Slot(pub(super) usize);

/// Every field path that is asked of a payload, as a tree of segments.
#[derive(Debug, Default)]
pub(crate) struct FieldTree {
    pub(super) root: Node,
    slots: usize,
}

#[derive(Debug, Default)]
pub(super) struct Node {
    segment: Box<str>,
    pub(super) index: Option<usize>,
    pub(super) slot: Option<Slot>,
    pub(super) children: Vec<Node>,
    /// The slots of this node and of all below it: what is forgotten when its key comes a second time.
    pub(super) slots: Vec<Slot>,
}

/// What stands at the end of an asked path.
#[derive(Clone, Debug)]
pub(super) enum Found {
    Nothing(Absence),
    /// The text stands in the payload as it is.
    Payload(Range<usize>),
    /// The text had escapes and stands in [`Fields::unescaped`].
    Unescaped(Range<usize>),
}

/// Why an asked path has no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absence {
    /// No such key, or the way to it ends early.
    NotThere,
    /// JSON null.
    Null,
    /// An object or an array, which has no text.
    Composite,
    /// A string with half a surrogate pair: valid JSON, but no text.
    NoText,
    /// The payload is not JSON, or is not declared to be.
    NotJson,
    /// The record has no payload.
    Tombstone,
}

/// As messages say it, after the name of the field, header or key.
impl fmt::Display for Absence {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Absence::NotThere => "is not there",
            Absence::Null => "is null",
            Absence::Composite => "is an object or an array",
            Absence::NoText => "holds half a surrogate pair",
            Absence::NotJson => "cannot be read, the payload is not JSON",
            Absence::Tombstone => "cannot be read, the record has no payload",
        })
    }
}

/// The fields of the payload read last. One value is used for all records, so that its buffers are.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    pub(super) found: Vec<Found>,
    pub(super) unescaped: Vec<u8>,
}

impl FieldTree {
    /// The slot of a path, made when it is asked for the first time.
    pub(crate) fn slot(&mut self, path: &[String]) -> Slot {
        let existing = self.root.at(path).slot;
        let slot = existing.unwrap_or(Slot(self.slots));
        if existing.is_none() {
            self.slots += 1;
            self.root.claim(path, slot);
        }
        slot
    }

    /// No path is asked.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots == 0
    }
}

impl Node {
    fn at(&mut self, path: &[String]) -> &mut Node {
        let Some((segment, rest)) = path.split_first() else { return self };
        let known = self.children.iter().position(|child| *child.segment == **segment);
        let position = known.unwrap_or(self.children.len());
        if known.is_none() {
            self.children.push(Node {
                segment: segment.as_str().into(),
                index: index_of(segment),
                ..Node::default()
            });
        }
        self.children[position].at(rest)
    }

    fn claim(&mut self, path: &[String], slot: Slot) {
        self.slots.push(slot);
        match path.split_first() {
            Some((segment, rest)) => {
                let child = self.children.iter_mut().find(|child| *child.segment == **segment);
                child.expect("`at` has made every node of the path").claim(rest, slot);
            }
            None => self.slot = Some(slot),
        }
    }

    pub(super) fn child(&self, key: &str) -> Option<&Node> {
        self.children.iter().find(|child| *child.segment == *key)
    }
}

impl Fields {
    /// Makes every path of `tree` absent, for a record whose payload is not read.
    pub(crate) fn forget(&mut self, tree: &FieldTree, why: Absence) {
        self.unescaped.clear();
        self.found.clear();
        self.found.resize(tree.slots, Found::Nothing(why));
    }

    /// The text at a path: a string without its quotes and escapes, a number or a boolean as it is written.
    /// `payload` is the one read last.
    pub(crate) fn text<'a>(&'a self, slot: Slot, payload: &'a [u8]) -> Result<&'a [u8], Absence> {
        match &self.found[slot.0] {
            Found::Nothing(why) => Err(*why),
            Found::Payload(range) => Ok(&payload[range.clone()]),
            Found::Unescaped(range) => Ok(&self.unescaped[range.clone()]),
        }
    }

    /// Whether a string stands at the path, and not a number or a boolean.
    pub(crate) fn is_string(&self, slot: Slot, payload: &[u8]) -> bool {
        match &self.found[slot.0] {
            Found::Nothing(_) => false,
            Found::Payload(range) => range.start > 0 && payload[range.start - 1] == b'"',
            Found::Unescaped(_) => true,
        }
    }
}

//! A JSON payload under edit: only the objects and arrays on the way to a field are taken apart, everything else stays
//! a span of the original.
//!
//! [`Parts`] holds what was taken apart, as lists of members that point into the payload; [`Document`] is it together
//! with the payload. The outermost value is walked once, which also checks the whole payload to be JSON; several edits in
//! a row share that walk. Writing the outcome copies what is untouched in long runs, so bytes nobody asked to change
//! (digits, escapes, blanks, order) leave as they came.
//!
//! Of names that stand twice in one object the last one counts; changing or removing it takes its earlier twins out.

mod edit;
mod open;
mod write;

use std::ops::Range;

pub(crate) use edit::Write;

use crate::json::NotJson;
use crate::target::Target;

/// What a payload was taken apart into. One value serves all records, so that its buffers are kept.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    containers: Vec<Container>,
    members: Vec<Member>,
    /// Values written here.
    written: Vec<u8>,
    /// Names whose spelling has escapes, without them.
    names: Vec<u8>,
    /// The containers on the way to what was located last, from the outside in.
    trail: Vec<ContainerId>,
}

/// A payload and its parts.
#[derive(Debug)]
pub(crate) struct Document<'a> {
    parts: &'a mut Parts,
    payload: &'a [u8],
    root: Value,
    is_changed: bool,
}

/// Which bytes a span counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Payload,
    Written,
    Names,
}

/// Some bytes of one origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    origin: Origin,
    start: u32,
    end: u32,
}

type ContainerId = u32;
type MemberId = u32;
const NONE: u32 = u32::MAX;

/// A value of the document.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    /// As it is written.
    Text(Text),
    /// An object or array that was taken apart.
    Opened(ContainerId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Object,
    Array,
}

/// An object or array that was taken apart.
#[derive(Debug)]
struct Container {
    kind: Kind,
    /// As it was written, which is what it still is until it is changed.
    text: Text,
    is_changed: bool,
    first: MemberId,
    last: MemberId,
    /// End of the last value in `text`'s origin; what follows up to the bracket are blanks.
    values_end: u32,
}

/// A member of an object or an element of an array.
#[derive(Debug)]
struct Member {
    next: MemberId,
    is_alive: bool,
    is_changed: bool,
    /// The name without quotes and escapes. Empty for elements.
    name: Text,
    /// The name as it is written, with quotes.
    spelling: Text,
    value: Value,
    place: Option<Spot>,
}

/// Where a member of the original stands, in the origin of its container.
#[derive(Clone, Copy, Debug)]
struct Spot {
    /// End of the value before it, or the place after the opening bracket.
    previous_end: u32,
    /// The place after the comma before it, or after the opening bracket.
    start: u32,
    value_start: u32,
    value_end: u32,
}

/// What stands at a path.
#[derive(Clone, Copy, Debug)]
enum Located {
    Found {
        container: ContainerId,
        member: MemberId,
    },
    /// The object is there and has no such name; `depth` segments of the path lead to it.
    Absent {
        container: ContainerId,
        depth: usize,
    },
    /// Something that has no members of that name stands on the way, after `depth` segments.
    Blocked {
        depth: usize,
    },
}

/// A path that leads through something that is no object, so that nothing can be written there.
#[derive(Debug)]
pub(crate) struct Blocked {
    /// How many segments of the path lead to what is in the way.
    pub(crate) depth: usize,
}

impl Text {
    fn new(origin: Origin, range: Range<usize>) -> Text {
        // The border counts the bytes of a payload in 32 bits; what one record's transforms write is far below that.
        Text { origin, start: range.start as u32, end: range.end as u32 }
    }

    fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl Parts {
    /// Takes the outermost object apart, or sees that the payload is another JSON value.
    pub(crate) fn open<'a>(&'a mut self, payload: &'a [u8]) -> Result<Document<'a>, NotJson> {
        self.containers.clear();
        self.members.clear();
        self.written.clear();
        self.names.clear();
        let whole = Text::new(Origin::Payload, 0..payload.len());
        let mut document = Document { parts: self, payload, root: Value::Text(whole), is_changed: false };
        document.open_root()?;
        Ok(document)
    }
}

impl Document<'_> {
    pub(crate) fn is_changed(&self) -> bool {
        self.is_changed
    }

    /// Whether the payload is an object by now; field transforms leave everything else as it is.
    pub(crate) fn is_object(&self) -> bool {
        self.root_object().is_some()
    }

    fn root_object(&self) -> Option<ContainerId> {
        match self.root {
            Value::Opened(container) => {
                (self.parts.containers[container as usize].kind == Kind::Object).then_some(container)
            }
            Value::Text(_) => None,
        }
    }

    fn bytes(&self, text: Text) -> &[u8] {
        match text.origin {
            Origin::Payload => &self.payload[text.range()],
            Origin::Written => &self.parts.written[text.range()],
            Origin::Names => &self.parts.names[text.range()],
        }
    }

    /// The value at a path as JSON text.
    pub(crate) fn value_at(&mut self, target: &Target) -> Option<&str> {
        let Located::Found { member, .. } = self.locate(target) else { return None };
        let text = self.text_of(self.parts.members[member as usize].value);
        Some(self.json(text))
    }

    /// Whether a field is this text. A field that is not there is another; None: something is in the way, or the spelling
    /// says nothing by itself, so the question has to be asked of a tree.
    pub(crate) fn is_text(&mut self, target: &Target, text: &str) -> Option<bool> {
        let member = match self.locate(target) {
            Located::Found { member, .. } => member,
            Located::Absent { .. } => return Some(false),
            Located::Blocked { .. } => return None,
        };
        let Value::Text(value) = self.parts.members[member as usize].value else { return Some(false) };
        let bytes = self.bytes(value);
        match bytes.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) {
            Some(inner) if inner.contains(&b'\\') => None,
            Some(inner) => Some(inner == text.as_bytes()),
            None => Some(false),
        }
    }

    /// What stands at a path, as far as the document goes.
    fn locate(&mut self, target: &Target) -> Located {
        self.parts.trail.clear();
        let Some(mut container) = self.root_object() else { return Located::Blocked { depth: 0 } };
        let last = target.segments.len() - 1;
        for (depth, segment) in target.segments.iter().enumerate() {
            self.parts.trail.push(container);
            let kind = self.parts.containers[container as usize].kind;
            let member = match (kind, segment.index) {
                (Kind::Object, _) => self.named(container, segment.name.as_bytes()),
                (Kind::Array, Some(index)) => self.living(container).nth(index),
                (Kind::Array, None) => return Located::Blocked { depth },
            };
            let Some(member) = member else {
                return match kind {
                    Kind::Object => Located::Absent { container, depth },
                    Kind::Array => Located::Blocked { depth },
                };
            };
            if depth == last {
                return Located::Found { container, member };
            }
            match self.open_member(member) {
                Some(inner) => container = inner,
                None => return Located::Blocked { depth: depth + 1 },
            }
        }
        unreachable!("a path has a last segment")
    }

    /// The last living member of the name.
    fn named(&self, container: ContainerId, name: &[u8]) -> Option<MemberId> {
        let matches = |member: &MemberId| self.bytes(self.parts.members[*member as usize].name) == name;
        self.living(container).filter(matches).last()
    }

    fn living(&self, container: ContainerId) -> impl Iterator<Item = MemberId> {
        let members = &self.parts.members;
        let first = self.parts.containers[container as usize].first;
        let chain = std::iter::successors((first != NONE).then_some(first), |at| {
            let next = members[*at as usize].next;
            (next != NONE).then_some(next)
        });
        chain.filter(|member| members[*member as usize].is_alive)
    }

    /// Every text of a document is part of a payload that was found to be UTF-8, cut at ASCII, or written here.
    fn json(&self, text: Text) -> &str {
        std::str::from_utf8(self.bytes(text)).expect("cut out of UTF-8 between ASCII characters")
    }
}

#[cfg(test)]
mod tests;

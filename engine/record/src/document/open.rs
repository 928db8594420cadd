//! Taking one object or array apart: serde's visitors, which serde_json calls as it parses. Members are skipped as raw
//! values, so nothing below them is looked at beyond being JSON.

use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{Container, ContainerId, Document, Kind, Member, MemberId, NONE, Origin, Spot, Text, Value};
use crate::json::NotJson;

impl Document<'_> {
    /// Checks the whole payload, and takes it apart if it is an object.
    pub(super) fn open_root(&mut self) -> Result<(), NotJson> {
        let Value::Text(text) = self.root else { return Ok(()) };
        let first = self.payload.iter().find(|byte| !byte.is_ascii_whitespace());
        if first == Some(&b'{') {
            let opened = self.open_text(text)?;
            self.root = Value::Opened(opened);
        } else {
            serde_json::from_str::<IgnoredAny>(std::str::from_utf8(self.payload)?)?;
        }
        Ok(())
    }

    /// The container that a member's value is, taken apart. None: it is neither object nor array.
    pub(super) fn open_member(&mut self, member: MemberId) -> Option<ContainerId> {
        let value = self.open_value(self.parts.members[member as usize].value)?;
        self.parts.members[member as usize].value = Value::Opened(value);
        Some(value)
    }

    /// The outermost value, after it became another one.
    pub(super) fn reopen_root(&mut self) {
        if let Some(opened) = self.open_value(self.root) {
            self.root = Value::Opened(opened);
        }
    }

    fn open_value(&mut self, value: Value) -> Option<ContainerId> {
        match value {
            Value::Opened(container) => Some(container),
            Value::Text(text) if self.bytes(text).starts_with(b"{") || self.bytes(text).starts_with(b"[") => {
                Some(self.open_text(text).expect("part of what was found to be JSON"))
            }
            Value::Text(_) => None,
        }
    }

    fn open_text(&mut self, text: Text) -> Result<ContainerId, NotJson> {
        let super::Parts { containers, members, written, names, .. } = &mut *self.parts;
        let all = if text.origin == Origin::Payload { self.payload } else { &written[..] };
        let bytes = &all[text.range()];
        let json = std::str::from_utf8(bytes)?;
        let is_array = json.trim_ascii_start().starts_with('[');
        let mut taking = Taking {
            origin: text.origin,
            base: all.as_ptr().addr(),
            all,
            members,
            names,
            first: NONE,
            last: NONE,
            at: 0,
        };
        let blanks = json.len() - json.trim_ascii_start().len();
        taking.at = text.start + blanks as u32 + 1;
        let mut deserializer = serde_json::Deserializer::from_str(json);
        if is_array {
            deserializer.deserialize_seq(&mut taking)?;
        } else {
            deserializer.deserialize_map(&mut taking)?;
        }
        deserializer.end()?;
        let kind = if is_array { Kind::Array } else { Kind::Object };
        let (first, last, values_end) = (taking.first, taking.last, taking.at);
        let container = Container { kind, text, is_changed: false, first, last, values_end };
        containers.push(container);
        Ok(containers.len() as ContainerId - 1)
    }
}

/// A container on the way of being taken apart.
struct Taking<'a> {
    origin: Origin,
    /// Address of the first byte of the origin; spans are counted from it.
    base: usize,
    all: &'a [u8],
    members: &'a mut Vec<Member>,
    names: &'a mut Vec<u8>,
    first: MemberId,
    last: MemberId,
    /// End of the value taken last, or the place after the opening bracket.
    at: u32,
}

impl Taking<'_> {
    fn text(&self, part: &str) -> Text {
        let start = part.as_ptr().addr() - self.base;
        Text::new(self.origin, start..start + part.len())
    }

    fn take(&mut self, spelling: Option<&str>, value: &str) {
        let value = self.text(value);
        let spelling = spelling.map(|spelling| (self.text(spelling), self.name(spelling)));
        let empty = Text { origin: self.origin, start: value.start, end: value.start };
        let (spelling, name) = spelling.unwrap_or((empty, empty));
        let previous_end = self.at;
        // Only the first member has no comma before it.
        let comma = if self.first == NONE { 0 } else { self.comma_after(previous_end) };
        let place = Spot {
            previous_end,
            start: previous_end + comma,
            value_start: value.start,
            value_end: value.end,
        };
        let member = self.members.len() as MemberId;
        self.members.push(Member {
            next: NONE,
            is_alive: true,
            is_changed: false,
            name,
            spelling,
            value: Value::Text(value),
            place: Some(place),
        });
        match self.last {
            NONE => self.first = member,
            last => self.members[last as usize].next = member,
        }
        self.last = member;
        self.at = value.end;
    }

    /// How far behind `at` the comma ends.
    fn comma_after(&self, at: u32) -> u32 {
        let blanks = self.all[at as usize..].iter().take_while(|byte| **byte != b',').count();
        blanks as u32 + 1
    }

    /// The name without its quotes, and without escapes where it has some. One that is no text (half a surrogate pair)
    /// is named as it is spelled.
    fn name(&mut self, spelling: &str) -> Text {
        let inner = self.text(&spelling[1..spelling.len() - 1]);
        if !spelling.contains('\\') {
            return inner;
        }
        let Ok(name) = serde_json::from_str::<String>(spelling) else { return inner };
        let start = self.names.len();
        self.names.extend_from_slice(name.as_bytes());
        Text::new(Origin::Names, start..self.names.len())
    }
}

impl<'de> Visitor<'de> for &mut Taking<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some((spelling, value)) = map.next_entry::<&RawValue, &RawValue>()? {
            self.take(Some(spelling.get()), value.get());
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(value) = seq.next_element::<&RawValue>()? {
            self.take(None, value.get());
        }
        Ok(())
    }
}

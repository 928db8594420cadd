//! Changing a document: every change marks the containers on the way to it, so that they are written anew.

use super::{Blocked, ContainerId, Document, Kind, Located, Member, MemberId, NONE, Text, Value};
use crate::target::{KeepTree, Segment, Target};

/// Whether a field is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    IfAbsent,
    IfPresent,
    Always,
}

impl Document<'_> {
    /// Writes to a path the JSON text that `value` appends, and the objects that are not there yet on the way to it.
    pub(crate) fn set(
        &mut self,
        target: &Target,
        write: Write,
        value: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Blocked> {
        match self.locate(target) {
            Located::Found { .. } if write == Write::IfAbsent => Ok(()),
            Located::Found { container, member } => {
                let text = self.append_with(value);
                self.replace(container, member, Value::Text(text));
                Ok(())
            }
            Located::Absent { .. } | Located::Blocked { .. } if write == Write::IfPresent => Ok(()),
            Located::Absent { container, depth } => {
                let text = self.append_with(value);
                self.insert(container, &target.segments[depth..], Value::Text(text));
                Ok(())
            }
            Located::Blocked { depth } => Err(Blocked { depth }),
        }
    }

    /// Takes a field out, if it is there.
    pub(crate) fn remove(&mut self, target: &Target) {
        if let Located::Found { container, member } = self.locate(target) {
            self.kill_named(container, member);
        }
    }

    /// Gives a field another path, if it is there. What had that path is replaced.
    pub(crate) fn rename(&mut self, from: &Target, to: &Target) -> Result<(), Blocked> {
        let Located::Found { container, member } = self.locate(from) else { return Ok(()) };
        let Some(name) = to.segments.last() else { return Ok(()) };
        let is_object = self.parts.containers[container as usize].kind == Kind::Object;
        if is_object && from.is_sibling_of(to) {
            if let Some(other) = self.named(container, name.name.as_bytes()) {
                self.kill_named(container, other);
            }
            self.kill_twins(container, member);
            self.respell(member, name);
            self.mark();
            return Ok(());
        }
        // Nothing is taken away before it is known that it can be put down.
        if let Located::Blocked { depth } = self.locate(to) {
            return Err(Blocked { depth });
        }
        let value = self.parts.members[member as usize].value;
        self.remove(from);
        match self.locate(to) {
            Located::Found { container, member } => self.replace(container, member, value),
            Located::Absent { container, depth } => self.insert(container, &to.segments[depth..], value),
            Located::Blocked { depth } => return Err(Blocked { depth }),
        }
        Ok(())
    }

    /// The value at a path becomes the whole document. False: nothing stands there.
    pub(crate) fn unwrap(&mut self, target: &Target) -> bool {
        let Located::Found { member, .. } = self.locate(target) else { return false };
        self.root = self.parts.members[member as usize].value;
        self.is_changed = true;
        self.reopen_root();
        true
    }

    /// Keeps the members of the outermost object that `stays` takes, by name and JSON text, and of the others what
    /// `keep` names.
    pub(crate) fn retain(&mut self, keep: &KeepTree, mut stays: impl FnMut(&[u8], &str) -> bool) {
        let Some(root) = self.root_object() else { return };
        self.parts.trail.clear();
        self.parts.trail.push(root);
        let members: Vec<MemberId> = self.living(root).collect();
        for member in members {
            let value = self.text_of(self.parts.members[member as usize].value);
            if !stays(self.bytes(self.parts.members[member as usize].name), self.json(value)) {
                self.keep_part(member, keep, None);
            }
        }
    }

    /// Kills the member but for what `keep` names of it.
    fn keep_part(&mut self, member: MemberId, keep: &KeepTree, index: Option<usize>) {
        let name = self.bytes(self.parts.members[member as usize].name);
        let Some(node) = keep.child(name, index) else { return self.kill(member) };
        if node.is_whole {
            return;
        }
        let Some(container) = self.open_member(member) else { return self.kill(member) };
        self.parts.trail.push(container);
        let is_array = self.parts.containers[container as usize].kind == Kind::Array;
        let members: Vec<MemberId> = self.living(container).collect();
        for (index, member) in members.into_iter().enumerate() {
            self.keep_part(member, node, is_array.then_some(index));
        }
        let is_empty = self.living(container).next().is_none();
        self.parts.trail.pop();
        if is_empty {
            self.kill(member);
        }
    }

    fn kill(&mut self, member: MemberId) {
        self.parts.members[member as usize].is_alive = false;
        self.mark();
    }

    fn replace(&mut self, container: ContainerId, member: MemberId, value: Value) {
        self.kill_twins(container, member);
        let member = &mut self.parts.members[member as usize];
        member.value = value;
        member.is_changed = true;
        self.mark();
    }

    /// Puts a value below an object that has no such name; `path` is what leads there from the object.
    fn insert(&mut self, container: ContainerId, path: &[Segment], value: Value) {
        let Some((segment, inner)) = path.split_first() else { return };
        let value = if inner.is_empty() {
            value
        } else {
            let text = self.text_of(value);
            let mut nested = Vec::new();
            for segment in inner {
                nested.push(b'{');
                nested.extend_from_slice(segment.spelling.as_bytes());
                nested.push(b':');
            }
            nested.extend_from_slice(self.bytes(text));
            nested.resize(nested.len() + inner.len(), b'}');
            Value::Text(self.append(&nested))
        };
        let spelling = self.append(segment.spelling.as_bytes());
        let name = self.append(segment.name.as_bytes());
        let id = self.parts.members.len() as MemberId;
        self.parts.members.push(Member {
            next: NONE,
            is_alive: true,
            is_changed: true,
            name,
            spelling,
            value,
            place: None,
        });
        let container = &mut self.parts.containers[container as usize];
        match container.last {
            NONE => container.first = id,
            last => self.parts.members[last as usize].next = id,
        }
        container.last = id;
        self.mark();
    }

    fn respell(&mut self, member: MemberId, segment: &Segment) {
        let spelling: Text = self.append(segment.spelling.as_bytes());
        let name = self.append(segment.name.as_bytes());
        let member = &mut self.parts.members[member as usize];
        (member.spelling, member.name, member.is_changed) = (spelling, name, true);
    }

    /// Takes out the member and all others of its name.
    fn kill_named(&mut self, container: ContainerId, member: MemberId) {
        self.kill_twins(container, member);
        self.kill(member);
    }

    /// Takes out all others of the member's name.
    fn kill_twins(&mut self, container: ContainerId, member: MemberId) {
        if self.parts.containers[container as usize].kind == Kind::Array {
            return;
        }
        let name = self.parts.members[member as usize].name;
        let mut at = self.parts.containers[container as usize].first;
        while at != NONE {
            let next = self.parts.members[at as usize].next;
            let other = &self.parts.members[at as usize];
            if at != member && other.is_alive && self.bytes(other.name) == self.bytes(name) {
                self.parts.members[at as usize].is_alive = false;
            }
            at = next;
        }
    }

    /// The containers on the trail are not what they were.
    fn mark(&mut self) {
        self.is_changed = true;
        let super::Parts { trail, containers, members, .. } = &mut *self.parts;
        for container in trail.iter() {
            containers[*container as usize].is_changed = true;
        }
        // A member that holds a changed container is written by that, not copied in a run.
        for pair in trail.windows(2) {
            let mut at = containers[pair[0] as usize].first;
            while at != NONE {
                let member = &mut members[at as usize];
                if matches!(member.value, Value::Opened(inner) if inner == pair[1]) {
                    member.is_changed = true;
                }
                at = member.next;
            }
        }
    }
}

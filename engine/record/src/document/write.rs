//! Writing a document out.

use super::{Container, ContainerId, Document, Kind, MemberId, Origin, Text, Value};

impl Document<'_> {
    /// Appends the document as it is by now.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        self.write_value(self.root, out);
    }

    /// The text of a value; one that was changed is written out first.
    pub(super) fn text_of(&mut self, value: Value) -> Text {
        match value {
            Value::Text(text) => text,
            Value::Opened(container) => {
                let Container { text, is_changed, .. } = self.parts.containers[container as usize];
                if !is_changed {
                    return text;
                }
                let mut out = Vec::new();
                self.write_value(value, &mut out);
                self.append(&out)
            }
        }
    }

    /// Files bytes among those written here.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Text {
        self.append_with(|written| written.extend_from_slice(bytes))
    }

    pub(super) fn append_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Text {
        let start = self.parts.written.len();
        write(&mut self.parts.written);
        Text::new(Origin::Written, start..self.parts.written.len())
    }

    fn write_value(&self, value: Value, out: &mut Vec<u8>) {
        match value {
            Value::Text(text) => out.extend_from_slice(self.bytes(text)),
            Value::Opened(id) => {
                let container = &self.parts.containers[id as usize];
                if container.is_changed {
                    self.write_container(id, out);
                } else {
                    out.extend_from_slice(self.bytes(container.text));
                }
            }
        }
    }

    fn write_container(&self, id: ContainerId, out: &mut Vec<u8>) {
        let container = &self.parts.containers[id as usize];
        out.push(if container.kind == Kind::Object { b'{' } else { b'[' });
        // Neighbours that nobody touched, with the comma between them, are copied as one run.
        let mut run: Option<Text> = None;
        let mut is_first = true;
        for id in self.living(id) {
            let member = &self.parts.members[id as usize];
            if let (Some(spot), false) = (member.place, member.is_changed) {
                match &mut run {
                    Some(run) if run.end == spot.previous_end => run.end = spot.value_end,
                    _ => {
                        self.write_run(&mut run, out);
                        comma(&mut is_first, out);
                        run = Some(Text { start: spot.start, end: spot.value_end, ..container.text });
                    }
                }
                continue;
            }
            self.write_run(&mut run, out);
            comma(&mut is_first, out);
            self.write_member(container, id, out);
        }
        self.write_run(&mut run, out);
        let blanks = Text { start: container.values_end, ..container.text };
        out.extend_from_slice(blanks_before_bracket(self.bytes(blanks)));
        out.push(if container.kind == Kind::Object { b'}' } else { b']' });
    }

    fn write_run(&self, run: &mut Option<Text>, out: &mut Vec<u8>) {
        if let Some(run) = run.take() {
            out.extend_from_slice(self.bytes(run));
        }
    }

    /// A member that is new, or whose name or value is; blanks around it stay.
    fn write_member(&self, container: &Container, id: MemberId, out: &mut Vec<u8>) {
        let member = &self.parts.members[id as usize];
        let between = |start: u32, end: u32| self.bytes(Text { start, end, ..container.text });
        let is_object = container.kind == Kind::Object;
        match member.place {
            None if is_object => {
                out.extend_from_slice(self.bytes(member.spelling));
                out.push(b':');
            }
            None => {}
            Some(spot) => {
                let head = between(spot.start, spot.value_start);
                // The spelling may be another by now, so the original one is skipped by its quotes.
                let lead = head.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                out.extend_from_slice(&head[..lead]);
                if is_object {
                    out.extend_from_slice(self.bytes(member.spelling));
                    out.extend_from_slice(after_name(head));
                }
            }
        }
        self.write_value(member.value, out);
    }
}

fn comma(is_first: &mut bool, out: &mut Vec<u8>) {
    if !*is_first {
        out.push(b',');
    }
    *is_first = false;
}

/// The colon and the blanks around it, of a member's text up to its value.
fn after_name(head: &[u8]) -> &[u8] {
    let colon = head.iter().rposition(|byte| *byte == b':').expect("a member has a colon before its value");
    let blanks = head[..colon].iter().rev().take_while(|byte| byte.is_ascii_whitespace()).count();
    &head[colon - blanks..]
}

/// What stands between the last value and the closing bracket, which is all but the bracket.
fn blanks_before_bracket(tail: &[u8]) -> &[u8] {
    let blanks = tail.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    &tail[..blanks]
}

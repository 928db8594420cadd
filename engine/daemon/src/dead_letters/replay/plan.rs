//! What a replay will do with each letter, before it does anything. Pure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pico_broker::{Extent, LEFT_MAX, Letter, Place};
use pico_record::{Provenance, RecordPath, RouteFailure, Routed, error_header};
use picomq_connector_sdk::ffi::host::GuestBatch;
use picomq_connector_sdk::{Batch, Schema};
use serde_json::{Value, json};

use crate::dead_letters::letter;
use crate::dead_letters::show::at;

/// Letters that fail again and are named one by one for people; `--json` has all.
const FAILING_SHOWN_MAX: usize = 10;

/// All letters of a replay, in the order in which they are sent.
pub(super) struct Plan {
    pub(super) items: Vec<Item>,
    has_more: bool,
}

/// One letter.
pub(super) struct Item {
    pub(super) letter: Letter,
    pub(super) schema: Option<Schema>,
    pub(super) outlook: Outlook,
}

/// What today's definition makes of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outlook {
    /// It goes to these topics.
    Goes(Vec<String>),
    /// A rule drops it.
    Filtered,
    /// It fails again, and stays.
    Fails { code: String, message: String },
    /// Another source's: passed over.
    Foreign,
}

impl Plan {
    /// Looks at every letter. Where more fail again than can be left behind, the rest of that partition waits.
    pub(super) fn new(
        letters: Vec<Letter>,
        extents: &BTreeMap<i32, Extent>,
        key: &str,
        path: &mut RecordPath,
        has_more: bool,
    ) -> Plan {
        let mut places: BTreeMap<i32, Place> =
            extents.iter().map(|(partition, extent)| (*partition, extent.place.clone())).collect();
        let mut plan = Plan { items: Vec::with_capacity(letters.len()), has_more };
        let mut full = Vec::new();
        for one in letters {
            if full.contains(&one.partition) {
                plan.has_more = true;
                continue;
            }
            let (schema, outlook) = outlook(&one, key, path);
            let item = Item { letter: one, schema, outlook };
            let place = places.entry(item.letter.partition).or_default();
            let is_new = !place.left.contains(&item.letter.offset);
            if matches!(item.outlook, Outlook::Fails { .. }) && is_new && place.left.len() >= LEFT_MAX {
                full.push(item.letter.partition);
                plan.has_more = true;
                continue;
            }
            item.move_place(&mut places);
            plan.items.push(item);
        }
        plan
    }

    /// How many will be sent.
    pub(super) fn sendable(&self) -> usize {
        self.count(|outlook| matches!(outlook, Outlook::Goes(_)))
    }

    /// How many fail again.
    pub(super) fn failing(&self) -> usize {
        self.count(|outlook| matches!(outlook, Outlook::Fails { .. }))
    }

    fn count(&self, is_so: impl Fn(&Outlook) -> bool) -> usize {
        self.items.iter().filter(|item| is_so(&item.outlook)).count()
    }

    fn topics(&self) -> BTreeMap<&str, usize> {
        let mut topics = BTreeMap::new();
        for item in &self.items {
            if let Outlook::Goes(all) = &item.outlook {
                all.iter().for_each(|topic| *topics.entry(topic.as_str()).or_default() += 1);
            }
        }
        topics
    }

    /// What will be done, for people.
    pub(super) fn text(&self, topic: &str) -> String {
        if self.items.is_empty() {
            return format!("no dead letter waits in {topic}\n");
        }
        let mut text = format!("{} of {} letters in {topic} will be sent", self.sendable(), self.items.len());
        text.push_str(if self.has_more { "; more wait for another replay\n" } else { "\n" });
        for (topic, count) in self.topics() {
            writeln!(text, "  {count} to {topic}").expect("a String takes all text");
        }
        let lines = [
            (self.count(|one| *one == Outlook::Filtered), "dropped by a rule"),
            (self.count(|one| *one == Outlook::Foreign), "of other sources, passed over"),
            (self.failing(), "fail again and stay:"),
        ];
        for (count, what) in lines.into_iter().filter(|(count, _)| *count > 0) {
            writeln!(text, "  {count} {what}").expect("a String takes all text");
        }
        let failing = self.items.iter().filter_map(Item::failure).take(FAILING_SHOWN_MAX);
        for (at, code, message) in failing {
            writeln!(text, "    {at}  {code}: {message}").expect("a String takes all text");
        }
        text
    }

    /// What was done, for people.
    pub(super) fn ending(&self, failure: Option<&str>) -> String {
        match failure {
            Some(failure) => format!(
                "✗ {failure}\n  what was delivered before it is not sent again; run the replay once more\n"
            ),
            None if self.sendable() == 0 => "nothing was sent\n".to_owned(),
            None => format!("✓ {} sent\n", self.sendable()),
        }
    }

    /// Everything for programs.
    pub(super) fn document(&self, topic: &str, is_confirmed: bool, failure: Option<&str>) -> Value {
        let failing = self.items.iter().filter_map(Item::failure);
        let failing =
            failing.map(|(at, code, message)| json!({ "at": at, "code": code, "message": message }));
        json!({
            "topic": topic,
            "confirmed": is_confirmed,
            "letters": self.items.len(),
            "sendable": self.sendable(),
            "topics": self.topics(),
            "filtered": self.count(|one| *one == Outlook::Filtered),
            "foreign": self.count(|one| *one == Outlook::Foreign),
            "failing": failing.collect::<Vec<_>>(),
            "more": self.has_more,
            "error": failure,
        })
    }
}

impl Item {
    fn failure(&self) -> Option<(String, &str, &str)> {
        match &self.outlook {
            Outlook::Fails { code, message } => Some((at(&self.letter), code, message)),
            Outlook::Goes(_) | Outlook::Filtered | Outlook::Foreign => None,
        }
    }

    /// The letter is dealt with: the place moves past it, and keeps it if it stays.
    pub(super) fn move_place(&self, places: &mut BTreeMap<i32, Place>) {
        let place = places.entry(self.letter.partition).or_default();
        let offset = self.letter.offset;
        place.next = place.next.max(offset + 1);
        match &self.outlook {
            Outlook::Fails { .. } => drop(place.left.insert(offset)),
            Outlook::Goes(_) | Outlook::Filtered | Outlook::Foreign => drop(place.left.remove(&offset)),
        }
    }
}

fn outlook(one: &Letter, key: &str, path: &mut RecordPath) -> (Option<Schema>, Outlook) {
    if letter::text(one, error_header::SOURCE).is_some_and(|source| source != key) {
        return (None, Outlook::Foreign);
    }
    let Some(schema) = letter::schema(one) else {
        let message = format!("it has no header {} that is known here", error_header::SCHEMA);
        return (None, Outlook::Fails { code: "not_a_dead_letter".to_owned(), message });
    };
    let outlook = match route(path, batch(schema, std::iter::once(one))) {
        Ok(routed) if routed.groups().is_empty() => Outlook::Filtered,
        Ok(routed) => Outlook::Goes(routed.groups().iter().map(|group| group.topic.to_string()).collect()),
        Err(failure) => Outlook::Fails { code: failure.code.to_owned(), message: failure.message },
    };
    (Some(schema), outlook)
}

/// A batch of letters of one schema, as the plugin would give it.
pub(super) fn batch<'l>(schema: Schema, letters: impl Iterator<Item = &'l Letter>) -> GuestBatch {
    let mut batch = Batch::new(schema);
    letters.for_each(|one| batch.push(letter::record(one)));
    GuestBatch::from_batch(batch)
}

/// Routes a batch; the batch's place in headers is that of no opening.
pub(super) fn route(path: &mut RecordPath, batch: GuestBatch) -> Result<Routed, RouteFailure> {
    path.route(batch, Provenance { life: 0, number: 0 })
}

#[cfg(test)]
mod tests;

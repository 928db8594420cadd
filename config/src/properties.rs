//! librdkafka settings by their own names: which a file may give, and with which values.

pub(crate) mod known;
mod owned;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::checked::NamedText;
use crate::context::{Context, Draft, Place};
use crate::scalar::cut;
use crate::secret::is_secret_name;
use crate::suggest::closest;

/// Checked settings in order of name. Debug hides the values of secret-sounding names.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Properties(BTreeMap<String, String>);

impl Properties {
    /// Name and value of each.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The value of one.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Properties {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Properties {
        Properties(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

impl fmt::Debug for Properties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown =
            self.iter().map(|(name, value)| (name, if is_secret_name(name) { "[REDACTED]" } else { value }));
        f.debug_map().entries(shown).finish()
    }
}

/// Which `properties` table is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    /// Of a `[[topics]]` block.
    Block,
    /// `[kafka] properties` of config.toml.
    Kafka,
}

/// A message timeout found among the properties of a block: it becomes the source's batch deadline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Deadline {
    pub(crate) time: Duration,
    pub(crate) place: Place,
}

/// Checks names and values. What says no more than the engine does anyway is accepted and left out.
pub(crate) fn read(
    cx: &mut Context<'_>,
    texts: &[NamedText],
    table: Table,
) -> (Properties, Option<Deadline>) {
    let (mut kept, mut deadline) = (BTreeMap::new(), None);
    for entry in texts {
        let value = entry.text.resolved.as_str();
        if table == Table::Block && owned::is_message_timeout(&entry.name) && value != "0" {
            deadline = read_deadline(cx, entry).or(deadline);
        } else if is_allowed(cx, entry, table) {
            kept.insert(entry.name.clone(), value.to_owned());
        }
    }
    (Properties(kept), deadline)
}

fn is_allowed(cx: &mut Context<'_>, entry: &NamedText, table: Table) -> bool {
    let (name, value) = (entry.name.as_str(), entry.text.resolved.as_str());
    if let (Table::Block, Some(key)) = (table, owned::own_key(name)) {
        let draft =
            Draft::error("config.property_refused", format!("the property `{name}` has a key of its own"));
        cx.add(&entry.name_place, draft.hint(format!("write it as `{key}` of the block")));
        return false;
    }
    let refusal = match table {
        Table::Block => owned::refused_in_a_block(name),
        Table::Kafka => owned::refused_in_kafka(name),
    };
    if let Some(refusal) = refusal {
        if !refusal.accepts(value) {
            let reason = format!("the property `{name}` is refused: {}", refusal.reason);
            cx.add(&entry.name_place, Draft::error("config.property_refused", reason).hint("take it out"));
        }
        return false;
    }
    is_known(cx, entry)
}

fn is_known(cx: &mut Context<'_>, entry: &NamedText) -> bool {
    let name = entry.name.as_str();
    let Some(property) = known::find(name) else {
        let names: Vec<&str> = known::PROPERTIES.iter().map(|property| property.name).collect();
        let near = closest(name, &names).map(|near| format!("did you mean `{near}`?"));
        let draft = Draft::error("config.property_unknown", format!("librdkafka has no property `{name}`"));
        cx.add(&entry.name_place, draft.maybe_hint(near));
        return false;
    };
    if property.is_consumer_only {
        let reason = format!("the property `{name}` is one of consumers, a source only produces");
        cx.add(&entry.name_place, Draft::error("config.property_refused", reason).hint("take it out"));
        return false;
    }
    if let Some(needed) = property.form.refusal(&entry.text.resolved) {
        let given = if is_secret_name(name) {
            String::new()
        } else {
            format!(", not `{}`", cut(&entry.text.resolved))
        };
        let reason = format!("the property `{name}` must be {needed}{given}");
        cx.add(&entry.place, Draft::error("config.property_value", reason));
        return false;
    }
    true
}

fn read_deadline(cx: &mut Context<'_>, entry: &NamedText) -> Option<Deadline> {
    let found = entry.text.resolved.parse::<u64>().ok().filter(|ms| (1..=86_400_000).contains(ms));
    let Some(ms) = found else {
        let given = cut(&entry.text.resolved);
        let reason =
            format!("the property `{}` must be milliseconds from 1 to 86400000, not `{given}`", entry.name);
        cx.add(&entry.place, Draft::error("config.property_value", reason));
        return None;
    };
    let time = Duration::from_millis(ms);
    let shown = humantime::format_duration(time);
    let reason = format!("the property `{}` is taken as this source's batch_deadline, {shown}", entry.name);
    let hint =
        format!("write batch_deadline = \"{}\" under [supervision]", shown.to_string().replace(' ', ""));
    cx.add(&entry.name_place, Draft::info("config.batch_deadline", reason).hint(hint));
    Some(Deadline { time, place: entry.place.clone() })
}

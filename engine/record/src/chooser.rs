//! A routing rule made ready: from the values of a record to a topic.
//!
//! Most records name a topic that was named before, so the way from values to topic is remembered and the name is
//! built and checked once per distinct value. Two records share a topic only if their values are equal, if both
//! went to the fallback, or if the rule replaces characters; what then meets in one name is reported as a [`Clash`].

use std::collections::HashMap;
use std::sync::Arc;

use pico_config::{AllowedTopics, Illegal, TopicBlock, check_topic_name, is_topic_char};

use crate::error::RuleError;
use crate::fault::Refusal;
use crate::json::Absence;
use crate::origin::Subject;
use crate::pattern::{Pattern, Piece};
use crate::shorten::shorten;
use crate::topics::{TopicId, Topics};

/// Most distinct values remembered by one rule; past it all are forgotten and learned again.
const VALUES_REMEMBERED_MAX: usize = 65_536;
/// Values longer than this, together, are not remembered: no topic name is so long.
const VALUE_BYTES_REMEMBERED_MAX: usize = 256;

/// A rule whose topic depends on the record.
#[derive(Debug)]
pub(crate) struct Chooser {
    block: u16,
    pattern: Pattern,
    /// Characters between two different values of the template. A value that holds one could be read as two.
    separators: Box<[char]>,
    illegal: Illegal,
    fallback: Option<TopicId>,
    allowed: Option<AllowedTopics>,
    /// A topic that no record may name: the source's dead letters lie there.
    reserved: Option<Arc<str>>,
    topics_max: usize,
    remembered: HashMap<Box<[u8]>, TopicId>,
    named: HashMap<Arc<str>, Named>,
    key: Vec<u8>,
    pub(crate) clashes: Vec<Clash>,
}

/// A topic this rule has sent to since the opening.
#[derive(Debug)]
struct Named {
    topic: TopicId,
    /// The values that named it first, and how messages show them; kept where a clash can happen.
    first: Option<(Box<[u8]>, String)>,
}

/// Two different values that met in one topic name, because the rule says `illegal = "replace"`. Reported once per
/// topic and opening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clash {
    /// Position of the block among `[[topics]]`.
    pub block: u16,
    /// The name in which they met.
    pub topic: Arc<str>,
    /// The value that named it first and the one that came later, cut short.
    pub values: [String; 2],
}

/// Why the values of a record name no topic. A place is an index into the pattern's origins.
#[derive(Debug)]
enum Unroutable {
    Missing { place: usize, why: Absence },
    Empty { place: usize },
    Illegal { place: usize, character: char },
    Separator { place: usize, character: char },
    Name { name: String, reason: String },
    NotAllowed { name: String },
    Reserved { name: String },
    TooMany { name: String },
}

impl Chooser {
    /// The rule of a block, with its template as `pattern`.
    pub(crate) fn new(
        number: u16,
        block: &TopicBlock,
        pattern: Pattern,
        illegal: Illegal,
    ) -> Result<Chooser, RuleError> {
        Ok(Chooser {
            block: number,
            separators: separators(&pattern).ok_or(RuleError::Adjacent { block: number })?,
            pattern,
            illegal,
            fallback: None,
            allowed: block.allowed_topics.clone(),
            reserved: None,
            topics_max: block.max_topics as usize,
            remembered: HashMap::new(),
            named: HashMap::new(),
            key: Vec::new(),
            clashes: Vec::new(),
        })
    }

    /// Where records go that name no topic. Before the first record is chosen for.
    pub(crate) fn set_fallback(&mut self, name: &str, topics: &mut Topics) {
        self.fallback = Some(self.add(name, None, topics));
    }

    /// A topic that no record may name. Before the first record is chosen for.
    pub(crate) fn reserve(&mut self, name: Arc<str>) {
        self.reserved = Some(name);
    }

    /// The topic of a record: the one its values name, else the fallback, else the reason why there is none.
    pub(crate) fn choose(&mut self, subject: &Subject<'_>, topics: &mut Topics) -> Result<TopicId, Refusal> {
        match self.read_key(subject) {
            Ok(()) => match self.remembered.get(&self.key[..]) {
                Some(topic) => Ok(*topic),
                None => self.learn(subject, topics),
            },
            Err(why) => self.fallback.ok_or_else(|| self.refuse(&why, subject)),
        }
    }

    /// Writes the values into `key` so that equal keys are equal values: with their lengths when there are several.
    fn read_key(&mut self, subject: &Subject<'_>) -> Result<(), Unroutable> {
        self.key.clear();
        for (place, origin) in self.pattern.origins.iter().enumerate() {
            let text = subject.text(origin).map_err(|why| Unroutable::Missing { place, why })?;
            let bytes = text.as_bytes();
            if self.pattern.origins.len() > 1 {
                self.key.extend_from_slice(&bytes.len().to_le_bytes());
            }
            self.key.extend_from_slice(bytes);
        }
        Ok(())
    }

    /// Values not seen before, or forgotten.
    #[cold]
    fn learn(&mut self, subject: &Subject<'_>, topics: &mut Topics) -> Result<TopicId, Refusal> {
        let topic = match (self.name_topic(subject, topics), self.fallback) {
            (Ok(topic), _) | (Err(_), Some(topic)) => topic,
            (Err(why), None) => return Err(self.refuse(&why, subject)),
        };
        if self.key.len() <= VALUE_BYTES_REMEMBERED_MAX {
            if self.remembered.len() >= VALUES_REMEMBERED_MAX.max(2 * self.topics_max) {
                self.remembered.clear();
            }
            self.remembered.insert(self.key.as_slice().into(), topic);
        }
        Ok(topic)
    }

    fn name_topic(&mut self, subject: &Subject<'_>, topics: &mut Topics) -> Result<TopicId, Unroutable> {
        let mut values = Vec::with_capacity(self.pattern.origins.len());
        for (place, origin) in self.pattern.origins.iter().enumerate() {
            let text = subject.text(origin).map_err(|why| Unroutable::Missing { place, why })?;
            values.push(self.legal(place, text.as_bytes())?);
        }
        let name: String = self.pattern.pieces.iter().map(|piece| piece.choose(&values)).collect();
        if let Err(error) = check_topic_name(&name) {
            return Err(Unroutable::Name { name, reason: error.reason });
        }
        if let Some(named) = self.named.get(name.as_str()) {
            let topic = named.topic;
            self.note_clash(&name, subject, topics);
            return Ok(topic);
        }
        if self.reserved.as_deref() == Some(name.as_str()) {
            return Err(Unroutable::Reserved { name });
        }
        if self.allowed.as_ref().is_some_and(|allowed| !allowed.allows(&name)) {
            return Err(Unroutable::NotAllowed { name });
        }
        // The fallback is a name the definition wrote, so it takes no place of those that records may name.
        if self.named.len() - usize::from(self.fallback.is_some()) >= self.topics_max {
            return Err(Unroutable::TooMany { name });
        }
        let first =
            (self.illegal == Illegal::Replace).then(|| (self.key.as_slice().into(), self.shown(subject)));
        Ok(self.add(&name, first, topics))
    }

    /// One value as it may stand in a topic name.
    fn legal(&self, place: usize, value: &[u8]) -> Result<String, Unroutable> {
        if value.is_empty() {
            return Err(Unroutable::Empty { place });
        }
        let text = String::from_utf8_lossy(value);
        if let Some(character) = text.chars().find(|character| self.separators.contains(character)) {
            return Err(Unroutable::Separator { place, character });
        }
        match (text.chars().find(|character| !is_topic_char(*character)), self.illegal) {
            (None, Illegal::Missing | Illegal::Replace) => Ok(text.into_owned()),
            (Some(character), Illegal::Missing) => Err(Unroutable::Illegal { place, character }),
            (Some(_), Illegal::Replace) => Ok(text.replace(|character| !is_topic_char(character), "_")),
        }
    }

    fn add(&mut self, name: &str, first: Option<(Box<[u8]>, String)>, topics: &mut Topics) -> TopicId {
        let name: Arc<str> = name.into();
        let topic = topics.add(self.block, Arc::clone(&name));
        self.named.insert(name, Named { topic, first });
        topic
    }

    /// The values of `subject` have led to a topic that is there already.
    fn note_clash(&mut self, name: &str, subject: &Subject<'_>, topics: &Topics) {
        let first = self.named.get(name).and_then(|named| named.first.as_ref());
        if first.is_none_or(|(key, _)| **key == *self.key) {
            return;
        }
        let later = self.shown(subject);
        // Taken, because once per topic is enough.
        if let Some(named) = self.named.get_mut(name)
            && let Some((_, first)) = named.first.take()
        {
            let topic = Arc::clone(&topics.get(named.topic).name);
            self.clashes.push(Clash { block: self.block, topic, values: [first, later] });
        }
    }

    /// The values of a record as messages show them.
    fn shown(&self, subject: &Subject<'_>) -> String {
        let origins = self.pattern.origins.iter();
        let values = origins.filter_map(|origin| Some(shorten(subject.text(origin).ok()?.as_bytes())));
        values.collect::<Vec<_>>().join(" and ")
    }

    #[cold]
    fn refuse(&self, why: &Unroutable, subject: &Subject<'_>) -> Refusal {
        let origin = |place: usize| &self.pattern.origins[place];
        let value = |place: usize| match subject.text(origin(place)) {
            Ok(text) => shorten(text.as_bytes()),
            Err(absence) => absence.to_string(),
        };
        let names =
            |name: &str| format!("{} names the topic {}", self.shown(subject), shorten(name.as_bytes()));
        match why {
            Unroutable::Missing { place, why } => {
                Refusal { reason: subject.absence(origin(*place), *why), fix: "send a value" }
            }
            Unroutable::Empty { place } => {
                Refusal { reason: format!("{} is empty", origin(*place)), fix: "send a value" }
            }
            Unroutable::Illegal { place, character } => Refusal {
                reason: format!(
                    "{} is {}, and {character:?} cannot stand in a topic name",
                    origin(*place),
                    value(*place)
                ),
                fix: "send only A-Z a-z 0-9 . _ -, write illegal = \"replace\" in the rule",
            },
            Unroutable::Separator { place, character } => Refusal {
                reason: format!(
                    "{} is {}, and {character:?} also stands between the values of the template",
                    origin(*place),
                    value(*place)
                ),
                fix: "put another character between them",
            },
            Unroutable::Name { name, reason } => {
                Refusal { reason: format!("{}: {reason}", names(name)), fix: "send another value" }
            }
            Unroutable::NotAllowed { name } => Refusal {
                reason: format!("{}, which allowed_topics does not match", names(name)),
                fix: "allow it",
            },
            Unroutable::Reserved { name } => Refusal {
                reason: format!("{}, where the dead letters of this source go", names(name)),
                fix: "give dead letters another topic",
            },
            Unroutable::TooMany { name } => Refusal {
                reason: format!("{}, one more than max_topics = {} allows", names(name), self.topics_max),
                fix: "raise max_topics",
            },
        }
    }
}

/// The characters that stand between two values of a template. None when two different values stand side by side,
/// where nothing tells one from the other.
fn separators(pattern: &Pattern) -> Option<Box<[char]>> {
    let mut between = Vec::new();
    if pattern.origins.len() > 1 {
        let mut since_value = Vec::new();
        let mut last = None;
        for piece in &pattern.pieces {
            match piece {
                Piece::Literal(text) => since_value.extend(text.chars()),
                Piece::Origin(place) => {
                    if last.is_some_and(|last| last != place) && since_value.is_empty() {
                        return None;
                    }
                    if last.is_some() {
                        between.append(&mut since_value);
                    }
                    since_value.clear();
                    last = Some(place);
                }
            }
        }
    }
    Some(between.into())
}

#[cfg(test)]
mod tests;

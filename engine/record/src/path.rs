//! The way of a source's records to their topics: its blocks, compiled once per opening.

use std::sync::Arc;

use pico_config::{ErrorPolicy, Limits, Rule, Template, TopicBlock, Transform};

use crate::block::{Block, Destination, PROVENANCE_HEADER, takes};
use crate::chain::{Chain, Outcome};
use crate::chooser::{Chooser, Clash};
use crate::codec::Codec;
use crate::condition::Condition;
use crate::encoder::Encoder;
use crate::error::RuleError;
use crate::fault::Fault;
use crate::json::{Absence, FieldTree, Fields};
use crate::origin::Origin;
use crate::pattern::Pattern;
use crate::policy::{Ceiling, DeadLetters, Moment, Policy, error_header};
use crate::surroundings::Surroundings;
use crate::topics::{TopicId, Topics};

/// Decides for every record of a source where it goes and how it leaves. Made anew at each opening, because it
/// counts the topics seen since then.
///
/// Every record goes to every block whose `when` takes it. A failure is found before anything
/// of the batch was produced, and leaves the path usable.
#[derive(Debug)]
pub struct RecordPath {
    pub(crate) chain: Chain,
    pub(crate) blocks: Vec<Block>,
    pub(crate) tree: FieldTree,
    pub(crate) fields: Fields,
    pub(crate) topics: Topics,
    pub(crate) record_bytes: u64,
    /// Names of the headers that are written here, under the numbers that the entries of a batch use.
    pub(crate) header_names: Arc<[Box<str>]>,
    pub(crate) policy: Policy,
}

/// How much of the payloads of a batch has to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Nothing: no block asks for JSON or for a field.
    Nothing,
    /// The fields, where a payload happens to be JSON.
    Fields,
    /// All of it: every payload must be JSON.
    Json,
}

impl RecordPath {
    /// Compiles the blocks of a definition.
    ///
    /// # Errors
    /// What cannot route, although each key is right by itself; see [`RuleError`].
    pub fn new(blocks: &[TopicBlock], limits: &Limits) -> Result<RecordPath, RuleError> {
        let mut path = RecordPath {
            blocks: Vec::with_capacity(blocks.len()),
            chain: Chain::default(),
            tree: FieldTree::default(),
            fields: Fields::default(),
            topics: Topics::default(),
            record_bytes: limits.record_bytes,
            header_names: Arc::new([]),
            policy: Policy::default(),
        };
        let mut header_names = Vec::new();
        for (number, block) in blocks.iter().enumerate() {
            let number = u16::try_from(number).map_err(RuleError::TooManyBlocks)?;
            let compiled = path.compile(number, block, &mut header_names)?;
            path.blocks.push(compiled);
        }
        path.header_names = header_names.into();
        Ok(path)
    }

    /// Does with records that fail what `[errors]` of the source `key` says; without this their batch is refused.
    /// `ceiling` outlives the path, so that an opening does not begin to count anew.
    ///
    /// # Errors
    /// More header names or blocks than are numbered.
    pub fn with_errors(
        mut self,
        errors: &ErrorPolicy,
        key: &str,
        ceiling: Ceiling,
    ) -> Result<RecordPath, RuleError> {
        self.policy = Policy::new(errors, ceiling, |topic| self.dead_letters(topic, key))?;
        Ok(self)
    }

    fn dead_letters(&mut self, topic: &str, key: &str) -> Result<DeadLetters, RuleError> {
        let block = u16::try_from(self.blocks.len()).map_err(RuleError::TooManyBlocks)?;
        let name: Arc<str> = topic.into();
        for block in &mut self.blocks {
            if let Destination::Chosen(chooser) = &mut block.destination {
                chooser.reserve(Arc::clone(&name));
            }
        }
        let mut all = self.header_names.to_vec();
        let mut names = [0; error_header::ALL.len()];
        for (number, name) in names.iter_mut().zip(error_header::ALL) {
            *number = number_of(name, &mut all)?;
        }
        self.header_names = all.into();
        Ok(DeadLetters { topic: self.topics.add(block, name), source: key.into(), names })
    }

    /// Tells the time, before each batch and as often as whoever routes likes: the path asks no clock.
    pub fn set_now(&mut self, now: Moment) {
        self.policy.now = now;
    }

    /// Where every record goes, if that is one topic.
    pub(crate) fn only_topic(&self) -> Option<TopicId> {
        match self.blocks.as_slice() {
            [Block { destination: Destination::One(topic), .. }] => Some(*topic),
            _ => None,
        }
    }

    /// Gives the blocks with a `schema_registry` the ids of their schemas, by the blocks' positions.
    ///
    /// # Errors
    /// [`RuleError::NoSchemaId`] where such a block has none.
    pub fn set_schema_ids(&mut self, blocks: &[TopicBlock], ids: &[Option<u32>]) -> Result<(), RuleError> {
        for (compiled, block) in
            self.blocks.iter_mut().zip(blocks).filter(|(_, block)| block.schema_registry.is_some())
        {
            let id = ids.get(usize::from(compiled.number)).copied().flatten();
            let id = id.ok_or(RuleError::NoSchemaId { block: compiled.number })?;
            compiled.encoder.get_or_insert_with(|| Encoder::new(block.schema, None)).set_id(id);
        }
        Ok(())
    }

    /// The same path with transforms, which every record goes through first.
    ///
    /// # Errors
    /// A schema that cannot be used, or a pair of schemas without a conversion.
    pub fn with_transforms(mut self, transforms: &[Transform]) -> Result<RecordPath, RuleError> {
        self.chain = Chain::new(transforms)?;
        if let Some(from) = self.chain.given_schema()? {
            let refused = self.blocks.iter().find(|block| !takes(block, from));
            if let Some(block) = refused {
                return Err(RuleError::SchemaPair { from, to: block.schema, block: block.number });
            }
        }
        Ok(self)
    }

    /// The same path with another source of time and chance, for values that transforms compute.
    #[must_use]
    pub fn with_surroundings(mut self, surroundings: Box<dyn Surroundings>) -> RecordPath {
        self.chain.set_surroundings(surroundings);
        self
    }

    /// The clashes found since this was called last, each once per topic and opening.
    pub fn take_clashes(&mut self) -> Vec<Clash> {
        let choosers = self.blocks.iter_mut().filter_map(|block| match &mut block.destination {
            Destination::One(_) => None,
            Destination::Chosen(chooser) => Some(chooser),
        });
        choosers.flat_map(|chooser| std::mem::take(&mut chooser.clashes)).collect()
    }

    /// Whether a transform or a block asks a jq expression.
    pub(crate) fn runs_programs(&self) -> bool {
        self.chain.runs_programs() || self.blocks.iter().any(|block| block.when.is_some())
    }

    /// Runs the transforms over one record and reads what the batch needs of the outcome into `fields`.
    pub(crate) fn prepare(&mut self, payload: Option<&[u8]>, reading: Reading) -> Result<Outcome, Fault> {
        let outcome = self.chain.run(payload)?;
        let payload = match outcome {
            Outcome::AsItIs => payload,
            Outcome::Changed => Some(self.chain.changed()),
            Outcome::Filtered => return Ok(outcome),
        };
        match (payload, reading) {
            (None, Reading::Nothing | Reading::Fields | Reading::Json) => {
                self.fields.forget(&self.tree, Absence::Tombstone);
            }
            (Some(_), Reading::Nothing) => self.fields.forget(&self.tree, Absence::NotJson),
            // Not JSON is no failure here: the fields are then absent, and say so.
            (Some(payload), Reading::Fields) => drop(self.fields.read(&self.tree, payload)),
            (Some(payload), Reading::Json) => {
                self.fields.read(&self.tree, payload).map_err(Fault::NotJson)?
            }
        }
        Ok(outcome)
    }

    fn compile(
        &mut self,
        number: u16,
        block: &TopicBlock,
        names: &mut Vec<Box<str>>,
    ) -> Result<Block, RuleError> {
        check_allowed(number, block)?;
        let (destination, value) = match &block.rule {
            Rule::Static(name) => (Destination::One(self.topics.add(number, name.as_str().into())), None),
            Rule::Dynamic { from, template, fallback, illegal } => {
                let value = Origin::of_value(from, &mut self.tree);
                let pattern = Pattern::compile(template, Some(&value), &mut self.tree)
                    .expect("a pattern is refused only where the rule has no value");
                let mut chooser = Chooser::new(number, block, pattern, *illegal)?;
                if let Some(name) = fallback {
                    chooser.set_fallback(name, &mut self.topics);
                }
                (Destination::Chosen(Box::new(chooser)), Some(value))
            }
        };
        let mut pattern = |template: &Template, place: &str| {
            let missing = || RuleError::NoValue { block: number, place: place.to_owned() };
            Pattern::compile(template, value.as_ref(), &mut self.tree).ok_or_else(missing)
        };
        let record_key = block.record_key.as_ref().map(|key| pattern(key, "record_key")).transpose()?;
        let mut headers = Vec::with_capacity(block.headers.len());
        for (name, template) in &block.headers {
            headers.push((number_of(name, names)?, pattern(template, &format!("header {name:?}"))?));
        }
        let provenance = block.provenance.then(|| number_of(PROVENANCE_HEADER, names)).transpose()?;
        let when = block.when.as_ref().map(|when| Condition::new(when, &mut self.tree));
        Ok(Block {
            number,
            schema: block.schema,
            when,
            encoder: encoder(number, block)?,
            destination,
            record_key,
            headers,
            provenance,
        })
    }
}

/// The encoder of a block with a schema of its own.
fn encoder(block: u16, of: &TopicBlock) -> Result<Option<Encoder>, RuleError> {
    let Some(schema) = &of.record_schema else { return Ok(None) };
    let codec = Codec::compile(&schema.source);
    let codec = codec.map_err(|reason| RuleError::Schema { block, schema: of.schema, reason })?;
    Ok(Some(Encoder::new(of.schema, Some(codec))))
}

/// The number of a header name, given when it is asked for the first time.
fn number_of(name: &str, names: &mut Vec<Box<str>>) -> Result<u16, RuleError> {
    let known = names.iter().position(|known| **known == *name);
    let number = known.unwrap_or(names.len());
    if known.is_none() {
        names.push(name.into());
    }
    u16::try_from(number).map_err(RuleError::TooManyHeaders)
}

/// The names that the definition itself writes must be among those it allows.
fn check_allowed(number: u16, block: &TopicBlock) -> Result<(), RuleError> {
    let topic = match &block.rule {
        Rule::Static(name) => Some(name),
        Rule::Dynamic { fallback, .. } => fallback.as_ref(),
    };
    match (topic, &block.allowed_topics) {
        (Some(topic), Some(allowed)) if !allowed.allows(topic) => Err(RuleError::NotAllowed {
            block: number,
            topic: topic.clone(),
            allowed: allowed.as_str().to_owned(),
        }),
        (Some(_) | None, Some(_) | None) => Ok(()),
    }
}

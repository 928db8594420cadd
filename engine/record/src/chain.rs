//! The transforms of a source in the order written, run once for each record, before any block looks at it.
//!
//! Transforms of fields that follow each other share one walk over the payload. A tombstone passes every transform
//! unchanged, so that what was deleted upstream stays deleted.

use std::sync::Arc;

use pico_config::{Action, Expression, FieldTest};
use picomq_connector_sdk::Schema;
use serde::de::IgnoredAny;

use crate::convert::{Convert, ConvertFailure};
use crate::document::{Document, Parts};
use crate::encoder::Conversion;
use crate::error::RuleError;
use crate::fault::Fault;
use crate::field_step::{Applied, FieldStep};
use crate::json::NotJson;
use crate::program::{Program, ProgramError};
use crate::surroundings::{Surroundings, System};
use crate::target::Target;

/// One transform, made ready.
#[derive(Debug)]
struct Transform {
    /// How messages name it.
    place: Arc<str>,
    when: Option<When>,
    step: Step,
}

/// Which records a transform is for.
#[derive(Debug)]
struct When {
    program: Program,
    /// The same question where a plain comparison asks it.
    test: Option<(Target, FieldTest)>,
}

/// What a transform does.
#[derive(Debug)]
enum Step {
    Fields(FieldStep),
    Jq(Program),
    /// Bytes in, bytes of another schema out.
    Convert(Box<dyn Convert>),
}

/// What the transforms made of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The payload is the plugin's own, or none.
    AsItIs,
    /// The payload is [`Chain::changed`].
    Changed,
    /// A rule of the definition drops the record.
    Filtered,
}

/// All transforms, and the payload they made last. One value serves all records, so that its buffers are kept.
#[derive(Debug)]
pub(crate) struct Chain {
    transforms: Vec<Transform>,
    surroundings: Box<dyn Surroundings>,
    parts: Parts,
    changed: Vec<u8>,
    spare: Vec<u8>,
}

impl Default for Chain {
    fn default() -> Chain {
        Chain {
            transforms: Vec::new(),
            surroundings: Box::new(System),
            parts: Parts::default(),
            changed: Vec::new(),
            spare: Vec::new(),
        }
    }
}

impl Chain {
    /// Those that are switched off are left out.
    ///
    /// # Errors
    /// A schema that cannot be used.
    pub(crate) fn new(transforms: &[pico_config::Transform]) -> Result<Chain, RuleError> {
        let enabled = transforms.iter().filter(|transform| transform.is_enabled);
        let transforms = enabled.map(Transform::new).collect::<Result<_, _>>()?;
        Ok(Chain { transforms, ..Chain::default() })
    }

    /// What leaves the last transform whatever the plugin gives, if a transform fixes that.
    ///
    /// # Errors
    /// When a transform does not take what the one before it gives.
    pub(crate) fn given_schema(&self) -> Result<Option<Schema>, RuleError> {
        let mut known = None;
        for transform in &self.transforms {
            let candidates = known.map_or(Schema::ALL.to_vec(), |schema| vec![schema]);
            let after = candidates.iter().find_map(|from| transform.schema_after(*from));
            let given = known.unwrap_or(Schema::Json);
            known =
                Some(after.ok_or_else(|| RuleError::TransformTakes {
                    place: transform.place.to_string(),
                    given,
                })?);
        }
        Ok(known)
    }

    pub(crate) fn set_surroundings(&mut self, surroundings: Box<dyn Surroundings>) {
        self.surroundings = surroundings;
    }

    /// Whether every payload that leaves it has been found to be JSON, or was made here.
    pub(crate) fn checks_json(&self) -> bool {
        self.transforms.iter().any(Transform::reads_json)
    }

    pub(crate) fn runs_programs(&self) -> bool {
        self.transforms
            .iter()
            .any(|transform| transform.when.is_some() || matches!(transform.step, Step::Jq(_)))
    }

    /// The schema of what leaves the last transform when the plugin gives `from`, or the place of the transform that
    /// does not take what it would get, and the schema of that.
    pub(crate) fn schema_after(&self, from: Schema) -> Result<Schema, (Arc<str>, Schema)> {
        let mut schema = from;
        for transform in &self.transforms {
            let after = transform.schema_after(schema);
            schema = after.ok_or_else(|| (Arc::clone(&transform.place), schema))?;
        }
        Ok(schema)
    }

    /// Applies every transform to one payload.
    pub(crate) fn run(&mut self, payload: Option<&[u8]>) -> Result<Outcome, Fault> {
        let Some(payload) = payload else { return Ok(Outcome::AsItIs) };
        let Chain { transforms, surroundings, parts, changed, spare } = self;
        let mut outcome = Outcome::AsItIs;
        let mut left = &mut transforms[..];
        while !left.is_empty() {
            let fields =
                left.iter().take_while(|transform| matches!(transform.step, Step::Fields(_))).count();
            let (now, rest) = std::mem::take(&mut left).split_at_mut(fields.max(1));
            left = rest;
            let current = if outcome == Outcome::Changed {
                std::mem::swap(changed, spare);
                &spare[..]
            } else {
                payload
            };
            changed.clear();
            let step = if fields > 0 {
                edit(now, parts.open(current).map_err(Fault::NotJson)?, &**surroundings, changed)?
            } else {
                now[0].convert(current, changed)?
            };
            match step {
                Outcome::Changed => outcome = Outcome::Changed,
                Outcome::Filtered => return Ok(Outcome::Filtered),
                // What was current stays so, and lies in the other buffer by now.
                Outcome::AsItIs if outcome == Outcome::Changed => std::mem::swap(changed, spare),
                Outcome::AsItIs => {}
            }
        }
        Ok(outcome)
    }

    /// The payload after [`Outcome::Changed`].
    pub(crate) fn changed(&self) -> &[u8] {
        &self.changed
    }
}

/// Applies transforms of fields one after the other and writes the document out once, if it is another by then.
fn edit(
    transforms: &[Transform],
    mut document: Document<'_>,
    surroundings: &dyn Surroundings,
    out: &mut Vec<u8>,
) -> Result<Outcome, Fault> {
    for transform in transforms {
        let Step::Fields(step) = &transform.step else { continue };
        if let Some(when) = &transform.when
            && !transform.holds_in(when, &mut document, out)?
        {
            continue;
        }
        let applied =
            step.apply(&mut document, surroundings).map_err(|failure| fault(&transform.place, failure))?;
        if applied == Applied::Dropped {
            return Ok(Outcome::Filtered);
        }
    }
    out.clear();
    if !document.is_changed() {
        return Ok(Outcome::AsItIs);
    }
    document.write(out);
    Ok(Outcome::Changed)
}

impl When {
    fn new(expression: &Expression) -> When {
        let test = expression.field_test().map(|test| (Target::of(&test.path), test));
        When { program: Program::new(expression), test }
    }
}

impl Transform {
    fn new(transform: &pico_config::Transform) -> Result<Transform, RuleError> {
        let step = match &transform.action {
            Action::Jq(expression) => Step::Jq(Program::new(expression)),
            Action::Convert(conversion) => {
                let refused = |reason| RuleError::TransformSchema { place: transform.place.clone(), reason };
                Step::Convert(Box::new(Conversion::new(conversion).map_err(refused)?))
            }
            action => Step::Fields(FieldStep::new(action).expect("every other action is one of fields")),
        };
        let when = transform.when.as_ref().map(When::new);
        Ok(Transform { place: transform.place.as_str().into(), when, step })
    }

    /// None: it does not take payloads of this schema.
    fn schema_after(&self, from: Schema) -> Option<Schema> {
        let is_json = matches!(from, Schema::Json | Schema::Text);
        match &self.step {
            _ if self.reads_json() && !is_json => None,
            Step::Fields(_) | Step::Jq(_) => Some(Schema::Json),
            Step::Convert(convert) => convert.schema_after(from),
        }
    }

    fn reads_json(&self) -> bool {
        match self.step {
            Step::Fields(_) | Step::Jq(_) => true,
            Step::Convert(_) => self.when.is_some(),
        }
    }

    /// A transform that makes a new payload out of the whole of the former.
    fn convert(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<Outcome, Fault> {
        if self.reads_json() {
            check(payload).map_err(Fault::NotJson)?;
        }
        if let Some(when) = &self.when
            && !self.holds(&when.program, payload)?
        {
            return Ok(Outcome::AsItIs);
        }
        match &mut self.step {
            Step::Fields(_) => Ok(Outcome::AsItIs),
            Step::Jq(program) => match program.convert(payload, out) {
                Ok(true) => Ok(Outcome::Changed),
                Ok(false) => Ok(Outcome::Filtered),
                Err(error) => Err(jq_failed(&self.place, "jq_failed", program, &error)),
            },
            Step::Convert(convert) => {
                convert.convert(payload, out).map_err(|failure| fault(&self.place, failure))?;
                Ok(Outcome::Changed)
            }
        }
    }

    /// The question asked of a document under edit; `buffer` is for what it looks like by then.
    fn holds_in(
        &self,
        when: &When,
        document: &mut Document<'_>,
        buffer: &mut Vec<u8>,
    ) -> Result<bool, Fault> {
        if let Some((target, FieldTest { text, is_equal, .. })) = &when.test
            && let Some(is_text) = document.is_text(target, text)
        {
            return Ok(is_text == *is_equal);
        }
        buffer.clear();
        document.write(buffer);
        self.holds(&when.program, buffer)
    }

    fn holds(&self, when: &Program, payload: &[u8]) -> Result<bool, Fault> {
        when.holds(Some(payload)).map_err(|error| jq_failed(&self.place, "when_failed", when, &error))
    }
}

#[cold]
fn jq_failed(place: &Arc<str>, code: &'static str, program: &Program, error: &ProgramError) -> Fault {
    let text = crate::shorten::shorten(program.text().as_bytes());
    fault(place, ConvertFailure { code, reason: format!("the expression {text} fails: {error}") })
}

#[cold]
fn fault(place: &Arc<str>, failure: ConvertFailure) -> Fault {
    Fault::Transform { place: Arc::clone(place), failure }
}

fn check(payload: &[u8]) -> Result<(), NotJson> {
    serde_json::from_str::<IgnoredAny>(std::str::from_utf8(payload)?)?;
    Ok(())
}

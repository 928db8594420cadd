//! A jq expression made ready, and what came of running it over one record.
//!
//! The payload becomes a tree for it. Numbers nobody calculates with keep their digits (jaq holds decimals as they are
//! written; only the integer `-0` becomes `0`). Nothing here can take the engine down with it: the nesting of what goes
//! in and the turns of what repeats are bounded.

use std::cell::Cell;
use std::fmt;

use jaq_core::{Ctx, Vars, unwrap_valr};
use jaq_json::{Val, read, write};
use pico_config::{Budget, Expression, Filter, Language, json_nesting};
use serde::de::IgnoredAny;

/// Deepest nesting of a payload that an expression reads, and of what it writes.
const NESTING_MAX: usize = 128;
/// Largest payload that an expression reads.
const PAYLOAD_BYTES_MAX: usize = 1024 * 1024;
/// How often `range`, `repeat`, `while`, `until` and `recurse` may go round for one record, together.
const TURNS_MAX: u32 = 10_000;

/// An expression made ready.
pub(crate) struct Program {
    text: Box<str>,
    filter: Filter,
}

impl fmt::Debug for Program {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Program").field(&self.text).finish()
    }
}

/// Why an expression has no answer for a record.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProgramError {
    #[error("the payload nests deeper than {NESTING_MAX} levels")]
    Nesting,
    #[error("the payload has {0} bytes, an expression reads at most {PAYLOAD_BYTES_MAX}")]
    Size(usize),
    #[error("its output nests deeper than {NESTING_MAX} levels")]
    OutputNesting,
    #[error("the payload cannot be read: {0}")]
    Input(String),
    #[error("{0}")]
    Failed(String),
    #[error("it has more than one output; wrap it in [ ] or first( )")]
    Outputs,
    #[error("its output is no JSON ({0}): not a number, bytes, or a key that is no string")]
    NotJson(String),
    #[error("it gives {0}, where true or false is needed")]
    NotBoolean(String),
}

impl Program {
    pub(crate) fn new(expression: &Expression) -> Program {
        Program { text: expression.as_str().into(), filter: expression.compile() }
    }

    /// The expression, for messages.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether a condition holds. A tombstone is null.
    pub(crate) fn holds(&self, payload: Option<&[u8]>) -> Result<bool, ProgramError> {
        match self.only_output(payload)? {
            Some(Val::Bool(answer)) => Ok(answer),
            Some(other) if nests_within(&other, NESTING_MAX) => Err(ProgramError::NotBoolean(shown(&other))),
            Some(_) => Err(ProgramError::OutputNesting),
            None => Err(ProgramError::NotBoolean("no output".to_owned())),
        }
    }

    /// Appends the one output to `out`. False: there is none.
    pub(crate) fn convert(&self, payload: &[u8], out: &mut Vec<u8>) -> Result<bool, ProgramError> {
        let Some(output) = self.only_output(Some(payload))? else { return Ok(false) };
        if !nests_within(&output, NESTING_MAX) {
            return Err(ProgramError::OutputNesting);
        }
        let start = out.len();
        write::write(out, &write::Pp::default(), 0, &output).expect("memory takes every write");
        let text = std::str::from_utf8(&out[start..]);
        let text = text.map_err(|error| ProgramError::NotJson(error.to_string()))?;
        serde_json::from_str::<IgnoredAny>(text).map_err(|error| ProgramError::NotJson(error.to_string()))?;
        Ok(true)
    }

    fn only_output(&self, payload: Option<&[u8]>) -> Result<Option<Val>, ProgramError> {
        let input = match payload {
            Some(payload) => tree(payload)?,
            None => Val::Null,
        };
        let turns = Cell::new(TURNS_MAX);
        let context = Ctx::<Language>::new(Budget::new(&self.filter.lut, &turns), Vars::new([]));
        let mut outputs = self.filter.id.run((context, input)).map(unwrap_valr);
        let Some(first) = outputs.next() else { return Ok(None) };
        let first = first.map_err(|error| ProgramError::Failed(crate::shorten::cut(&error.to_string())))?;
        match outputs.next() {
            None => Ok(Some(first)),
            Some(_) => Err(ProgramError::Outputs),
        }
    }
}

fn tree(payload: &[u8]) -> Result<Val, ProgramError> {
    if payload.len() > PAYLOAD_BYTES_MAX {
        return Err(ProgramError::Size(payload.len()));
    }
    if json_nesting(payload) > NESTING_MAX {
        return Err(ProgramError::Nesting);
    }
    read::parse_single(payload).map_err(|error| ProgramError::Input(error.to_string()))
}

fn nests_within(value: &Val, levels: usize) -> bool {
    match value {
        Val::Null | Val::Bool(_) | Val::Num(_) | Val::BStr(_) | Val::TStr(_) => true,
        Val::Arr(items) => levels > 0 && items.iter().all(|item| nests_within(item, levels - 1)),
        Val::Obj(members) => {
            let mut values = members.iter().flat_map(|(name, value)| [name, value]);
            levels > 0 && values.all(|value| nests_within(value, levels - 1))
        }
    }
}

fn shown(value: &Val) -> String {
    crate::shorten::cut(&value.to_string())
}

//! A template made ready for filling in: literal text and places of the record, in order.

use pico_config::{Part, Template};

use crate::json::{Absence, FieldTree};
use crate::origin::{Origin, Subject};

/// A template whose `{value}` is already the place the rule takes its value from. Filling in is single pass: what
/// comes from a record is never looked through for placeholders.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// Each place once, in the order of first use.
    pub(crate) origins: Vec<Origin>,
    pub(crate) pieces: Vec<Piece>,
}

#[derive(Debug)]
pub(crate) enum Piece {
    Literal(Box<str>),
    /// The text at `origins[_]`.
    Origin(usize),
}

impl Pattern {
    /// `value` is where the rule of the block takes its value from. None when the template asks for the value of a
    /// rule that has none.
    pub(crate) fn compile(
        template: &Template,
        value: Option<&Origin>,
        tree: &mut FieldTree,
    ) -> Option<Pattern> {
        let mut pattern = Pattern { origins: Vec::new(), pieces: Vec::new() };
        for part in &template.parts {
            let origin = match part {
                Part::Literal(text) => {
                    pattern.pieces.push(Piece::Literal(text.as_str().into()));
                    continue;
                }
                Part::Value => value?.clone(),
                Part::Field(path) => Origin::of_field(path, tree),
                Part::Header(name) => Origin::Header(name.as_str().into()),
                Part::Key => Origin::Key,
            };
            let place = pattern.place(origin);
            pattern.pieces.push(Piece::Origin(place));
        }
        Some(pattern)
    }

    fn place(&mut self, origin: Origin) -> usize {
        if let Some(known) = self.origins.iter().position(|known| *known == origin) {
            return known;
        }
        self.origins.push(origin);
        self.origins.len() - 1
    }

    /// Appends the filled template to `out`, or nothing when one of its values is missing.
    pub(crate) fn fill(&self, subject: &Subject<'_>, out: &mut Vec<u8>) -> Result<(), Missing<'_>> {
        let start = out.len();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(text) => out.extend_from_slice(text.as_bytes()),
                Piece::Origin(place) => {
                    let origin = &self.origins[*place];
                    match subject.text(origin) {
                        Ok(text) => out.extend_from_slice(text.as_bytes()),
                        Err(why) => {
                            out.truncate(start);
                            return Err(Missing { origin, why });
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

impl Piece {
    /// This piece of the text, given the text of every origin.
    pub(crate) fn choose<'a>(&'a self, values: &'a [String]) -> &'a str {
        match self {
            Piece::Literal(text) => text,
            Piece::Origin(place) => &values[*place],
        }
    }
}

/// A value that a template asks for and a record does not have.
#[derive(Debug)]
pub(crate) struct Missing<'a> {
    pub(crate) origin: &'a Origin,
    pub(crate) why: Absence,
}

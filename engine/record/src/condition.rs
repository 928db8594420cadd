//! The `when` of a block.

use pico_config::{Expression, FieldTest};

use crate::json::{Absence, FieldTree, Slot};
use crate::origin::Subject;
use crate::program::Program;
use crate::shorten::shorten;

/// A condition on a record after its transforms.
#[derive(Debug)]
pub(crate) struct Condition {
    program: Program,
    /// The same question where a plain comparison asks it; the field is then read with those of the rules.
    test: Option<(Slot, FieldTest)>,
}

impl Condition {
    pub(crate) fn new(expression: &Expression, tree: &mut FieldTree) -> Condition {
        let test = expression.field_test().map(|test| (tree.slot(&test.path), test));
        Condition { program: Program::new(expression), test }
    }

    /// Whether it is true, or why it is neither true nor false. A tombstone is null.
    pub(crate) fn holds(&self, subject: &Subject<'_>) -> Result<bool, String> {
        if let Some(answer) = self.tested(subject) {
            return Ok(answer);
        }
        self.program.holds(subject.payload).map_err(|error| {
            format!("the expression {} fails: {error}", shorten(self.program.text().as_bytes()))
        })
    }

    /// None: what stands on the way to the field decides, so the tree is asked.
    fn tested(&self, subject: &Subject<'_>) -> Option<bool> {
        let ((slot, test), payload) = (self.test.as_ref()?, subject.payload?);
        let is_text = match subject.fields.text(*slot, payload) {
            Ok(text) => subject.fields.is_string(*slot, payload) && text == test.text.as_bytes(),
            Err(Absence::Null | Absence::Composite) => false,
            Err(Absence::NotThere | Absence::NoText | Absence::NotJson | Absence::Tombstone) => return None,
        };
        Some(is_text == test.is_equal)
    }
}

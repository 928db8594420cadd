//! The transforms that change fields, made ready: each applies to a document under edit.

use pico_config::{
    Action, Computed, Condition, FieldFilter, FieldPattern, FieldValue, IfMissing, NewField, RecordFilter,
    ValuePattern, ValueType,
};

use crate::convert::ConvertFailure;
use crate::document::{Blocked, Document, Write};
use crate::mask::Mask;
use crate::matching::{key_matches, type_of, value_matches};
use crate::surroundings::{Surroundings, write_computed};
use crate::target::{KeepTree, Target};

/// One transform of fields.
#[derive(Debug)]
pub(crate) enum FieldStep {
    Set(Vec<Setting>),
    Delete(Vec<Target>),
    Rename(Vec<(Target, Target)>),
    Keep { tree: KeepTree, patterns: Vec<FieldPattern>, include_matching: bool },
    Select { patterns: Vec<(Target, ValuePattern)>, include_matching: bool },
    Mask { targets: Vec<Target>, mask: Mask },
    Unwrap { target: Target, if_missing: IfMissing },
}

/// A field to write.
#[derive(Debug)]
pub(crate) struct Setting {
    target: Target,
    write: Write,
    value: Written,
}

#[derive(Debug)]
enum Written {
    /// JSON text.
    Static(Box<str>),
    Computed(Computed),
}

/// Whether the record goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Applied {
    GoesOn,
    /// A rule of the definition drops it.
    Dropped,
}

impl FieldStep {
    /// None for an action that is no change of fields.
    pub(crate) fn new(action: &Action) -> Option<FieldStep> {
        let targets = |paths: &[_]| paths.iter().map(Target::new).collect();
        Some(match action {
            Action::AddFields(fields) => {
                FieldStep::Set(fields.iter().map(|field| Setting::new(field, Write::IfAbsent)).collect())
            }
            Action::UpdateFields(updates) => FieldStep::Set(
                updates
                    .iter()
                    .map(|update| Setting::new(&update.field, write_of(update.condition)))
                    .collect(),
            ),
            Action::DeleteFields(paths) => FieldStep::Delete(targets(paths)),
            Action::RenameFields(renames) => FieldStep::Rename(
                renames.iter().map(|rename| (Target::new(&rename.from), Target::new(&rename.to))).collect(),
            ),
            Action::FilterFields(FieldFilter { keep, patterns, include_matching }) => FieldStep::Keep {
                tree: KeepTree::new(keep),
                patterns: patterns.clone(),
                include_matching: *include_matching,
            },
            Action::FilterRecords(RecordFilter { patterns, include_matching }) => FieldStep::Select {
                patterns: patterns
                    .iter()
                    .map(|pattern| (Target::new(&pattern.field), pattern.value.clone()))
                    .collect(),
                include_matching: *include_matching,
            },
            Action::MaskFields(mask) => {
                FieldStep::Mask { targets: targets(&mask.fields), mask: Mask::new(&mask.method) }
            }
            Action::UnwrapEnvelope(envelope) => {
                FieldStep::Unwrap { target: Target::new(&envelope.field), if_missing: envelope.if_missing }
            }
            Action::Jq(_) | Action::Convert(_) => return None,
        })
    }

    /// Applies it. A document that is no object is left as it is, and dropped only by a filter of records without
    /// patterns.
    pub(crate) fn apply(
        &self,
        document: &mut Document<'_>,
        surroundings: &dyn Surroundings,
    ) -> Result<Applied, ConvertFailure> {
        if let FieldStep::Select { patterns, include_matching } = self {
            return Ok(select(document, patterns, *include_matching));
        }
        if !document.is_object() {
            return Ok(Applied::GoesOn);
        }
        match self {
            FieldStep::Set(settings) => {
                for Setting { target, write, value } in settings {
                    let written = document.set(target, *write, |out| value.write(surroundings, out));
                    written.map_err(|blocked| not_writable(target, &blocked))?;
                }
            }
            FieldStep::Delete(targets) => targets.iter().for_each(|target| document.remove(target)),
            FieldStep::Rename(renames) => {
                for (from, to) in renames {
                    document.rename(from, to).map_err(|blocked| not_writable(to, &blocked))?;
                }
            }
            FieldStep::Keep { tree, patterns, include_matching } => document.retain(tree, |name, value| {
                let matches = patterns.iter().any(|pattern| field_matches(pattern, name, value));
                !(patterns.is_empty()) && matches == *include_matching
            }),
            FieldStep::Mask { targets, mask } => hide(document, targets, mask),
            FieldStep::Unwrap { target, if_missing } => {
                if !document.unwrap(target) && *if_missing == IfMissing::Error {
                    return Err(no_envelope(target));
                }
            }
            FieldStep::Select { .. } => {}
        }
        Ok(Applied::GoesOn)
    }
}

impl Setting {
    fn new(field: &NewField, write: Write) -> Setting {
        let value = match &field.value {
            FieldValue::Static(value) => Written::Static(value.to_string().into()),
            FieldValue::Computed(computed) => Written::Computed(*computed),
        };
        Setting { target: Target::new(&field.path), write, value }
    }
}

impl Written {
    fn write(&self, surroundings: &dyn Surroundings, out: &mut Vec<u8>) {
        match self {
            Written::Static(json) => out.extend_from_slice(json.as_bytes()),
            Written::Computed(what) => write_computed(*what, surroundings, out),
        }
    }
}

fn write_of(condition: Condition) -> Write {
    match condition {
        Condition::Always => Write::Always,
        Condition::KeyExists => Write::IfPresent,
        Condition::KeyNotExists => Write::IfAbsent,
    }
}

fn field_matches(pattern: &FieldPattern, name: &[u8], value: &str) -> bool {
    pattern.key.as_ref().is_none_or(|key| key_matches(key, name))
        && pattern.value.as_ref().is_none_or(|pattern| value_matches(pattern, value))
}

fn select(
    document: &mut Document<'_>,
    patterns: &[(Target, ValuePattern)],
    include_matching: bool,
) -> Applied {
    if patterns.is_empty() {
        return Applied::Dropped;
    }
    let matches = patterns.iter().any(|(target, pattern)| {
        document.value_at(target).is_some_and(|value| value_matches(pattern, value))
    });
    if matches == include_matching { Applied::GoesOn } else { Applied::Dropped }
}

fn hide(document: &mut Document<'_>, targets: &[Target], mask: &Mask) {
    for target in targets {
        let mut hidden = Vec::new();
        match document.value_at(target) {
            Some(value) if type_of(value) != ValueType::Null => mask.write(value, &mut hidden),
            Some(_) | None => continue,
        }
        let written = document.set(target, Write::IfPresent, |out| out.extend_from_slice(&hidden));
        written.expect("what is only written where it is finds nothing in its way");
    }
}

#[cold]
fn not_writable(target: &Target, Blocked { depth }: &Blocked) -> ConvertFailure {
    let names: Vec<&str> = target.segments[..*depth].iter().map(|segment| &*segment.name).collect();
    let reason = format!(
        "field \"{target}\" cannot be written: \"{}\" holds no object; send an object there, or limit the transform \
         with when",
        names.join(".")
    );
    ConvertFailure { code: "field_not_writable", reason }
}

#[cold]
fn no_envelope(target: &Target) -> ConvertFailure {
    let reason = format!(
        "field \"{target}\", the envelope to unwrap, is not there; correct `field`, or write if_missing = \"pass\""
    );
    ConvertFailure { code: "envelope_missing", reason }
}

#[cfg(test)]
mod tests;

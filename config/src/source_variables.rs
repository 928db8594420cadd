//! `PICOMQ_CONNECTORS_SOURCE_<KEY>_<FIELD>`: finding the source a variable is for, among all of them. A key's own
//! form may be the beginning of another's, so every key that fits is tried, the longest first.

use crate::definition_shape::DEFINITION;
use crate::document::Document;
use crate::env::Env;
use crate::finding::{Finding, Location, Severity};
use crate::key::SourceKey;
use crate::overrides::{self, LEVEL, Setting, Unfit, in_order};
use crate::tree::Entry;

const PREFIX: &str = "PICOMQ_CONNECTORS_SOURCE_";
const PLUGIN_CONFIG: &str = "PLUGIN_CONFIG";

/// A document whose key could be read, so that variables may be for it.
pub(crate) struct Target<'d> {
    pub(crate) key: SourceKey,
    pub(crate) document: &'d mut Document,
    /// What is wrong with variables for this source alone.
    pub(crate) findings: Vec<Finding>,
}

/// Puts every variable into the source it is for; what fits nothing, or more than one, is said in the answer.
pub(crate) fn apply(targets: &mut [Target<'_>], env: &Env) -> Vec<Finding> {
    let mut said = Vec::new();
    for (variable, text) in in_order(env.with_prefix(PREFIX), PREFIX.len()) {
        said.extend(apply_one(targets, variable, text));
    }
    said
}

fn apply_one(targets: &mut [Target<'_>], variable: &str, text: &str) -> Option<Finding> {
    let rest = &variable[PREFIX.len()..];
    let (mut fits, mut unfit): (Vec<Fit>, Option<Unfit>) = (Vec::new(), None);
    for index in longest_first(targets, rest) {
        let field = &rest[targets[index].key.variable_form().len() + 1..];
        match with_variable(targets[index].document, field, variable, text) {
            Ok(entries) => fits.push(Fit { index, entries }),
            Err(error) => unfit = unfit.or(Some(error)),
        }
    }
    let mut fits = fits.into_iter();
    let Some(first) = fits.next() else {
        return Some(not_used(targets, rest, variable, unfit));
    };
    let others: Vec<usize> = fits.map(|fit| fit.index).collect();
    let form = targets[first.index].key.variable_form();
    let equals = others.iter().copied().filter(|other| targets[*other].key.variable_form() == form);
    let equals: Vec<usize> = std::iter::once(first.index).chain(equals).collect();
    if equals.len() > 1 {
        refuse_equals(targets, &equals, variable);
        return None;
    }
    let said = others.first().map(|other| {
        let (winner, loser) = (&targets[first.index].key, &targets[*other].key);
        let reason =
            format!("the variable fits the sources `{winner}` and `{loser}`; it is used for `{winner}`");
        Finding::new(
            "config.ambiguous_variable",
            Severity::Warning,
            Location::Variable(variable.to_owned()),
            reason,
        )
    });
    if let Some(entries) = targets[first.index].document.entries_mut() {
        *entries = first.entries;
    }
    said
}

/// A source the variable fits, and its members with the variable put in.
struct Fit {
    index: usize,
    entries: Vec<Entry>,
}

fn longest_first(targets: &[Target<'_>], rest: &str) -> Vec<usize> {
    let form = |index: &usize| targets[*index].key.variable_form();
    let begins = |index: &usize| {
        let after = rest.strip_prefix(&form(index));
        after.and_then(|after| after.strip_prefix('_')).is_some_and(|field| !field.is_empty())
    };
    let mut found: Vec<usize> = (0..targets.len()).filter(begins).collect();
    found.sort_by_key(|index| std::cmp::Reverse(form(index).len()));
    found
}

fn with_variable(document: &Document, field: &str, variable: &str, text: &str) -> Result<Vec<Entry>, Unfit> {
    let levels = levels(field);
    if let Some(fixed @ ("KEY" | "TYPE")) = levels.first().copied() {
        let reason = format!("`{}` is not taken from the environment", fixed.to_ascii_lowercase());
        return Err(Unfit { reason, near: None });
    }
    let mut entries = document.entries().to_vec();
    overrides::set(&mut entries, &DEFINITION, Setting { variable, levels: &levels, text })?;
    Ok(entries)
}

/// `PLUGIN_CONFIG_<FIELD>` is one level deeper than it looks; `PLUGIN_CONFIG_FORMAT` is the field of that name.
fn levels(field: &str) -> Vec<&str> {
    let inner = field.strip_prefix(PLUGIN_CONFIG).and_then(|rest| rest.strip_prefix('_'));
    match inner {
        Some(inner) if field != "PLUGIN_CONFIG_FORMAT" => {
            let inner = inner.strip_prefix('_').unwrap_or(inner);
            std::iter::once(PLUGIN_CONFIG).chain(inner.split(LEVEL)).collect()
        }
        Some(_) | None => field.split(LEVEL).collect(),
    }
}

fn not_used(targets: &[Target<'_>], rest: &str, variable: &str, unfit: Option<Unfit>) -> Finding {
    let location = Location::Variable(variable.to_owned());
    let finding = |reason| Finding::new("config.unknown_variable", Severity::Warning, location, reason);
    match unfit {
        Some(unfit) => {
            let finding = finding(format!("the variable is not used: {}", unfit.reason));
            match unfit.near {
                Some(near) => finding.with_hint(format!("did you mean `{near}`?")),
                None => finding,
            }
        }
        None => {
            let finding = finding("the variable is not used: no source has a key it begins with".to_owned());
            let forms: Vec<String> = targets.iter().map(|target| target.key.variable_form()).collect();
            let forms: Vec<&str> = forms.iter().map(String::as_str).collect();
            let given = rest.split('_').next().unwrap_or(rest);
            let near = crate::suggest::closest(given, &forms);
            match near {
                Some(near) => finding.with_hint(format!("did you mean {PREFIX}{near}_…?")),
                None => finding.with_hint(format!("variables are {PREFIX}<KEY>_<FIELD>")),
            }
        }
    }
}

fn refuse_equals(targets: &mut [Target<'_>], equals: &[usize], variable: &str) {
    let keys: Vec<String> = equals.iter().map(|index| format!("`{}`", targets[*index].key)).collect();
    let reason =
        format!("the variable could be for {}: their keys look the same in a variable", keys.join(" and "));
    for index in equals {
        let location = Location::Variable(variable.to_owned());
        let finding = Finding::new("config.ambiguous_variable", Severity::Error, location, reason.clone());
        targets[*index].findings.push(finding.with_hint("rename one of the keys"));
    }
}

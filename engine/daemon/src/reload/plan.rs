//! What a reload changes, said before it is done. Pure: from what runs and what is wanted.

use std::collections::BTreeMap;

use pico_actors::handle::{Item, RunningSource, Step, difference};
use pico_actors::telemetry::ReloadOutcome;
use pico_config::{BadFile, Definition, Finding};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Trigger;
use super::digest::Hasher;
use super::set::Wanted;
use crate::definition_check;
use crate::findings;

/// Everything that a reload changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// Names it: another name means that something else runs, or is wanted, by now.
    #[serde(rename = "plan")]
    pub(crate) hash: String,
    /// In the order in which they are begun.
    pub(crate) changes: Vec<Change>,
    /// Sources that are left alone.
    pub(crate) unchanged: usize,
    /// Errors and warnings of all files, as `check` tells them.
    pub(crate) findings: Vec<Value>,
    /// Sections of config.toml that changed since the start and are not taken up.
    pub(crate) needs_restart: Vec<String>,
}

/// What becomes of one source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Action {
    /// New, or mended, or switched on.
    #[serde(rename = "start")]
    Start,
    /// Changed: closed after its verdicts, opened with the changed definition.
    #[serde(rename = "reload")]
    Reload,
    /// Switched off: drained, listed as stopped.
    #[serde(rename = "switch_off")]
    SwitchOff,
    /// Its file is gone: drained, forgotten; its state stays.
    #[serde(rename = "remove")]
    Remove,
    /// Its file cannot be used: what ran for it runs on, or it is listed in error.
    #[serde(rename = "refuse")]
    Refuse,
}

/// One source that is not left alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Change {
    /// Of the source.
    pub(crate) key: String,
    /// What becomes of it.
    pub(crate) action: Action,
    /// What its file writes differently.
    pub(crate) values: Vec<Changed>,
    /// What a person should know about it.
    pub(crate) notes: Vec<String>,
}

/// One value; secrets are `***`, what is not written is null.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Changed {
    /// In the file's own terms.
    pub(crate) path: String,
    /// What ran.
    pub(crate) from: Option<Value>,
    /// What is wanted.
    pub(crate) to: Option<Value>,
}

/// Holds the wanted set against the running one.
pub(crate) fn plan(
    running: &[RunningSource],
    wanted: &Wanted,
    hasher: &Hasher,
    retries_failed: bool,
) -> Plan {
    let (good, bad) = (wanted.definitions().collect::<Vec<_>>(), wanted.bad().collect::<Vec<_>>());
    let held: Vec<Item<'_>> = running.iter().map(|source| source.item_told(retries_failed)).collect();
    let items: Vec<Item<'_>> = good
        .iter()
        .map(|definition| Item {
            key: definition.key.as_str(),
            definition: Some(definition),
            has_failed: false,
        })
        .chain(bad.iter().map(|bad| Item { key: &bad.key, definition: None, has_failed: false }))
        .collect();
    let steps = difference(&held, &items);
    let changes: Vec<Change> = steps
        .iter()
        .filter_map(|step| change(*step, running, &good, &bad))
        .map(|change| with_rename(change, &wanted.renamed))
        .collect();
    let left = |step: &&Step| matches!(step, Step::Leave { .. });
    Plan {
        hash: hasher.plan(running, wanted),
        unchanged: steps.iter().filter(left).count(),
        changes,
        findings: wanted.findings().map(findings::to_json).collect(),
        needs_restart: wanted.needs_restart.clone(),
    }
}

fn change(step: Step, running: &[RunningSource], good: &[&Definition], bad: &[&BadFile]) -> Option<Change> {
    let of =
        |key: &str, action| Change { key: key.to_owned(), action, values: Vec::new(), notes: Vec::new() };
    let refused = |index: usize| {
        let bad = bad[index - good.len()];
        let reasons = bad.findings.iter().filter(|finding| finding.is_error()).map(Finding::summary);
        Change { notes: reasons.collect(), ..of(&bad.key, Action::Refuse) }
    };
    match step {
        Step::Leave { .. } => None,
        Step::Stop { running: index } => {
            let change = of(&running[index].key, Action::Remove);
            Some(Change { notes: vec!["drained, its state stays".to_owned()], ..change })
        }
        Step::Refuse { wanted, .. } => Some(refused(wanted)),
        Step::Start { wanted } | Step::Replace { wanted, .. } if wanted >= good.len() => {
            Some(refused(wanted))
        }
        Step::Start { wanted } => {
            let definition = good[wanted];
            let action = if definition.enabled { Action::Start } else { Action::SwitchOff };
            Some(of(definition.key.as_str(), action))
        }
        Step::Reload { running: index, wanted } | Step::Replace { running: index, wanted } => {
            let former = running[index].definition.as_deref();
            Some(changed(former, good[wanted]))
        }
    }
}

fn changed(former: Option<&Definition>, definition: &Definition) -> Change {
    let was_on = former.is_some_and(|former| former.enabled && former.key == definition.key);
    let action = match (was_on, definition.enabled) {
        (true, true) => Action::Reload,
        (false, true) => Action::Start,
        (_, false) => Action::SwitchOff,
    };
    let (mut values, mut notes) = (Vec::new(), Vec::new());
    if let Some(former) = former {
        let schema = definition_check::known_schema(definition);
        let is_secret =
            |path: &str| schema.as_ref().is_some_and(|schema| definition_check::is_secret(schema, path));
        let differences = former.written.differences(&definition.written, &is_secret);
        values = differences
            .into_iter()
            .map(|pico_config::Difference { path, from, to }| Changed { path, from, to })
            .collect();
        if values.is_empty() {
            notes.push(match former == definition {
                true => "its last reload failed; it is tried again".to_owned(),
                false => "what a reference or a variable stands for has changed".to_owned(),
            });
        }
    }
    Change { key: definition.key.as_str().to_owned(), action, values, notes }
}

fn with_rename(mut change: Change, renamed: &BTreeMap<String, String>) -> Change {
    if let Some(former) = renamed.get(&change.key) {
        let note = format!(
            "its file named the key `{former}` before: another key is another source, and begins without state"
        );
        change.notes.push(note);
    }
    change
}

impl Plan {
    /// Whether nothing is done.
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Whether a file of it cannot be used.
    pub(crate) fn is_refused(&self) -> bool {
        self.changes.iter().any(|change| change.action == Action::Refuse)
    }

    /// What comes of it once it is carried out.
    pub(super) fn outcome(&self) -> ReloadOutcome {
        if self.is_refused() {
            ReloadOutcome::Refused
        } else if self.is_empty() {
            ReloadOutcome::Unchanged
        } else {
            ReloadOutcome::Applied
        }
    }

    /// What a person reads in the log: every change, and what is wrong.
    pub(super) fn say(&self, trigger: Trigger) {
        if self.is_empty() && trigger == Trigger::Watch {
            return;
        }
        for change in &self.changes {
            let Change { key, action, values, notes } = change;
            let paths: Vec<&str> = values.iter().map(|value| value.path.as_str()).collect();
            let (changed, notes) = (paths.join(", "), notes.join("; "));
            match action {
                Action::Refuse => tracing::error!(source = key, notes, "refused; what ran for it runs on"),
                Action::Start | Action::Reload | Action::SwitchOff | Action::Remove => {
                    tracing::info!(source = key, ?action, changed, notes, "taken up");
                }
            }
        }
        for section in &self.needs_restart {
            tracing::warn!(section, "config.toml changed; a restart is needed to take it up");
        }
        let (changes, unchanged) = (self.changes.len(), self.unchanged);
        tracing::info!(?trigger, changes, unchanged, plan = self.hash, "reloaded");
    }
}

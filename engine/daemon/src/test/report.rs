//! What was found, as text: for people, for programs.

use std::path::Path;

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use super::{File, Outcome};
use crate::findings::{self, shown};
use crate::output::Stream;

/// How a terminal shows a line.
#[derive(Debug, Clone, Copy)]
enum Paint {
    Good,
    Bad,
    Plain,
}

/// Everything for people: a line a test, and under one that failed how it differs.
pub(super) fn text(files: &[File], is_fancy: bool) -> String {
    let mut text = String::new();
    for file in files {
        text.push_str(&format!("{}\n", shown(&file.path).display()));
        for outcome in &file.outcomes {
            text.push_str(&outcome_text(outcome, &file.path, is_fancy));
        }
    }
    format!("{text}{}", summary(files))
}

fn outcome_text(outcome: &Outcome, file: &Path, is_fancy: bool) -> String {
    let Outcome { test, judged } = outcome;
    if judged.has_passed() {
        return format!("  {} {}\n", paint("✓", Paint::Good, is_fancy), test.name);
    }
    let line = test.location.line().map(|line| format!(":{line}")).unwrap_or_default();
    let mark = paint("✗", Paint::Bad, is_fancy);
    let mut text = format!("  {mark} {}  {}{line}\n", test.name, shown(file).display());
    text.push_str("    - expected, + got\n");
    for change in TextDiff::from_lines(judged.expected.as_str(), judged.got.as_str()).iter_all_changes() {
        let (sign, colour) = match change.tag() {
            ChangeTag::Delete => ("-", Paint::Bad),
            ChangeTag::Insert => ("+", Paint::Good),
            ChangeTag::Equal => (" ", Paint::Plain),
        };
        let line = format!("{sign} {}", change.value().trim_end_matches('\n'));
        text.push_str(&format!("    {}\n", paint(line.trim_end(), colour, is_fancy)));
    }
    let note = judged.note.iter().map(|note| format!("    because: {note}\n"));
    text.extend(note);
    text
}

fn paint(text: &str, paint: Paint, is_fancy: bool) -> String {
    let code = match paint {
        Paint::Good => "32",
        Paint::Bad => "31",
        Paint::Plain => return text.to_owned(),
    };
    if is_fancy { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

fn summary(files: &[File]) -> String {
    let all: Vec<&Outcome> = files.iter().flat_map(|file| &file.outcomes).collect();
    if all.is_empty() {
        return "no [[tests]] found\n".to_owned();
    }
    let failed = all.iter().filter(|outcome| !outcome.judged.has_passed()).count();
    let plural = if all.len() == 1 { "" } else { "s" };
    format!("{} test{plural}, {failed} failed\n", all.len())
}

/// Everything for programs.
pub(super) fn document(files: &[File], findings: &[pico_config::Finding]) -> Value {
    let outcomes = || files.iter().flat_map(|file| &file.outcomes);
    let failed = outcomes().filter(|outcome| !outcome.judged.has_passed()).count();
    let file = |file: &File| {
        let tests: Vec<Value> = file.outcomes.iter().map(test_document).collect();
        json!({ "file": file.path, "key": file.key, "tests": tests })
    };
    json!({
        "tests": outcomes().count(),
        "failed": failed,
        "files": files.iter().map(file).collect::<Vec<_>>(),
        "findings": findings.iter().map(findings::to_json).collect::<Vec<_>>(),
    })
}

fn test_document(outcome: &Outcome) -> Value {
    let Outcome { test, judged } = outcome;
    json!({
        "name": test.name,
        "line": test.location.line(),
        "passed": judged.has_passed(),
        "expected": judged.expected,
        "got": judged.got,
        "message": judged.note,
    })
}

/// Whether standard output shows colours.
pub(super) fn is_fancy() -> bool {
    Stream::Stdout.is_fancy()
}

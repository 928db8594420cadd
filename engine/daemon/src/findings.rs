//! Findings of the configuration as text: for a terminal, for a log file, for programs, for GitHub.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use miette::{GraphicalReportHandler, GraphicalTheme};
use pico_config::{Finding, Location, Severity};
use serde_json::{Value, json};

use crate::cli::Format;
use crate::output::Stream;

/// All findings in one text that ends in a line break; empty for none.
pub(crate) fn render(findings: &[Finding], format: Format, stream: Stream) -> String {
    match format {
        Format::Human if stream.is_fancy() => findings.iter().map(fancy).collect(),
        Format::Human => findings.iter().map(plain).collect(),
        Format::Json => format!("{}\n", Value::Array(findings.iter().map(to_json).collect())),
        Format::Github => findings.iter().map(github).collect(),
    }
}

/// With the excerpt of the file, in colour.
fn fancy(finding: &Finding) -> String {
    let mut text = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode()).with_context_lines(1);
    match handler.render_report(&mut text, finding) {
        // A finding without an excerpt does not say where it is.
        Ok(()) if finding.location.line().is_none() => format!("{}\n{text}\n", place(&finding.location)),
        Ok(()) => format!("{text}\n"),
        Err(std::fmt::Error) => plain(finding),
    }
}

/// `file:line:column: error[code]: reason`, as compilers write it, and the hint below.
fn plain(finding: &Finding) -> String {
    let Finding { code, severity, reason, location, toml_path, hint, .. } = finding;
    let mut text = format!("{}: {}[{code}]: {reason}", place(location), word(*severity));
    if !toml_path.is_empty() {
        write!(text, " ({toml_path})").expect("a String takes all text");
    }
    text.push('\n');
    for line in hint.iter().flat_map(|hint| hint.lines()) {
        writeln!(text, "  hint: {line}").expect("a String takes all text");
    }
    text
}

/// The finding as programs get it, from the command line and from the API.
pub(crate) fn to_json(finding: &Finding) -> Value {
    json!({
        "code": finding.code,
        "severity": word(finding.severity),
        "reason": finding.reason,
        "file": finding.location.file(),
        "line": finding.location.line(),
        "column": finding.location.column(),
        "variable": match &finding.location {
            Location::Variable(name) => Some(name),
            Location::Place { .. } | Location::File(_) => None,
        },
        "toml_path": Some(&finding.toml_path).filter(|path| !path.is_empty()),
        "hint": finding.hint,
    })
}

/// A workflow command of GitHub's CI, which shows the finding beside the line.
fn github(finding: &Finding) -> String {
    let command = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "notice",
    };
    let mut properties = Vec::new();
    if let Some(file) = finding.location.file() {
        properties.push(format!("file={}", property(&shown(file).display().to_string())));
    }
    properties.extend(finding.location.line().map(|line| format!("line={line}")));
    properties.extend(finding.location.column().map(|column| format!("col={column}")));
    properties.push(format!("title={}", property(finding.code)));
    let hint = finding.hint.as_ref().map(|hint| format!("\n{hint}")).unwrap_or_default();
    format!("::{command} {}::{}\n", properties.join(","), escaped(&format!("{}{hint}", finding.reason)))
}

fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "info",
    }
}

fn place(location: &Location) -> String {
    match location {
        Location::Place { file, line, column } => format!("{}:{line}:{column}", shown(file).display()),
        Location::File(file) => shown(file).display().to_string(),
        Location::Variable(_) => location.to_string(),
    }
}

/// A path as a person in this folder would type it.
pub(crate) fn shown(path: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    let shorter = path.strip_prefix(&here).ok().filter(|rest| !rest.as_os_str().is_empty()).unwrap_or(path);
    // Without `.` in the middle, which a relative setting leaves.
    shorter.components().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding() -> Finding {
        let location = Location::Place { file: "/etc/pico/orders,1.toml".into(), line: 7, column: 3 };
        Finding::new("config.unknown_field", Severity::Error, location, "unknown field `batch_lenght`\n100%")
            .with_path("topics[0].batch_lenght")
            .with_hint("did you mean `batch_length`?")
    }

    #[test]
    fn a_plain_finding_begins_with_file_line_and_column() {
        assert_eq!(
            render(&[finding()], Format::Human, Stream::Stdout).lines().next().unwrap(),
            "/etc/pico/orders,1.toml:7:3: error[config.unknown_field]: unknown field `batch_lenght`"
        );
    }

    #[test]
    fn a_github_annotation_stays_on_one_line_and_escapes_what_would_end_a_property() {
        assert_eq!(
            render(&[finding()], Format::Github, Stream::Stdout),
            "::error file=/etc/pico/orders%2C1.toml,line=7,col=3,title=config.unknown_field::\
             unknown field `batch_lenght`%0A100%25%0Adid you mean `batch_length`?\n"
        );
    }

    #[test]
    fn json_names_every_part() {
        let text = render(&[finding()], Format::Json, Stream::Stdout);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value[0]["line"], 7);
        assert_eq!(value[0]["toml_path"], "topics[0].batch_lenght");
        assert_eq!(value[0]["variable"], Value::Null);
    }
}

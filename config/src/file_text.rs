//! The text of one file: where its lines begin, and the copy of it in which every secret is masked byte for byte, so
//! that excerpts can be shown and spans stay true.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use miette::NamedSource;

use crate::finding::{Finding, Location, Severity};
use crate::secret::{has_password, is_secret_name};
use crate::tree::{Node, Origin, Raw};

/// A file and its masked copy. Debug shows the file's name only.
#[derive(Clone)]
pub(crate) struct FileText {
    file: PathBuf,
    line_starts: Vec<usize>,
    masked: Arc<NamedSource<String>>,
    text: String,
}

impl FileText {
    /// `tree` tells where the secrets stand; `is_broken` adds what can be found without one.
    pub(crate) fn new(file: &Path, text: &str, tree: &Node, is_broken: bool) -> FileText {
        let mut masked = text.as_bytes().to_vec();
        let mut spans = Vec::new();
        secret_spans(tree, false, &mut spans);
        if is_broken {
            spans.extend(secret_lines(text));
        }
        for span in spans {
            mask(&mut masked, span);
        }
        let masked = String::from_utf8(masked).expect("only ASCII was written, over whole characters");
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let masked = Arc::new(NamedSource::new(file.display().to_string(), masked));
        FileText { file: file.to_owned(), line_starts, masked, text: text.to_owned() }
    }

    /// The file's own path.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// The unmasked text of a span; for comparing only, never for a message.
    pub(crate) fn slice(&self, span: Range<usize>) -> Option<&str> {
        self.text.get(span)
    }

    /// A finding at a span of this file, with its excerpt.
    pub(crate) fn finding(
        &self,
        code: &'static str,
        severity: Severity,
        span: Range<usize>,
        reason: String,
    ) -> Finding {
        let start = span.start.min(self.text.len());
        let end = span.end.clamp(start, self.text.len());
        Finding::new(code, severity, self.location(start), reason)
            .with_excerpt(self.masked.clone(), start..end)
    }

    /// Line and column of a byte.
    pub(crate) fn location(&self, offset: usize) -> Location {
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let line_start = self.line_starts[line - 1];
        let column =
            self.text.get(line_start..offset).map_or(offset - line_start, |before| before.chars().count());
        Location::Place { file: self.file.clone(), line, column: column + 1 }
    }
}

impl fmt::Debug for FileText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FileText").field(&self.file).finish()
    }
}

/// Every string under a secret-sounding name, with a password in it, or for a plugin.
fn secret_spans(node: &Node, hidden: bool, spans: &mut Vec<Range<usize>>) {
    match &node.value {
        Raw::Table(entries) => {
            for entry in entries {
                let hidden = hidden || is_secret_table(&entry.name) || is_secret_name(&entry.name);
                secret_spans(&entry.node, hidden, spans);
            }
        }
        Raw::List(items) => items.iter().for_each(|item| secret_spans(item, hidden, spans)),
        Raw::Text(text) if hidden || has_password(text) => spans.extend(span_of(&node.origin)),
        Raw::Integer(_) | Raw::Float(_) if hidden => spans.extend(span_of(&node.origin)),
        Raw::Text(_) | Raw::Exact(_) | Raw::Untyped(_) | Raw::Integer(_) | Raw::Float(_) => {}
        Raw::Null | Raw::Bool(_) | Raw::Datetime(_) => {}
    }
}

fn is_secret_table(name: &str) -> bool {
    name == "plugin_config" || name == "request_headers"
}

fn span_of(origin: &Origin) -> Option<Range<usize>> {
    match origin {
        Origin::Span(span) => Some(span.clone()),
        Origin::Variable(_) => None,
    }
}

/// In a file that does not parse: what stands after the first `=` of a line that sounds secret, and everything from
/// the `[plugin_config]` header to the next one.
fn secret_lines(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let (mut at, mut in_plugin_config) = (0, false);
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        if trimmed.starts_with('[') && trimmed.contains(']') && !trimmed.contains('=') {
            in_plugin_config = trimmed.trim_start_matches(['[', ' ']).starts_with("plugin_config");
        } else if in_plugin_config || is_secret_name(line) || has_password(line) {
            let from = line.find('=').map_or(0, |equals| equals + 1);
            spans.push(at + from..at + line.len());
        }
        at += line.len();
    }
    spans
}

/// Overwrites whole characters; line ends and spaces stay, so that the layout does.
fn mask(bytes: &mut [u8], span: Range<usize>) {
    if let Some(part) = bytes.get_mut(span) {
        part.iter_mut().filter(|byte| !byte.is_ascii_whitespace()).for_each(|byte| *byte = b'*');
    }
}

#[cfg(test)]
mod tests {
    use toml::de::DeTable;

    use super::*;

    fn shown(text: &str) -> String {
        let (document, errors) = DeTable::parse_recoverable(text);
        let file = FileText::new(Path::new("x.toml"), text, &Node::document(&document), !errors.is_empty());
        assert_eq!(file.masked.inner().len(), text.len());
        file.masked.inner().clone()
    }

    #[test]
    fn excerpts_hold_no_secret() {
        let text = "key = \"a\"\n[kafka.sasl]\npassword = \"hunter2é\"\n[[http.api_keys]]\nkey = \"hunter2\"\n\
                    [plugin_config]\nmode = 'hunter2'\nlist = ['hunter2', 'x']\npin = 1234\n\
                    [state.http]\nurl = 'postgres://u:hunter2@h'\nrequest_headers = { A = \"hunter2\" }\n";
        let shown = shown(text);
        assert!(!shown.contains("hunter2") && !shown.contains("1234"), "{shown}");
        assert!(shown.contains("key = \"a\""));
    }

    #[test]
    fn excerpts_of_a_broken_file_hold_no_secret() {
        let text = "password = \"hunter2\nsasl = { username='u', password='hunter2' }\nname = \"ok\"\n\
                    [plugin_config]\nmode = \"hunter2\nmore = [\n  'hunter2',\n]\n[errors]\nx = \n";
        let shown = shown(text);
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains("name = \"ok\"") && shown.contains("[errors]"));
    }
}

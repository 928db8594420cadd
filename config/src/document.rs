//! One file, read and parsed, nothing of it checked yet.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use toml::de::DeTable;

use crate::file_text::FileText;
use crate::finding::{Finding, Location, Severity};
use crate::tree::{Entry, Node, Raw};

/// Largest configuration file.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// A parsed file. With syntax errors the tree is what could be made of the rest: good for its key, for no more.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) text: FileText,
    pub(crate) root: Node,
    pub(crate) syntax_errors: Vec<Finding>,
}

impl Document {
    /// Err: the file as a whole cannot be read.
    pub(crate) fn read(path: &Path) -> Result<Document, Box<Finding>> {
        Ok(Document::parse(path, &Document::read_text(path)?))
    }

    /// The text of the file, bounded.
    pub(crate) fn read_text(path: &Path) -> Result<String, Box<Finding>> {
        let refused = |reason: String| {
            Box::new(Finding::new(
                "config.unreadable",
                Severity::Error,
                Location::File(path.to_owned()),
                reason,
            ))
        };
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes));
        read.map_err(|error| refused(format!("the file cannot be read: {error}")))?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(refused(format!("the file is larger than {FILE_BYTES_MAX} bytes")));
        }
        String::from_utf8(bytes).map_err(|error| {
            let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()]
                .iter()
                .filter(|b| **b == b'\n')
                .count();
            refused(format!("the file is not UTF-8, from line {line} on"))
        })
    }

    /// Parses a text, with or without a byte-order mark.
    pub(crate) fn parse(path: &Path, text: &str) -> Document {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (table, errors) = DeTable::parse_recoverable(text);
        let root = Node::document(&table);
        let file_text = FileText::new(path, text, &root, !errors.is_empty());
        let syntax_errors = errors.iter().map(|error| {
            let span = error.span().unwrap_or(0..0);
            let reason = format!("the file is not TOML: {}", error.message());
            file_text.finding("config.syntax", Severity::Error, span, reason)
        });
        let syntax_errors = syntax_errors.collect();
        Document { text: file_text, root, syntax_errors }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.text.file().to_owned()
    }

    /// The top-level members.
    pub(crate) fn entries(&self) -> &[Entry] {
        if let Raw::Table(entries) = &self.root.value { entries } else { &[] }
    }

    /// For overrides.
    pub(crate) fn entries_mut(&mut self) -> Option<&mut Vec<Entry>> {
        if let Raw::Table(entries) = &mut self.root.value { Some(entries) } else { None }
    }
}

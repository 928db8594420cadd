//! What a file may say: names, types, bounds, defaults and a line of text for each. Checking, environment overrides,
//! "did you mean" and the JSON Schemas all read these tables, so they cannot disagree.

use std::time::Duration;

/// A table of the file.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) fields: &'static [Field],
    /// Names that users of other tools write here, with the way to say it.
    pub(crate) foreign: &'static [(&'static str, &'static str)],
}

/// One key of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// As it would be written, or in words; empty: none.
    pub(crate) default: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) is_required: bool,
}

/// Tables that name their shape themselves.
#[derive(Debug)]
pub(crate) struct Tagged {
    /// The key that names it.
    pub(crate) tag: &'static str,
    pub(crate) shapes: &'static [(&'static str, &'static Shape)],
    /// Known names that are refused as not yet built, each with what to do.
    pub(crate) later: &'static [(&'static str, &'static str)],
}

/// What may stand after the `=`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Text,
    /// Text that no message may show.
    Secret,
    /// One of these words; `later` are known words that are refused as not yet built, each with what to do.
    Word {
        words: &'static [&'static str],
        later: &'static [(&'static str, &'static str)],
    },
    Bool,
    Integer {
        min: u64,
        max: u64,
    },
    /// Bytes: an integer, or a text such as `64 MiB`.
    Size {
        min: u64,
        max: u64,
    },
    /// A text such as `500ms`; `off` too if `can_be_off`.
    Time {
        min: Duration,
        max: Duration,
        can_be_off: bool,
    },
    List(&'static Kind),
    Table(&'static Shape),
    /// `[[name]]`.
    Tables(&'static Shape),
    TextOrTable(&'static Shape),
    /// A table of names we do not know to scalars, each taken as text.
    Texts {
        names: Names,
    },
    /// Any table, for a plugin.
    Free,
    /// Any value.
    Any,
    /// An integer or a float.
    Number,
    /// `[[name]]` with the shape's name in each table, or one `[name.SHAPE]` each; in the order of the file.
    Tagged(&'static Tagged),
    /// Known, refused as not yet built; what to do instead.
    NotYet(&'static str),
}

/// How the name of an entry of `Texts` is made from a variable's upper-case one if the file has none like it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// librdkafka's: the known name that looks like it, else `_` becomes a dot.
    Properties,
    /// Kafka's topic settings: `_` becomes a dot.
    Dotted,
    /// Lower case.
    Plain,
}

impl Shape {
    pub(crate) fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    pub(crate) fn names(&self) -> Vec<&'static str> {
        let known = self.fields.iter().filter(|field| !matches!(field.kind, Kind::NotYet(_)));
        known.map(|field| field.name).collect()
    }
}

impl Tagged {
    pub(crate) fn shape(&self, name: &str) -> Option<&'static Shape> {
        self.shapes.iter().find(|(known, _)| *known == name).map(|(_, shape)| *shape)
    }

    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.shapes.iter().map(|(name, _)| *name).collect()
    }
}

impl Kind {
    /// Whether any string of the file fits as it is.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self, Kind::Text | Kind::Secret)
    }

    /// Whether a reference stands for a value of this kind, and not for a text.
    pub(crate) fn is_scalar(&self) -> bool {
        match self {
            Kind::Word { .. } | Kind::Bool | Kind::Integer { .. } | Kind::Size { .. } | Kind::Time { .. } => {
                true
            }
            Kind::Number => true,
            Kind::Text
            | Kind::Secret
            | Kind::List(_)
            | Kind::Table(_)
            | Kind::Tables(_)
            | Kind::TextOrTable(_) => false,
            Kind::Texts { .. } | Kind::Free | Kind::Any | Kind::Tagged(_) | Kind::NotYet(_) => false,
        }
    }

    /// For messages: what is needed.
    pub(crate) fn needed(&self) -> String {
        match self {
            Kind::Text | Kind::Secret => "a string".to_owned(),
            Kind::Word { words, .. } => format!("one of {}", quoted(words)),
            Kind::Bool => "true or false".to_owned(),
            Kind::Integer { min, max } => format!("an integer from {min} to {max}"),
            Kind::Size { .. } => "a number of bytes, such as 1000000 or \"64 MiB\"".to_owned(),
            Kind::Time { can_be_off: false, .. } => "a duration, such as \"500ms\"".to_owned(),
            Kind::Time { can_be_off: true, .. } => "a duration, such as \"1m\", or \"off\"".to_owned(),
            Kind::List(_) => "a list".to_owned(),
            Kind::Table(_) | Kind::Texts { .. } | Kind::Free => "a table".to_owned(),
            Kind::Tables(_) => "a list of tables".to_owned(),
            Kind::TextOrTable(_) => "a string or a table".to_owned(),
            Kind::Any => "any value".to_owned(),
            Kind::Number => "a number".to_owned(),
            Kind::Tagged(_) => "a list of tables, or a table of them".to_owned(),
            Kind::NotYet(_) => "nothing".to_owned(),
        }
    }
}

pub(crate) fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

pub(crate) const fn field(name: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Field {
    Field { name, kind, default, doc, is_required: false }
}

pub(crate) const fn required(name: &'static str, kind: Kind, doc: &'static str) -> Field {
    Field { name, kind, default: "", doc, is_required: true }
}

pub(crate) const fn not_yet(name: &'static str, instead: &'static str) -> Field {
    Field { name, kind: Kind::NotYet(instead), default: "", doc: "", is_required: false }
}

/// A duration from 1 ms to a day.
pub(crate) const TIME: Kind = time(Duration::from_millis(1), Duration::from_secs(86_400));

pub(crate) const fn time(min: Duration, max: Duration) -> Kind {
    Kind::Time { min, max, can_be_off: false }
}

pub(crate) const fn words(words: &'static [&'static str]) -> Kind {
    Kind::Word { words, later: &[] }
}

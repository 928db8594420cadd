//! A JSON text as a flat list of its values, for the encoders: one list is used for all records, so that a record
//! costs no allocation but its escaped strings, and every number keeps the digits it came with.
//!
//! serde_json decides what is JSON; this module only notes where the values of a text lie that passed it.

use std::borrow::Cow;

use serde::de::IgnoredAny;

use super::trouble::Trouble;

/// Objects and arrays inside one another, at most; serde_json's own bound.
pub(crate) const DEPTH_MAX: usize = 128;

/// Digits of a number that a message shows.
const SHOWN_MAX: usize = 60;

/// The values of the text noted last, in the order of the text; an object's keys are values of their own.
#[derive(Debug, Default)]
pub(crate) struct Tape {
    values: Vec<Noted>,
}

/// One value: its first byte tells its kind.
#[derive(Clone, Copy, Debug)]
struct Noted {
    start: u32,
    /// One past its last byte; of objects and arrays not needed.
    end: u32,
    /// Position of the value after it and all it contains.
    next: u32,
}

/// One value of a text.
#[derive(Clone, Copy)]
pub(crate) struct Json<'a> {
    tape: &'a Tape,
    text: &'a str,
    at: usize,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    Number,
    String,
    Array,
    Object,
}

/// The values inside an array, or keys and values of an object in turn.
pub(crate) struct Inside<'a> {
    of: Json<'a>,
    end: usize,
}

impl Tape {
    /// Notes the values of one JSON text.
    ///
    /// # Errors
    /// When it is no JSON, too deep, or longer than 4 GiB.
    pub(crate) fn note<'a>(&'a mut self, payload: &'a [u8]) -> Result<Json<'a>, Trouble> {
        let text = std::str::from_utf8(payload).map_err(Trouble::not_json)?;
        serde_json::from_str::<IgnoredAny>(text).map_err(Trouble::not_json)?;
        if u32::try_from(text.len()).is_err() {
            return Err(Trouble::new("the payload is longer than 4 GiB"));
        }
        self.values.clear();
        Notes { bytes: text.as_bytes(), at: 0, values: &mut self.values }.value(0)?;
        Ok(Json { tape: self, text, at: 0 })
    }
}

/// The walk over a text that is known to be JSON.
struct Notes<'a> {
    bytes: &'a [u8],
    at: usize,
    values: &'a mut Vec<Noted>,
}

impl Notes<'_> {
    fn value(&mut self, depth: usize) -> Result<(), Trouble> {
        self.blanks();
        let index = self.values.len();
        let start = self.at as u32;
        self.values.push(Noted { start, end: start, next: 0 });
        match self.bytes[self.at] {
            b'{' | b'[' if depth == DEPTH_MAX => {
                return Err(Trouble::new(format!("objects and arrays nest deeper than {DEPTH_MAX}")));
            }
            b'{' | b'[' => self.inside(depth)?,
            b'"' => self.string(),
            _ => self.scalar(),
        }
        self.values[index].end = self.at as u32;
        self.values[index].next = self.values.len() as u32;
        Ok(())
    }

    /// From the opening bracket past the closing one; `,` and `:` are only passed over.
    fn inside(&mut self, depth: usize) -> Result<(), Trouble> {
        self.at += 1;
        loop {
            self.blanks();
            match self.bytes[self.at] {
                b'}' | b']' => break,
                b',' | b':' => self.at += 1,
                _ => self.value(depth + 1)?,
            }
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) {
        self.at += 1;
        loop {
            match self.bytes[self.at] {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
    }

    fn scalar(&mut self) {
        let rest = &self.bytes[self.at..];
        let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t');
        self.at += rest.iter().position(is_end).unwrap_or(rest.len());
    }

    fn blanks(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }
}

impl<'a> Json<'a> {
    fn noted(self) -> Noted {
        self.tape.values[self.at]
    }

    /// Where it stands in the tape, for [`at`](Json::at).
    pub(crate) fn position(self) -> usize {
        self.at
    }

    /// Another value of the same text.
    pub(crate) fn at(self, position: usize) -> Json<'a> {
        Json { at: position, ..self }
    }

    /// The value as it is written; of an object or array all of it.
    pub(crate) fn written(self) -> &'a str {
        let noted = self.noted();
        &self.text[noted.start as usize..noted.end as usize]
    }

    pub(crate) fn kind(self) -> Kind {
        match self.text.as_bytes()[self.noted().start as usize] {
            b'n' => Kind::Null,
            b't' => Kind::Bool(true),
            b'f' => Kind::Bool(false),
            b'"' => Kind::String,
            b'[' => Kind::Array,
            b'{' => Kind::Object,
            _ => Kind::Number,
        }
    }

    /// The text of a string or key; None for half a surrogate pair, which is JSON but no text.
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        let written = self.written();
        let inner = &written[1..written.len() - 1];
        if inner.contains('\\') {
            serde_json::from_str::<String>(written).ok().map(Cow::Owned)
        } else {
            Some(Cow::Borrowed(inner))
        }
    }

    /// The elements of an array.
    pub(crate) fn elements(self) -> Inside<'a> {
        let end = self.noted().next as usize;
        Inside { of: Json { at: self.at + 1, ..self }, end }
    }

    /// Keys and values of an object, in the order of the text.
    pub(crate) fn members(self) -> impl Iterator<Item = (Json<'a>, Json<'a>)> {
        let mut inside = self.elements();
        std::iter::from_fn(move || Some((inside.next()?, inside.next()?)))
    }

    /// For messages: what stands there, cut short.
    pub(crate) fn shown(self) -> String {
        match self.kind() {
            Kind::Array => "an array".to_owned(),
            Kind::Object => "an object".to_owned(),
            Kind::String => match self.text() {
                Some(text) => crate::shorten::shorten(text.as_bytes()),
                None => "a string with half a surrogate pair".to_owned(),
            },
            Kind::Null | Kind::Bool(_) | Kind::Number => self.written().chars().take(SHOWN_MAX).collect(),
        }
    }
}

impl<'a> Iterator for Inside<'a> {
    type Item = Json<'a>;

    fn next(&mut self) -> Option<Json<'a>> {
        let value = self.of;
        if value.at == self.end {
            return None;
        }
        self.of.at = value.noted().next as usize;
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(value: Json<'_>) -> String {
        match value.kind() {
            Kind::Object => {
                let members =
                    value.members().map(|(key, value)| format!("{}={}", key.text().unwrap(), shape(value)));
                format!("{{{}}}", members.collect::<Vec<_>>().join(" "))
            }
            Kind::Array => format!("[{}]", value.elements().map(shape).collect::<Vec<_>>().join(" ")),
            Kind::String => format!("<{}>", value.text().unwrap()),
            Kind::Null | Kind::Bool(_) | Kind::Number => value.written().to_owned(),
        }
    }

    #[test]
    fn every_value_is_found_as_it_is_written() {
        let mut tape = Tape::default();
        let text =
            br#" { "a" : [1, -2.50e+3,{} , []] ,"\u0062":"x\"}y", "c":{"d":null,"e":true}, "f":false } "#;
        let expected = r#"{a=[1 -2.50e+3 {} []] b=<x"}y> c={d=null e=true} f=false}"#;
        assert_eq!(shape(tape.note(text).unwrap()), expected);
        assert_eq!(shape(tape.note(b"18446744073709551616").unwrap()), "18446744073709551616");
    }

    #[test]
    fn what_is_no_json_or_too_deep_is_refused() {
        let mut tape = Tape::default();
        for bad in [&b"{"[..], b"", b"{}x", b"\xff", b"nul", b"\"\\"] {
            assert!(tape.note(bad).is_err(), "{bad:?}");
        }
        assert!(tape.note("[".repeat(DEPTH_MAX).as_bytes()).is_err());
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(tape.note(nested(DEPTH_MAX).as_bytes()).is_ok());
        assert!(tape.note(nested(DEPTH_MAX + 1).as_bytes()).is_err());
        assert!(tape.note(nested(100_000).as_bytes()).is_err());
    }

    #[test]
    fn half_a_surrogate_pair_has_no_text() {
        let mut tape = Tape::default();
        assert_eq!(tape.note(br#""\ud800""#).unwrap().text(), None);
    }
}

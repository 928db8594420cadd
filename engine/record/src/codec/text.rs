//! Writes JSON text, for the decoders. Bounded: a few hostile bytes must not become gigabytes.

use std::fmt::Display;
use std::io::Write;

use super::trouble::Trouble;

/// Bytes of JSON that one payload may become. Far above `limits.record_bytes`, which refuses the rest.
pub(crate) const DECODED_BYTES_MAX: usize = 16 << 20;

/// Objects and arrays inside one another, and values inside themselves, at most.
pub(crate) const DEPTH_MAX: usize = super::tape::DEPTH_MAX;

/// The end of a buffer, on which one JSON text is written.
#[derive(Debug)]
pub(crate) struct JsonText<'a> {
    out: &'a mut Vec<u8>,
    bytes_max: usize,
}

impl<'a> JsonText<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>) -> JsonText<'a> {
        let bytes_max = out.len() + DECODED_BYTES_MAX;
        JsonText { out, bytes_max }
    }

    /// Brackets, commas, `null`, `true`: what needs no escape.
    pub(crate) fn raw(&mut self, text: &str) -> Result<(), Trouble> {
        self.room(text.len())?;
        self.out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    /// A comma before every element but the first.
    pub(crate) fn comma(&mut self, is_first: bool) -> Result<(), Trouble> {
        if is_first { Ok(()) } else { self.raw(",") }
    }

    pub(crate) fn string(&mut self, text: &str) -> Result<(), Trouble> {
        self.room(text.len())?;
        serde_json::to_writer(&mut *self.out, text).expect("memory takes every write");
        Ok(())
    }

    /// A key and its colon.
    pub(crate) fn key(&mut self, name: &str) -> Result<(), Trouble> {
        self.string(name)?;
        self.raw(":")
    }

    /// What prints as a JSON number.
    pub(crate) fn number(&mut self, number: impl Display) -> Result<(), Trouble> {
        self.room(1)?;
        write!(self.out, "{number}").expect("memory takes every write");
        Ok(())
    }

    /// `"NaN"`, `"Infinity"` and `"-Infinity"` for what JSON has no number for.
    pub(crate) fn double(&mut self, number: f64) -> Result<(), Trouble> {
        match beyond_json(number) {
            Some(name) => self.string(name),
            None => {
                self.room(1)?;
                serde_json::to_writer(&mut *self.out, &number).expect("memory takes every write");
                Ok(())
            }
        }
    }

    /// With the fewest digits that are still this very float.
    pub(crate) fn float(&mut self, number: f32) -> Result<(), Trouble> {
        match beyond_json(f64::from(number)) {
            Some(name) => self.string(name),
            None => {
                self.room(1)?;
                serde_json::to_writer(&mut *self.out, &number).expect("memory takes every write");
                Ok(())
            }
        }
    }

    fn room(&self, bytes: usize) -> Result<(), Trouble> {
        if self.out.len() + bytes > self.bytes_max {
            return Err(Trouble::new(format!("it becomes more than {DECODED_BYTES_MAX} bytes of JSON")));
        }
        Ok(())
    }
}

fn beyond_json(number: f64) -> Option<&'static str> {
    if number.is_nan() {
        Some("NaN")
    } else if number.is_infinite() {
        Some(if number > 0.0 { "Infinity" } else { "-Infinity" })
    } else {
        None
    }
}

/// A float that a JSON string stands for; the other way round than [`JsonText::double`].
pub(crate) fn float_of_name(name: &str) -> Option<f64> {
    match name {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

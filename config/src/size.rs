//! Sizes as people write them: `1000000`, `64 MiB`.

use crate::parse_error::ParseError;

const UNITS: [(&str, u64); 8] = [
    ("", 1),
    ("b", 1),
    ("kb", 1000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
];

/// A whole number and a unit, blanks between them allowed.
pub(crate) fn parse_size(text: &str) -> Result<u64, ParseError> {
    let hint = "a size is a whole number with a unit: \"1000000\", \"512 KiB\", \"64 MiB\", \"1 GiB\"";
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let unit = text[digits..].trim().to_ascii_lowercase();
    let factor = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
    let number = text[..digits].parse::<u64>().ok();
    match (number, factor) {
        (Some(number), Some(factor)) => number
            .checked_mul(factor)
            .ok_or_else(|| ParseError::new(0, format!("`{text}` is larger than any size").to_owned())),
        (Some(_), None) => Err(ParseError::new(digits, format!("`{unit}` is not a unit of size")).hint(hint)),
        (None, _) => Err(ParseError::new(0, format!("`{text}` is not a size")).hint(hint)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_and_without_a_unit() {
        assert_eq!(parse_size("64 MiB").unwrap(), 67_108_864);
        assert_eq!(parse_size("1000000").unwrap(), 1_000_000);
        assert_eq!(parse_size("2kb").unwrap(), 2000);
        for bad in ["", "MiB", "-1", "1.5 MiB", "64 parsecs", "99999999999999 GiB", "99999999999999999999"] {
            assert!(parse_size(bad).is_err(), "{bad:?} was accepted");
        }
    }
}

//! A position in the server's write-ahead log.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A byte position in the write-ahead log, written as PostgreSQL writes it: `16/B374D848`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Lsn(pub u64);

/// A text that is no position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no position in the write-ahead log; right is for example 16/B374D848")]
pub struct NoLsn(String);

impl fmt::Display for Lsn {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:X}/{:X}", self.0 >> 32, self.0 & 0xFFFF_FFFF)
    }
}

impl FromStr for Lsn {
    type Err = NoLsn;

    fn from_str(text: &str) -> Result<Lsn, NoLsn> {
        let no = || NoLsn(text.to_owned());
        let (high, low) = text.split_once('/').ok_or_else(no)?;
        let half = |part: &str| {
            let is_hex = (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_hexdigit());
            if is_hex { u32::from_str_radix(part, 16).ok() } else { None }
        };
        match (half(high), half(low)) {
            (Some(high), Some(low)) => Ok(Lsn(u64::from(high) << 32 | u64::from(low))),
            _ => Err(no()),
        }
    }
}

impl From<Lsn> for String {
    fn from(lsn: Lsn) -> String {
        lsn.to_string()
    }
}

impl TryFrom<String> for Lsn {
    type Error = NoLsn;

    fn try_from(text: String) -> Result<Lsn, NoLsn> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_text_is_the_servers() {
        assert_eq!(Lsn(0x16_B374_D848).to_string(), "16/B374D848");
        assert_eq!(Lsn(0).to_string(), "0/0");
        assert_eq!("ffffffff/ffffffff".parse(), Ok(Lsn(u64::MAX)));
    }

    #[test]
    fn what_is_no_position_is_refused() {
        for text in ["", "/", "0", "0/", "/0", "0/0/0", "0/+1", "0/100000000", "g/0", " 0/0"] {
            assert!(text.parse::<Lsn>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_position_comes_back(number: u64) {
            prop_assert_eq!(Lsn(number).to_string().parse(), Ok(Lsn(number)));
        }
    }
}

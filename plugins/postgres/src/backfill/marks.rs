//! The marks in the log, and what a snapshot of the server can see. Pure.

use std::fmt;

/// The prefix of our own logical messages; those of a heartbeat have it too.
pub(crate) const PREFIX: &str = "picomq";

/// One mark. `run` tells those of one runner from all that lie in the log already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// From here on transactions are noted.
    Begin,
    /// A chunk is read from here on.
    Low(u64),
    /// It was read.
    High(u64),
}

impl fmt::Display for Mark {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mark::Begin => out.write_str("begin"),
            Mark::Low(number) => write!(out, "low {number}"),
            Mark::High(number) => write!(out, "high {number}"),
        }
    }
}

impl Mark {
    /// The text of a mark of `run`.
    pub(super) fn text(self, run: &str) -> String {
        format!("backfill {run} {self}")
    }

    /// A mark of `run`, and of no other.
    pub(super) fn parse(content: &[u8], run: &str) -> Option<Mark> {
        let text = std::str::from_utf8(content).ok()?;
        let mut words = text.strip_prefix("backfill ")?.strip_prefix(run)?.strip_prefix(' ')?.split(' ');
        let (kind, number) = (words.next()?, words.next());
        match (kind, number) {
            ("begin", None) => Some(Mark::Begin),
            ("low", Some(number)) => number.parse().ok().map(Mark::Low),
            ("high", Some(number)) => number.parse().ok().map(Mark::High),
            _ => None,
        }
    }
}

/// `pg_current_snapshot()`: which transactions it sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sight {
    min: u64,
    max: u64,
    /// Under way, between the two.
    open: Vec<u64>,
}

impl Sight {
    /// Reads `min:max:open,open`.
    pub(super) fn parse(text: &str) -> Option<Sight> {
        let mut fields = text.split(':');
        let (min, max) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        let open = fields.next()?.split(',').filter(|number| !number.is_empty());
        Some(Sight { min, max, open: open.map(str::parse).collect::<Result<_, _>>().ok()? })
    }

    /// Whether every transaction before that one has ended.
    pub(super) fn is_past(&self, newest: u64) -> bool {
        self.min >= newest
    }

    /// Whether the effects of a transaction that is in the log are seen. The stream tells the low half of its number; no two that matter
    /// lie two thousand millions apart.
    pub(super) fn sees(&self, xid: u32) -> bool {
        let behind = xid.wrapping_sub(self.max as u32).cast_signed();
        if behind >= 0 {
            return false;
        }
        let whole = self.max.wrapping_add_signed(i64::from(behind));
        whole < self.min || !self.open.contains(&whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_of_one_run_alone() {
        for mark in [Mark::Begin, Mark::Low(7), Mark::High(u64::MAX)] {
            assert_eq!(Mark::parse(mark.text("a-1").as_bytes(), "a-1"), Some(mark));
            assert_eq!(Mark::parse(mark.text("a-12").as_bytes(), "a-1"), None);
        }
        for other in
            ["heartbeat", "backfill a-1", "backfill a-1 low", "backfill a-1 low x", "backfill a-1 up 1"]
        {
            assert_eq!(Mark::parse(other.as_bytes(), "a-1"), None, "{other}");
        }
    }

    #[test]
    fn a_transaction_in_the_log_may_not_be_seen_yet() {
        let sight = Sight::parse("100:110:100,105").unwrap();
        for (xid, is_seen) in
            [(99, true), (100, false), (101, true), (105, false), (109, true), (110, false), (111, false)]
        {
            assert_eq!(sight.sees(xid), is_seen, "{xid}");
        }
        assert!(sight.is_past(100) && !sight.is_past(101));
        assert_eq!(Sight::parse("5:5:").unwrap().open, [0_u64; 0]);
        assert_eq!(Sight::parse("5:5"), None);
    }

    #[test]
    fn numbers_that_went_around_are_told_apart() {
        let epoch = 3_u64 << 32;
        let sight = Sight::parse(&format!("{}:{}:{}", epoch - 2, epoch + 2, epoch - 1)).unwrap();
        assert!(
            sight.sees(u32::MAX - 5)
                && !sight.sees(u32::MAX)
                && sight.sees(0)
                && sight.sees(1)
                && !sight.sees(2)
        );
    }
}

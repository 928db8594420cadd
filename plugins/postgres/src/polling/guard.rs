//! The guard for rows that commit late. Pure.
//!
//! A lower value may become visible after a higher one: its transaction drew it earlier and committed later. So a value
//! counts as readable only when every transaction that had written and was open when that value was first the highest has ended.

/// What one look at a table brings, all of one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// The highest value visible.
    pub(crate) highest: Option<String>,
    /// The oldest transaction that is open and has written.
    pub(crate) oldest_open: u64,
    /// The next transaction to begin to write.
    pub(crate) next: u64,
}

/// Of one table. It lives as long as the instance: a new one only waits anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Guard {
    /// Rows up to here may be read.
    readable: Option<String>,
    /// Rows up to here may be read once all transactions before the number have ended.
    waiting: Option<(String, u64)>,
}

impl Guard {
    /// Takes a look and answers up to which value rows may be read now, if up to any.
    pub(crate) fn look(&mut self, look: &Look) -> Option<&str> {
        if let Some((_, next)) = &self.waiting
            && *next <= look.oldest_open
        {
            self.readable = self.waiting.take().map(|(value, _)| value);
        }
        if look.oldest_open >= look.next {
            // Nobody who has written is open, so nothing can come late.
            self.readable = look.highest.clone().or(self.readable.take());
            self.waiting = None;
        } else if self.waiting.is_none() && look.highest.is_some() && look.highest != self.readable {
            self.waiting = look.highest.clone().map(|value| (value, look.next));
        }
        self.readable.as_deref()
    }

    /// Whether rows are there that may not be read yet.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn look(highest: u64, oldest_open: u64, next: u64) -> Look {
        Look { highest: Some(highest.to_string()), oldest_open, next }
    }

    #[test]
    fn a_quiet_table_is_read_at_once() {
        assert_eq!(Guard::default().look(&look(7, 100, 100)), Some("7"));
    }

    #[test]
    fn a_row_waits_for_a_transaction_that_was_open_when_it_came_b034() {
        let mut guard = Guard::default();
        assert_eq!(guard.look(&look(2, 100, 102)), None);
        assert_eq!(guard.look(&look(5, 100, 110)), None);
        assert!(guard.is_waiting());
        // The old one ended; a newer one does not hold up what came before it.
        assert_eq!(guard.look(&look(5, 105, 111)), Some("2"));
        assert_eq!(guard.look(&look(5, 111, 111)), Some("5"));
        assert!(!guard.is_waiting());
    }

    /// What happens to a table: transactions draw ascending values, write them, and end in any order.
    #[derive(Clone, Debug)]
    enum Step {
        Begin,
        End(usize),
        Poll,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![Just(Step::Begin), (0..8_usize).prop_map(Step::End), Just(Step::Poll)]
    }

    proptest! {
        /// Whatever order they end in, a reader that moves past what it read never leaves a row behind.
        #[test]
        fn no_row_is_passed_over(steps in prop::collection::vec(step(), 1..60)) {
            let (mut next, mut open, mut visible) = (1_u64, Vec::new(), BTreeSet::new());
            let (mut guard, mut cursor, mut read) = (Guard::default(), 0, BTreeSet::new());
            for step in steps.into_iter().chain([Step::Poll, Step::Poll]) {
                match step {
                    // The value is the number of its transaction.
                    Step::Begin => {
                        open.push(next);
                        next += 1;
                    }
                    Step::End(which) if !open.is_empty() => {
                        visible.insert(open.remove(which % open.len()));
                    }
                    Step::End(_) => {}
                    Step::Poll => {
                        let highest = visible.last().map(u64::to_string);
                        let oldest_open = open.iter().min().copied().unwrap_or(next);
                        let bound = guard.look(&Look { highest, oldest_open, next });
                        if let Some(bound) = bound.map(|text| text.parse::<u64>().unwrap()).filter(|bound| *bound > cursor) {
                            read.extend(visible.range(cursor + 1..=bound));
                            cursor = bound;
                        }
                    }
                }
                for row in &visible {
                    prop_assert!(*row > cursor || read.contains(row), "row {} was passed over at {}", row, cursor);
                }
            }
            if open.is_empty() {
                prop_assert_eq!(read, visible);
            }
        }
    }
}

//! A set of numbers that is nearly always one run from zero.

use std::collections::BTreeMap;
use std::ops::Range;

/// Disjoint, non-touching half-open runs, by their start.
#[derive(Debug, Default)]
pub(super) struct Intervals {
    runs: BTreeMap<u64, u64>,
}

impl Intervals {
    /// Adds one number; false when it was there.
    pub(super) fn insert(&mut self, number: u64) -> bool {
        let before = self.runs.range(..=number).next_back().map(|(&start, &end)| (start, end));
        if before.is_some_and(|(_, end)| number < end) {
            return false;
        }
        let start = before.filter(|(_, end)| *end == number).map_or(number, |(start, _)| start);
        let end = self.runs.remove(&(number + 1)).unwrap_or(number + 1);
        self.runs.insert(start, end);
        true
    }

    /// The smallest number that is not in the set.
    pub(super) fn first_missing(&self) -> u64 {
        self.runs.get(&0).copied().unwrap_or(0)
    }

    /// One past the largest number; 0 when empty.
    pub(super) fn end(&self) -> u64 {
        self.runs.last_key_value().map_or(0, |(_, &end)| end)
    }

    /// The runs that are missing below `end`.
    pub(super) fn holes(&self, end: u64) -> Vec<Range<u64>> {
        let mut holes = Vec::new();
        let mut next = 0;
        for (&start, &past) in &self.runs {
            if start >= end {
                break;
            }
            if start > next {
                holes.push(next..start);
            }
            next = past;
        }
        if next < end {
            holes.push(next..end);
        }
        holes
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn it_agrees_with_a_plain_set_in_any_order() {
        for seed in 0..50 {
            let mut random = fastrand::Rng::with_seed(seed);
            let (mut runs, mut plain) = (Intervals::default(), BTreeSet::new());
            for _ in 0..random.usize(0..60) {
                let number = random.u64(0..40);
                assert_eq!(runs.insert(number), plain.insert(number), "seed {seed}");
            }
            let missing: Vec<u64> = (0..45).filter(|number| !plain.contains(number)).collect();
            let holes: Vec<u64> = runs.holes(45).into_iter().flatten().collect();
            assert_eq!(holes, missing, "seed {seed}");
            assert_eq!(runs.first_missing(), missing[0], "seed {seed}");
            assert_eq!(runs.end(), plain.last().map_or(0, |last| last + 1), "seed {seed}");
        }
    }
}

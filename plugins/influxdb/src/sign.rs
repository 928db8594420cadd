//! What looks that find nothing owe to people. After a failed poll the engine takes the source for ill until a poll returns
//! something, and where nothing new is written that may be never. And a misspelt name finds nothing for ever.

/// What was told so far.
#[derive(Debug)]
pub(crate) struct Sign {
    has_failed: bool,
    /// Whether any point was ever read.
    has_read: bool,
    has_warned: bool,
}

impl Sign {
    /// For a source that begins, or goes on after points were read.
    pub(crate) fn new(has_read: bool) -> Sign {
        Sign { has_failed: false, has_read, has_warned: false }
    }

    /// A poll fails.
    pub(crate) fn failed(&mut self) {
        self.has_failed = true;
    }

    /// After a look that found nothing more: whether an empty batch is owed, because it is the first after a failure.
    pub(crate) fn is_owed_after_a_look(&mut self) -> bool {
        std::mem::take(&mut self.has_failed)
    }

    /// After a look that found nothing more: whether to warn, because it is the first and nothing was ever found.
    pub(crate) fn warns_after_a_look(&mut self) -> bool {
        !self.has_read && !std::mem::replace(&mut self.has_warned, true)
    }

    /// Points are delivered: whether there is a warning to take back.
    pub(crate) fn reads(&mut self) -> bool {
        self.has_failed = false;
        !std::mem::replace(&mut self.has_read, true) && self.has_warned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_warns_once_and_takes_it_back_once() {
        let mut sign = Sign::new(false);
        assert!(sign.warns_after_a_look() && !sign.warns_after_a_look());
        assert!(sign.reads() && !sign.reads() && !sign.warns_after_a_look());
        assert!(!Sign::new(true).warns_after_a_look() && !Sign::new(false).reads());
    }

    #[test]
    fn the_first_look_after_a_failure_says_that_all_is_well() {
        let mut sign = Sign::new(true);
        assert!(!sign.is_owed_after_a_look());
        sign.failed();
        assert!(sign.is_owed_after_a_look() && !sign.is_owed_after_a_look());
        sign.failed();
        sign.reads();
        assert!(!sign.is_owed_after_a_look(), "points said so");
    }
}

//! A sign of life: after a failed poll the engine takes the source for ill until a poll returns something, and where nothing
//! new is written that may be never.

/// Whether an empty batch is owed.
#[derive(Debug, Default)]
pub(crate) struct Sign {
    has_failed: bool,
}

impl Sign {
    /// A poll fails.
    pub(crate) fn failed(&mut self) {
        self.has_failed = true;
    }

    /// After a look that found nothing more: whether this is the first one after a failure.
    pub(crate) fn is_owed_after_a_look(&mut self) -> bool {
        std::mem::take(&mut self.has_failed)
    }
}

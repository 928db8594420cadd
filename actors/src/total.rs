//! Bytes in flight of all sources together, so that a thousand small windows cannot fill the memory.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;

/// The count and who waits for it to fall.
pub(crate) struct TotalBytes {
    bytes: AtomicU64,
    limit: u64,
    over: watch::Sender<bool>,
}

impl TotalBytes {
    pub(crate) fn new(limit: u64) -> TotalBytes {
        TotalBytes { bytes: AtomicU64::new(0), limit, over: watch::Sender::new(false) }
    }

    /// A source's own bytes went from `before` to `after`.
    pub(crate) fn replace(&self, before: u64, after: u64) {
        let total = if after >= before {
            self.bytes.fetch_add(after - before, Ordering::AcqRel) + (after - before)
        } else {
            self.bytes.fetch_sub(before - after, Ordering::AcqRel) - (before - after)
        };
        self.tell(total);
    }

    fn tell(&self, total: u64) {
        let limit = self.limit;
        self.over.send_if_modified(|over| {
            let is_over = total >= limit;
            std::mem::replace(over, is_over) != is_over
        });
    }

    /// Tells each change of "over the limit"; the value that counts in the end is always told.
    pub(crate) fn watch(&self) -> watch::Receiver<bool> {
        self.over.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_told_when_crossed_either_way() {
        let total = TotalBytes::new(100);
        let watch = total.watch();
        total.replace(0, 60);
        assert!(!*watch.borrow());
        total.replace(0, 40);
        assert!(*watch.borrow());
        total.replace(60, 0);
        assert!(!*watch.borrow());
    }
}

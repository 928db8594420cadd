//! What a sender waits with.

use std::sync::Arc;

use super::outcome::{Outcome, Told};
use super::state::Shared;

/// What a gate answers to an offer.
pub(crate) enum Offer {
    /// It will be told.
    Wait(Ticket),
    /// This delivery is safe already.
    Safe,
    /// There is no room.
    Full,
    /// Nothing can be delivered now.
    Unavailable,
}

/// Waits for one outcome. Dropped before, it withdraws its post.
pub(crate) struct Ticket {
    told: Told,
    first: Option<(Arc<Shared>, u64)>,
}

impl Ticket {
    /// Of the request that brought the post.
    pub(super) fn of_first(told: Told, shared: Arc<Shared>, number: u64) -> Ticket {
        Ticket { told, first: Some((shared, number)) }
    }

    /// Of one that does not decide about it.
    pub(super) fn of_repeat(told: Told) -> Ticket {
        Ticket { told, first: None }
    }

    /// The outcome; `Lost` when the source goes away before there is one.
    pub(crate) async fn outcome(mut self) -> Outcome {
        let outcome = *self.told.wait().await;
        self.first = None;
        outcome
    }

    /// The outcome, if it is known.
    #[cfg(test)]
    pub(super) fn told(&self) -> Option<Outcome> {
        self.told.get().copied()
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some((shared, number)) = self.first.take() {
            shared.withdraw(number);
        }
    }
}

//! What a sender waits with.

use std::sync::Arc;

use tokio::sync::watch;

use super::Gate;

/// What became of a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is in its topics, or in the spool.
    Safe,
    /// It is not.
    Lost,
}

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
    pub(super) outcome: watch::Receiver<Option<Outcome>>,
    first: Option<(Arc<Gate>, u64)>,
}

impl Ticket {
    /// Of the request that brought the post.
    pub(super) fn of_first(
        outcome: watch::Receiver<Option<Outcome>>,
        gate: Arc<Gate>,
        number: u64,
    ) -> Ticket {
        Ticket { outcome, first: Some((gate, number)) }
    }

    /// Of one that does not decide about it.
    pub(super) fn of_repeat(outcome: watch::Receiver<Option<Outcome>>) -> Ticket {
        Ticket { outcome, first: None }
    }

    /// The outcome; `Lost` when the source goes away before there is one.
    pub(crate) async fn outcome(mut self) -> Outcome {
        let told = self.outcome.wait_for(Option::is_some).await.ok().and_then(|told| *told);
        self.first = None;
        told.unwrap_or(Outcome::Lost)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some((gate, number)) = self.first.take() {
            gate.withdraw(number);
        }
    }
}

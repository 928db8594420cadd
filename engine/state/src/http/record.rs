//! What is known of one resource, and what may be asked of it next. No clock, no network.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::meaning::{Again, Saved, Tag};

/// What the resource looked like when it was last seen, or is after the last save that landed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Known {
    /// Nothing is there.
    Absent,
    /// This is there: a save rests on it.
    Tagged(Tag),
    /// Something is there, without a strong tag: whoever saves last wins.
    Untagged,
}

/// What a save demands of the resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Condition {
    /// `If-None-Match: *`.
    Absent,
    /// `If-Match`.
    Is(Tag),
    /// Nothing: the server has no strong tags.
    None,
}

/// One logical save: the same request as often as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    /// `Idempotency-Key`.
    pub(super) key: String,
    pub(super) condition: Condition,
    pub(super) state: Arc<[u8]>,
}

/// A save that did not land, as far as is known.
#[derive(Debug, Clone)]
struct Pending {
    request: Request,
    /// An attempt left and its outcome is not known.
    is_in_doubt: bool,
    /// An attempt is under way; still set when its caller went away.
    is_under_way: bool,
}

/// Why a save does not begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotBegun {
    /// A later opening has the source, or it was given back.
    NotOwner,
    /// The number does not rise above this one.
    NotRising(u64),
    /// Somebody else wrote; this opening saves nothing any more.
    Fenced,
    /// The outcome of the former save is not known.
    Owing,
    /// There is no failed save to try again.
    NothingFailed,
}

/// What follows from an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    /// It landed.
    Done,
    /// The same request once more, if attempts are left.
    Again(Again),
    /// Not now, and not by itself.
    GiveUp(String),
    /// Somebody else wrote: nothing is saved any more.
    Fenced,
}

/// What this process knows of one source's resource.
#[derive(Debug)]
pub(super) struct Record {
    opening: u64,
    is_open: bool,
    newest: u64,
    known: Known,
    pending: Option<Pending>,
    is_fenced: bool,
    /// Read by the lease without waiting for a request under way.
    is_unfenced: Arc<AtomicBool>,
}

impl Record {
    pub(super) fn new() -> Record {
        Record {
            opening: 0,
            is_open: false,
            newest: 0,
            known: Known::Absent,
            pending: None,
            is_fenced: false,
            is_unfenced: Arc::default(),
        }
    }

    /// Takes the source for a new opening; the former one saves nothing any more (I6).
    pub(super) fn claim(&mut self) -> u64 {
        self.opening += 1;
        self.is_open = false;
        self.newest = 0;
        self.is_fenced = false;
        self.opening
    }

    /// Whether an opening of this process has the source.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether something of a former opening may still land. Nothing is loaded before it is settled.
    pub(super) fn owes(&self) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.is_in_doubt || pending.is_under_way)
    }

    /// The resource was looked at and nothing is owed: saves rest on what was seen.
    pub(super) fn loaded(&mut self, known: Known) {
        self.pending = None;
        self.is_open = true;
        self.know(known);
    }

    fn know(&mut self, known: Known) {
        self.is_unfenced.store(known == Known::Untagged, Ordering::Relaxed);
        self.known = known;
    }

    /// Whether saves rest on nothing, as of the newest answer.
    pub(super) fn unfenced(&self) -> Arc<AtomicBool> {
        self.is_unfenced.clone()
    }

    /// Gives the source back, unless a later opening has it.
    pub(super) fn give_back(&mut self, opening: u64) {
        if self.opening == opening {
            self.is_open = false;
        }
    }

    /// Begins a save; `key` is fresh.
    pub(super) fn begin(
        &mut self,
        opening: u64,
        number: u64,
        state: Arc<[u8]>,
        key: String,
    ) -> Result<(), NotBegun> {
        self.check(opening)?;
        if self.owes() {
            return Err(NotBegun::Owing);
        }
        if number <= self.newest {
            return Err(NotBegun::NotRising(self.newest));
        }
        self.newest = number;
        let condition = match &self.known {
            Known::Absent => Condition::Absent,
            Known::Tagged(tag) => Condition::Is(tag.clone()),
            Known::Untagged => Condition::None,
        };
        let request = Request { key, condition, state };
        self.pending = Some(Pending { request, is_in_doubt: false, is_under_way: false });
        Ok(())
    }

    /// Whether the failed save may be tried again by this opening.
    pub(super) fn check_again(&self, opening: u64) -> Result<(), NotBegun> {
        self.check(opening)?;
        if self.pending.is_some() { Ok(()) } else { Err(NotBegun::NothingFailed) }
    }

    fn check(&self, opening: u64) -> Result<(), NotBegun> {
        if self.opening != opening || !self.is_open {
            Err(NotBegun::NotOwner)
        } else if self.is_fenced {
            Err(NotBegun::Fenced)
        } else {
            Ok(())
        }
    }

    /// The request to send now; from here on it may land, whatever becomes of the caller.
    pub(super) fn send(&mut self) -> Option<Request> {
        let pending = self.pending.as_mut()?;
        // An attempt whose caller went away was never accounted for.
        pending.is_in_doubt |= pending.is_under_way;
        pending.is_under_way = true;
        Some(pending.request.clone())
    }

    /// Takes what the attempt came to.
    pub(super) fn took(&mut self, meaning: Saved) -> Next {
        let Some(pending) = self.pending.as_mut() else { return Next::Done };
        pending.is_under_way = false;
        match meaning {
            Saved::Landed(tag) => {
                self.pending = None;
                self.know(tag.map_or(Known::Untagged, Known::Tagged));
                Next::Done
            }
            Saved::Refused => {
                self.pending = None;
                self.is_fenced = true;
                Next::Fenced
            }
            Saved::Unknown(again) => {
                pending.is_in_doubt = true;
                Next::Again(again)
            }
            Saved::NotTaken(again) => Next::Again(again),
            Saved::Rejected(reason) => {
                // A server that had applied an earlier attempt would have answered as the first time.
                pending.is_in_doubt = false;
                Next::GiveUp(reason)
            }
        }
    }
}

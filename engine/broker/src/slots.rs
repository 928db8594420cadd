//! The batches in librdkafka's hands: how many reports of each are outstanding, and who is told.
//!
//! A report carries a number, never a pointer: slot, generation and position of the record. Counting one down is a
//! compare-and-swap, without a lock and without memory of the record. A report of a batch that was given up finds
//! another generation and changes nothing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pico_actors::fault;
use pico_actors::ports::{DeliveryEvent, DeliveryEvents, DeliveryFailure};

/// Batches of one source at a time, at most: the largest window, and as much again for what is being given up.
const SLOTS_MAX: usize = 128;
/// At least, whatever the window.
const SLOTS_MIN: usize = 8;

const SLOT_BITS: u32 = 8;
const GENERATION_BITS: u32 = 24;
const GENERATIONS: u64 = 1 << GENERATION_BITS;

// The number that a report carries is as wide as a pointer.
const _: () = assert!(usize::BITS >= SLOT_BITS + GENERATION_BITS + u32::BITS);

/// One batch in its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket {
    slot: u8,
    generation: u32,
}

impl Ticket {
    /// The number that the report of the batch's `record`-th outgoing record will carry.
    pub(crate) fn opaque(self, record: u32) -> usize {
        let ticket = u64::from(self.slot) | u64::from(self.generation) << SLOT_BITS;
        (ticket | u64::from(record) << (SLOT_BITS + GENERATION_BITS)) as usize
    }

    /// Takes such a number apart.
    pub(crate) fn of_opaque(opaque: usize) -> (Ticket, u32) {
        let number = opaque as u64;
        let generation = (number >> SLOT_BITS) % GENERATIONS;
        let ticket = Ticket { slot: number as u8, generation: generation as u32 };
        (ticket, (number >> (SLOT_BITS + GENERATION_BITS)) as u32)
    }
}

/// All slots of a source.
pub(crate) struct Slots {
    slots: Vec<Slot>,
    desk: Mutex<Desk>,
}

struct Slot {
    /// Generation in the upper half, outstanding reports in the lower. While the batch is being enqueued one more
    /// is counted, so that it cannot be settled before its last record went in.
    state: AtomicU64,
    open: Mutex<Option<Open>>,
}

struct Open {
    generation: u32,
    epoch: u64,
    events: DeliveryEvents,
    has_failed: bool,
}

#[derive(Default)]
struct Desk {
    free: Vec<u8>,
    active: usize,
    /// The newest epoch in which a batch failed.
    failed_epoch: Option<u64>,
}

impl Slots {
    /// For a source with so many batches in flight.
    pub(crate) fn new(in_flight: usize) -> Slots {
        let slot = || Slot { state: AtomicU64::new(0), open: Mutex::new(None) };
        let count = in_flight.saturating_mul(2).clamp(SLOTS_MIN, SLOTS_MAX);
        let free = (0..count as u8).rev().collect();
        Slots {
            slots: (0..count).map(|_| slot()).collect(),
            desk: Mutex::new(Desk { free, ..Desk::default() }),
        }
    }

    /// Takes a batch on, with one report outstanding that [`Slots::release`] takes back; gives `events` back when
    /// there are too many batches.
    pub(crate) fn open(&self, epoch: u64, events: DeliveryEvents) -> Result<Ticket, DeliveryEvents> {
        let slot = {
            let mut desk = self.desk();
            let Some(slot) = desk.free.pop() else { return Err(events) };
            desk.active += 1;
            slot
        };
        let place = self.slot(slot);
        let generation = (place.state.load(Ordering::Acquire) >> u32::BITS).wrapping_add(1) % GENERATIONS;
        let ticket = Ticket { slot, generation: generation as u32 };
        *lock(&place.open) = Some(Open { generation: ticket.generation, epoch, events, has_failed: false });
        place.state.store(generation << u32::BITS | 1, Ordering::Release);
        Ok(ticket)
    }

    /// Whether a batch of the same epoch, or a later one, failed: nothing is sent behind it.
    pub(crate) fn is_behind_a_failure(&self, ticket: Ticket) -> bool {
        let open = lock(&self.slot(ticket.slot).open);
        let epoch = open.as_ref().filter(|open| open.generation == ticket.generation).map(|open| open.epoch);
        epoch.is_none_or(|epoch| self.desk().failed_epoch.is_some_and(|failed| epoch <= failed))
    }

    /// Batches taken on and not settled.
    pub(crate) fn active(&self) -> usize {
        self.desk().active
    }

    /// Whether the batch was neither settled nor given up.
    pub(crate) fn is_open(&self, ticket: Ticket) -> bool {
        let open = lock(&self.slot(ticket.slot).open);
        open.as_ref().is_some_and(|open| open.generation == ticket.generation)
    }

    /// Whether every report that was to come for the batch so far has come. While its records are being put in, one
    /// count is held for that.
    pub(crate) fn is_quiet(&self, ticket: Ticket) -> bool {
        let present = self.slot(ticket.slot).state.load(Ordering::Acquire);
        present >> u32::BITS != u64::from(ticket.generation) || present as u32 <= 1
    }

    /// Whether the batch failed, or is given up.
    pub(crate) fn has_failed(&self, ticket: Ticket) -> bool {
        let open = lock(&self.slot(ticket.slot).open);
        open.as_ref().is_none_or(|open| open.generation != ticket.generation || open.has_failed)
    }

    /// `count` more reports of an open batch will come.
    pub(crate) fn expect(&self, ticket: Ticket, count: u32) {
        // Batches are given up by the thread that calls this, so the slot is still the ticket's.
        self.slot(ticket.slot).state.fetch_add(u64::from(count), Ordering::AcqRel);
    }

    /// `count` reports came, or will not come. The last one settles the batch.
    pub(crate) fn release(&self, ticket: Ticket, count: u32) {
        let state = &self.slot(ticket.slot).state;
        let mut present = state.load(Ordering::Acquire);
        loop {
            let is_given_up = present >> u32::BITS != u64::from(ticket.generation);
            if is_given_up || (present as u32) < count {
                return;
            }
            let left = present - u64::from(count);
            match state.compare_exchange_weak(present, left, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) if left as u32 == 0 => return self.settle(ticket),
                Ok(_) => return,
                Err(other) => present = other,
            }
        }
    }

    /// The batch failed: told once, before it is settled.
    pub(crate) fn fail(&self, ticket: Ticket, failure: DeliveryFailure) {
        let mut open = lock(&self.slot(ticket.slot).open);
        if let Some(open) = open.as_mut().filter(|open| open.generation == ticket.generation) {
            self.tell_failed(open, failure);
        }
    }

    /// Every batch that is taken on failed: its client is lost.
    pub(crate) fn fail_all(&self, failure: &DeliveryFailure) {
        for slot in &self.slots {
            if let Some(open) = lock(&slot.open).as_mut() {
                self.tell_failed(open, failure.clone());
            }
        }
    }

    /// Every record of the batch is in its client.
    pub(crate) fn enqueued(&self, ticket: Ticket) {
        let open = lock(&self.slot(ticket.slot).open);
        if let Some(open) = open.as_ref().filter(|open| open.generation == ticket.generation) {
            (open.events)(DeliveryEvent::Enqueued);
        }
    }

    /// Gives every batch up: failed, settled, and reports that still come change nothing.
    pub(crate) fn abandon(&self, failure: &DeliveryFailure) {
        for (at, slot) in self.slots.iter().enumerate() {
            let Some(mut open) = lock(&slot.open).take() else { continue };
            // The count becomes zero under the same generation, which nothing can be taken from.
            slot.state.store(u64::from(open.generation) << u32::BITS, Ordering::Release);
            self.tell_failed(&mut open, failure.clone());
            self.close(at as u8, open);
        }
    }

    fn settle(&self, ticket: Ticket) {
        let open = {
            let mut open = lock(&self.slot(ticket.slot).open);
            open.take_if(|open| open.generation == ticket.generation)
        };
        if let Some(open) = open {
            if !open.has_failed {
                fault::point("all_reports");
            }
            self.close(ticket.slot, open);
        }
    }

    fn tell_failed(&self, open: &mut Open, failure: DeliveryFailure) {
        if !open.has_failed {
            open.has_failed = true;
            let mut desk = self.desk();
            desk.failed_epoch = desk.failed_epoch.max(Some(open.epoch));
            drop(desk);
            (open.events)(DeliveryEvent::Failed(failure));
        }
    }

    /// Frees the slot, then tells: whoever hears it may deliver at once.
    fn close(&self, slot: u8, open: Open) {
        {
            let mut desk = self.desk();
            desk.free.push(slot);
            desk.active -= 1;
        }
        (open.events)(DeliveryEvent::Settled);
    }

    fn slot(&self, slot: u8) -> &Slot {
        &self.slots[usize::from(slot)]
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        lock(&self.desk)
    }
}

/// A closure of the caller may have panicked under a lock; what it guards is whole all the same.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;

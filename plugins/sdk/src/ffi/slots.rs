//! Values under numbers that cannot go stale: a number holds the slot and how often that slot was used before, so
//! one that was taken already, or never given, finds nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A table of values, shared by all threads of one side of the border.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    inner: Mutex<Inner<T>>,
}

#[derive(Debug)]
struct Inner<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Slots<T> {
    pub(crate) const fn new() -> Slots<T> {
        Slots { inner: Mutex::new(Inner { slots: Vec::new(), free: Vec::new() }) }
    }

    /// Puts `value` in. The number is never 0 and not given again while the process lives.
    pub(crate) fn insert(&self, value: T) -> u64 {
        let mut inner = self.lock();
        let slot = match inner.free.pop() {
            Some(slot) => slot,
            None => {
                inner.slots.push(Slot { generation: 1, value: None });
                u32::try_from(inner.slots.len() - 1).expect("four thousand million calls are not outstanding")
            }
        };
        let entry = &mut inner.slots[slot as usize];
        entry.value = Some(value);
        number(slot, entry.generation)
    }

    /// Takes the value out. `None` when somebody did so before.
    pub(crate) fn take(&self, number: u64) -> Option<T> {
        let (slot, generation) = parts(number);
        let mut inner = self.lock();
        let entry = inner.slots.get_mut(slot as usize).filter(|entry| entry.generation == generation)?;
        let value = entry.value.take()?;
        entry.generation = entry.generation.wrapping_add(1).max(1);
        inner.free.push(slot);
        Some(value)
    }

    /// A copy of the value, which stays.
    pub(crate) fn get(&self, number: u64) -> Option<T>
    where
        T: Clone,
    {
        let (slot, generation) = parts(number);
        let inner = self.lock();
        let entry = inner.slots.get(slot as usize).filter(|entry| entry.generation == generation)?;
        entry.value.clone()
    }

    /// No code of others runs under the lock, so a poisoned one is whole.
    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn number(slot: u32, generation: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(slot)
}

fn parts(number: u64) -> (u32, u32) {
    let slot = number & u64::from(u32::MAX);
    (slot as u32, (number >> 32) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_finds_its_value_once() {
        let slots = Slots::new();
        let number = slots.insert("a");
        assert_eq!(slots.take(number), Some("a"));
        assert_eq!(slots.take(number), None);
    }

    #[test]
    fn an_old_number_does_not_find_the_next_value_of_its_slot() {
        let slots = Slots::new();
        let old = slots.insert("a");
        slots.take(old);
        let new = slots.insert("b");
        assert_ne!(old, new);
        assert_eq!(slots.take(old), None);
        assert_eq!(slots.get(old), None);
        assert_eq!(slots.get(new), Some("b"));
    }

    #[test]
    fn a_number_never_given_finds_nothing() {
        let slots: Slots<&str> = Slots::new();
        assert_eq!(slots.take(0), None);
        assert_eq!(slots.take(u64::MAX), None);
    }
}

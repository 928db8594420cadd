//! Making the running set equal to a new one: the difference, carried out slot by slot.

use ractor::{ActorProcessingErr, ActorRef};

use super::slot::Slot;
use super::{RootMsg, RootState};
use crate::command::CommandError;
use crate::difference::{Item, Step, difference};
use crate::source::Entry;

impl RootState {
    pub(super) fn is_serving(&self) -> Result<(), CommandError> {
        if self.ending.is_some() { Err(CommandError::Ending) } else { Ok(()) }
    }

    pub(super) async fn apply(
        &mut self,
        myself: &ActorRef<RootMsg>,
        entries: Vec<Entry>,
        retries_failed: bool,
    ) -> Result<(), ActorProcessingErr> {
        if self.ending.is_some() {
            return Ok(());
        }
        let order: Vec<String> = entries.iter().map(|entry| entry.key().to_ascii_lowercase()).collect();
        let mut wanted: Vec<Option<Entry>> = entries.into_iter().map(Some).collect();
        // I4: what is on its way out ends first, and then becomes what is wanted under its key.
        for slot in self.slots.iter_mut().filter(|slot| slot.is_leaving()) {
            let same =
                wanted.iter_mut().find(|entry| entry.as_ref().is_some_and(|it| slot.has_key(it.key())));
            slot.become_later(same.and_then(Option::take));
        }
        wanted.retain(Option::is_some);
        let staying: Vec<usize> =
            (0..self.slots.len()).filter(|index| !self.slots[*index].is_leaving()).collect();
        for step in self.steps(&staying, &wanted, retries_failed) {
            self.carry_out(myself, step, &staying, &mut wanted).await?;
        }
        self.slots.retain(|slot| !slot.is_gone());
        let place = |key: &str| order.iter().position(|wanted| wanted.eq_ignore_ascii_case(key));
        self.slots.sort_by_cached_key(|slot| place(slot.key()).unwrap_or(usize::MAX));
        Ok(())
    }

    fn steps(&self, staying: &[usize], wanted: &[Option<Entry>], retries_failed: bool) -> Vec<Step> {
        let running: Vec<Item<'_>> =
            staying.iter().map(|index| self.slots[*index].item(retries_failed)).collect();
        let wanted: Vec<Item<'_>> = wanted.iter().flatten().map(Entry::item).collect();
        difference(&running, &wanted)
    }

    async fn carry_out(
        &mut self,
        myself: &ActorRef<RootMsg>,
        step: Step,
        staying: &[usize],
        wanted: &mut [Option<Entry>],
    ) -> Result<(), ActorProcessingErr> {
        let grace = self.settings.grace;
        let mut take = |index: usize| wanted.get_mut(index).and_then(Option::take);
        match step {
            Step::Start { wanted } => {
                if let Some(entry) = take(wanted) {
                    self.add(myself, entry).await?;
                }
            }
            Step::Stop { running } => self.slots[staying[running]].leave(None, grace),
            Step::Replace { running, wanted } => {
                let index = staying[running];
                self.slots[index].leave(take(wanted), grace);
                if !self.slots[index].is_alive() {
                    self.left(myself, index).await?;
                }
            }
            Step::Reload { running, wanted } => {
                if let Some(Entry::Good(spec)) = take(wanted) {
                    self.slots[staying[running]].reload(spec);
                }
            }
            Step::Refuse { running, wanted } => {
                if let Some(Entry::Bad(bad)) = take(wanted) {
                    self.slots[staying[running]].refuse(bad.cause);
                }
            }
            Step::Leave { running, .. } => self.slots[staying[running]].accept(),
        }
        Ok(())
    }

    /// A slot that was leaving holds nothing any more: it becomes what is wanted in its place, or is forgotten.
    pub(super) async fn left(
        &mut self,
        myself: &ActorRef<RootMsg>,
        index: usize,
    ) -> Result<(), ActorProcessingErr> {
        match self.slots[index].take_successor() {
            Some(entry) => {
                let id = self.slots[index].id();
                self.slots[index] = Slot::new(id, entry);
                self.spawn(myself, index).await
            }
            None => {
                let slot = self.slots.remove(index);
                tracing::info!(source = slot.key(), "the source was removed; its state stays");
                Ok(())
            }
        }
    }
}

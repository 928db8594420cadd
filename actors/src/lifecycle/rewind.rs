//! From the first failure to the one Nack that covers it.

use picomq_connector_sdk::Verdict;

use super::{
    Blame, Effect, Failure, FlightKind, Latch, Lifecycle, Phase, Probe, QuietSet, Refusal, Stage, Then, Wait,
};
use crate::cause::Cause;

impl Lifecycle {
    pub(super) fn failed(&mut self, failure: Failure, cause: Cause, effects: &mut Vec<Effect>) {
        if !self.is_line_up() {
            return;
        }
        self.nack_needs_human = failure.needs_human || (self.is_failing() && self.nack_needs_human);
        if !self.is_behind_failed(failure.number) {
            self.blame(Blame::Nack, cause);
        }
        self.rewind_from(failure.number, true, effects);
        if failure.is_client_lost {
            // Also in a rewind that began for another reason: else the reports never end and nobody is quiet.
            effects.push(Effect::DropClient { epoch: self.epoch });
        }
    }

    pub(super) fn save_failed(&mut self, number: u64, cause: Cause, effects: &mut Vec<Effect>) {
        if !self.is_line_up() || self.probe != Probe::None {
            return;
        }
        self.blame_save(cause);
        self.latched = Some(Latch::Save);
        self.probe = Probe::Owed { token: None };
        self.rewind_from(number, true, effects);
    }

    /// The store refused a save, or a probe, because somebody else wrote since: nothing is saved any more.
    pub(super) fn refused(&mut self, number: u64, cause: Cause, effects: &mut Vec<Effect>) {
        let is_probe = self.probe == Probe::Running;
        if !is_probe && !self.is_line_up() {
            return;
        }
        self.blame_save(cause);
        if self.refusal == Refusal::MayBeOurs {
            self.refusal = Refusal::Reopen;
        } else {
            self.latched = Some(Latch::Fenced);
        }
        if is_probe {
            // Its batch was nacked before the probe began.
            self.leave_store(effects);
        } else {
            self.rewind_from(number, true, effects);
        }
    }

    fn blame_save(&mut self, cause: Cause) {
        self.nack_needs_human = false;
        self.blame(Blame::Nack, cause);
    }

    /// Whether batches may be on the line.
    fn is_line_up(&self) -> bool {
        matches!(self.phase, Phase::Active | Phase::Rewinding { .. })
    }

    fn is_failing(&self) -> bool {
        matches!(self.phase, Phase::Rewinding { is_counted: true, .. })
    }

    /// Whether an older batch failed before, or this one did: people need the first cause, not what followed from it.
    fn is_behind_failed(&self, number: u64) -> bool {
        matches!(self.phase, Phase::Rewinding { is_counted: true, from, .. } if number >= from)
    }

    /// Enters a rewind, or lowers the one under way; a later failure changes nothing.
    pub(super) fn rewind_from(&mut self, number: u64, is_counted: bool, effects: &mut Vec<Effect>) {
        let was_counted = match self.phase {
            Phase::Rewinding { from, is_counted: was, .. } if number >= from => {
                self.phase_counts(was || is_counted);
                return;
            }
            Phase::Rewinding { is_counted: was, .. } => was,
            _ => false,
        };
        if let Some(polling) = self.polling {
            // Its number may be on its way down the line: never used twice.
            self.next_number = self.next_number.max(polling.saturating_add(1));
        }
        self.hold = None;
        let is_counted = is_counted || was_counted;
        self.phase = Phase::Rewinding { from: number, quiet: QuietSet::default(), is_counted };
        effects.push(Effect::Quiesce { epoch: self.epoch, from: number });
    }

    fn phase_counts(&mut self, counts: bool) {
        if let Phase::Rewinding { is_counted, .. } = &mut self.phase {
            *is_counted = counts;
        }
    }

    pub(super) fn quiet(&mut self, stage: Stage, of: u64) {
        if let Phase::Rewinding { from, quiet, .. } = &mut self.phase
            && *from == of
        {
            quiet.add(stage);
            if stage == Stage::Poller {
                self.polling = None;
            }
        }
    }

    /// Whether the oldest batch in flight is the failed one. An empty batch bears the number of the batch after
    /// it, and is its predecessor.
    pub(super) fn is_head_failed(&self) -> bool {
        let Phase::Rewinding { from, .. } = self.phase else { return false };
        self.window.front().is_some_and(|head| head.number >= from && head.kind != FlightKind::Empty)
    }

    /// I5: one Nack for the failed batch and all after it, when predecessors, poll, reports and save are settled.
    pub(super) fn tell_nack(&mut self, effects: &mut Vec<Effect>) {
        let Phase::Rewinding { quiet, .. } = self.phase else { return };
        let are_predecessors_resolved = self.window.is_empty() || self.is_head_failed();
        if quiet.is_complete() && are_predecessors_resolved && self.resolving.is_none() {
            self.resolving = Some(Verdict::Nack);
            effects.push(Effect::Resolve { verdict: Verdict::Nack });
        }
    }

    pub(super) fn nacked(&mut self, effects: &mut Vec<Effect>) {
        let Phase::Rewinding { is_counted, .. } = self.phase else { return };
        let head = self.window.front().map(|flight| flight.kind);
        // The save of a watermark failed: refusing it again would be for ever.
        if matches!(head, Some(FlightKind::Records | FlightKind::Saved { had_records: true, .. })) {
            self.refuse_watermarks = true;
        }
        self.window.clear();
        self.next_epoch();
        self.phase = Phase::Active;
        if is_counted {
            self.nacks = self.nacks.saturating_add(1);
            effects.push(Effect::Nacked);
        }
        if self.is_refused() {
            self.leave_store(effects);
        } else if self.pending.is_some() {
            // It acts now: a pause wins over the limit, and the next nack halts.
        } else if self.is_limit_reached() {
            self.latch_limit();
            self.close_orderly(Then::Halted, effects);
        } else if self.probe == Probe::None {
            self.hold = Some(self.wait(Wait::Nack(self.nacks.max(1)), effects));
        }
        if let Probe::Owed { token: None } = self.probe {
            let token = Some(self.wait(Wait::Probe, effects));
            self.probe = Probe::Owed { token };
        }
    }

    /// Whether the store refused this opening.
    pub(super) fn is_refused(&self) -> bool {
        self.latched == Some(Latch::Fenced) || self.refusal == Refusal::Reopen
    }

    /// Closes what may save no more: to open from the store again, or for good.
    fn leave_store(&mut self, effects: &mut Vec<Effect>) {
        let then = self.then_after_refusal();
        self.close_orderly(then, effects);
    }

    pub(super) fn is_limit_reached(&self) -> bool {
        self.nacks >= self.limits.nack_limit
    }

    pub(super) fn latch_limit(&mut self) {
        self.latched = Some(if self.nack_needs_human { Latch::LimitForHuman } else { Latch::Limit });
    }

    /// The store answered the probe. Once it landed the store is ahead of the plugin, so the source is opened
    /// from the store before it polls again.
    pub(super) fn probed(&mut self, has_landed: bool, effects: &mut Vec<Effect>) {
        if self.probe != Probe::Running {
            return;
        }
        if has_landed {
            self.probe = Probe::None;
            self.close_orderly(Then::Open, effects);
        } else {
            let token = self.wait(Wait::Probe, effects);
            self.probe = Probe::Owed { token: Some(token) };
        }
    }

    pub(super) fn next_epoch(&mut self) {
        self.epoch += 1;
        self.epoch_first = self.next_number;
    }
}

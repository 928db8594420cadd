//! The window: batches that were polled and not yet resolved, oldest first.

use picomq_connector_sdk::Verdict;

use super::{Blame, Effect, Flight, FlightKind, Latch, Lifecycle, Phase, PolledKind, Probe, Refusal, Wait};
use crate::cause::Cause;

impl Lifecycle {
    /// Starts a poll when nothing forbids it. Only here does a poll begin.
    pub(super) fn start_poll(&mut self, effects: &mut Vec<Effect>) {
        let is_free = self.phase == Phase::Active
            && self.polling.is_none()
            && self.hold.is_none()
            && self.probe == Probe::None
            && self.pending.is_none()
            && self.window.len() < self.limits.window
            && self.bytes_in_flight() < self.limits.in_flight_bytes
            && !self.is_total_over;
        if !is_free {
            return;
        }
        let number = self.next_number;
        self.polling = Some(number);
        effects.push(Effect::Poll { batch: self.batch(number), refuse_watermark: self.refuse_watermarks });
    }

    /// Bytes of the batches in flight.
    pub fn bytes_in_flight(&self) -> u64 {
        self.window.iter().map(|flight| flight.bytes).sum()
    }

    pub(super) fn polled(&mut self, number: u64, kind: PolledKind, bytes: u64, effects: &mut Vec<Effect>) {
        if self.polling != Some(number) {
            return;
        }
        self.polling = None;
        let is_sent = matches!(kind, PolledKind::Records | PolledKind::Watermark);
        if is_sent {
            self.next_number = number.saturating_add(1);
        }
        self.poll_failures = 0;
        self.has_poll_error = false;
        self.forgive(Blame::Poll);
        if self.phase != Phase::Active {
            // In Rewinding the batch comes after the failed one: the coming Nack covers it.
            return;
        }
        self.is_idle = kind == PolledKind::Empty;
        let kind = match kind {
            PolledKind::Empty => FlightKind::Empty,
            PolledKind::Refused => FlightKind::Refused,
            PolledKind::Watermark => FlightKind::Watermark,
            PolledKind::Records => FlightKind::Records,
        };
        self.window.push_back(Flight { number, kind, bytes });
        if kind == FlightKind::Refused {
            self.rewind_from(number, false, effects);
        }
    }

    pub(super) fn poll_failed(&mut self, is_permanent: bool, cause: Cause, effects: &mut Vec<Effect>) {
        if self.polling.take().is_none() {
            return;
        }
        self.blame(Blame::Poll, cause);
        self.poll_failures = self.poll_failures.saturating_add(1);
        // Ends with a good poll only, not with an error of the other kind.
        self.has_poll_error |= is_permanent;
        if self.phase == Phase::Active {
            let wait = if is_permanent { Wait::PermanentPoll } else { Wait::Poll(self.poll_failures) };
            self.hold = Some(self.wait(wait, effects));
        }
    }

    pub(super) fn saved(&mut self, number: u64, delivered: u32) {
        for flight in &mut self.window {
            let had_records = match flight.kind {
                FlightKind::Records => true,
                FlightKind::Watermark => false,
                FlightKind::Empty | FlightKind::Refused | FlightKind::Saved { .. } => continue,
            };
            if flight.number == number {
                flight.kind = FlightKind::Saved { had_records, delivered };
                self.refusal = Refusal::Settled;
            }
        }
    }

    /// I3: verdicts are told in order, one at a time; I2: an Ack only for what is saved.
    pub(super) fn tell_ack(&mut self, effects: &mut Vec<Effect>) {
        let is_open = matches!(self.phase, Phase::Active | Phase::Rewinding { .. });
        let is_ready = self.window.front().is_some_and(|flight| flight.kind.is_ready());
        if is_open && is_ready && self.resolving.is_none() && !self.is_head_failed() {
            self.resolving = Some(Verdict::Ack);
            effects.push(Effect::Resolve { verdict: Verdict::Ack });
        }
    }

    pub(super) fn resolved(&mut self, effects: &mut Vec<Effect>) {
        match self.resolving.take() {
            Some(Verdict::Ack) => self.acked(effects),
            Some(Verdict::Nack) => self.nacked(effects),
            None => {}
        }
    }

    fn acked(&mut self, effects: &mut Vec<Effect>) {
        let Some(flight) = self.window.pop_front() else { return };
        let FlightKind::Saved { had_records, delivered } = flight.kind else {
            effects.push(Effect::Acked { delivered: 0 });
            return;
        };
        if had_records {
            self.refuse_watermarks = false;
        }
        if delivered > 0 {
            self.delivered();
        }
        effects.push(Effect::Acked { delivered });
    }

    /// A delivered batch was taken by the plugin. In a rewind it is a predecessor: what the failure behind it left
    /// stands.
    fn delivered(&mut self) {
        self.nacks = 0;
        self.reopen_tries = 0;
        if self.probe == Probe::None && self.latched != Some(Latch::Fenced) {
            self.latched = None;
        }
        if !matches!(self.phase, Phase::Rewinding { is_counted: true, .. }) {
            self.forgive(Blame::Nack);
            self.forgive(Blame::Open);
        }
    }
}

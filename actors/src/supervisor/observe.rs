//! What the supervisor lets the outside see: log lines, counts, the report the root shows.

use std::time::Duration;

use tokio::time::Instant;
use tracing::Level;

use super::SupervisorState;
use crate::clock::now_ms;
use crate::lifecycle::{Condition, Event, FlightKind, Input, Lifecycle, Phase, Wait};
use crate::news::What;
use crate::ports::Told;
use crate::status::{LastError, Report};
use crate::supervisor_handle::{SavedBatch, SupervisorMsg};

/// Target of the per-batch timing events of `benchmark = true`.
const BENCHMARK: &str = "picomq_connectors::benchmark";
/// Target of the same event at the level `trace` for every source: what telemetry makes spans of.
const BATCH: &str = "picomq_connectors::batch";

impl SupervisorState {
    /// Takes what the tree says: logs what people must know, then lets the lifecycle decide.
    pub(super) fn event(&mut self, epoch: u64, event: Event) {
        if epoch != self.lifecycle.epoch() {
            return;
        }
        self.last_progress = Instant::now();
        self.is_stalled = false;
        self.log(&event);
        self.count(&event);
        self.checks.event(&event, now_ms());
        // Before the step: a close that waited for this Ack forgets what was saved.
        if event == Event::Resolved
            && let Some(number) = acked_head(&self.lifecycle)
            && let Some(saved) = self.saved.remove(&number)
        {
            self.count_acked(number, saved);
        }
        self.step(Input::Event { epoch, event });
    }

    fn log(&self, event: &Event) {
        match event {
            Event::PollFailed { is_permanent: true, cause } => {
                tracing::error!(%cause, code = cause.code, "poll failed for good")
            }
            Event::PollFailed { is_permanent: false, cause } => {
                tracing::warn!(%cause, code = cause.code, "poll failed")
            }
            Event::OpenFailed(failure) => {
                let cause = &failure.cause;
                tracing::warn!(%cause, code = cause.code, kind = ?failure.kind, "not opened");
            }
            Event::Failed { number, cause, .. } => {
                tracing::warn!(number, %cause, code = cause.code, "batch failed")
            }
            Event::SaveFailed { number, cause } | Event::Fenced { number, cause } => {
                tracing::error!(number, %cause, code = cause.code, "state not saved");
            }
            Event::Broken(cause) | Event::ResolveFailed(cause) => {
                tracing::error!(%cause, code = cause.code, "the plugin failed; it is opened again from the saved state");
            }
            Event::Probed { has_landed } => tracing::info!(has_landed, "store probed"),
            Event::Opened { .. } | Event::Polled { .. } | Event::PollEnded | Event::Quiet { .. } => {}
            Event::Saved { .. } | Event::Resolved => {}
        }
    }

    fn count(&mut self, event: &Event) {
        match event {
            Event::Polled { records, .. } => self.totals.messages_produced += u64::from(*records),
            Event::PollFailed { .. } => self.count_error(),
            Event::Saved { .. } => self.checkpointed = Some(std::time::Instant::now()),
            Event::Opened { .. } | Event::OpenFailed(_) | Event::PollEnded | Event::Broken(_) => {}
            Event::Failed { .. } | Event::Quiet { .. } | Event::SaveFailed { .. } | Event::Fenced { .. } => {}
            Event::Probed { .. } | Event::Resolved | Event::ResolveFailed(_) => {}
        }
    }

    fn count_error(&mut self) {
        self.totals.errors += 1;
        self.handle.metrics().errors.increment(1);
    }

    /// A batch was told its Ack and the plugin took it.
    fn count_acked(&mut self, number: u64, saved: SavedBatch) {
        let counts = saved.counts;
        if counts.delivered > 0 {
            self.delivered_ms = Some(now_ms());
            self.checks.delivered(now_ms());
        }
        let metrics = self.handle.metrics();
        let sent = u64::from(counts.delivered - counts.dead_letters);
        metrics.sent.increment(sent);
        metrics.filtered.increment(u64::from(counts.filtered));
        metrics.dead_letters.increment(u64::from(counts.dead_letters));
        metrics.bytes_sent.increment(counts.bytes);
        self.totals.messages_sent += sent;
        self.totals.messages_filtered += u64::from(counts.filtered);
        self.rate.add(counts.delivered - counts.dead_letters, std::time::Instant::now());
        if self.spec.definition.verbose {
            tracing::info!(number, records = counts.delivered, bytes = counts.bytes, "batch acked");
        } else {
            tracing::debug!(number, records = counts.delivered, bytes = counts.bytes, "batch acked");
        }
        self.tell_timing(saved);
    }

    fn tell_timing(&self, saved: SavedBatch) {
        let SavedBatch { counts, timing, save } = saved;
        macro_rules! batch {
            ($target:expr, $level:expr) => {
                tracing::event!(
                    target: $target,
                    $level,
                    connector_type = "source",
                    connector_key = self.handle.key().as_str(),
                    batch_size = counts.polled,
                    sent_count = counts.delivered,
                    poll_us = micros(timing.poll),
                    decode_us = micros(timing.decode),
                    prepare_us = micros(timing.prepare),
                    broker_send_us = micros(timing.broker_send),
                    state_save_us = micros(save),
                    total_us = micros(timing.polled.elapsed()),
                    "batch"
                )
            };
        }
        batch!(BATCH, Level::TRACE);
        if self.spec.definition.benchmark {
            batch!(BENCHMARK, Level::INFO);
        }
    }

    pub(super) fn nacked(&mut self) {
        self.handle.metrics().nacks.increment(1);
        self.count_error();
        let nacks = self.lifecycle.consecutive_nacks();
        let limit = self.spec.definition.supervision.nack_limit;
        tracing::warn!(nacks, limit, "batch nacked; nothing of it is saved, it will be read again");
        let cause = self.lifecycle.last_error();
        let code = cause.map(|cause| cause.code);
        self.tell(What::Nack { nacks, limit, cause: cause.map(ToString::to_string), code });
    }

    /// Says in the log what a person would want to know about a wait.
    pub(super) fn note_wait(&self, wait: Wait, length: Duration) {
        let wait_ms = length.as_millis() as u64;
        match wait {
            Wait::Restart(tries) => {
                tracing::error!(tries, wait_ms, "nack limit reached; the source is opened again by itself")
            }
            Wait::Open(failures) => tracing::info!(failures, wait_ms, "opened again later"),
            Wait::Nack(_) | Wait::Poll(_) | Wait::PermanentPoll | Wait::Probe | Wait::Stop => {
                tracing::debug!(?wait, wait_ms, "waiting");
            }
        }
    }

    pub(super) fn arm_stall_timer(&mut self) {
        if self.has_stall_timer || !self.lifecycle.is_waiting_for_progress() {
            return;
        }
        self.has_stall_timer = true;
        let supervisor = self.handle.supervisor();
        let left = self.spec.definition.supervision.stall_after.saturating_sub(self.last_progress.elapsed());
        self.timers.spawn(async move {
            tokio::time::sleep(left).await;
            supervisor.cast(SupervisorMsg::StallCheck).ok();
        });
    }

    pub(super) fn check_stall(&mut self) {
        self.has_stall_timer = false;
        let has_moved = self.last_progress.elapsed() < self.spec.definition.supervision.stall_after;
        if self.lifecycle.is_waiting_for_progress() && !has_moved {
            self.is_stalled = true;
            self.checks.stalled(now_ms());
            tracing::warn!("nothing moved for stall_after although a batch is in flight");
            self.refresh();
        } else {
            self.arm_stall_timer();
        }
    }

    pub(super) fn told(&mut self, told: Told) {
        match told {
            Told::Check(check) => self.checks.reported(check),
            Told::LagSeconds(seconds) => self.lag.seconds = Some(seconds),
            Told::LagBytes(bytes) => self.lag.bytes = Some(bytes),
        }
        self.publish();
    }

    /// Computes what is shown anew (I7).
    pub(super) fn refresh(&mut self) {
        let (status, before) = (self.lifecycle.status(), self.since.0);
        if status != before {
            self.since = (status, now_ms());
            tracing::info!(status = status.as_str(), "status changed");
        }
        self.refresh_last_error();
        if status != before {
            self.tell(What::Status { status, before, last_error: self.last_error.clone() });
        }
        self.publish();
    }

    fn tell(&self, what: What) {
        self.newsroom.tell(self.handle.key().as_str(), now_ms(), what);
    }

    fn refresh_last_error(&mut self) {
        let Some(cause) = self.lifecycle.last_error() else {
            self.last_error = None;
            return;
        };
        let message = format!("{cause}{}", what_next(&self.lifecycle));
        if self.last_error.as_ref().is_none_or(|shown| shown.message != message) {
            self.last_error = Some(LastError { message, timestamp: now_ms(), code: cause.code.to_owned() });
        }
    }

    pub(super) fn publish(&self) {
        let mut conditions: Vec<String> =
            self.lifecycle.conditions().iter().map(Condition::to_string).collect();
        if self.is_stalled {
            conditions.push(Condition::Stalled.to_string());
        }
        if let Some(tree) = &self.tree {
            let of_doors = tree.conditions.iter().copied().chain(tree.store_conditions());
            conditions.extend(of_doors.map(str::to_owned));
        }
        self.report.send_replace(Report {
            status: self.since.0,
            since_ms: self.since.1,
            last_error: self.last_error.clone(),
            conditions,
            definition: self.spec.definition.clone(),
            is_reloading: self.lifecycle.is_reloading(),
            has_reload_failed: self.lifecycle.has_reload_failed(),
            is_degraded: self.lifecycle.is_degraded() || self.is_stalled,
            consecutive_nacks: self.lifecycle.consecutive_nacks(),
            in_flight: self.lifecycle.in_flight(),
            checkpointed: self.checkpointed,
            delivered_ms: self.delivered_ms,
            totals: self.totals,
            rate: self.rate,
            lag: self.lag,
            checks: self.checks.shown(),
            has_given_up: self.has_given_up,
        });
    }
}

/// The batch whose Ack is being told.
fn acked_head(lifecycle: &Lifecycle) -> Option<u64> {
    let head = lifecycle.head().filter(|_| lifecycle.is_acking())?;
    matches!(head.kind, FlightKind::Saved { .. }).then_some(head.number)
}

/// What happens next, or what a person must do, as the end of a sentence.
fn what_next(lifecycle: &Lifecycle) -> String {
    if lifecycle.is_last_error_a_reload() {
        return "; the former one runs on: mend the definition, then reload".to_owned();
    }
    match lifecycle.phase() {
        Phase::Halted { restart: Some(_) } => {
            "; nack limit reached, opened again by itself after restart_after".to_owned()
        }
        Phase::Halted { restart: None } => "; halted: mend the cause, then restart the source".to_owned(),
        Phase::Waiting { .. } => "; opened again after a wait".to_owned(),
        Phase::Active if lifecycle.is_probing() => "; no poll until the store takes a write again".to_owned(),
        Phase::Active if lifecycle.is_last_error_a_poll() => "; polled again after a wait".to_owned(),
        Phase::Active | Phase::Rewinding { .. } => "; the batch is read again after a wait".to_owned(),
        Phase::Stopped | Phase::Opening | Phase::Paused | Phase::Closing { .. } => String::new(),
    }
}

fn micros(duration: Duration) -> u64 {
    duration.as_micros() as u64
}

//! Health of one source as named checks: what stands, since when, what to do about it. Pure: it is told what
//! happened and when, and judges; the plugin's own checks stand beside the engine's.

use std::sync::Arc;

use crate::cause::Cause;
use crate::lifecycle::Event;
use crate::status::Check;

/// Checks a plugin may report; more are dropped.
const PLUGIN_CHECKS_MAX: usize = 64;

/// What a check of the engine is about, in the order in which a batch meets them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    /// The library was loaded and took its configuration.
    PluginLoaded,
    /// The plugin opens and polls.
    UpstreamReachable,
    /// Every record found its topic and shape.
    RecordsAccepted,
    /// The broker takes records.
    BrokerReachable,
    /// The topics that are named exist.
    TopicsExist,
    /// The store takes states.
    CheckpointSaved,
    /// Batches in flight come to an end.
    Progress,
}

impl Subject {
    const ALL: [Subject; 7] = [
        Subject::PluginLoaded,
        Subject::UpstreamReachable,
        Subject::RecordsAccepted,
        Subject::BrokerReachable,
        Subject::TopicsExist,
        Subject::CheckpointSaved,
        Subject::Progress,
    ];

    fn name(self) -> &'static str {
        match self {
            Subject::PluginLoaded => "plugin_loaded",
            Subject::UpstreamReachable => "upstream_reachable",
            Subject::RecordsAccepted => "records_accepted",
            Subject::BrokerReachable => "broker_reachable",
            Subject::TopicsExist => "topics_exist",
            Subject::CheckpointSaved => "checkpoint_saved",
            Subject::Progress => "progress",
        }
    }

    /// What a person can do when it fails, beside reading the cause.
    fn fix(self) -> &'static str {
        match self {
            Subject::PluginLoaded => {
                "see `pico-connectors plugins` and the definition's path; then restart the source"
            }
            Subject::UpstreamReachable => {
                "see that the system it reads is up, lets this user in and has what the definition names"
            }
            Subject::RecordsAccepted => {
                "mend the rule or the record, or say in [errors] what shall become of such records; then restart the source"
            }
            Subject::BrokerReachable => "see that the brokers of [kafka] are up and let this user write",
            Subject::TopicsExist => "create the topic, or set create_topics = true in its block",
            Subject::CheckpointSaved => {
                "see that the store of [state] takes writes: disk space, owner, mode, the server's answers"
            }
            Subject::Progress => {
                "see which call hangs in the log; a restart of the source gives up what is in flight and reads it again"
            }
        }
    }

    /// Which check a cause speaks of, by its code.
    fn of(code: &str) -> Option<Subject> {
        match code {
            "plugin.not_found"
            | "plugin.not_loaded"
            | "plugin.config"
            | "plugin.not_pipelined"
            | "plugin.panicked" => Some(Subject::PluginLoaded),
            "broker.unknown_topic" | "broker.topic_not_created" | "broker.topic_not_visible" => {
                Some(Subject::TopicsExist)
            }
            "broker.too_large" => Some(Subject::RecordsAccepted),
            "plugin.hung" => Some(Subject::Progress),
            "plugin.state" => Some(Subject::CheckpointSaved),
            _ => match code.split('.').next() {
                Some("plugin") => Some(Subject::UpstreamReachable),
                Some("broker") => Some(Subject::BrokerReachable),
                Some("state") => Some(Subject::CheckpointSaved),
                Some("route" | "record" | "schema" | "transform") => Some(Subject::RecordsAccepted),
                Some(_) | None => None,
            },
        }
    }
}

/// All checks of one source.
#[derive(Debug)]
pub(crate) struct Checks {
    engine: [Standing; Subject::ALL.len()],
    plugin: Vec<Check>,
    /// What the last opening failed for; none when it succeeded.
    failed_opening: Option<Subject>,
    /// The list as it is shown, made anew only when something changed.
    shown: Arc<[Check]>,
}

#[derive(Debug, Clone)]
struct Standing {
    status: &'static str,
    since_ms: Option<u64>,
    advice: String,
}

const WAITING: &str = "waiting";
const OK: &str = "ok";
const ERROR: &str = "error";

impl Checks {
    /// Nothing is known yet.
    pub(crate) fn new() -> Checks {
        let unknown = Standing { status: WAITING, since_ms: None, advice: String::new() };
        let mut checks = Checks {
            engine: std::array::from_fn(|_| unknown.clone()),
            plugin: Vec::new(),
            failed_opening: None,
            shown: Arc::new([]),
        };
        checks.show();
        checks
    }

    /// The engine's checks in the order in which a batch meets them, then the plugin's.
    pub(crate) fn shown(&self) -> Arc<[Check]> {
        self.shown.clone()
    }

    /// Takes what the tree said.
    pub(crate) fn event(&mut self, event: &Event, now_ms: u64) {
        match event {
            Event::Opened { .. } => {
                self.good(&[Subject::PluginLoaded], now_ms);
                // A plugin may open without asking anybody, so an opening proves only what an opening disproved.
                if let Some(subject) = self.failed_opening.take() {
                    self.good(&[subject], now_ms);
                }
            }
            Event::Polled { .. } => self.good(&[Subject::UpstreamReachable], now_ms),
            Event::Saved { .. } => self.good(&[Subject::CheckpointSaved, Subject::Progress], now_ms),
            Event::Probed { has_landed: true } => self.good(&[Subject::CheckpointSaved], now_ms),
            Event::OpenFailed(failure) => {
                self.failed_opening = Subject::of(failure.cause.code);
                self.failed(&failure.cause, now_ms);
            }
            Event::PollFailed { cause, .. }
            | Event::Failed { cause, .. }
            | Event::SaveFailed { cause, .. }
            | Event::Fenced { cause, .. }
            | Event::Broken(cause)
            | Event::ResolveFailed(cause) => self.failed(cause, now_ms),
            Event::PollEnded | Event::Probed { has_landed: false } => {}
            Event::Quiet { .. } | Event::Resolved => {}
        }
    }

    /// A batch with records was delivered and acked.
    pub(crate) fn delivered(&mut self, now_ms: u64) {
        self.good(&[Subject::RecordsAccepted, Subject::BrokerReachable, Subject::TopicsExist], now_ms);
    }

    /// Nothing moved for `stall_after` although something is in flight.
    pub(crate) fn stalled(&mut self, now_ms: u64) {
        self.bad(Subject::Progress, "nothing moved for stall_after although a batch is in flight", now_ms);
    }

    /// The plugin says something about itself.
    pub(crate) fn reported(&mut self, check: Check) {
        let has_room = self.plugin.len() < PLUGIN_CHECKS_MAX;
        match self.plugin.iter_mut().find(|known| known.name == check.name) {
            Some(known) => *known = check,
            None if has_room => self.plugin.push(check),
            None => return,
        }
        self.show();
    }

    fn failed(&mut self, cause: &Cause, now_ms: u64) {
        if let Some(subject) = Subject::of(cause.code) {
            self.bad(subject, &cause.to_string(), now_ms);
        }
    }

    fn good(&mut self, subjects: &[Subject], now_ms: u64) {
        let changed =
            subjects.iter().filter(|subject| self.set(**subject, OK, String::new(), now_ms)).count();
        if changed > 0 {
            self.show();
        }
    }

    fn bad(&mut self, subject: Subject, why: &str, now_ms: u64) {
        if self.set(subject, ERROR, format!("{why}. To mend it: {}", subject.fix()), now_ms) {
            self.show();
        }
    }

    /// Whether anything changed. `since` moves with the status alone.
    fn set(&mut self, subject: Subject, status: &'static str, advice: String, now_ms: u64) -> bool {
        let Some(standing) = self.engine.get_mut(subject as usize) else { return false };
        if standing.status == status && standing.advice == advice {
            return false;
        }
        let since_ms = if standing.status == status { standing.since_ms } else { Some(now_ms) };
        *standing = Standing { status, since_ms, advice };
        true
    }

    fn show(&mut self) {
        let engine = Subject::ALL.iter().zip(&self.engine).map(|(subject, standing)| Check {
            name: subject.name().to_owned(),
            status: standing.status,
            since: standing.since_ms,
            advice: standing.advice.clone(),
        });
        self.shown = engine.chain(self.plugin.iter().cloned()).collect();
    }
}

#[cfg(test)]
mod tests;

//! One entry of the root's list: a source with its supervisor, or a file that is no definition.

use std::sync::Arc;
use std::time::{Duration, Instant};

use metrics::Label;
use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, RpcReplyPort};
use tokio::sync::watch;

use super::view::{topics, view_of_bad, view_of_good};
use crate::ask::Ask;
use crate::checks::Checks;
use crate::clock::now_ms;
use crate::command::{Command, CommandError};
use crate::lifecycle::{Asked, Condition, Order, Status};
use crate::news::Newsroom;
use crate::rate::Rate;
use crate::source::{BadSource, EngineSettings, Entry, SourceSpec};
use crate::status::{Lag, LastError, Report, SourceDetail, SourceView, Totals};
use crate::supervisor::{SupervisorActor, SupervisorArgs};
use crate::supervisor_handle::{SupervisorMsg, SupervisorRef};
use crate::telemetry;
use crate::total::TotalBytes;

/// Waits between two starts of a supervisor that dies: doubled from one to the other.
const RESPAWN_INITIAL: Duration = Duration::from_millis(100);
const RESPAWN_MAX: Duration = Duration::from_secs(30);

pub(super) struct Slot {
    id: u32,
    pub(super) kind: Kind,
    since_ms: u64,
    /// Why the file of a running source is no definition now.
    pub(super) refused: Option<LastError>,
    /// Ending; then it becomes this, or is forgotten.
    pub(super) leaving: Option<Option<Entry>>,
}

pub(super) enum Kind {
    Good {
        /// Last told to the supervisor, which may have gone back to the one before.
        spec: Box<SourceSpec>,
        supervisor: Option<SupervisorRef>,
        report: watch::Receiver<Report>,
        publisher: watch::Sender<Report>,
        deaths: u32,
    },
    Bad(BadSource),
}

impl Kind {
    /// Whether the definition is switched on; a file that cannot be read counts, so that somebody looks.
    fn is_enabled(&self) -> bool {
        match self {
            Kind::Good { spec, .. } => spec.definition.enabled,
            Kind::Bad(_) => true,
        }
    }
}

impl Slot {
    pub(super) fn new(id: u32, entry: Entry) -> Slot {
        let since_ms = now_ms();
        let kind = match entry {
            Entry::Bad(bad) => Kind::Bad(bad),
            Entry::Good(spec) => {
                let (publisher, report) = watch::channel(Report::before_start(since_ms, &spec));
                Kind::Good { spec, supervisor: None, report, publisher, deaths: 0 }
            }
        };
        Slot { id, kind, since_ms, refused: None, leaving: None }
    }

    pub(super) fn id(&self) -> u32 {
        self.id
    }

    pub(super) fn key(&self) -> &str {
        match &self.kind {
            Kind::Good { spec, .. } => spec.definition.key.as_str(),
            Kind::Bad(bad) => &bad.key,
        }
    }

    pub(super) fn has_key(&self, key: &str) -> bool {
        self.key().eq_ignore_ascii_case(key)
    }

    /// Starts the supervisor of an enabled definition, and asks it to do what was asked last.
    pub(super) async fn spawn(
        &mut self,
        root: ActorCell,
        settings: &EngineSettings,
        total: Arc<TotalBytes>,
        newsroom: Newsroom,
    ) -> Result<(), ActorProcessingErr> {
        let Kind::Good { spec, supervisor, publisher, .. } = &mut self.kind else { return Ok(()) };
        if !spec.definition.enabled {
            return Ok(());
        }
        let asked = load_asked(spec).await;
        let args = SupervisorArgs {
            spec: (**spec).clone(),
            limits: settings.limits,
            grace: settings.grace,
            asked,
            total,
            report: publisher.clone(),
            newsroom,
        };
        let (started, _) = Actor::spawn_linked(None, SupervisorActor, args, root).await?;
        started.cast(SupervisorMsg::Command { order: Order::Launch, reply: None }).ok();
        *supervisor = Some(started);
        Ok(())
    }

    pub(super) fn ask(&self, ask: Ask) {
        match &self.kind {
            Kind::Good { supervisor: Some(supervisor), .. } => {
                supervisor.cast(SupervisorMsg::Ask(ask)).ok();
            }
            Kind::Good { .. } | Kind::Bad(_) => {
                ask.refuse(CommandError::NotRunnable(self.why_not_runnable()).into());
            }
        }
    }

    /// Said of one without a supervisor.
    fn why_not_runnable(&self) -> String {
        match &self.kind {
            Kind::Good { spec, .. } if !spec.definition.enabled => {
                "the definition says enabled = false; set it to true".to_owned()
            }
            Kind::Good { .. } => {
                "the source is being started again after a fault; ask again shortly".to_owned()
            }
            Kind::Bad(bad) => format!("the file is not a valid definition: {}", bad.cause),
        }
    }

    pub(super) fn command(&self, command: Command, reply: RpcReplyPort<Result<(), CommandError>>) {
        match &self.kind {
            Kind::Good { supervisor: Some(supervisor), .. } => {
                let order = match command {
                    Command::Start => Order::Start,
                    Command::Pause => Order::Pause,
                    Command::Resume => Order::Resume,
                    Command::Restart => Order::Restart,
                    Command::Stop => Order::Stop,
                };
                supervisor.cast(SupervisorMsg::Command { order, reply: Some(reply) }).ok();
            }
            Kind::Good { .. } | Kind::Bad(_) => {
                reply.send(Err(CommandError::NotRunnable(self.why_not_runnable()))).ok();
            }
        }
    }

    pub(super) fn shut_down(&self, grace: Duration) {
        if let Kind::Good { supervisor: Some(supervisor), .. } = &self.kind {
            supervisor.cast(SupervisorMsg::Shutdown { grace }).ok();
        }
    }

    pub(super) fn is_alive(&self) -> bool {
        matches!(&self.kind, Kind::Good { supervisor: Some(_), .. })
    }

    pub(super) fn is_supervised_by(&self, child: ActorId) -> bool {
        matches!(&self.kind, Kind::Good { supervisor: Some(supervisor), .. } if supervisor.get_id() == child)
    }

    pub(super) fn forget_supervisor(&mut self) {
        if let Kind::Good { supervisor, .. } = &mut self.kind {
            *supervisor = None;
        }
    }

    /// The wait before the next start.
    pub(super) fn count_death(&mut self) -> Duration {
        let Kind::Good { deaths, .. } = &mut self.kind else { return RESPAWN_MAX };
        *deaths = deaths.saturating_add(1);
        RESPAWN_INITIAL.saturating_mul(2u32.saturating_pow((*deaths - 1).min(31))).min(RESPAWN_MAX)
    }

    pub(super) fn has_given_up(&self) -> bool {
        self.report().is_some_and(|report| report.has_given_up)
    }

    pub(super) fn is_degraded(&self) -> bool {
        self.report().is_none_or(|report| report.is_degraded || report.status == Status::Error)
    }

    pub(super) fn is_counted(&self) -> bool {
        self.kind.is_enabled()
    }

    pub(super) fn is_running(&self) -> bool {
        self.report().is_some_and(|report| report.status == Status::Running)
    }

    pub(super) fn totals(&self) -> Totals {
        self.report().map(|report| report.totals).unwrap_or_default()
    }

    pub(super) fn view(&self) -> SourceView {
        let mut view = match &self.kind {
            Kind::Good { report, .. } => view_of_good(self.id, &report.borrow()),
            Kind::Bad(bad) => view_of_bad(self.id, bad, self.since_ms),
        };
        if let Some(refused) = &self.refused {
            let condition = Condition::ReloadFailed.to_string();
            if !view.conditions.contains(&condition) {
                view.conditions.push(condition);
            }
            view.last_error.get_or_insert_with(|| refused.clone());
        }
        view
    }

    pub(super) fn detail(&self) -> SourceDetail {
        let (topics, checks) = match &self.kind {
            Kind::Good { report, .. } => {
                let report = report.borrow();
                (topics(&report.definition), report.checks.to_vec())
            }
            Kind::Bad(_) => (Vec::new(), Vec::new()),
        };
        SourceDetail { view: self.view(), topics, checks }
    }

    pub(super) fn set_gauges(&self) {
        let Some(report) = self.report() else { return };
        let labels = telemetry::labels(self.key());
        for status in Status::ALL {
            let mut labels = labels.clone();
            labels.push(Label::new("status", status.as_str()));
            metrics::gauge!(telemetry::STATUS, labels).set(if status == report.status { 1.0 } else { 0.0 });
        }
        metrics::gauge!(telemetry::CONSECUTIVE_NACKS, labels.clone())
            .set(f64::from(report.consecutive_nacks));
        metrics::gauge!(telemetry::IN_FLIGHT_BATCHES, labels.clone()).set(report.in_flight as f64);
        if let Some(delivered_ms) = report.delivered_ms {
            metrics::gauge!(telemetry::LAST_DELIVERY, labels).set(delivered_ms as f64 / 1000.0);
        }
    }

    fn report(&self) -> Option<watch::Ref<'_, Report>> {
        match &self.kind {
            Kind::Good { report, .. } => Some(report.borrow()),
            Kind::Bad(_) => None,
        }
    }
}

/// A blocking look at a small file; a store that cannot say is taken as "run", and said.
async fn load_asked(spec: &SourceSpec) -> Asked {
    let store = spec.asked.clone();
    match tokio::task::spawn_blocking(move || store.load()).await {
        Ok(Ok(asked)) => asked,
        Ok(Err(cause)) => {
            let source = spec.definition.key.as_str();
            tracing::warn!(source, %cause, "what was asked last cannot be read; the source is started");
            Asked::Running
        }
        Err(_) => Asked::Running,
    }
}

impl Report {
    /// What is shown of a source whose supervisor has not spoken yet.
    pub(super) fn before_start(since_ms: u64, spec: &SourceSpec) -> Report {
        Report {
            status: Status::Stopped,
            since_ms,
            last_error: None,
            conditions: Vec::new(),
            definition: spec.definition.clone(),
            is_reloading: false,
            has_reload_failed: false,
            is_degraded: false,
            consecutive_nacks: 0,
            in_flight: 0,
            checkpointed: None,
            delivered_ms: None,
            totals: Totals::default(),
            rate: Rate::new(Instant::now()),
            lag: Lag::default(),
            checks: Checks::new().shown(),
            has_given_up: false,
        }
    }
}

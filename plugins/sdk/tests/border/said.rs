//! Logs and reports on their way to the engine.

use std::sync::{Arc, Once};

use picomq_connector_sdk::ffi::host::{Check, CheckStatus, Gauge, Mode, OpenRequest, Report};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::support::{Said, library, request};

/// Makes the engine's side listen at every level, as a daemon with a subscriber does.
pub(crate) fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        tracing::subscriber::set_global_default(Everything).expect("the only one of this program")
    });
}

struct Everything;

impl Subscriber for Everything {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

async fn said(config: &str, mode: Mode) -> Arc<Said> {
    listen();
    let said = Arc::new(Said::default());
    let opening = OpenRequest { host: Arc::clone(&said) as Arc<_>, mode, ..request(config) };
    let source = library("scripted").open(opening).await.expect("it opens");
    source.poll().await.expect("it polls");
    source.close().await;
    said
}

#[tokio::test]
async fn logs_cross_with_level_target_message_and_fields() {
    let said = said(r#"{"poll": ["log"]}"#, Mode::Run).await;
    let right = [
        "INFO scripted: open committed=0 inspects=false",
        "ERROR scripted: an error number=7 text=two words",
        "WARN scripted: a warning cause=slot lost",
        "TRACE scripted: a trace",
        "INFO scripted: from a task in scope",
        "INFO scripted: closing",
        "INFO scripted: closed",
    ];
    let logs = said.logs();
    let ours: Vec<&String> = logs.iter().filter(|line| line.contains(" scripted: ")).collect();
    assert_eq!(ours, right);
}

#[tokio::test]
async fn two_sources_of_one_library_log_to_their_own() {
    listen();
    let open = async |said: &Arc<Said>| {
        let opening = OpenRequest { host: Arc::clone(said) as Arc<_>, ..request("{}") };
        library("scripted").open(opening).await.unwrap()
    };
    let (one, other) = (Arc::new(Said::default()), Arc::new(Said::default()));
    let (first, second) = (open(&one).await, open(&other).await);
    first.close().await;
    assert!(one.logs().iter().any(|line| line.ends_with("closed")));
    assert!(!other.logs().iter().any(|line| line.ends_with("closed")));
    second.close().await;
}

#[tokio::test]
async fn reports_cross_as_they_were_told() {
    let said = said(r#"{"poll": ["report"]}"#, Mode::Run).await;
    let check = Check {
        name: "slot".to_owned(),
        status: CheckStatus::Warn,
        since_ms: Some(12),
        advice: "drop it".to_owned(),
    };
    let right = [Report::Gauge { gauge: Gauge::LagSeconds, value: 1.5 }, Report::Check(check)];
    assert_eq!(said.reports(), right);
}

#[tokio::test]
async fn a_source_is_told_that_it_is_opened_to_look() {
    let said = said("{}", Mode::Inspect).await;
    assert!(said.logs()[0].contains("inspects=true"), "{:?}", said.logs());
}

#[tokio::test]
async fn a_panic_in_a_task_of_the_source_is_a_line_in_the_log() {
    let said = said(r#"{"poll": ["panic_in_task"]}"#, Mode::Run).await;
    let logs = said.logs();
    let is_it = |line: &&String| {
        line.starts_with("ERROR") && line.contains("panicked") && line.contains("in a scoped task")
    };
    assert_eq!(logs.iter().filter(is_it).count(), 1, "{logs:?}");
}

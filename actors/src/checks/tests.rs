use super::*;
use crate::cause::{OpenFailure, OpenKind};
use crate::lifecycle::{PolledKind, Stage};

fn polled() -> Event {
    Event::Polled { number: 1, kind: PolledKind::Records, records: 3, bytes: 30 }
}

fn failed(code: &'static str) -> Event {
    Event::Failed {
        number: 1,
        stage: Stage::Producer,
        cause: Cause::new(code, "it went wrong"),
        is_client_lost: false,
        needs_human: false,
    }
}

fn check(checks: &Checks, name: &str) -> Check {
    checks.shown().iter().find(|check| check.name == name).expect("every check is shown").clone()
}

/// The names of those in `error`.
fn errors(checks: &Checks) -> Vec<String> {
    checks.shown().iter().filter(|check| check.status == ERROR).map(|check| check.name.clone()).collect()
}

#[test]
fn what_is_not_known_yet_waits() {
    let checks = Checks::new();
    assert_eq!(checks.shown().len(), Subject::ALL.len());
    assert!(checks.shown().iter().all(|check| check.status == WAITING && check.since.is_none()));
}

#[test]
fn a_batch_on_its_way_turns_one_check_after_the_other_good() {
    let mut checks = Checks::new();
    checks.event(&Event::Opened { number: 0, window: 1 }, 10);
    assert_eq!(check(&checks, "plugin_loaded").status, OK);
    assert_eq!(check(&checks, "upstream_reachable").status, WAITING);
    checks.event(&polled(), 20);
    checks.event(&Event::Saved { number: 1, delivered: 3 }, 30);
    checks.delivered(40);
    assert!(checks.shown().iter().all(|check| check.status == OK), "{:?}", checks.shown());
    assert_eq!(check(&checks, "checkpoint_saved").since, Some(30));
}

#[test]
fn a_cause_turns_the_check_it_speaks_of_and_no_other() {
    for (code, name) in [
        ("broker.unreachable", "broker_reachable"),
        ("broker.silent", "broker_reachable"),
        ("broker.unknown_topic", "topics_exist"),
        ("broker.too_large", "records_accepted"),
        ("route.no_value", "records_accepted"),
        ("state.io", "checkpoint_saved"),
        ("plugin.poll", "upstream_reachable"),
        ("plugin.not_loaded", "plugin_loaded"),
        ("plugin.not_found", "plugin_loaded"),
        ("plugin.hung", "progress"),
    ] {
        let mut checks = Checks::new();
        checks.event(&failed(code), 5);
        assert_eq!(errors(&checks), [name], "{code}");
        let advice = check(&checks, name).advice;
        assert!(advice.starts_with("it went wrong. To mend it: "), "{advice}");
    }
}

#[test]
fn since_tells_when_the_status_began_not_when_it_was_said_again() {
    let mut checks = Checks::new();
    checks.event(&failed("broker.silent"), 5);
    checks.event(&failed("broker.unreachable"), 9);
    assert_eq!(check(&checks, "broker_reachable").since, Some(5));
    checks.delivered(12);
    checks.delivered(15);
    assert_eq!(check(&checks, "broker_reachable").since, Some(12));
    assert_eq!(check(&checks, "broker_reachable").advice, "");
}

#[test]
fn nothing_is_made_anew_while_nothing_changes() {
    let mut checks = Checks::new();
    checks.event(&polled(), 1);
    let before = checks.shown();
    checks.event(&polled(), 2);
    assert!(Arc::ptr_eq(&before, &checks.shown()));
}

#[test]
fn the_plugins_own_checks_stand_beside_and_are_bounded() {
    let mut checks = Checks::new();
    let own = |name: String, status| Check { name, status, since: None, advice: String::new() };
    for number in 0..100 {
        checks.reported(own(format!("own_{number}"), OK));
    }
    checks.reported(own("own_3".to_owned(), ERROR));
    assert_eq!(checks.shown().len(), Subject::ALL.len() + PLUGIN_CHECKS_MAX);
    assert_eq!(errors(&checks), ["own_3"]);
}

#[test]
fn an_opening_mends_what_an_opening_broke_and_nothing_that_a_poll_broke() {
    let mut checks = Checks::new();
    let cause = Cause::new("plugin.open", "cannot connect");
    let failure = OpenFailure { kind: OpenKind::Passing, cause: cause.clone() };
    checks.event(&Event::OpenFailed(failure), 10);
    assert_eq!(errors(&checks), ["upstream_reachable"]);
    checks.event(&Event::Opened { number: 0, window: 1 }, 20);
    assert_eq!(errors(&checks), [""; 0]);

    checks.event(&Event::PollFailed { is_permanent: false, cause }, 30);
    checks.event(&Event::Opened { number: 0, window: 1 }, 40);
    assert_eq!(errors(&checks), ["upstream_reachable"], "some plugins ask nobody while they open");
    checks.event(&Event::Polled { number: 0, kind: PolledKind::Empty, records: 0, bytes: 0 }, 50);
    assert_eq!(errors(&checks), [""; 0]);
}

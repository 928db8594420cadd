use picomq_connector_sdk::Limits;
use serde_json::{Value, json};

use super::*;
use crate::config::PostgresConfig;
use crate::position::Position;

fn settings(more: Value) -> Settings {
    let mut config =
        json!({ "connection_string": "postgres://me@host/shop", "mode": "cdc", "slot_name": "s" });
    config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let config: PostgresConfig = serde_json::from_value(config).unwrap();
    config.check("key", &Limits { batch_records: 10_000, batch_bytes: 64 << 20 }).unwrap()
}

fn server() -> Identity {
    Identity { system: "7".into(), timeline: 1, flushed: Lsn(1000), database: "shop".into() }
}

fn slot(confirmed: u64) -> SlotRow {
    SlotRow {
        plugin: "pgoutput".into(),
        kind: "logical".into(),
        database: "shop".into(),
        confirmed: Some(Lsn(confirmed)),
        wal_status: "reserved".into(),
        ..SlotRow::default()
    }
}

fn state(phase: Phase) -> CdcState {
    CdcState {
        system: "7".into(),
        timeline: 1,
        database: "shop".into(),
        slot: "s".into(),
        publication: "p".into(),
        phase,
        backfill: Default::default(),
    }
}

fn streaming(at: u64) -> CdcState {
    state(Phase::Stream(Position::at(Lsn(at))))
}

fn refusal(slot: Option<&SlotRow>, state: Option<&CdcState>, more: Value) -> String {
    judge(slot, state, &settings(more), &server(), None).unwrap_err().to_string()
}

#[test]
fn a_first_start_saves_its_intention_before_it_makes_a_slot() {
    assert_eq!(judge(None, None, &settings(json!({})), &server(), None).unwrap(), Start::Intend);
    let intended = state(Phase::Intended);
    assert_eq!(judge(None, Some(&intended), &settings(json!({})), &server(), None).unwrap(), Start::Create);
    let found = judge(Some(&slot(5)), Some(&intended), &settings(json!({})), &server(), None).unwrap();
    assert_eq!(found, Start::Found(Lsn(5)));
}

#[test]
fn a_foreign_slot_is_refused_by_name_unless_it_is_given_to_us() {
    let text = refusal(Some(&slot(5)), None, json!({}));
    assert!(
        text.contains("`s`") && text.contains("adopt_slot") && text.contains("pg_drop_replication_slot('s')"),
        "{text}"
    );
    let adopt = |more: Value| judge(Some(&slot(5)), None, &settings(more), &server(), None);
    assert_eq!(adopt(json!({ "adopt_slot": true })).unwrap(), Start::Adopt(Lsn(5)));
    assert_eq!(adopt(json!({ "adopt_slot": true, "start_lsn": "0/9" })).unwrap(), Start::Adopt(Lsn(9)));
    assert!(adopt(json!({ "adopt_slot": true, "start_lsn": "0/4" })).is_err());
}

#[test]
fn a_slot_of_another_plugin_is_refused_by_name_and_not_dropped_b051() {
    let foreign = SlotRow { plugin: "test_decoding".into(), ..slot(5) };
    for state in [None, Some(&streaming(5))] {
        let text = refusal(Some(&foreign), state, json!({ "adopt_slot": true }));
        assert!(text.contains("`s`") && text.contains("test_decoding"), "{text}");
    }
}

#[test]
fn a_slot_behind_the_state_resumes_and_one_ahead_or_gone_is_an_error_b055() {
    let resume = |confirmed| {
        judge(Some(&slot(confirmed)), Some(&streaming(50)), &settings(json!({})), &server(), None)
    };
    assert_eq!(resume(40).unwrap(), Start::Resume);
    assert_eq!(resume(50).unwrap(), Start::Resume);
    assert!(resume(51).unwrap_err().to_string().starts_with("postgres.slot_moved"));
    assert!(refusal(None, Some(&streaming(50)), json!({})).starts_with("postgres.slot_missing"));
}

#[test]
fn what_the_server_gave_up_is_an_error_with_the_reason() {
    let lost = SlotRow { wal_status: "lost".into(), ..slot(5) };
    assert!(refusal(Some(&lost), Some(&streaming(5)), json!({})).starts_with("postgres.slot_lost"));
    let idle = SlotRow { invalidation: Some("idle_timeout".into()), ..slot(5) };
    assert!(refusal(Some(&idle), Some(&streaming(5)), json!({})).contains("idle_timeout"));
}

#[test]
fn another_server_a_restored_one_and_another_slot_are_refused() {
    let other = CdcState { system: "8".into(), ..streaming(5) };
    assert!(refusal(Some(&slot(5)), Some(&other), json!({})).starts_with("postgres.other_server"));
    assert!(refusal(Some(&slot(5)), Some(&streaming(1001)), json!({})).starts_with("postgres.server_behind"));
    let renamed = CdcState { slot: "old".into(), ..streaming(5) };
    assert!(refusal(Some(&slot(5)), Some(&renamed), json!({})).starts_with("postgres.slot_renamed"));
    let elsewhere = SlotRow { database: "other".into(), ..slot(5) };
    assert!(refusal(Some(&elsewhere), Some(&streaming(5)), json!({})).starts_with("postgres.slot_database"));
}

#[test]
fn a_promoted_server_is_followed_only_if_it_had_all_that_was_sent() {
    let promoted = Identity { timeline: 2, ..server() };
    let judged =
        |switch| judge(Some(&slot(5)), Some(&streaming(50)), &settings(json!({})), &promoted, switch);
    assert_eq!(judged(Some(Lsn(50))).unwrap(), Start::Resume);
    assert!(judged(Some(Lsn(49))).unwrap_err().to_string().starts_with("postgres.timeline"));
    assert!(judged(None).is_err());
    assert_eq!(switch_of("1\t0/32\tno recovery target\n2\t0/64\tx\n", 1), Some(Lsn(0x32)));
    assert_eq!(switch_of("1\t0/32\tx\n", 3), None);
}

#[test]
fn a_slot_still_being_made_is_waited_for() {
    let making = SlotRow { confirmed: None, active_pid: Some("42".into()), ..slot(0) };
    let error = judge(Some(&making), Some(&state(Phase::Intended)), &settings(json!({})), &server(), None)
        .unwrap_err();
    assert!(error.to_string().contains("process 42"), "{error}");
    assert!(picomq_connector_sdk::Error::from(error).is_transient());
}

#[test]
fn what_is_gone_begins_again_where_that_is_asked_for_and_what_was_moved_does_not() {
    let settings = settings(json!({ "snapshot_mode": "when_needed" }));
    let judged =
        |slot: Option<&SlotRow>, state: &CdcState| judge(slot, Some(state), &settings, &server(), None);
    let lost = SlotRow { wal_status: "lost".into(), ..slot(5) };
    assert_eq!(judged(Some(&lost), &streaming(5)).unwrap(), Start::Again);
    assert_eq!(judged(Some(&lost), &state(Phase::Intended)).unwrap(), Start::Again);
    assert_eq!(judged(None, &streaming(5)).unwrap(), Start::Again);
    assert_eq!(judged(Some(&slot(5)), &streaming(5)).unwrap(), Start::Resume);
    assert!(judged(Some(&slot(6)), &streaming(5)).is_err());
    assert!(judged(None, &CdcState { system: "8".into(), ..streaming(5) }).is_err());
    assert!(
        judge(Some(&lost), None, &settings, &server(), None).is_err(),
        "a lost slot that is not known to be ours"
    );
}

#[test]
fn a_snapshot_alone_wants_no_slot_and_takes_no_state_of_another_kind() {
    let only = settings(json!({ "snapshot_mode": "initial_only" }));
    let judged = |state: Option<&CdcState>| judge(None, state, &only, &server(), None);
    assert_eq!(judged(None).unwrap(), Start::Intend);
    assert_eq!(judged(Some(&state(Phase::Intended))).unwrap(), Start::Create);
    assert_eq!(judged(Some(&state(Phase::Done))).unwrap(), Start::Resume);
    assert!(judged(Some(&streaming(5))).is_err());
    assert!(refusal(None, Some(&state(Phase::Done)), json!({})).starts_with("postgres.snapshot_mode"));
}

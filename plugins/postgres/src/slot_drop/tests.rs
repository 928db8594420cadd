use picomq_connector_sdk::Limits;
use serde_json::json;

use super::*;
use crate::config::PostgresConfig;
use crate::position::Position;
use crate::state::{CdcState, Phase};

const LIMITS: Limits = Limits { batch_records: 10_000, batch_bytes: 64 << 20 };
const OURS: Wish = Wish { foreign: false, publication: false };

fn stopped(saved: Saved) -> Stopped {
    let config = json!({ "connection_string": "postgres://me@host/db", "mode": "cdc", "slot_name": "s" });
    let config: PostgresConfig = serde_json::from_value(config).unwrap();
    let settings = config.check("orders", &LIMITS).unwrap();
    Stopped { key: "orders".to_owned(), mode: Mode::Cdc, settings, saved }
}

fn state() -> CdcState {
    let text = |text: &str| text.to_owned();
    CdcState {
        system: text("7"),
        timeline: 1,
        database: text("db"),
        slot: text("s"),
        publication: text("picomq_publication"),
        phase: Phase::Stream(Position::at(Lsn(0x100))),
        backfill: Default::default(),
    }
}

fn facts() -> Facts {
    let slot = SlotRow {
        plugin: "pgoutput".to_owned(),
        kind: "logical".to_owned(),
        database: "db".to_owned(),
        confirmed: Some(Lsn(0x100)),
        ..SlotRow::default()
    };
    Facts {
        slot: Some(slot),
        held_bytes: 3 << 30,
        freed_bytes: 2 << 20,
        unread_bytes: 100,
        has_publication: true,
        system: "7".to_owned(),
        database: "db".to_owned(),
        ..Facts::default()
    }
}

#[test]
fn our_slot_is_dropped_with_what_it_costs_said() {
    let plan = plan(&stopped(Saved::Cdc(state())), OURS, &facts());
    assert_eq!((plan.refused, plan.is_done), (None, false));
    assert_eq!(plan.statements, ["SELECT pg_drop_replication_slot('s');"]);
    let said = plan.means.join("\n");
    for part in ["after 0/100", "up to 100 bytes", "holds 3.0 GB", "may free 2.0 MB", "state reset orders"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn what_no_state_says_is_ours_is_refused_unless_told() {
    let other_slot = CdcState { slot: "other".to_owned(), ..state() };
    let other_server = CdcState { system: "8".to_owned(), ..state() };
    let other_database = CdcState { database: "else".to_owned(), ..state() };
    for saved in [Saved::Fresh, Saved::Cdc(other_slot), Saved::Cdc(other_server), Saved::Cdc(other_database)]
    {
        let stopped = stopped(saved);
        let refused = plan(&stopped, OURS, &facts()).refused.unwrap();
        assert!(refused.starts_with("postgres.slot_foreign") && refused.contains("--foreign"), "{refused}");
        assert_eq!(plan(&stopped, Wish { foreign: true, ..OURS }, &facts()).refused, None);
    }
}

#[test]
fn a_slot_of_another_kind_is_refused_although_a_state_names_it() {
    let mut facts = facts();
    facts.slot.as_mut().unwrap().plugin = "test_decoding".to_owned();
    let refused = plan(&stopped(Saved::Cdc(state())), OURS, &facts).refused.unwrap();
    assert!(refused.contains("plugin `test_decoding`"), "{refused}");
}

#[test]
fn a_slot_in_use_is_refused_whatever_is_wished() {
    let mut facts = facts();
    facts.slot.as_mut().unwrap().active_pid = Some("4711".to_owned());
    facts.reader = Some("pg_recvlogical".to_owned());
    let wish = Wish { foreign: true, publication: true };
    let refused = plan(&stopped(Saved::Cdc(state())), wish, &facts).refused.unwrap();
    assert!(refused.contains("4711 (\"pg_recvlogical\")") && refused.contains("pg_terminate_backend(4711)"));
}

#[test]
fn the_publication_stays_unless_told_and_goes_after_the_slot() {
    let stopped_ours = stopped(Saved::Cdc(state()));
    let wish = Wish { publication: true, ..OURS };
    let mut facts = facts();
    facts.others = vec!["b".to_owned()];
    let with = plan(&stopped_ours, wish, &facts);
    assert_eq!(with.statements[1], "DROP PUBLICATION \"picomq_publication\";");
    assert!(with.means.last().unwrap().contains("stop without it: b"), "{with:?}");

    let mut theirs = stopped(Saved::Cdc(state()));
    theirs.settings.is_publication_ours = false;
    assert!(plan(&theirs, wish, &facts).refused.unwrap().contains("create_publication = false"));
    assert_eq!(plan(&theirs, Wish { foreign: true, ..wish }, &facts).refused, None);
}

#[test]
fn nothing_there_is_nothing_to_do() {
    let facts = Facts::default();
    let plan = plan(&stopped(Saved::Fresh), Wish { publication: true, ..OURS }, &facts);
    assert_eq!((plan.statements.len(), plan.refused), (0, None));
}

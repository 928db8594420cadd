use std::collections::BTreeSet;

use pico_config::{Engine, Env};

use super::*;

const SOURCE: &str = "type = \"source\"\nkey = \"orders\"\npath = \"lib\"\n[[topics]]\n\
                      topic = { strategy = \"field\", path = \"tenant\", template = \"orders.{value}\" }\n";

fn path() -> RecordPath {
    let engine = Engine::defaults(std::path::Path::new("/srv"));
    let (definition, _) =
        pico_config::check_definition("orders.toml".as_ref(), SOURCE, &engine, &Env::default());
    super::super::record_path(&definition.unwrap(), &engine, None).unwrap()
}

fn letter(offset: i64, source: &str, payload: &str) -> Letter {
    let header = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
    Letter {
        partition: 0,
        offset,
        timestamp_ms: Some(1),
        key: None,
        payload: Some(payload.as_bytes().to_vec()),
        headers: vec![header(error_header::SOURCE, source), header(error_header::SCHEMA, "json")],
    }
}

fn extents(next: i64, left: &[i64]) -> BTreeMap<i32, Extent> {
    let left: BTreeSet<i64> = left.iter().copied().collect();
    BTreeMap::from([(0, Extent { first: 0, end: 1_000, place: Place { next, left } })])
}

const GOOD: &str = r#"{"tenant":"acme"}"#;

#[test]
fn a_plan_says_how_many_go_where_and_which_fail_again() {
    let letters = vec![
        letter(4, "orders", GOOD),
        letter(5, "orders", "{}"),
        letter(6, "clicks", GOOD),
        letter(7, "orders", r#"{"tenant":"bolt"}"#),
        letter(8, "orders", GOOD),
    ];
    let plan = Plan::new(letters, &extents(4, &[]), "orders", &mut path(), false);
    insta::assert_snapshot!(plan.text("dead"), @r#"
    3 of 5 letters in dead will be sent
      2 to orders.acme
      1 to orders.bolt
      1 of other sources, passed over
      1 fail again and stay:
        0/5  unroutable_record: record 0: field "tenant" is not there, so topics[0] has no topic for it; send a value or give the rule a fallback
    "#);
    let document = plan.document("dead", false, None);
    assert_eq!((&document["sendable"], &document["failing"][0]["at"]), (&3.into(), &"0/5".into()));
}

#[test]
fn the_place_moves_past_every_letter_and_keeps_those_that_stay() {
    let letters = vec![letter(2, "orders", GOOD), letter(3, "orders", "{}"), letter(9, "orders", "{}")];
    let extents = extents(9, &[2, 3]);
    let plan = Plan::new(letters, &extents, "orders", &mut path(), false);

    let mut places = BTreeMap::from([(0, extents[&0].place.clone())]);
    plan.items.iter().for_each(|item| item.move_place(&mut places));

    assert_eq!(places[&0], Place { next: 10, left: BTreeSet::from([3, 9]) });
}

#[test]
fn where_too_many_fail_again_the_rest_waits_for_another_replay() {
    let most = LEFT_MAX as i64;
    let letters = (0..most + 5).map(|offset| letter(offset, "orders", "{}"));
    let letters: Vec<Letter> = letters.chain([letter(most + 5, "orders", GOOD)]).collect();
    let plan = Plan::new(letters, &extents(0, &[]), "orders", &mut path(), false);
    assert_eq!((plan.failing(), plan.sendable(), plan.has_more), (LEFT_MAX, 0, true));
}

#[test]
fn a_record_that_the_engine_did_not_write_is_left_alone() {
    let mut foreign = letter(0, "orders", GOOD);
    foreign.headers.clear();
    let plan = Plan::new(vec![foreign], &extents(0, &[]), "orders", &mut path(), false);
    assert!(matches!(&plan.items[0].outlook, Outlook::Fails { code, .. } if code == "not_a_dead_letter"));
}

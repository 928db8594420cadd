//! One violation at a time in a small story that is told out in full.

use super::*;

const FIRST: Sent = Sent { life: 70, number: 1, start: 0, size: 8, at_ms: 1_000 };
/// Killed while it was sent: records 8, 9 and 13 arrived.
const TORN: Sent = Sent { life: 70, number: 2, start: 8, size: 8, at_ms: 1_010 };
/// The same positions again after the restart, cut differently.
const AGAIN: Sent = Sent { life: 9, number: 2, start: 8, size: 6, at_ms: 2_000 };
const LAST: Sent = Sent { life: 9, number: 3, start: 14, size: 6, at_ms: 2_010 };

/// A kill in the middle of a batch and the recovery from it.
fn story() -> Vec<Step> {
    let mut steps = vec![started(900)];
    steps.extend(FIRST.all());
    steps.extend(TORN.some(&[8, 9, 13]));
    steps.extend([killed(), saw(1_500, 70, 1, 8), Step::Settle, started(1_600)]);
    steps.extend(AGAIN.all());
    steps.extend(LAST.all());
    steps.extend([recovered(400), saw(2_500, 9, 3, 20), Step::Settle]);
    steps
}

fn place_of(steps: &[Step], sent: Sent, sequence: u64) -> usize {
    let wanted = sent.record(sequence);
    steps.iter().position(|step| matches!(step, Step::Record(entry) if *entry == wanted)).expect("it is told")
}

fn entry_mut(step: &mut Step) -> &mut Entry {
    match step {
        Step::Record(entry) => entry,
        other => panic!("{other:?} is no record"),
    }
}

/// The story with one change must break `law`, and nothing that is not in `besides`.
fn expect(law: Law, besides: &[Law], plant: impl FnOnce(&mut Vec<Step>)) {
    expect_with(plan(), law, besides, plant);
}

fn expect_with(plan: Plan, law: Law, besides: &[Law], plant: impl FnOnce(&mut Vec<Step>)) {
    let mut steps = story();
    plant(&mut steps);
    let report = judge(plan, &steps);
    let found: Vec<Law> = report.violations.iter().map(|violation| violation.law).collect();
    assert!(found.contains(&law), "{law:?} was planted and not found: {report}");
    assert!(
        found.iter().all(|one| *one == law || besides.contains(one)),
        "only {law:?} was planted: {report}"
    );
    let line = report.violations[0].to_string();
    assert!(line.contains("CHAOS_SEED=1"), "a violation says how to run it again: {line}");
}

#[test]
fn the_story_itself_is_clean_and_its_duplicates_are_counted() {
    let report = judge(plan(), &story());

    report.assert_clean();
    assert_eq!((report.figures.records, report.figures.distinct, report.figures.duplicates), (23, 20, 3));
    assert_eq!((report.figures.most_at_one_incident, report.figures.late_copies), (3, 0));
}

#[test]
fn k1_a_record_that_never_came() {
    expect(Law::K1, &[Law::K3, Law::K7, Law::K6], |steps| {
        let at = place_of(steps, LAST, 15);
        steps.remove(at);
    });
}

#[test]
fn k1_a_hole_above_the_saved_position_is_found_too() {
    let beyond = Sent { life: 9, number: 4, start: 20, size: 12, at_ms: 2_020 };
    expect(Law::K1, &[Law::K7], |steps| steps.extend(beyond.some(&[28])));
}

#[test]
fn k2_a_record_in_the_wrong_topic() {
    expect(Law::K2, &[Law::K1, Law::K3], |steps| {
        let at = place_of(steps, LAST, 19);
        entry_mut(&mut steps[at]).topic = "p-user-0".to_owned();
    });
}

#[test]
fn k2_a_payload_that_the_source_does_not_make() {
    for payload in
        [&b"{}"[..], b"not json", b"{\"sequence\":19,\"user_id\":\"user-0\",\"text\":\"000000000019\"}"]
    {
        expect(Law::K2, &[Law::K1, Law::K3], |steps| {
            let at = place_of(steps, LAST, 19);
            entry_mut(&mut steps[at]).payload = Some(payload.to_vec());
        });
    }
}

#[test]
fn k2_a_text_cut_short() {
    expect(Law::K2, &[Law::K1, Law::K3], |steps| {
        let at = place_of(steps, LAST, 19);
        let short = b"{\"sequence\":19,\"user_id\":\"user-3\",\"text\":\"00000000001\"}";
        entry_mut(&mut steps[at]).payload = Some(short.to_vec());
    });
}

#[test]
fn k2_a_copy_with_another_text() {
    expect(Law::K2, &[Law::K7], |steps| {
        let at = place_of(steps, AGAIN, 9);
        let other = b"{\"sequence\":9,\"user_id\":\"user-1\",\"text\":\"aaaaaaaaaaaa\"}";
        entry_mut(&mut steps[at]).payload = Some(other.to_vec());
    });
}

#[test]
fn k2_a_record_without_provenance() {
    expect(Law::K2, &[Law::K1, Law::K3], |steps| {
        let at = place_of(steps, LAST, 19);
        entry_mut(&mut steps[at]).headers.clear();
    });
}

#[test]
fn k2_a_batch_that_is_of_two_sizes() {
    expect(Law::K2, &[], |steps| {
        let at = place_of(steps, LAST, 19);
        let wrong = Sent { size: 7, ..LAST };
        steps[at] = Step::Record(wrong.record(19));
    });
}

#[test]
fn k2_a_sequence_past_the_end_of_the_source() {
    let short = Plan { max_count: Some(19), ..plan() };
    expect_with(short, Law::K2, &[Law::K1, Law::K3], |_| {});
}

#[test]
fn k3_a_state_ahead_of_the_log_names_its_kill() {
    let mut steps = story();
    let at = steps.iter().position(|step| matches!(step, Step::Settle)).unwrap();
    steps[at - 1] = saw(1_500, 70, 2, 16);

    let report = judge(plan(), &steps);

    let first = &report.violations[0];
    assert_eq!((first.law, first.incident.as_str()), (Law::K3, "kill 1 (start 1: plain)"), "{report}");
}

#[test]
fn k4_a_batch_below_what_was_saved_before_it() {
    expect(Law::K4, &[Law::K5], |steps| {
        let at = place_of(steps, AGAIN, 8);
        let below = Sent { start: 4, size: 10, ..AGAIN };
        steps.splice(at..at + 6, below.all());
    });
}

#[test]
fn k4_a_replay_in_the_same_life_of_what_that_life_had_saved() {
    expect(Law::K4, &[], |steps| {
        let at = place_of(steps, LAST, 14);
        steps.insert(at, saw(2_005, 9, 2, 14));
        let below = Sent { start: 13, size: 7, ..LAST };
        steps.splice(at + 1..at + 7, below.all());
    });
}

#[test]
fn k4_one_record_of_one_batch_written_twice() {
    expect(Law::K4, &[Law::K7], |steps| {
        let at = place_of(steps, LAST, 18);
        let twice = steps[at].clone();
        steps.insert(at, twice);
    });
}

#[test]
fn k5_a_rewind_further_than_what_was_in_flight() {
    expect_with(Plan { in_flight_max: 7, ..plan() }, Law::K5, &[], |_| {});
}

#[test]
fn k5_more_copies_than_were_in_flight() {
    let tight = Plan { in_flight_max: 8, ..plan() };
    expect_with(tight, Law::K5, &[Law::K4], |steps| {
        // Everything from 0 again: 16 are written a second time.
        let at = place_of(steps, AGAIN, 8);
        let below = Sent { start: 0, size: 14, ..AGAIN };
        steps.splice(at..at + 6, below.all());
    });
}

#[test]
fn k6_two_first_occurrences_the_wrong_way_round() {
    expect(Law::K6, &[Law::K7], |steps| {
        let (one, other) = (place_of(steps, FIRST, 1), place_of(steps, FIRST, 5));
        steps.swap(one, other);
    });
}

#[test]
fn k6_a_later_batch_that_overtook_a_failed_one() {
    // 14 and 15 of a batch 3 in flight arrive although 10 and 11 of batch 2 did not: trap 19.
    let overtaking = Sent { life: 70, number: 3, start: 16, size: 8, at_ms: 1_011 };
    expect_with(Plan { in_flight_max: 16, ..plan() }, Law::K6, &[Law::K1], |steps| {
        let at = place_of(steps, TORN, 13) + 1;
        steps.splice(at..at, overtaking.some(&[18]));
    });
}

#[test]
fn k7_a_late_copy_where_nothing_was_held() {
    let late = TORN.some(&[12]);
    expect(Law::K7, &[], |steps| {
        let at = place_of(steps, LAST, 19) + 1;
        steps.splice(at..at, late);
    });
}

#[test]
fn a_late_copy_is_counted_apart_where_bytes_were_held() {
    let mut steps = story();
    let at = place_of(&steps, LAST, 19) + 1;
    steps.splice(at..at, TORN.some(&[12]));
    steps.insert(1, held());

    let report = judge(plan(), &steps);

    report.assert_clean();
    assert_eq!((report.figures.duplicates, report.figures.late_copies), (3, 1));
}

#[test]
fn k7_a_replayed_batch_with_a_hole_is_no_prefix() {
    expect(Law::K7, &[], |steps| {
        // 9 and 13 are copies here: only the shape tells that 9 is missing.
        let at = place_of(steps, AGAIN, 9);
        steps.remove(at);
    });
}

#[test]
fn k8_a_store_that_goes_back_or_stands_still() {
    let steps_back = [
        saw(2_600, 9, 4, 19),
        saw(2_600, 9, 3, 21),
        saw(2_600, 9, 2, 20),
        saw(2_600, 70, 4, 20),
        Step::Event(Event::SawNothing),
    ];
    for step in steps_back {
        expect(Law::K8, &[Law::K1], |steps| steps.push(step.clone()));
    }
}

#[test]
fn an_opening_may_write_what_it_loaded_under_its_own_life() {
    let mut steps = story();
    steps.push(saw(2_600, 5, 3, 20));

    judge(plan(), &steps).assert_clean();
}

#[test]
fn k9_a_deleted_file_that_is_not_delivered_or_not_saved() {
    let good = SideEffects { deleted: [0, 1, 2].into(), saved: Some(3), delivered: [0, 1, 2, 3].into() };
    assert!(check_side_effects(&good, "kill 1", "again").is_empty());

    let lost = SideEffects { delivered: [0, 2, 3].into(), ..good.clone() };
    let early = SideEffects { saved: Some(2), ..good.clone() };
    let unsaved = SideEffects { saved: None, ..good };

    for (look, count) in [(lost, 1), (early, 1), (unsaved, 3)] {
        let found = check_side_effects(&look, "kill 1", "again");
        assert_eq!(found.len(), count, "{found:?}");
        assert!(found.iter().all(|violation| violation.law == Law::K9));
    }
}

#[test]
fn k11_a_recovery_that_is_late_or_never_comes() {
    let place =
        |steps: &[Step]| steps.iter().position(|step| matches!(step, Step::Event(Event::Recovered { .. })));
    expect(Law::K11, &[], |steps| {
        let at = place(steps).unwrap();
        steps[at] = recovered(5_001);
    });
    expect(Law::K11, &[], |steps| {
        let at = place(steps).unwrap();
        steps.remove(at);
    });
}

#[test]
#[should_panic(expected = "nothing was shown")]
fn a_run_that_moved_nothing_is_no_pass() {
    judge(plan(), &[started(1)]).assert_clean();
}

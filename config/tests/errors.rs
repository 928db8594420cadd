//! `[errors]`: the policies, and what each needs.

use pico_config::{ErrorPolicy, OnRecordError};

use crate::given::{check, good, refused, source};

fn errors(lines: &str) -> String {
    source("", &format!("[errors]\n{lines}"))
}

#[test]
fn dead_letters_need_a_topic_of_their_own() {
    let policy =
        good(&errors("on_record_error = \"dead_letter\"\ndead_letter_topic = \"dead\"\nmax_per_minute = 5"))
            .errors;
    let topic = "dead".to_owned();
    assert_eq!(
        policy,
        ErrorPolicy { on_record_error: OnRecordError::DeadLetter { topic }, max_per_minute: 5 }
    );
    insta::assert_snapshot!(refused(&errors("on_record_error = \"dead_letter\"")), @"config.missing_field 8:19 errors.on_record_error: `dead_letter` needs a `dead_letter_topic` (write dead_letter_topic = \"NAME\" below it)");
    insta::assert_snapshot!(refused(&errors("on_record_error = \"dead_letter\"\ndead_letter_topic = \"t\"")), @"config.bad_topic 9:21 errors.dead_letter_topic: `dead_letter_topic` is `t`, where good records go (give dead letters a topic of their own)");
    insta::assert_snapshot!(refused(&errors("on_record_error = \"dead_letter\"\ndead_letter_topic = \"{value}.dead\"")), @"config.bad_topic 9:22 errors.dead_letter_topic: a topic name cannot contain '{' (topic names are made of A-Z a-z 0-9 . _ -)");
    insta::assert_snapshot!(refused(&errors("on_record_error = \"dead_leter\"\nmax_per_minute = 0\ntolerance = \"all\"")), @r#"
    config.unknown_value 8:19 errors.on_record_error: `on_record_error` must be one of `nack`, `dead_letter`, `skip`, not `dead_leter` (did you mean `dead_letter`?)
    config.out_of_range 9:18 errors.max_per_minute: `max_per_minute` is 0, allowed is 1 to 1000000000
    config.unknown_field 10:1 errors.tolerance: unknown field `tolerance` (write on_record_error = "skip" or "dead_letter")
    "#);
}

#[test]
fn skipping_needs_no_topic_and_lets_a_thousand_a_minute_through() {
    let policy = good(&errors("on_record_error = \"skip\"")).errors;
    assert_eq!(policy, ErrorPolicy { on_record_error: OnRecordError::Skip, max_per_minute: 1_000 });
}

#[test]
fn settings_that_the_policy_does_not_read_are_warned_about() {
    for lines in [
        "dead_letter_topic = \"dead\"",
        "max_per_minute = 5",
        "on_record_error = \"skip\"\ndead_letter_topic = \"dead\"",
    ] {
        let (definition, findings) = check(&errors(lines));
        assert!(definition.is_some(), "{lines}");
        assert_eq!(findings.iter().map(|one| one.code).collect::<Vec<_>>(), ["config.no_effect"], "{lines}");
    }
}

//! The top level of a definition, and how findings look.

use std::time::Duration;

use miette::NarratableReportHandler;
use pico_config::{ErrorPolicy, PluginConfigFormat, Severity, Supervision};

use crate::given::{check, code, good, refused, source};

#[test]
fn defaults_are_those_of_the_docs() {
    let definition = good(&source("", ""));

    assert!(definition.enabled && !definition.verbose && !definition.benchmark);
    assert_eq!((definition.version, definition.max_in_flight), (0, 1));
    assert_eq!(definition.name, "a");
    assert_eq!(definition.plugin_config_format, PluginConfigFormat::Toml);
    assert_eq!(definition.supervision, Supervision::default());
    assert_eq!(definition.errors, ErrorPolicy::default());
    assert_eq!(definition.plugin_config.expose_json(), "{}");
}

#[test]
fn all_findings_of_a_file_come_at_once_with_line_and_column_b136() {
    let text = "type = \"source\"\nkey = \"a\"\npath = \"liba\"\nenabld = true\nmax_in_flight = 65\n[[topics]]\n\
                topic = \"t\"\nbatch_lenght = 5\nlinger_time = \"5 parsecs\"\n[[topics]]\nbatch_length = \"5\"\n";
    insta::assert_snapshot!(refused(text), @r#"
    config.unknown_field 4:1 enabld: unknown field `enabld` (did you mean `enabled`?)
    config.out_of_range 5:17 max_in_flight: `max_in_flight` is 65, allowed is 1 to 64
    config.unknown_field 8:1 topics[0].batch_lenght: unknown field `batch_lenght` (did you mean `batch_length`?)
    config.bad_duration 9:15 topics[0].linger_time: `linger_time` must be a duration, such as "500ms", not `5 parsecs` (a duration is a number with a unit: "5ms", "30s", "1m", "1h 30m")
    config.missing_field 10:1 topics[1]: `topic` is missing (`topic`: A literal topic name or a routing rule)
    config.wrong_type 11:16 topics[1].batch_length: `batch_length` must be an integer from 1 to 1000000, not a string (write batch_length = 5, without quotes)
    "#);
}

#[test]
fn a_finding_shows_its_line_and_what_is_meant_b136() {
    let (_, findings) = check(&source("", "batch_lenght = 100"));
    let mut report = String::new();
    NarratableReportHandler::new().render_report(&mut report, &findings[0]).unwrap();
    insta::assert_snapshot!(report, @r#"
    unknown field `batch_lenght`
        Diagnostic severity: error
    Begin snippet for a.toml starting at line 6, column 1

    snippet line 6: topic = "t"
    snippet line 7: batch_lenght = 100
        label at line 7, columns 1 to 12: topics[0].batch_lenght
    diagnostic help: did you mean `batch_length`?
    diagnostic code: config.unknown_field
    "#);
}

#[test]
fn wrong_values_are_refused_with_what_would_be_right_b136() {
    insta::assert_snapshot!(refused(&source("", "batch_length = \"5\"")), @"config.wrong_type 7:16 topics[0].batch_length: `batch_length` must be an integer from 1 to 1000000, not a string (write batch_length = 5, without quotes)");
    insta::assert_snapshot!(refused(&source("", "batch_length = 0")), @"config.out_of_range 7:16 topics[0].batch_length: `batch_length` is 0, allowed is 1 to 1000000");
    insta::assert_snapshot!(refused(&source("", "batch_length = -1")), @"config.out_of_range 7:16 topics[0].batch_length: `batch_length` is -1, allowed is 1 to 1000000");
    insta::assert_snapshot!(refused(&source("", "linger_time = 5")), @r#"config.wrong_type 7:15 topics[0].linger_time: `linger_time` must be a duration, such as "500ms", not an integer (write a unit: linger_time = "5ms" or linger_time = "5s")"#);
    insta::assert_snapshot!(refused(&source("", "partitions = 3")), @r#"config.partitions_unsupported 7:14 topics[0].partitions: `partitions` is 3: a topic has exactly one partition (take the line out, or spread records with topic = { strategy = "hash", … })"#);
    insta::assert_snapshot!(refused(&source("enabled = \"yes\"", "")), @"config.wrong_type 4:11 enabled: `enabled` must be true or false, not a string");
    insta::assert_snapshot!(refused(&source("", "schema = \"jsn\"")), @"config.unknown_value 7:10 topics[0].schema: `schema` must be one of `json`, `raw`, `text`, `proto`, `flatbuffer`, `flat_buffer`, `avro`, not `jsn` (did you mean `json`?)");
}

#[test]
fn one_table_of_topics_or_none_is_refused_b136() {
    let one = "type = \"source\"\nkey = \"a\"\npath = \"liba\"\n[topics]\ntopic = \"t\"\n";
    insta::assert_snapshot!(refused(one), @"config.wrong_type 4:1 topics: `topics` must be a list of tables, not a table (write [[topics]], with two brackets)");
    let none = "type = \"source\"\nkey = \"a\"\npath = \"liba\"\n";
    insta::assert_snapshot!(refused(none), @"config.missing_field 1:1: `topics` is missing (`topics`: One block per producer; every record goes to every block)");
    assert_eq!(code("topics = []\ntype = \"source\"\nkey = \"a\"\npath = \"liba\"\n"), "config.no_topics");
}

#[test]
fn zero_is_a_legal_linger_time_b136() {
    assert_eq!(good(&source("", "linger_time = \"0s\"")).topics[0].linger, Duration::ZERO);
}

#[test]
fn every_syntax_error_is_reported() {
    insta::assert_snapshot!(refused("key = \npath = \"x\nname = 'ok'\nname = 'twice'\n"), @r#"
    config.syntax 1:7: the file is not TOML: string values must be quoted, expected literal string
    config.syntax 2:10: the file is not TOML: invalid basic string, expected `"`
    config.syntax 4:1: the file is not TOML: duplicate key
    "#);
}

#[test]
fn what_is_not_built_is_refused_with_what_to_do_instead() {
    let block = "avro_schema = \"from_source\"";
    insta::assert_snapshot!(refused(&source("", block)), @r#"
    config.not_yet 7:1 topics[0].avro_schema: `avro_schema` is not built yet (write avro_schema_path or avro_schema_json: a schema that comes with the records is not taken yet)
    "#);
}

#[test]
fn empty_settings_of_what_is_not_built_ask_for_nothing() {
    good(&source("transforms = []\n[errors]\non_record_error = \"nack\"", ""));
}

#[test]
fn max_in_flight_goes_from_1_to_64() {
    assert_eq!(good(&source("max_in_flight = 64", "")).max_in_flight, 64);
    assert_eq!(code(&source("max_in_flight = 0", "")), "config.out_of_range");
    assert_eq!(code(&source("max_in_flight = 65", "")), "config.out_of_range");
}

#[test]
fn supervision_of_the_file_goes_over_that_of_the_engine() {
    let definition = good(&source("[supervision]\nnack_limit = 3\nrestart_after = \"off\"", ""));
    let expected = Supervision { nack_limit: 3, restart_after: None, ..Supervision::default() };
    assert_eq!(definition.supervision, expected);
    assert_eq!(code(&source("[supervision]\nbackoff_initial = \"6s\"", "")), "config.out_of_range");
}

#[test]
fn a_path_that_leaves_its_folder_is_refused() {
    for path in ["../x", "/usr/lib/../x", "", "a\\u0000b"] {
        let text = source("", "").replace("liba", path);
        assert_eq!(code(&text), "config.bad_path", "{path}");
    }
}

#[test]
fn names_of_other_runtimes_get_the_way_to_say_it_here() {
    insta::assert_snapshot!(refused(&source("[[streams]]\nstream = \"s\"", "")), @"config.unknown_field 4:3 streams: unknown field `streams` (a source of this engine has [[topics]] blocks)");
}

#[test]
fn equality_is_over_values_not_over_where_they_stand() {
    let plain = good(&source("", "batch_length = 1000"));
    let mut moved = good(&source("# a comment\n\n", ""));
    moved.file = "elsewhere.toml".into();
    assert_eq!(plain, moved);
    assert_ne!(plain, good(&source("", "batch_length = 1001")));
    assert_ne!(plain, good(&source("[plugin_config]\nx = 1", "")));
}

#[test]
fn a_sink_is_named_and_left_alone() {
    let (definition, findings) = check("type = \"sink\"\nkey = \"a\"\n[[streams]]\nx = 1\n");
    assert!(definition.is_none());
    assert_eq!((findings.len(), findings[0].severity, findings[0].code), (1, Severity::Info, "config.sink"));
}

//! A folder of definitions: one bad file never stops another.

use pico_config::{Env, Severity};

use crate::given::{Folder, lines, no_env, source};

fn named(key: &str) -> String {
    source("", "").replace("key = \"a\"", &format!("key = \"{key}\""))
}

#[test]
fn one_bad_file_stops_no_other_and_every_file_is_listed_b126() {
    let bad_duration = source("", "linger_time = \"5 parsecs\"");
    let folder = Folder::new(&[
        ("good.toml", &named("good")),
        ("broken.toml", "key = \"broken"),
        ("keyless.toml", "type = \"source\"\n"),
        ("bad.toml", &bad_duration),
        ("binary.toml", "\u{0}"),
    ]);
    std::fs::write(folder.path("latin.toml"), b"name = \"\xe9\"").unwrap();

    let loaded = folder.load();

    let good: Vec<&str> = loaded.good.iter().map(|definition| definition.key.as_str()).collect();
    assert_eq!(good, ["good"]);
    let bad: Vec<(&str, &str)> =
        loaded.bad.iter().map(|bad| (bad.key.as_str(), bad.findings[0].code)).collect();
    let expected = [
        ("a", "config.bad_duration"),
        ("binary", "config.syntax"),
        ("broken", "config.syntax"),
        ("keyless", "config.missing_field"),
        ("latin", "config.unreadable"),
    ];
    assert_eq!(bad, expected);
}

#[test]
fn strays_are_passed_over_and_a_byte_order_mark_is_accepted_b127() {
    let marked = format!("\u{feff}{}", named("marked"));
    let folder = Folder::new(&[
        ("marked.toml", &marked),
        (".hidden.toml", "x"),
        (".a.toml.swp", "x"),
        ("a.toml.swp", "x"),
        ("README", "x"),
        ("README.md", "x"),
        ("Cargo.toml", "[package]"),
        ("b.toml~", "x"),
    ]);
    std::fs::create_dir(folder.path("sub.toml")).unwrap();
    std::fs::create_dir(folder.path("sub")).unwrap();
    std::fs::write(folder.path("sub/c.toml"), named("c")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("nowhere", folder.path("dangling.toml")).unwrap();

    let loaded = folder.load();

    assert_eq!(loaded.good.iter().map(|d| d.key.as_str()).collect::<Vec<_>>(), ["marked"]);
    assert_eq!((loaded.bad.len(), loaded.warnings.len()), (0, 0));
}

#[test]
fn a_byte_order_mark_moves_no_column_b127() {
    let folder = Folder::new(&[("a.toml", "\u{feff}keyy = 1\n")]);
    let findings = lines(&folder.load().bad[0].findings);
    assert!(findings.contains("config.unknown_field 1:1 keyy"), "{findings}");
}

#[test]
fn keys_equal_ignoring_case_refuse_both_files_by_name_b067() {
    let folder =
        Folder::new(&[("1.toml", &named("Orders")), ("2.toml", &named("orders")), ("3.toml", &named("x"))]);

    let loaded = folder.load();

    assert_eq!(loaded.good.iter().map(|d| d.key.as_str()).collect::<Vec<_>>(), ["x"]);
    assert_eq!(loaded.bad.iter().map(|bad| bad.key.as_str()).collect::<Vec<_>>(), ["Orders", "orders"]);
    for (bad, other) in loaded.bad.iter().zip(["2.toml", "1.toml"]) {
        assert_eq!(
            (bad.findings[0].code, bad.findings[0].location.line()),
            ("config.duplicate_key", Some(2))
        );
        assert!(bad.findings[0].reason.contains(other), "{:?}", bad.findings);
    }
}

#[test]
fn a_broken_file_with_the_key_of_a_good_one_refuses_both_b067() {
    let broken = named("a") + "oops";
    let folder = Folder::new(&[("1.toml", &named("a")), ("2.toml", &broken)]);
    let loaded = folder.load();
    assert!(loaded.good.is_empty());
    assert_eq!(loaded.bad.len(), 2);
}

#[test]
fn keys_that_only_look_alike_are_two_sources_b067() {
    let folder =
        Folder::new(&[("1.toml", &named("a.b")), ("2.toml", &named("a_b")), ("3.toml", &named("a/b"))]);
    let loaded = folder.load();
    assert_eq!(loaded.good.len(), 2);
    assert_eq!((loaded.bad[0].key.as_str(), loaded.bad[0].findings[0].code), ("3", "config.bad_key"));
}

#[test]
fn a_stem_never_hides_the_source_of_that_key() {
    let folder = Folder::new(&[("a.toml", "broken"), ("b.toml", &named("a"))]);
    let loaded = folder.load();
    assert_eq!((loaded.good[0].key.as_str(), loaded.bad[0].key.as_str()), ("a", "a.toml"));
}

#[test]
fn a_sink_is_named_once_and_left_alone() {
    let folder =
        Folder::new(&[("sink.toml", "type = \"sink\"\nkey = \"a\"\nanything = 1"), ("a.toml", &named("a"))]);
    let loaded = folder.load();
    assert_eq!((loaded.good.len(), loaded.bad.len()), (1, 0));
    assert_eq!(loaded.warnings.len(), 1);
    assert_eq!((loaded.warnings[0].code, loaded.warnings[0].severity), ("config.sink", Severity::Info));
}

#[test]
fn the_engines_own_file_is_no_definition() {
    let mut folder = Folder::new(&[("config.toml", ""), ("a.toml", &named("a"))]);
    folder.engine.file = Some(folder.path("config.toml"));
    assert_eq!(folder.load().bad, []);
    folder.engine.file = None;
    assert_eq!(folder.load().bad.len(), 1);
}

#[test]
fn a_folder_that_is_not_there_is_said() {
    let mut folder = Folder::new(&[]);
    folder.engine.connectors.config_dir = folder.path("none");
    let loaded = folder.load();
    assert!(loaded.good.is_empty() && loaded.bad.is_empty());
    assert_eq!((loaded.warnings[0].code, loaded.warnings[0].severity), ("config.no_folder", Severity::Error));
}

#[test]
fn warnings_of_good_files_are_kept() {
    let text = named("a").replace("\"t\"", "{ strategy = \"key\", path = \"x\" }");
    let folder = Folder::new(&[("a.toml", &text)]);
    let loaded = folder.load_with(&Env::default());
    assert_eq!(loaded.good.len(), 1);
    assert!(lines(&loaded.warnings).starts_with("config.no_effect 6:"), "{}", lines(&loaded.warnings));
}

#[test]
fn a_huge_file_is_refused_unread() {
    let folder = Folder::new(&[("a.toml", &"#".repeat(1024 * 1024 + 1))]);
    assert!(lines(&folder.load_with(&no_env()).bad[0].findings).contains("larger than 1048576 bytes"));
}

#[test]
fn a_key_out_of_a_reference_is_a_key_like_any_other_b067() {
    let folder = Folder::new(&[
        ("1.toml", &named("${env:K}")),
        ("2.toml", &named("x")),
        ("3.toml", &named("${env:NO}")),
    ]);
    let env = Env::from_pairs([("K", "X"), ("PICOMQ_CONNECTORS_SOURCE_X_NAME", "n")]);
    let loaded = folder.load_with(&env);
    let codes: Vec<&str> =
        loaded.bad.iter().flat_map(|bad| bad.findings.iter().map(|finding| finding.code)).collect();
    let ambiguous = "config.ambiguous_variable";
    assert_eq!(
        codes,
        ["config.duplicate_key", ambiguous, "config.duplicate_key", ambiguous, "config.bad_reference"]
    );
}

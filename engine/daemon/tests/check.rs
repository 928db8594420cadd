//! `check` and `plugins`: offline, and every finding at once.

use crate::support::Folder;

const GOOD: &str = "type = \"source\"\nkey = \"good\"\npath = \"libnothing\"\n[[topics]]\ntopic = \"x\"\n";

#[test]
fn every_finding_of_every_file_is_listed_and_the_exit_code_is_two() {
    let folder = Folder::new();
    folder.write(
        "config.toml",
        "[connectors]\nconfig_dir = \"sources\"\n[kafka]\nbootstrap_server = \"x:1\"\n",
    );
    folder.write("sources/a.toml", "type = \"source\"\nkey = \"a\"\npath = \"libnothing\"\nenabld = true\n[[topics]]\ntopic = \"x\"\nlinger_time = \"5 parsecs\"\n");

    let (code, out, _) = folder.told(&["check"]);

    assert_eq!(code, 2, "{out}");
    insta::assert_snapshot!(out, @"
    ✗ config.toml
    ✗ sources/a.toml

    config.toml:4:1: error[config.unknown_field]: unknown field `bootstrap_server` (kafka.bootstrap_server)
      hint: did you mean `bootstrap_servers`?
    sources/a.toml:4:1: error[config.unknown_field]: unknown field `enabld` (enabld)
      hint: did you mean `enabled`?
    sources/a.toml:7:15: error[config.bad_duration]: `linger_time` must be a duration, such as \"500ms\", not `5 parsecs` (topics[0].linger_time)
      hint: a duration is a number with a unit: \"5ms\", \"30s\", \"1m\", \"1h 30m\"

    2 files, 3 errors, 0 warnings
    ");
}

#[test]
fn a_missing_plugin_is_found_at_its_line() {
    let folder = Folder::new();
    folder.write("good.toml", GOOD);

    let (code, out, _) = folder.told(&["check", "good.toml"]);

    assert_eq!(code, 2, "{out}");
    let place = "good.toml:3:8: error[plugin.not_found]: no library `libnothing`; looked for libnothing.so in BIN, /usr/local/lib";
    assert!(out.starts_with(&format!("✗ good.toml\n\n{place}")), "{out}");
    assert!(out.contains("\n  hint: ") && out.ends_with("\n\n1 file, 1 error, 0 warnings\n"), "{out}");
}

#[test]
fn a_schema_that_cannot_be_used_is_found_with_its_file_and_place() {
    let folder = Folder::new();
    let block = |more: &str| format!("[[topics]]\ntopic = \"x\"\n{more}\n");
    folder.write("r.avsc", "{\"type\": \"record\",\n  oops}");
    folder.write("p/m.proto", "syntax = \"proto3\";\nmessage M {\n  strin name = 1;\n}\n");
    folder.write("m.bfbs", "namespace m;");
    let blocks = [
        block("schema = \"avro\"\navro_schema_path = \"r.avsc\""),
        block("schema = \"proto\"\nproto_schema_path = \"p/m.proto\""),
        block("schema = \"flatbuffer\"\nflatbuffer_schema_path = \"m.bfbs\""),
    ];
    folder.write(
        "a.toml",
        &format!("type = \"source\"\nkey = \"a\"\npath = \"libnothing\"\n{}", blocks.concat()),
    );

    let (code, out, _) = folder.told(&["check", "a.toml"]);

    assert_eq!(code, 2, "{out}");
    for finding in [
        "a.toml:7:20: error[config.bad_schema]: the avro schema of ",
        "r.avsc cannot be used: it is not JSON: key must be a string at line 2 column 3",
        "a.toml:11:21: error[config.bad_schema]: the proto schema of ",
        "m.proto:3:3",
        "a.toml:15:26: error[config.bad_schema]: the flatbuffer schema of ",
        "flatc --binary --schema",
    ] {
        assert!(out.contains(finding), "{finding}: {out}");
    }
}

#[test]
fn github_annotations_and_json_carry_the_same_findings() {
    let folder = Folder::new();
    folder.write("good.toml", GOOD);

    let (code, annotations, _) = folder.told(&["check", "--format", "github", "good.toml"]);
    let (_, json, _) = folder.told(&["check", "--json", "good.toml"]);

    assert_eq!(code, 2);
    assert!(
        annotations.starts_with("::error file=good.toml,line=3,col=8,title=plugin.not_found::"),
        "{annotations}"
    );
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&document["errors"], &document["warnings"]), (&1.into(), &0.into()));
    assert_eq!(document["findings"][0]["code"], "plugin.not_found");
    assert_eq!(document["findings"][0]["line"], 3);
}

#[test]
fn a_path_that_is_not_there_is_refused_by_name() {
    let (code, _, err) = Folder::new().told(&["check", "nowhere.toml"]);
    assert_eq!(code, 2);
    assert!(err.contains("nowhere.toml"), "{err}");
}

#[test]
fn a_secret_in_a_file_is_in_no_finding_about_it() {
    let folder = Folder::new();
    let text = format!(
        "{GOOD}linger_time = \"x\"\n[plugin_config]\npassword = \"hunter2\"\nurl = \"pg://u:hunter2@h/d\"\n"
    );
    folder.write("good.toml", &text);
    for format in ["human", "json", "github"] {
        let (code, out, err) = folder.told(&["check", "--format", format, "good.toml"]);
        assert_eq!(code, 2);
        assert!(!out.contains("hunter2") && !err.contains("hunter2"), "{format}: {out}{err}");
    }
}

#[test]
fn plugins_lists_folders_and_says_why_a_file_is_refused() {
    let folder = Folder::new();
    folder.write("config.toml", "[plugins]\ndirectories = [\"plugins\"]\n");
    folder.write("plugins/libbroken.so", "not a library");

    let (code, out, _) = folder.told(&["plugins", "--json"]);

    assert_eq!(code, 0);
    let listing: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(listing["directories"], serde_json::json!(["DIR/plugins", "BIN", "/usr/local/lib"]));
    let broken =
        listing["plugins"].as_array().unwrap().iter().find(|one| one["path"] == "DIR/plugins/libbroken.so");
    assert!(broken.unwrap()["refused"].as_str().unwrap().contains("cannot be loaded"));
}

#[test]
fn the_version_is_told_with_what_a_plugin_and_a_broker_must_fit() {
    let (code, out, _) = Folder::new().told(&["--version", "--json"]);
    assert_eq!(code, 0);
    let version: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    assert!(version["librdkafka"].as_str().unwrap().starts_with("2."), "{out}");
    assert!(version["plugin_abi"].is_u64());
}

#[test]
fn what_cannot_be_understood_on_the_command_line_ends_with_two() {
    let folder = Folder::new();
    for arguments in [&["frobnicate"][..], &["dev", "--seconds", "-1"], &["status", "--format", "github"]] {
        assert_eq!(folder.output(arguments).status.code(), Some(2), "{arguments:?}");
    }
    assert_eq!(folder.output(&["--help"]).status.code(), Some(0));
}

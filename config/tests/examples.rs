//! The files in `examples/` are what they say they are.

use std::path::{Path, PathBuf};

use pico_config::{Env, load_definitions, load_engine};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

#[test]
fn every_example_loads_without_a_finding() {
    let env = Env::default();
    let (engine, findings) = load_engine(Some(&examples().join("config.toml")), &env).unwrap();
    assert_eq!(findings, []);
    let loaded = load_definitions(&engine, &env);
    assert_eq!((&loaded.bad, &loaded.warnings), (&vec![], &vec![]));
    let is_toml = |entry: &std::fs::DirEntry| entry.path().extension().is_some_and(|end| end == "toml");
    let files = std::fs::read_dir(examples()).unwrap().filter_map(Result::ok).filter(is_toml).count();
    assert_eq!(loaded.good.len(), files - 1, "one definition a file, beside config.toml");
}

#[test]
fn what_config_toml_shows_behind_a_comment_sign_are_its_defaults() {
    let text = std::fs::read_to_string(examples().join("config.toml")).unwrap();
    let shown = |line: &&str| line.starts_with("# ") && line.contains(" = ") && !line.contains("${");
    let lines: Vec<String> = text
        .lines()
        .map(|line| match line {
            line if line.starts_with('[') || line.starts_with("# [") => {
                line.trim_start_matches("# ").split('#').next().unwrap().to_owned()
            }
            line if shown(&line) => line[2..].to_owned(),
            _ => String::new(),
        })
        .collect();
    let optional = [
        "directories",
        "properties",
        "mechanism",
        "username",
        "ca_file",
        "cert_file",
        "key_file",
        "allowed_hosts",
        "tls",
        "cors",
    ];
    let lines: Vec<String> =
        lines.into_iter().filter(|line| !optional.iter().any(|name| line.starts_with(name))).collect();

    let folder = tempfile::tempdir().unwrap();
    let (with, without) = (folder.path().join("with.toml"), folder.path().join("without.toml"));
    std::fs::write(&with, lines.join("\n")).unwrap();
    std::fs::write(&without, "").unwrap();
    let (mut with, findings) = load_engine(Some(&with), &Env::default()).unwrap();
    let (without, _) = load_engine(Some(&without), &Env::default()).unwrap();

    assert!(lines.iter().filter(|line| line.contains('=')).count() > 25, "{lines:?}");
    with.file = without.file.clone();
    assert_eq!((with, findings), (without, vec![]));
}

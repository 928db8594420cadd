//! Each file by the program that reads it, or by its linter.

use std::path::{Path, PathBuf};
use std::process::Command;

use chaos_tests::binaries;
use chaos_tests::services::of_python;
use chaos_tests::site::scratch;

use crate::deploy;

/// Runs it; what it said is the failure.
fn passes(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{said}");
}

/// The unit as `make install` writes it, for a prefix that holds the binary.
fn installed_unit(folder: &Path) -> PathBuf {
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder.join("bin")).unwrap();
    std::fs::copy(binaries::engine().unwrap(), folder.join("bin/pico-connectors")).unwrap();
    let unit = std::fs::read_to_string(deploy().join("pico-connectors.service")).unwrap();
    let path = folder.join("pico-connectors.service");
    std::fs::write(&path, unit.replace("@PREFIX@", folder.to_str().unwrap())).unwrap();
    path
}

#[test]
fn systemd_takes_the_unit_without_a_word() {
    let unit = installed_unit(&scratch().join("deploy-unit"));
    let mut verify = Command::new("systemd-analyze");
    let output = verify.args(["verify", "--man=no"]).arg(&unit).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !said.contains("pico-connectors"), "{said}");
}

#[test]
fn the_unit_leaves_little_open_to_what_it_runs() {
    let unit = installed_unit(&scratch().join("deploy-exposure"));
    let mut security = Command::new("systemd-analyze");
    // In tenths, of ten: a service that restricts nothing has 9.6.
    passes(security.args(["security", "--offline=true", "--threshold=20"]).arg(unit));
}

#[test]
fn the_stop_timeout_of_unit_and_manifest_is_above_the_grace() {
    let text = |name: &str| std::fs::read_to_string(deploy().join(name)).unwrap();
    let number = |text: &str, before: &str| -> u64 {
        let (_, rest) = text.split_once(before).unwrap();
        rest.lines().next().unwrap().trim().parse().unwrap()
    };
    // The default of [shutdown] grace.
    let grace = 25;
    assert!(number(&text("pico-connectors.service"), "TimeoutStopSec=") > grace);
    assert!(number(&text("kubernetes.yaml"), "terminationGracePeriodSeconds:") > grace);
}

#[test]
fn the_container_file_has_no_findings() {
    passes(of_python("hadolint").arg(deploy().join("Dockerfile")));
}

#[test]
fn kubernetes_knows_every_field_of_the_manifest() {
    passes(of_python("kubernetes-validate").arg("--strict").arg(deploy().join("kubernetes.yaml")));
}

#[test]
fn the_configurations_in_image_and_manifest_are_good() {
    let folder = scratch().join("deploy-configuration");
    std::fs::create_dir_all(&folder).unwrap();
    let manifest = std::fs::read_to_string(deploy().join("kubernetes.yaml")).unwrap();
    let check = |name: &str, file: &str, text: &str| {
        let path = folder.join(name);
        std::fs::create_dir_all(&path).unwrap();
        let definitions = path.to_str().unwrap();
        let text = text.replace("/etc/pico-connectors/sources", definitions);
        let text = text.replace("/etc/pico-connectors-sources", definitions);
        std::fs::write(path.join(file), text).unwrap();
        passes(Command::new(binaries::engine().unwrap()).arg("check").arg(path.join(file)));
    };
    check("image", "config.toml", &std::fs::read_to_string(deploy().join("container.toml")).unwrap());
    let secret = folder.join("api_key");
    std::fs::write(&secret, "0123456789abcdef0123456789abcdef").unwrap();
    let runtime = block(&manifest, "config.toml")
        .replace("/run/secrets/pico-connectors/api_key", secret.to_str().unwrap());
    check("pod", "config.toml", &runtime);
    check("pod", "random.toml", &block(&manifest, "random.toml"));
}

/// The text of a literal block of the manifest.
fn block(manifest: &str, key: &str) -> String {
    let (_, rest) = manifest.split_once(&format!("  {key}: |\n")).unwrap();
    let lines = rest.lines().take_while(|line| line.is_empty() || line.starts_with("    "));
    lines.map(|line| line.trim_start_matches("    ").to_owned() + "\n").collect()
}

#[test]
fn each_alert_fires_when_it_should_and_only_then() {
    let rules = deploy().join("prometheus");
    passes(Command::new("promtool").args(["check", "rules", "alerts.yaml"]).current_dir(&rules));
    passes(Command::new("promtool").args(["test", "rules", "alerts.test.yaml"]).current_dir(&rules));
    let text = |name: &str| std::fs::read_to_string(rules.join(name)).unwrap();
    let tests = text("alerts.test.yaml");
    for alert in text("alerts.yaml").lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
        let name = format!("alertname: {alert}\n");
        let mut fires =
            tests.split(&name).skip(1).map(|after| after.trim_start().starts_with("exp_alerts:\n"));
        assert!(fires.any(|fires| fires), "no test shows that {alert} fires");
    }
}

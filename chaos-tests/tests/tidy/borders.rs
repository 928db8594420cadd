//! Who may know whom. The same table stands in docs/architecture.md for people.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::tree::top;

/// Every crate, its folder, and the crates of this workspace that it may depend on, in tests too.
const TABLE: [(&str, &str, &[&str]); 16] = [
    ("picomq-connector-sdk", "plugins/sdk", &[]),
    ("pico-config", "config", &["picomq-connector-sdk"]),
    ("pico-record", "engine/record", &["picomq-connector-sdk", "pico-config"]),
    ("pico-actors", "actors", &["picomq-connector-sdk", "pico-config", "pico-record"]),
    ("pico-broker", "engine/broker", &["picomq-connector-sdk", "pico-config", "pico-record", "pico-actors"]),
    (
        "pico-state",
        "engine/state",
        &["picomq-connector-sdk", "pico-config", "pico-record", "pico-actors", "reference-state-server"],
    ),
    ("pico-devbroker", "engine/devbroker", &[]),
    (
        "pico-connectors",
        "engine/daemon",
        &[
            "picomq-connector-sdk",
            "pico-config",
            "pico-record",
            "pico-actors",
            "pico-broker",
            "pico-state",
            "pico-devbroker",
            "reference-state-server",
        ],
    ),
    ("picomq-connector-postgres-source", "plugins/postgres", &["picomq-connector-sdk"]),
    ("picomq-connector-random-source", "plugins/random", &["picomq-connector-sdk"]),
    ("picomq-connector-http-source", "plugins/http", &["picomq-connector-sdk"]),
    ("picomq-connector-elasticsearch-source", "plugins/elasticsearch", &["picomq-connector-sdk"]),
    ("picomq-connector-influxdb-source", "plugins/influxdb", &["picomq-connector-sdk"]),
    ("picomq-connector-faulty-source", "chaos-tests/faulty-plugin", &["picomq-connector-sdk"]),
    ("reference-state-server", "chaos-tests/state-server", &[]),
    ("chaos-tests", "chaos-tests", &["pico-devbroker", "reference-state-server"]),
];

/// Libraries that stay behind one door, and who holds the door.
const KEPT: [(&str, &[&str]); 5] = [
    ("ractor", &["pico-actors"]),
    ("rdkafka", &["pico-broker", "chaos-tests"]),
    ("libloading", &["picomq-connector-sdk"]),
    ("kafka-protocol", &["pico-devbroker"]),
    ("axum", &["pico-connectors"]),
];

/// The packages of the workspace as cargo sees them.
pub(crate) fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path"])
        .arg(top().join("Cargo.toml"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().clone();
    assert!(packages.len() >= TABLE.len(), "cargo lists {} packages only", packages.len());
    packages
}

/// Every dependency that crosses a border, and every crate that the table does not know.
pub(crate) fn strangers(packages: &[Value]) -> Vec<String> {
    let ours: Vec<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    packages.iter().flat_map(|package| strangers_of(package, &ours)).collect()
}

fn strangers_of(package: &Value, ours: &[&str]) -> Vec<String> {
    let name = package["name"].as_str().unwrap();
    let Some((_, folder, may)) = TABLE.iter().find(|(known, ..)| *known == name) else {
        return vec![format!("{name} is not in the table of crates: say whom it may know")];
    };
    let mut findings = Vec::new();
    let manifest = package["manifest_path"].as_str().unwrap();
    if top().join(folder).join("Cargo.toml") != Path::new(manifest) {
        findings.push(format!("{name} lies in {manifest}, not in {folder}"));
    }
    for dependency in package["dependencies"].as_array().unwrap() {
        let to = dependency["name"].as_str().unwrap();
        if ours.contains(&to) && to != name && !may.contains(&to) {
            findings.push(format!("{name} may not know {to}"));
        }
        let door = KEPT.iter().find(|(kept, _)| *kept == to);
        if let Some((kept, holders)) = door.filter(|(_, holders)| !holders.contains(&name)) {
            findings.push(format!("{name} may not know {kept}: only {} may", holders.join(" and ")));
        }
    }
    findings
}

/// Every crate whose default features arm the points where a chaos run kills the process.
pub(crate) fn armed(packages: &[Value]) -> Vec<String> {
    let mut findings = Vec::new();
    for package in packages {
        let defaults = package["features"]["default"].as_array().map_or(&[][..], Vec::as_slice);
        for feature in
            defaults.iter().filter_map(Value::as_str).filter(|feature| feature.contains("failpoints"))
        {
            findings.push(format!("{}: `{feature}` is a default feature", package["name"]));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn package(name: &str, folder: &str, dependencies: &[&str]) -> Value {
        let dependencies: Vec<Value> = dependencies.iter().map(|name| json!({ "name": name })).collect();
        let manifest = top().join(folder).join("Cargo.toml");
        json!({ "name": name, "manifest_path": manifest, "dependencies": dependencies })
    }

    #[test]
    fn an_adapter_in_the_record_path_is_found() {
        let packages = [
            package("pico-record", "engine/record", &["pico-broker", "serde"]),
            package("pico-broker", "engine/broker", &[]),
        ];
        assert_eq!(strangers(&packages), ["pico-record may not know pico-broker"]);
    }

    #[test]
    fn an_actor_library_outside_its_crate_is_found() {
        let packages = [package("pico-state", "engine/state", &["ractor"])];
        assert_eq!(strangers(&packages), ["pico-state may not know ractor: only pico-actors may"]);
    }

    #[test]
    fn a_crate_that_the_table_does_not_know_is_found() {
        let findings = strangers(&[package("pico-new", "engine/new", &[])]);
        assert!(findings[0].contains("pico-new is not in the table"), "{findings:?}");
    }

    #[test]
    fn a_crate_in_another_folder_is_found() {
        let findings = strangers(&[package("pico-config", "engine/config", &[])]);
        assert!(findings[0].contains("not in config"), "{findings:?}");
    }

    #[test]
    fn fail_points_by_default_are_found() {
        let armed_package = json!({ "name": "pico-state", "features": { "default": ["fail/failpoints"] } });
        assert_eq!(armed(&[armed_package]).len(), 1);
        assert_eq!(
            armed(&[json!({ "name": "pico-state", "features": { "failpoints": ["fail/failpoints"] } })])
                .len(),
            0
        );
    }
}

//! Four things that go wrong, and what an operator sees: alert, dashboard and the source's own checks agree.

use std::process::Command;
use std::time::Duration;

use chaos_tests::binaries;
use chaos_tests::daemon::Daemon;
use chaos_tests::http;
use chaos_tests::kafka::{Kafka, Switches};
use chaos_tests::launch::Launch;
use chaos_tests::site::{Site, scratch};
use chaos_tests::workload::Workload;
use serde_json::Value;

use crate::deploy;
use crate::prometheus::Prometheus;

const WITHIN: Duration = Duration::from_secs(60);

/// An engine with its Prometheus.
struct Scene {
    site: Site,
    daemon: Daemon,
    prometheus: Prometheus,
}

impl Scene {
    fn start(name: &str, bootstrap: &str, sources: &[Workload], launch: &Launch) -> Scene {
        let folder = scratch().join(name);
        let site = Site::new(&folder, bootstrap, "").unwrap();
        for source in sources {
            site.define(&source.key, &source.definition()).unwrap();
        }
        let mut daemon = site.start(launch).unwrap();
        daemon.wait_serving().unwrap();
        let prometheus = Prometheus::start(&folder.join("prometheus"), site.port());
        Scene { site, daemon, prometheus }
    }

    /// Waits until the source delivered and all its checks are good.
    fn wait_well(&self, key: &str) {
        self.prometheus.wait(&format!("{key} is well"), || {
            let checks = self.checks(key);
            let bad = checks.iter().filter(|check| check["status"] != "ok").count();
            if bad == 0 { Ok(()) } else { Err(format!("{checks:?}")) }
        });
    }

    fn wait_check(&self, key: &str, name: &str) {
        self.prometheus.wait(&format!("check {name} of {key}"), || {
            let checks = self.checks(key);
            let is_bad = |check: &Value| check["name"] == name && check["status"] == "error";
            match checks.iter().find(|check| is_bad(check)) {
                Some(check) => {
                    assert!(check["advice"].as_str().is_some_and(|advice| advice.contains("To mend it")));
                    Ok(())
                }
                None => Err(format!("{checks:?}")),
            }
        });
        let said = self.doctor(key);
        let look = said.iter().find(|look| look["name"] == format!("{key}: {name}")).expect(name);
        assert!(look["status"] == "error" && look["detail"].is_string(), "{look}");
    }

    /// What `doctor` prints of a source.
    fn doctor(&self, key: &str) -> Vec<Value> {
        let url = format!("http://127.0.0.1:{}", self.site.port());
        let mut doctor = Command::new(binaries::engine().unwrap());
        doctor.args(["--json", "--url", &url, "--config"]).arg(self.site.config()).args(["doctor", key]);
        let output = doctor.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert_ne!(output.status.code(), Some(0), "something is wrong: {said}");
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"))
    }

    fn checks(&self, key: &str) -> Vec<Value> {
        let answer = http::request(self.site.port(), "GET", &format!("/sources/{key}")).unwrap();
        answer.json().unwrap()["checks"].as_array().unwrap().clone()
    }

    /// The figure that a panel of the dashboard shows for a source; all of them summed where it shows one figure.
    fn panel(&self, title: &str, key: &str) -> f64 {
        let dashboard = dashboard();
        let panels = dashboard["panels"].as_array().unwrap();
        let panel = panels.iter().find(|panel| panel["title"] == title).expect(title);
        let expression = filled(panel["targets"][0]["expr"].as_str().unwrap());
        let series = self.prometheus.query(&expression);
        let ours = |labels: &Value| labels["connector_key"].is_null() || labels["connector_key"] == key;
        series.iter().filter(|(labels, _)| ours(labels)).map(|(_, value)| value).sum()
    }

    fn wait_panel(&self, title: &str, key: &str, is_so: impl Fn(f64) -> bool) {
        self.prometheus.wait(&format!("panel {title}"), || match self.panel(title, key) {
            value if is_so(value) => Ok(()),
            value => Err(value.to_string()),
        });
    }
}

fn dashboard() -> Value {
    let text = std::fs::read_to_string(deploy().join("grafana/pico-connectors.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// An expression of the dashboard with its variables at "All".
fn filled(expression: &str) -> String {
    expression
        .replace("$instance", ".*")
        .replace("$source", ".*")
        .replace("[5m]", "[5s]")
        .replace("[1m]", "[5s]")
}

fn source(key: &str, supervision: &str) -> Workload {
    let sections =
        format!("[supervision]\nbackoff_initial = \"10ms\"\nbackoff_max = \"50ms\"\n{supervision}");
    Workload { sections, ..Workload::new(key, 1) }
}

#[test]
fn a_broker_that_is_down_shows_as_nacks_then_as_an_error_and_a_stuck_batch_as_stuck() {
    let folder = scratch().join("truth-kafka");
    let kafka = Kafka::start(&folder, Switches::default()).unwrap();
    let sources = [
        source("refused", "batch_deadline = \"300ms\"\nnack_limit = 14\nrestart_after = \"off\"\n"),
        source("stuck", "batch_deadline = \"10m\"\nstall_after = \"2s\"\n"),
    ];
    let scene = Scene::start("truth-broker", &kafka.bootstrap(), &sources, &Launch::default());
    scene.wait_well("refused");
    scene.wait_well("stuck");
    assert_eq!(scene.panel("In error", "refused"), 0.0);

    kafka.pause();

    scene.wait_check("refused", "broker_reachable");
    scene.prometheus.wait_alert("ConnectorSourceInError", "refused");
    scene.wait_panel("In error", "refused", |value| value == 1.0);
    scene.wait_panel("Nacks in a row", "refused", |value| value == 14.0);
    scene.prometheus.wait_alert("ConnectorSourceNacks", "refused");
    let view = scene.daemon.source("refused").unwrap();
    assert_eq!((view.status.as_str(), view.consecutive_nacks), ("error", 14), "{view:?}");

    scene.wait_check("stuck", "progress");
    scene.prometheus.wait_alert("ConnectorSourceStuck", "stuck");
    scene.wait_panel("Batches in flight", "stuck", |value| value == 1.0);
    kafka.resume();
    scene.daemon.command("refused", "restart").unwrap();
    scene.wait_well("refused");
    scene.wait_well("stuck");
}

#[test]
fn a_store_that_takes_nothing_shows_as_an_error_of_the_checkpoint() {
    let kafka = Kafka::shared();
    let launch = Launch { small_state_kib: Some(64), ..Launch::default() };
    let scene = Scene::start("truth-store", &kafka.bootstrap(), &[source("unsaved", "")], &launch);
    scene.wait_well("unsaved");

    scene.daemon.remount(&scene.site.state_folder(), "ro").unwrap();

    scene.wait_check("unsaved", "checkpoint_saved");
    scene.daemon.wait_status("unsaved", "error", WITHIN).unwrap();
    scene.prometheus.wait_alert("ConnectorSourceInError", "unsaved");
    scene.wait_panel("In error", "unsaved", |value| value == 1.0);
    scene.daemon.remount(&scene.site.state_folder(), "rw").unwrap();
    scene.wait_well("unsaved");
}

#[test]
fn every_panel_of_the_dashboard_shows_something_of_a_running_engine() {
    let kafka = Kafka::shared();
    let scene = Scene::start("truth-panels", &kafka.bootstrap(), &[source("shown", "")], &Launch::default());
    scene.wait_well("shown");
    let dashboard = dashboard();
    for panel in dashboard["panels"].as_array().unwrap().iter().filter(|panel| panel["type"] != "row") {
        let title = panel["title"].as_str().unwrap();
        assert!(panel["description"].as_str().is_some_and(|text| !text.is_empty()), "{title}");
        // Only a plugin whose upstream can be behind reports a lag.
        if title.starts_with("Lag") {
            continue;
        }
        for target in panel["targets"].as_array().unwrap() {
            let expression = filled(target["expr"].as_str().unwrap());
            scene.prometheus.wait(&format!("{title}: {expression}"), || {
                match scene.prometheus.query(&expression).is_empty() {
                    true => Err("no series".to_owned()),
                    false => Ok(()),
                }
            });
        }
    }
}

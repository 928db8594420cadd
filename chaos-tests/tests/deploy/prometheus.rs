//! A real Prometheus with our alert rules, on a clock that runs faster: minutes of the rules are seconds.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use chaos_tests::http;
use chaos_tests::ports::free_port;
use chaos_tests::wait::wait_for;
use serde_json::Value;

use crate::deploy;

/// Long enough for a debug build on a busy machine.
const WITHIN: Duration = Duration::from_secs(60);

pub(crate) struct Prometheus {
    child: Child,
    port: u16,
}

impl Prometheus {
    /// Scrapes the engine at `target` twice a second.
    pub(crate) fn start(folder: &Path, target: u16) -> Prometheus {
        let _ = std::fs::remove_dir_all(folder);
        std::fs::create_dir_all(folder).unwrap();
        let rules = std::fs::read_to_string(deploy().join("prometheus/alerts.yaml")).unwrap();
        std::fs::write(folder.join("alerts.yaml"), faster(&rules)).unwrap();
        let config = format!(
            "global:\n  scrape_interval: 500ms\n  scrape_timeout: 500ms\n  evaluation_interval: 500ms\n\
             rule_files: [alerts.yaml]\nscrape_configs:\n  - job_name: pico\n    static_configs:\n      - targets: ['127.0.0.1:{target}']\n"
        );
        std::fs::write(folder.join("prometheus.yml"), config).unwrap();
        let port = free_port();
        let log = std::fs::File::create(folder.join("log")).unwrap();
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", folder.join("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("prometheus stands in packages.txt");
        let prometheus = Prometheus { child, port };
        prometheus.wait("a first scrape", || match prometheus.query("up == 1").len() {
            0 => Err("not scraped yet".to_owned()),
            _ => Ok(()),
        });
        prometheus
    }

    /// Waits until this alert fires for this source.
    pub(crate) fn wait_alert(&self, alert: &str, key: &str) {
        let query = format!("ALERTS{{alertname=\"{alert}\",connector_key=\"{key}\",alertstate=\"firing\"}}");
        self.wait(&format!("{alert} of {key}"), || match self.query(&query).is_empty() {
            true => Err(format!("firing: {:?}", self.query("ALERTS{alertstate=\"firing\"}"))),
            false => Ok(()),
        });
    }

    /// The series an expression gives now: labels and value.
    pub(crate) fn query(&self, expression: &str) -> Vec<(Value, f64)> {
        let path = format!("/api/v1/query?query={}", percent_encoded(expression));
        // Not up yet is no series.
        let Ok(answer) = http::request(self.port, "GET", &path) else { return Vec::new() };
        let Ok(json) = answer.json() else { return Vec::new() };
        assert!(answer.status < 400 || answer.status == 503, "{expression}: {json}");
        let series = json["data"]["result"].as_array().cloned().unwrap_or_default();
        let value = |one: &Value| one["value"][1].as_str().and_then(|text| text.parse().ok());
        series.iter().filter_map(|one| Some((one["metric"].clone(), value(one)?))).collect()
    }

    pub(crate) fn wait(&self, what: &str, is_so: impl FnMut() -> Result<(), String>) {
        wait_for(what, WITHIN, is_so).unwrap();
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The rules with seconds in place of minutes.
fn faster(rules: &str) -> String {
    let mut text = rules.to_owned();
    for minutes in ["1m", "5m", "10m", "15m"] {
        let seconds = minutes.replace('m', "s");
        text = text.replace(&format!("for: {minutes}\n"), &format!("for: {seconds}\n"));
        text = text.replace(&format!("[{minutes}]"), &format!("[{seconds}]"));
    }
    text
}

fn percent_encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

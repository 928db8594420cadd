//! How one entry of the list looks from outside.

use std::time::Instant;

use pico_config::{Definition, HashOf, PluginConfigFormat, Rule, Value};

use crate::source::BadSource;
use crate::status::{Lag, LastError, Report, SourceView, Status, TopicView};

pub(super) fn view_of_good(id: u32, report: &Report) -> SourceView {
    let definition = &report.definition;
    SourceView {
        id,
        key: definition.key.as_str().to_owned(),
        name: definition.name.clone(),
        path: definition.path.clone(),
        enabled: definition.enabled,
        status: report.status,
        last_error: report.last_error.clone(),
        plugin_config_format: format_name(definition.plugin_config_format),
        since: report.since_ms,
        conditions: report.conditions.clone(),
        consecutive_nacks: report.consecutive_nacks,
        in_flight: report.in_flight,
        checkpoint_age_ms: report.checkpointed.map(|at| at.elapsed().as_millis() as u64),
        // One place after the point, so that the answer is as calm as the figure.
        records_per_second: (report.rate.read(Instant::now()) * 10.0).round() / 10.0,
        lag: report.lag,
    }
}

pub(super) fn view_of_bad(id: u32, bad: &BadSource, since: u64) -> SourceView {
    let cause = &bad.cause;
    SourceView {
        id,
        key: bad.key.clone(),
        name: bad.key.clone(),
        path: bad.path.clone(),
        enabled: true,
        status: Status::Error,
        last_error: Some(LastError {
            message: cause.message.clone(),
            timestamp: since,
            code: cause.code.to_owned(),
        }),
        plugin_config_format: "toml",
        since,
        conditions: Vec::new(),
        consecutive_nacks: 0,
        in_flight: 0,
        checkpoint_age_ms: None,
        records_per_second: 0.0,
        lag: Lag::default(),
    }
}

pub(super) fn topics(definition: &Definition) -> Vec<TopicView> {
    let view = |block: &pico_config::TopicBlock| TopicView {
        topic: rule_in_short(&block.rule),
        schema: block.schema.as_str(),
    };
    definition.topics.iter().map(view).collect()
}

/// A literal topic, or where the value comes from and what becomes of it: `field:tenant → orders.{value}`.
fn rule_in_short(rule: &Rule) -> String {
    match rule {
        Rule::Static(topic) => topic.clone(),
        Rule::Dynamic { from, template, .. } => {
            let value = match from {
                Value::Field(path) => format!("field:{path}"),
                Value::Header(name) => format!("header:{name}"),
                Value::Key => "key".to_owned(),
                Value::Hash { of: HashOf::Field(path), buckets } => format!("hash(field:{path})%{buckets}"),
                Value::Hash { of: HashOf::Header(name), buckets } => format!("hash(header:{name})%{buckets}"),
                Value::Hash { of: HashOf::Key, buckets } => format!("hash(key)%{buckets}"),
            };
            format!("{value} → {template}")
        }
    }
}

fn format_name(format: PluginConfigFormat) -> &'static str {
    match format {
        PluginConfigFormat::Json => "json",
        PluginConfigFormat::Yaml => "yaml",
        PluginConfigFormat::Toml => "toml",
        PluginConfigFormat::Text => "text",
    }
}

//! What changed about the sources between two looks, in words. Pure.

use pico_actors::status::{SourceView, Status};
use serde_json::{Value, json};

/// One change worth a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    /// Stable, for programs.
    kind: &'static str,
    source: String,
    text: String,
}

impl Change {
    /// For people.
    pub(crate) fn line(&self) -> String {
        format!("▸ {}  {}", self.source, self.text)
    }

    /// For programs.
    pub(crate) fn object(&self) -> Value {
        json!({ "type": self.kind, "source": self.source, "message": self.text })
    }
}

/// Everything that changed, in the order of the sources.
pub(crate) fn changes(before: &[SourceView], now: &[SourceView]) -> Vec<Change> {
    let former = |key: &str| before.iter().find(|source| source.key == key);
    now.iter().flat_map(|source| of_source(former(&source.key), source)).collect()
}

fn of_source(before: Option<&SourceView>, now: &SourceView) -> Vec<Change> {
    let change = |kind, text: String| Change { kind, source: now.key.clone(), text };
    let cause = now.last_error.as_ref().map(|error| format!(": {}", error.message)).unwrap_or_default();
    let nacks = before.map_or(0, |before| before.consecutive_nacks);
    let mut all = Vec::new();
    if now.consecutive_nacks > nacks {
        let condition = now.conditions.iter().find(|condition| condition.starts_with("backing_off"));
        let condition = condition.map(|text| format!(", {text}")).unwrap_or_default();
        let text = format!("nack {}{condition}{cause}", now.consecutive_nacks);
        all.push(change("nack", text));
    }
    if nacks > 0 && now.consecutive_nacks == 0 {
        all.push(change(
            "recovered",
            format!("delivered again after {nacks} nack{}", if nacks == 1 { "" } else { "s" }),
        ));
    }
    let status = before.map(|before| before.status);
    if status != Some(now.status) {
        let from = status.map(|status| format!("{} → ", status.as_str())).unwrap_or_default();
        let cause = if now.status == Status::Error { cause } else { String::new() };
        all.push(change("status", format!("{from}{}{cause}", now.status.as_str())));
    }
    all
}

#[cfg(test)]
mod tests {
    use pico_actors::status::LastError;

    use super::*;

    fn view(status: Status, consecutive_nacks: u32, error: Option<&str>) -> SourceView {
        SourceView {
            id: 1,
            key: "random".to_owned(),
            name: "Random".to_owned(),
            path: "lib".to_owned(),
            enabled: true,
            status,
            last_error: error.map(|message| LastError {
                message: message.to_owned(),
                timestamp: 0,
                code: String::new(),
            }),
            plugin_config_format: "toml",
            since: 0,
            conditions: match consecutive_nacks {
                0 => Vec::new(),
                nacks => vec![format!("backing_off({nacks}/30)")],
            },
            consecutive_nacks,
            in_flight: 0,
            checkpoint_age_ms: None,
            records_per_second: 0.0,
            lag: Default::default(),
        }
    }

    fn lines(before: &SourceView, now: &SourceView) -> Vec<String> {
        changes(std::slice::from_ref(before), std::slice::from_ref(now)).iter().map(Change::line).collect()
    }

    #[test]
    fn a_nack_says_why_and_its_end_is_told() {
        let (calm, nacked) =
            (view(Status::Running, 0, None), view(Status::Running, 1, Some("no report for 2 s")));
        assert_eq!(lines(&calm, &nacked), ["▸ random  nack 1, backing_off(1/30): no report for 2 s"]);
        assert_eq!(lines(&nacked, &calm), ["▸ random  delivered again after 1 nack"]);
    }

    #[test]
    fn nothing_changed_is_nothing_said() {
        let calm = view(Status::Running, 0, None);
        assert_eq!(lines(&calm, &calm), Vec::<String>::new());
    }

    #[test]
    fn a_status_is_told_with_where_it_came_from_and_an_error_with_its_cause() {
        let (running, error) = (view(Status::Running, 0, None), view(Status::Error, 0, Some("slot lost")));
        assert_eq!(lines(&running, &error), ["▸ random  running → error: slot lost"]);
        assert_eq!(changes(&[], &[running])[0].line(), "▸ random  running");
    }
}

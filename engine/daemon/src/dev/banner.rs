//! The first and the last words of `dev`. Pure.

use pico_actors::status::SourceDetail;

use crate::version::VERSION;

/// What is shown at the start.
pub(crate) struct Banner<'a> {
    /// Folder that keeps topics and checkpoints.
    pub(crate) data: Option<&'a str>,
    /// Address of the broker.
    pub(crate) broker: String,
    /// Address of the API; None when it is switched off.
    pub(crate) api: Option<String>,
    /// The sources, each with the file it came from.
    pub(crate) sources: Vec<(SourceDetail, String)>,
    /// What was not as wished.
    pub(crate) remarks: &'a [String],
}

impl Banner<'_> {
    /// The text, with an empty line at its end.
    pub(crate) fn text(&self) -> String {
        let mode = match self.data {
            Some(data) => format!("kept in {data}"),
            None => "in memory, nothing is kept; add --data ./dev to keep it".to_owned(),
        };
        let mut text = format!("pico-connectors {VERSION} · dev mode ({mode})\n");
        let mut line = |name: &str, value: &str| text.push_str(&format!("  {name:<8} {value}\n"));
        line("broker", &format!("{:<24} kcat -b {} -L", self.broker, self.broker));
        if let Some(api) = &self.api {
            let url = format!("http://{api}");
            line("api", &format!("{url:<24} curl {url}/sources"));
        }
        for (source, file) in &self.sources {
            let topics: Vec<&str> = source.topics.iter().map(|topic| topic.topic.as_str()).collect();
            line("source", &format!("{:<24} {file} → {}", source.view.key, topics.join(", ")));
        }
        for remark in self.remarks {
            line("note", remark);
        }
        text.push('\n');
        text
    }
}

/// The last words: what came of it, and what to do next.
pub(crate) fn farewell(records: i64, topics: usize, has_drained: bool) -> String {
    let end = if has_drained {
        "everything in flight was delivered and saved"
    } else {
        "gave up waiting for what was in flight"
    };
    format!(
        "{records} records in {topics} topics; {end}\n\
         next: write a definition, then `pico-connectors check FILE` and `pico-connectors dev FILE`\n"
    )
}

#[cfg(test)]
mod tests {
    use pico_actors::status::{SourceView, Status, TopicView};

    use super::*;

    #[test]
    fn the_banner_says_where_everything_is_and_what_was_not_as_wished() {
        let view = SourceView {
            id: 1,
            key: "random".to_owned(),
            name: "Random source".to_owned(),
            path: "lib".to_owned(),
            enabled: true,
            status: Status::Starting,
            last_error: None,
            plugin_config_format: "toml",
            since: 0,
            conditions: Vec::new(),
            consecutive_nacks: 0,
            in_flight: 0,
            checkpoint_age_ms: None,
            records_per_second: 0.0,
            lag: Default::default(),
        };
        let topics = vec![TopicView { topic: "{field:user_id}".to_owned(), schema: "json" }];
        let banner = Banner {
            data: None,
            broker: "127.0.0.1:19093".to_owned(),
            api: Some("127.0.0.1:8081".to_owned()),
            sources: vec![(
                SourceDetail { view, topics, checks: Vec::new() },
                "config/examples/random.toml".to_owned(),
            )],
            remarks: &["port 19092 is taken, the broker listens on 19093".to_owned()],
        };
        insta::assert_snapshot!(banner.text(), @r"
        pico-connectors 0.1.0 · dev mode (in memory, nothing is kept; add --data ./dev to keep it)
          broker   127.0.0.1:19093          kcat -b 127.0.0.1:19093 -L
          api      http://127.0.0.1:8081    curl http://127.0.0.1:8081/sources
          source   random                   config/examples/random.toml → {field:user_id}
          note     port 19092 is taken, the broker listens on 19093
        ");
    }
}

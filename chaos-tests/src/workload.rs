//! The definitions that tests give to the engine: a counting source, fanned out so that a record tells by itself
//! where it belongs.

use std::fmt::Write;

/// Which plugin makes the records.
#[derive(Debug, Clone)]
pub enum Maker {
    /// The random source.
    Random,
    /// The faulty source's script: its steps and its poisoned records, each the inside of a TOML list.
    Script {
        /// `{ call = "poll", at = 3, do = "panic" }`, comma separated.
        steps: String,
        /// `{ sequence = 57, with = "not_json" }`, comma separated.
        poison: String,
    },
}

/// A source of the chaos tests. Sequence `s` carries `user_id = user-(s mod pool)` and goes to the topic
/// `<prefix>user-(s mod pool)`; every record says which batch it was part of.
#[derive(Debug, Clone)]
pub struct Workload {
    /// The key of the source.
    pub key: String,
    /// The plugin. A script has batches of `batch_max` and no text.
    pub maker: Maker,
    /// What stands before `user-k` in its topics, so that stories on one broker do not meet.
    pub prefix: String,
    /// How many topics.
    pub pool: u64,
    /// The pause before each batch, as written: `20ms`.
    pub interval: String,
    /// Fewest records in a batch.
    pub batch_min: u64,
    /// Most records in a batch.
    pub batch_max: u64,
    /// `max_in_flight`.
    pub window: u64,
    /// The length of the random text.
    pub payload_size: usize,
    /// The seed of that text.
    pub seed: u64,
    /// The source stops after this many records.
    pub max_count: Option<u64>,
    /// `create_topics` of its block.
    pub create_topics: bool,
    /// More lines for its `[[topics]]` block.
    pub block: String,
    /// More sections: `[supervision]`.
    pub sections: String,
}

impl Workload {
    /// Batches of 20 to 200 records every 20 ms over four topics, which makes a kill every 1.5 s useful.
    pub fn new(key: &str, seed: u64) -> Self {
        Self {
            key: key.to_owned(),
            maker: Maker::Random,
            prefix: format!("{key}-{seed}-"),
            pool: 4,
            interval: "20ms".to_owned(),
            batch_min: 20,
            batch_max: 200,
            window: 1,
            payload_size: 60,
            seed,
            max_count: None,
            create_topics: true,
            block: String::new(),
            sections: String::new(),
        }
    }

    /// A script of the faulty source: batches of ten over four topics, every 10 ms.
    pub fn script(key: &str, seed: u64, steps: &str, poison: &str) -> Self {
        Self {
            maker: Maker::Script { steps: steps.to_owned(), poison: poison.to_owned() },
            interval: "10ms".to_owned(),
            batch_min: 10,
            batch_max: 10,
            payload_size: 0,
            ..Self::new(key, seed)
        }
    }

    /// Its topics, in the order of their numbers.
    pub fn topics(&self) -> Vec<String> {
        (0..self.pool).map(|lane| self.topic(lane)).collect()
    }

    /// The topic of `sequence mod pool = lane`.
    pub fn topic(&self, lane: u64) -> String {
        format!("{}user-{lane}", self.prefix)
    }

    /// Its definition.
    pub fn definition(&self) -> String {
        let library = match self.maker {
            Maker::Random => "picomq_connector_random_source",
            Maker::Script { .. } => "picomq_connector_faulty_source",
        };
        format!(
            "type = \"source\"\n\
             key = \"{key}\"\n\
             enabled = true\n\
             name = \"Chaos\"\n\
             path = \"{library}\"\n\
             max_in_flight = {window}\n\n\
             [[topics]]\n\
             topic = {{ strategy = \"field\", path = \"user_id\", template = \"{prefix}{{value}}\" }}\n\
             create_topics = {create}\n\
             provenance = true\n\
             {block}\n\n\
             [plugin_config]\n\
             {config}\n\
             {sections}\n",
            key = self.key,
            window = self.window,
            prefix = self.prefix,
            create = self.create_topics,
            block = self.block,
            config = self.plugin_config(),
            sections = self.sections,
        )
    }

    fn plugin_config(&self) -> String {
        let mut text = format!("interval = \"{}\"\nuser_pool = {}\n", self.interval, self.pool);
        if let Some(count) = self.max_count {
            writeln!(text, "max_count = {count}").expect("a string can be written to");
        }
        text + &match &self.maker {
            Maker::Random => format!(
                "messages_range = [{min}, {past}]\npayload_size = {size}\nseed = {seed}\n",
                min = self.batch_min,
                past = self.batch_max + 1,
                size = self.payload_size,
                seed = self.seed,
            ),
            Maker::Script { steps, poison } => format!(
                "mode = \"script\"\nrecords = {}\nsteps = [{steps}]\npoison = [{poison}]\n",
                self.batch_max
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_toml_with_a_template_of_its_own_prefix() {
        let workload = Workload {
            max_count: Some(5),
            sections: "[supervision]\nnack_limit = 3\n".to_owned(),
            ..Workload::new("kill", 7)
        };

        let table: toml::Table = workload.definition().parse().unwrap();

        let rule = &table["topics"][0]["topic"];
        assert_eq!(rule["template"].as_str(), Some("kill-7-{value}"));
        assert_eq!(workload.topics()[3], "kill-7-user-3");
        assert_eq!(table["plugin_config"]["messages_range"][1].as_integer(), Some(201));
        assert_eq!(table["plugin_config"]["max_count"].as_integer(), Some(5));
        assert_eq!(table["supervision"]["nack_limit"].as_integer(), Some(3));
    }

    #[test]
    fn a_script_is_the_faulty_source_with_its_steps() {
        let steps = "{ call = \"poll\", at = 3, do = \"panic\" }";
        let workload = Workload::script("s", 7, steps, "{ sequence = 5, with = { bytes = 9 } }");

        let table: toml::Table = workload.definition().parse().unwrap();

        let config = &table["plugin_config"];
        assert_eq!(table["path"].as_str(), Some("picomq_connector_faulty_source"));
        assert_eq!(config["steps"][0]["do"].as_str(), Some("panic"));
        assert_eq!(config["poison"][0]["with"]["bytes"].as_integer(), Some(9));
        assert_eq!((config["records"].as_integer(), config["user_pool"].as_integer()), (Some(10), Some(4)));
    }
}

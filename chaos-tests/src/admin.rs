//! What an administrator does to a Kafka: topics made, changed and deleted, rights granted.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, AlterConfig, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::error::KafkaError;

use crate::wait::wait_for;
use crate::{Error, Result};

const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// A client for one broker.
pub struct Admin {
    client: AdminClient<DefaultClientContext>,
    runtime: tokio::runtime::Runtime,
}

impl Admin {
    /// A client for the plain listener at `bootstrap`.
    pub fn new(bootstrap: &str) -> Result<Self> {
        let client = ClientConfig::new()
            .set("bootstrap.servers", bootstrap)
            .create()
            .map_err(Error::kafka("make an admin client"))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .map_err(Error::io("make a runtime for the admin client"))?;
        Ok(Self { client, runtime })
    }

    /// Makes topics of one partition each, in one request; the result of each is checked, and then its appearance in
    /// the broker's metadata is waited for.
    pub fn create<T: AsRef<str>>(&self, topics: &[T], settings: &[(&str, &str)]) -> Result<()> {
        self.create_with_partitions(topics, settings, 1)
    }

    /// The same with more partitions.
    pub fn create_with_partitions<T: AsRef<str>>(
        &self,
        topics: &[T],
        settings: &[(&str, &str)],
        partitions: i32,
    ) -> Result<()> {
        let wanted: Vec<NewTopic<'_>> = topics
            .iter()
            .map(|name| NewTopic {
                name: name.as_ref(),
                num_partitions: partitions,
                replication: TopicReplication::Fixed(1),
                config: settings.to_vec(),
            })
            .collect();
        let results = self
            .runtime
            .block_on(self.client.create_topics(&wanted, &options()))
            .map_err(Error::kafka("create topics"))?;
        all(results, "create")?;
        wait_for("the appearance of new topics", ANSWER_WITHIN, || {
            let known = self.names().map_err(|error| error.to_string())?;
            match topics.iter().find(|topic| !known.iter().any(|name| name == topic.as_ref())) {
                Some(absent) => Err(format!("{} is not there", absent.as_ref())),
                None => Ok(()),
            }
        })
    }

    /// Deletes topics and waits until their names are unknown to the broker.
    pub fn delete<T: AsRef<str>>(&self, topics: &[T]) -> Result<()> {
        let names: Vec<&str> = topics.iter().map(AsRef::as_ref).collect();
        let results = self
            .runtime
            .block_on(self.client.delete_topics(&names, &options()))
            .map_err(Error::kafka("delete topics"))?;
        all(results, "delete")?;
        wait_for("the end of deleted topics", ANSWER_WITHIN, || {
            let known = self.names().map_err(|error| error.to_string())?;
            match known.iter().find(|name| names.contains(&name.as_str())) {
                Some(left) => Err(format!("{left} is still there")),
                None => Ok(()),
            }
        })
    }

    /// Sets one setting of one topic.
    pub fn configure(&self, topic: &str, name: &str, value: &str) -> Result<()> {
        let change = AlterConfig::new(ResourceSpecifier::Topic(topic)).set(name, value);
        let results = self
            .runtime
            .block_on(self.client.alter_configs(&[change], &options()))
            .map_err(Error::kafka("change a topic"))?;
        match results.into_iter().find_map(std::result::Result::err) {
            Some((_, code)) => Err(Error::kafka(format!("change {topic}"))(KafkaError::AdminOp(code))),
            None => Ok(()),
        }
    }

    /// The names of all topics.
    pub fn names(&self) -> Result<Vec<String>> {
        let metadata = self
            .client
            .inner()
            .fetch_metadata(None, ANSWER_WITHIN)
            .map_err(Error::kafka("list its topics"))?;
        Ok(metadata.topics().iter().map(|topic| topic.name().to_owned()).collect())
    }

    /// How many partitions a topic has; `None` when there is no such topic.
    pub fn partitions(&self, topic: &str) -> Result<Option<usize>> {
        let metadata = self
            .client
            .inner()
            .fetch_metadata(None, ANSWER_WITHIN)
            .map_err(Error::kafka("list its topics"))?;
        Ok(metadata.topics().iter().find(|known| known.name() == topic).map(|known| known.partitions().len()))
    }
}

fn options() -> AdminOptions {
    AdminOptions::new().request_timeout(Some(ANSWER_WITHIN)).operation_timeout(Some(ANSWER_WITHIN))
}

fn all(results: Vec<rdkafka::admin::TopicResult>, doing: &str) -> Result<()> {
    match results.into_iter().find_map(std::result::Result::err) {
        Some((topic, code)) => Err(Error::kafka(format!("{doing} {topic}"))(KafkaError::AdminOp(code))),
        None => Ok(()),
    }
}

/// Runs one of Kafka's own tools against `bootstrap` and gives what it printed. Slow (a Java start): only for what
/// librdkafka's admin client lacks.
pub fn tool(bootstrap: &str, class: &str, arguments: &[&str]) -> Result<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("services/kafka/tool.sh");
    let output = Command::new(&script)
        .args([class, "--bootstrap-server", bootstrap])
        .args(arguments)
        .output()
        .map_err(Error::io(format!("start {}", script.display())))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    Err(Error::Ended {
        program: class.to_owned(),
        status: output.status.to_string(),
        log: text + &String::from_utf8_lossy(&output.stderr),
    })
}

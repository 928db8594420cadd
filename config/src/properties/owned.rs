//! Which librdkafka settings a file may not change, each with its reason. Two lists: what the engine owns, because
//! delivery depends on it, is refused everywhere; what reaches files, URLs, code or other brokers is refused in a
//! definition and lives in `[kafka]`, which only the operator writes.

/// A refused setting.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// A name, or a part of one with `*` on the open side.
    pattern: &'static str,
    pub(crate) reason: &'static str,
    /// Values that say what the engine says anyway.
    equal: &'static [&'static str],
}

impl Refusal {
    fn matches(&self, name: &str) -> bool {
        let (open_start, open_end) = (self.pattern.starts_with('*'), self.pattern.ends_with('*'));
        let core = self.pattern.trim_matches('*');
        match (open_start, open_end) {
            (true, true) => name.contains(core),
            (true, false) => name.ends_with(core),
            (false, true) => name.starts_with(core),
            (false, false) => name == core,
        }
    }

    /// Whether this value changes nothing.
    pub(crate) fn accepts(&self, value: &str) -> bool {
        self.equal.iter().any(|equal| equal.eq_ignore_ascii_case(value))
    }
}

/// The first refusal of a name inside `properties` of a block.
pub(crate) fn refused_in_a_block(name: &str) -> Option<&'static Refusal> {
    ENGINE.iter().chain(OUTSIDE).find(|refusal| refusal.matches(name))
}

/// The first refusal of a name inside `[kafka] properties`.
pub(crate) fn refused_in_kafka(name: &str) -> Option<&'static Refusal> {
    ENGINE.iter().chain(ADDRESS).find(|refusal| refusal.matches(name))
}

/// Settings that are a key of the block, with that key.
pub(crate) fn own_key(name: &str) -> Option<&'static str> {
    match name {
        "batch.num.messages" => Some("batch_length"),
        "linger.ms" => Some("linger_time"),
        _ => None,
    }
}

/// The two names of the time after which librdkafka gives a message up.
pub(crate) fn is_message_timeout(name: &str) -> bool {
    matches!(name, "message.timeout.ms" | "delivery.timeout.ms")
}

const fn refuse(pattern: &'static str, reason: &'static str) -> Refusal {
    Refusal { pattern, reason, equal: &[] }
}

const fn unless(pattern: &'static str, equal: &'static [&'static str], reason: &'static str) -> Refusal {
    Refusal { pattern, reason, equal }
}

const REAL_REPORT: &str =
    "a batch is acked only after a real report of all in-sync replicas for every record";
const ORDER: &str = "the engine keeps the order of records with it";
const RETRIES: &str = "the engine retries whole batches; a client that gives up earlier breaks their order";
const TIMEOUTS: &str = "the engine counts the silence of a batch itself: [supervision] batch_deadline";
const QUEUE: &str = "the engine sizes the client's queue from [limits]";

const ENGINE: &[Refusal] = &[
    unless("*acks", &["all", "-1"], REAL_REPORT),
    unless("*idempotence", &["true", "t", "1"], ORDER),
    unless("*gapless*", &["true", "t", "1"], ORDER),
    unless("*retries", &["2147483647"], RETRIES),
    unless("message.timeout.ms", &["0"], TIMEOUTS),
    unless("delivery.timeout.ms", &["0"], TIMEOUTS),
    refuse("*timeout.ms", TIMEOUTS),
    unless(
        "max.in.flight*",
        &["5"],
        "with idempotence the client keeps at most 5 requests in flight, in order",
    ),
    refuse("transactional.id", "the engine does not write in transactions"),
    unless(
        "partitioner",
        &["murmur2_random"],
        "keyed records go by Kafka's own hash, so that other producers of a topic agree",
    ),
    refuse("message.max.bytes", "it follows from [limits] record_bytes"),
    refuse("queue.*", QUEUE),
    unless("queuing.*", &["fifo"], ORDER),
    unless("delivery.report.*", &["false", "f", "0"], REAL_REPORT),
];

const FILES: &str = "it reaches files, which only [kafka] properties in config.toml may do";
const URLS: &str = "it reaches URLs, which only [kafka] properties in config.toml may do";
const CODE: &str = "it loads code or runs commands, which only [kafka] properties in config.toml may do";
const BROKERS: &str = "every source sends to the one broker of config.toml, [kafka] bootstrap_servers";

const OUTSIDE: &[Refusal] = &[
    refuse("bootstrap.servers", BROKERS),
    refuse("metadata.broker.list", BROKERS),
    refuse("plugin.*", CODE),
    refuse("interceptors", CODE),
    refuse("ssl.engine*", CODE),
    refuse("ssl.providers", CODE),
    refuse("*cmd*", CODE),
    refuse("*path*", FILES),
    refuse("*location*", FILES),
    refuse("*keytab", FILES),
    refuse("*.file", FILES),
    refuse("*url*", URLS),
    refuse("test.*", "it replaces the broker by a pretended one"),
    refuse(
        "debug",
        "it writes record contents to the log, which only [kafka] properties in config.toml may do",
    ),
];

const ADDRESS: &[Refusal] = &[
    refuse("bootstrap.servers", "write it as [kafka] bootstrap_servers"),
    refuse("metadata.broker.list", "write it as [kafka] bootstrap_servers"),
    refuse("test.*", "it replaces the broker by a pretended one"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_list_is_refused_in_a_block_b086_b088() {
        let names = [
            "acks",
            "request.required.acks",
            "enable.idempotence",
            "enable.gapless.guarantee",
            "retries",
            "message.send.max.retries",
            "socket.timeout.ms",
            "request.timeout.ms",
            "transaction.timeout.ms",
            "max.in.flight",
            "max.in.flight.requests.per.connection",
            "transactional.id",
            "partitioner",
            "message.max.bytes",
            "queue.buffering.max.messages",
            "queue.buffering.max.ms",
            "queuing.strategy",
            "delivery.report.only.error",
            "bootstrap.servers",
            "metadata.broker.list",
            "plugin.library.paths",
            "interceptors",
            "ssl.engine.location",
            "ssl.engine.id",
            "ssl.providers",
            "sasl.kerberos.kinit.cmd",
            "offset.store.path",
            "ssl.ca.location",
            "https.ca.location",
            "sasl.kerberos.keytab",
            "sasl.oauthbearer.assertion.file",
            "sasl.oauthbearer.token.endpoint.url",
            "test.mock.num.brokers",
            "debug",
        ];
        for name in names {
            assert!(refused_in_a_block(name).is_some(), "{name} was accepted");
        }
        for name in
            ["compression.type", "batch.size", "client.rack", "socket.keepalive.enable", "retry.backoff.ms"]
        {
            assert!(refused_in_a_block(name).is_none(), "{name} was refused");
        }
    }

    #[test]
    fn a_value_equal_to_the_engines_own_is_accepted() {
        let accepts = |name, value| refused_in_a_block(name).unwrap().accepts(value);
        assert!(accepts("acks", "all") && accepts("acks", "-1") && accepts("enable.idempotence", "true"));
        assert!(!accepts("acks", "0") && !accepts("acks", "1") && !accepts("enable.idempotence", "false"));
    }

    #[test]
    fn files_and_urls_are_for_config_toml_only() {
        for name in ["ssl.ca.location", "sasl.oauthbearer.token.endpoint.url", "debug"] {
            assert!(refused_in_kafka(name).is_none(), "{name} was refused");
        }
        for name in ["acks", "bootstrap.servers", "queue.buffering.max.messages"] {
            assert!(refused_in_kafka(name).is_some(), "{name} was accepted");
        }
    }
}

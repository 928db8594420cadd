//! The settings of librdkafka 2.12.1, by its CONFIGURATION.md: name, which clients take it, what its value may be.
//! Callbacks and other settings that no text can hold are left out. The broker's own crate refuses a newer one first
//! here, so this table and the library are raised together.

/// A setting that a text can hold.
#[derive(Debug)]
pub(crate) struct Property {
    pub(crate) name: &'static str,
    pub(crate) is_consumer_only: bool,
    pub(crate) form: Form,
}

/// What its value may be.
#[derive(Debug)]
pub(crate) enum Form {
    Any,
    Flag,
    Integer(i64, i64),
    Float(f64, f64),
    Word(&'static [&'static str]),
}

use Form::{Any, Flag, Float, Integer, Word};

/// In the order of that page.
#[rustfmt::skip]
pub(crate) static PROPERTIES: &[Property] = &[
    client("builtin.features", Any),
    client("client.id", Any),
    client("metadata.broker.list", Any),
    client("bootstrap.servers", Any),
    client("message.max.bytes", Integer(1000, 1000000000)),
    client("message.copy.max.bytes", Integer(0, 1000000000)),
    client("receive.message.max.bytes", Integer(1000, 2147483647)),
    client("max.in.flight.requests.per.connection", Integer(1, 1000000)),
    client("max.in.flight", Integer(1, 1000000)),
    client("metadata.recovery.strategy", Word(&["none", "rebootstrap"])),
    client("metadata.recovery.rebootstrap.trigger.ms", Integer(0, 2147483647)),
    client("topic.metadata.refresh.interval.ms", Integer(-1, 3600000)),
    client("metadata.max.age.ms", Integer(1, 86400000)),
    client("topic.metadata.refresh.fast.interval.ms", Integer(1, 60000)),
    client("topic.metadata.refresh.fast.cnt", Integer(0, 1000)),
    client("topic.metadata.refresh.sparse", Flag),
    client("topic.metadata.propagation.max.ms", Integer(0, 3600000)),
    client("topic.blacklist", Any),
    client("debug", Any),
    client("socket.timeout.ms", Integer(10, 300000)),
    client("socket.blocking.max.ms", Integer(1, 60000)),
    client("socket.send.buffer.bytes", Integer(0, 100000000)),
    client("socket.receive.buffer.bytes", Integer(0, 100000000)),
    client("socket.keepalive.enable", Flag),
    client("socket.nagle.disable", Flag),
    client("socket.max.fails", Integer(0, 1000000)),
    client("broker.address.ttl", Integer(0, 86400000)),
    client("broker.address.family", Word(&["any", "v4", "v6"])),
    client("socket.connection.setup.timeout.ms", Integer(1000, 2147483647)),
    client("connections.max.idle.ms", Integer(0, 2147483647)),
    client("reconnect.backoff.jitter.ms", Integer(0, 3600000)),
    client("reconnect.backoff.ms", Integer(0, 3600000)),
    client("reconnect.backoff.max.ms", Integer(0, 3600000)),
    client("statistics.interval.ms", Integer(0, 86400000)),
    client("enabled_events", Integer(0, 2147483647)),
    client("log_level", Integer(0, 7)),
    client("log.queue", Flag),
    client("log.thread.name", Flag),
    client("enable.random.seed", Flag),
    client("log.connection.close", Flag),
    client("internal.termination.signal", Integer(0, 128)),
    client("api.version.request", Flag),
    client("api.version.request.timeout.ms", Integer(1, 300000)),
    client("api.version.fallback.ms", Integer(0, 604800000)),
    client("broker.version.fallback", Any),
    client("allow.auto.create.topics", Flag),
    client("security.protocol", Word(&["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"])),
    client("ssl.cipher.suites", Any),
    client("ssl.curves.list", Any),
    client("ssl.sigalgs.list", Any),
    client("ssl.key.location", Any),
    client("ssl.key.password", Any),
    client("ssl.key.pem", Any),
    client("ssl.certificate.location", Any),
    client("ssl.certificate.pem", Any),
    client("ssl.ca.location", Any),
    client("https.ca.location", Any),
    client("https.ca.pem", Any),
    client("ssl.ca.pem", Any),
    client("ssl.ca.certificate.stores", Any),
    client("ssl.crl.location", Any),
    client("ssl.keystore.location", Any),
    client("ssl.keystore.password", Any),
    client("ssl.providers", Any),
    client("ssl.engine.location", Any),
    client("ssl.engine.id", Any),
    client("enable.ssl.certificate.verification", Flag),
    client("ssl.endpoint.identification.algorithm", Word(&["none", "https"])),
    client("sasl.mechanisms", Any),
    client("sasl.mechanism", Any),
    client("sasl.kerberos.service.name", Any),
    client("sasl.kerberos.principal", Any),
    client("sasl.kerberos.kinit.cmd", Any),
    client("sasl.kerberos.keytab", Any),
    client("sasl.kerberos.min.time.before.relogin", Integer(0, 86400000)),
    client("sasl.username", Any),
    client("sasl.password", Any),
    client("sasl.oauthbearer.config", Any),
    client("enable.sasl.oauthbearer.unsecure.jwt", Flag),
    client("sasl.oauthbearer.method", Word(&["default", "oidc"])),
    client("sasl.oauthbearer.client.id", Any),
    client("sasl.oauthbearer.client.credentials.client.id", Any),
    client("sasl.oauthbearer.client.credentials.client.secret", Any),
    client("sasl.oauthbearer.client.secret", Any),
    client("sasl.oauthbearer.scope", Any),
    client("sasl.oauthbearer.extensions", Any),
    client("sasl.oauthbearer.token.endpoint.url", Any),
    client("sasl.oauthbearer.grant.type", Word(&["client_credentials", "urn:ietf:params:oauth:grant-type:jwt-bearer"])),
    client("sasl.oauthbearer.assertion.algorithm", Word(&["RS256", "ES256"])),
    client("sasl.oauthbearer.assertion.private.key.file", Any),
    client("sasl.oauthbearer.assertion.private.key.passphrase", Any),
    client("sasl.oauthbearer.assertion.private.key.pem", Any),
    client("sasl.oauthbearer.assertion.file", Any),
    client("sasl.oauthbearer.assertion.claim.aud", Any),
    client("sasl.oauthbearer.assertion.claim.exp.seconds", Integer(1, 2147483647)),
    client("sasl.oauthbearer.assertion.claim.iss", Any),
    client("sasl.oauthbearer.assertion.claim.jti.include", Flag),
    client("sasl.oauthbearer.assertion.claim.nbf.seconds", Integer(0, 2147483647)),
    client("sasl.oauthbearer.assertion.claim.sub", Any),
    client("sasl.oauthbearer.assertion.jwt.template.file", Any),
    client("sasl.oauthbearer.metadata.authentication.type", Word(&["none", "azure_imds"])),
    client("plugin.library.paths", Any),
    consumer("group.id", Any),
    consumer("group.instance.id", Any),
    consumer("partition.assignment.strategy", Any),
    consumer("session.timeout.ms", Integer(1, 3600000)),
    consumer("heartbeat.interval.ms", Integer(1, 3600000)),
    consumer("group.protocol.type", Any),
    consumer("group.protocol", Word(&["classic", "consumer"])),
    consumer("group.remote.assignor", Any),
    consumer("coordinator.query.interval.ms", Integer(1, 3600000)),
    consumer("max.poll.interval.ms", Integer(1, 86400000)),
    consumer("enable.auto.commit", Flag),
    consumer("auto.commit.interval.ms", Integer(0, 86400000)),
    consumer("enable.auto.offset.store", Flag),
    consumer("queued.min.messages", Integer(1, 10000000)),
    consumer("queued.max.messages.kbytes", Integer(1, 2097151)),
    consumer("fetch.wait.max.ms", Integer(0, 300000)),
    consumer("fetch.queue.backoff.ms", Integer(0, 300000)),
    consumer("fetch.message.max.bytes", Integer(1, 1000000000)),
    consumer("max.partition.fetch.bytes", Integer(1, 1000000000)),
    consumer("fetch.max.bytes", Integer(0, 2147483135)),
    consumer("fetch.min.bytes", Integer(1, 100000000)),
    consumer("fetch.error.backoff.ms", Integer(0, 300000)),
    consumer("offset.store.method", Word(&["none", "file", "broker"])),
    consumer("isolation.level", Word(&["read_uncommitted", "read_committed"])),
    consumer("enable.partition.eof", Flag),
    consumer("check.crcs", Flag),
    client("client.rack", Any),
    client("transactional.id", Any),
    client("transaction.timeout.ms", Integer(1000, 2147483647)),
    client("enable.idempotence", Flag),
    client("enable.gapless.guarantee", Flag),
    client("queue.buffering.max.messages", Integer(0, 2147483647)),
    client("queue.buffering.max.kbytes", Integer(1, 2147483647)),
    client("queue.buffering.max.ms", Float(0.0, 900000.0)),
    client("linger.ms", Float(0.0, 900000.0)),
    client("message.send.max.retries", Integer(0, 2147483647)),
    client("retries", Integer(0, 2147483647)),
    client("retry.backoff.ms", Integer(1, 300000)),
    client("retry.backoff.max.ms", Integer(1, 300000)),
    client("queue.buffering.backpressure.threshold", Integer(1, 1000000)),
    client("compression.codec", Word(&["none", "gzip", "snappy", "lz4", "zstd"])),
    client("compression.type", Word(&["none", "gzip", "snappy", "lz4", "zstd"])),
    client("batch.num.messages", Integer(1, 1000000)),
    client("batch.size", Integer(1, 2147483647)),
    client("delivery.report.only.error", Flag),
    client("sticky.partitioning.linger.ms", Integer(0, 900000)),
    client("client.dns.lookup", Word(&["use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"])),
    client("enable.metrics.push", Flag),
    client("request.required.acks", Integer(-1, 1000)),
    client("acks", Integer(-1, 1000)),
    client("request.timeout.ms", Integer(1, 900000)),
    client("message.timeout.ms", Integer(0, 2147483647)),
    client("delivery.timeout.ms", Integer(0, 2147483647)),
    client("queuing.strategy", Word(&["fifo", "lifo"])),
    client("produce.offset.report", Flag),
    client("partitioner", Any),
    client("compression.level", Integer(-1, 12)),
    consumer("auto.commit.enable", Flag),
    consumer("auto.offset.reset", Word(&["smallest", "earliest", "beginning", "largest", "latest", "end", "error"])),
    consumer("offset.store.path", Any),
    consumer("offset.store.sync.interval.ms", Integer(-1, 86400000)),
    consumer("consume.callback.max.messages", Integer(0, 1000000)),
];

const fn client(name: &'static str, form: Form) -> Property {
    Property { name, is_consumer_only: false, form }
}

const fn consumer(name: &'static str, form: Form) -> Property {
    Property { name, is_consumer_only: true, form }
}

pub(crate) fn find(name: &str) -> Option<&'static Property> {
    PROPERTIES.iter().find(|property| property.name == name)
}

impl Form {
    /// What is needed, if this value does not fit. Words and flags ignore case, as the library does.
    pub(crate) fn refusal(&self, value: &str) -> Option<String> {
        let (fits, needed) = match self {
            Any => (true, String::new()),
            Flag => {
                let words = ["true", "false", "t", "f", "1", "0"];
                (words.iter().any(|word| word.eq_ignore_ascii_case(value)), "true or false".to_owned())
            }
            Integer(min, max) => {
                let fits = value.parse::<i64>().is_ok_and(|number| (*min..=*max).contains(&number));
                (fits, format!("an integer from {min} to {max}"))
            }
            Float(min, max) => {
                let fits = value.parse::<f64>().is_ok_and(|number| (*min..=*max).contains(&number));
                (fits, format!("a number from {min} to {max}"))
            }
            Word(words) => {
                let fits = words.iter().any(|word| word.eq_ignore_ascii_case(value));
                (fits, format!("one of {}", crate::shape::quoted(words)))
            }
        };
        (!fits).then_some(needed)
    }
}

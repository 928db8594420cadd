//! `[kafka]` of config.toml.

use std::net::IpAddr;
use std::path::Path;

use crate::checked::Fields;
use crate::context::{Context, Draft};
use crate::engine::{Kafka, Sasl, SaslMechanism, SecurityProtocol, Tls};
use crate::path_in::path_in;
use crate::properties::{self, Table};
use crate::secret::Secret;

pub(crate) fn read_kafka(cx: &mut Context<'_>, table: &Fields, folder: &Path) -> Kafka {
    let base = Kafka::default();
    let security_protocol = protocol(table);
    let bootstrap_servers = servers(cx, table).unwrap_or(base.bootstrap_servers);
    let sasl = table.table("sasl").map_or(base.sasl, read_sasl);
    let tls = table.table("tls").map_or(base.tls, |table| read_tls(cx, table, folder));
    let (properties, _) = properties::read(cx, table.texts("properties"), Table::Kafka);
    let kafka = Kafka {
        bootstrap_servers,
        client_id: table.text("client_id").map_or(base.client_id, |(text, _)| text.to_owned()),
        security_protocol,
        sasl,
        tls,
        properties,
    };
    check_security(cx, table, &kafka);
    kafka
}

fn protocol(table: &Fields) -> SecurityProtocol {
    let word = table.word("security_protocol").unwrap_or_default().to_ascii_lowercase();
    match word.as_str() {
        "ssl" => SecurityProtocol::Ssl,
        "sasl_plaintext" => SecurityProtocol::SaslPlaintext,
        "sasl_ssl" => SecurityProtocol::SaslSsl,
        _ => SecurityProtocol::Plaintext,
    }
}

fn servers(cx: &mut Context<'_>, table: &Fields) -> Option<String> {
    let (text, place) = table.text("bootstrap_servers")?;
    let is_bad = |server: &str| {
        let host = server.rsplit_once(':').map_or(server, |(host, _)| host);
        host.is_empty() || server.contains(char::is_whitespace) || server.contains('/')
    };
    if text.split(',').map(str::trim).any(is_bad) {
        let reason = "`bootstrap_servers` must be host:port, several with commas";
        let hint = "write bootstrap_servers = \"broker-1:9092,broker-2:9092\"";
        cx.add(place, Draft::error("config.bad_address", reason).hint(hint));
        return None;
    }
    Some(text.split(',').map(str::trim).collect::<Vec<_>>().join(","))
}

fn read_sasl(table: &Fields) -> Sasl {
    let mechanism = match table.word("mechanism") {
        Some("SCRAM-SHA-256") => SaslMechanism::ScramSha256,
        Some("SCRAM-SHA-512") => SaslMechanism::ScramSha512,
        Some(_) | None => SaslMechanism::Plain,
    };
    let text = |name| table.text(name).map_or("", |(text, _)| text).to_owned();
    Sasl { mechanism, username: text("username"), password: Secret::new(text("password")) }
}

fn read_tls(cx: &mut Context<'_>, table: &Fields, folder: &Path) -> Tls {
    // An empty path is how the existing runtimes write "none".
    let mut path = |name| {
        let is_set = table.text(name).is_some_and(|(text, _)| !text.is_empty());
        is_set.then(|| path_in(cx, table, name, folder)).flatten()
    };
    let tls = Tls {
        ca_file: path("ca_file"),
        cert_file: path("cert_file"),
        key_file: path("key_file"),
        verify_hostname: table.flag("verify_hostname").unwrap_or(true),
    };
    if tls.cert_file.is_some() != tls.key_file.is_some() {
        let draft = Draft::error("config.missing_field", "`cert_file` and `key_file` are needed together");
        cx.add(&table.place, draft);
    }
    tls
}

/// What fits each key but not the others.
fn check_security(cx: &mut Context<'_>, table: &Fields, kafka: &Kafka) {
    let protocol = kafka.security_protocol;
    let place = |name: &str| table.get(name).map_or_else(|| table.place.clone(), |item| item.place.clone());
    if protocol.is_sasl() && (kafka.sasl.username.is_empty() || kafka.sasl.password.is_empty()) {
        let reason =
            format!("security_protocol = \"{}\" needs sasl.username and sasl.password", protocol.as_str());
        cx.add(&place("security_protocol"), Draft::error("config.missing_field", reason));
    }
    if !protocol.is_sasl() && !kafka.sasl.username.is_empty() {
        let reason = format!("[kafka.sasl] has no effect with security_protocol = \"{}\"", protocol.as_str());
        let hint = "write security_protocol = \"sasl_ssl\" or \"sasl_plaintext\"";
        cx.add(&place("sasl"), Draft::warning("config.no_effect", reason).hint(hint));
    }
    if !protocol.is_tls() && (kafka.tls.ca_file.is_some() || kafka.tls.cert_file.is_some()) {
        let reason = format!("[kafka.tls] has no effect with security_protocol = \"{}\"", protocol.as_str());
        cx.add(
            &place("tls"),
            Draft::warning("config.no_effect", reason).hint("write security_protocol = \"ssl\""),
        );
    }
    if protocol.is_tls() && !kafka.tls.verify_hostname {
        let reason =
            "`verify_hostname` is false: whoever holds any certificate of that authority can be the broker";
        cx.add(&place("tls"), Draft::warning("config.weak_tls", reason));
    }
    if !protocol.is_tls() && !kafka.bootstrap_servers.split(',').all(is_loopback) {
        let reason = format!("records and credentials go to {} in plain text", kafka.bootstrap_servers);
        cx.add(&place("bootstrap_servers"), Draft::info("config.plain_text", reason));
    }
}

fn is_loopback(server: &str) -> bool {
    let host = server.rsplit_once(':').map_or(server, |(host, _)| host).trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

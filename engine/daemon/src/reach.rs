//! The broker as the process sees it: whether it was reached, and whether the way there is safe.

use std::net::IpAddr;
use std::time::Duration;

use pico_broker::Admin;
use pico_config::{Kafka, SecurityProtocol};

use crate::api::Readiness;

/// How often the client is asked whether it got through.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Tells `/ready` how the client gets on until the broker answered once. The client tries, and logs, by itself.
pub(crate) async fn until_reached(admin: Admin, readiness: Readiness) {
    while !admin.reached_once() {
        if let Some(complaint) = admin.last_error() {
            readiness.broker_failed(complaint);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    readiness.broker_reached();
}

/// What is unsafe about the way to the broker, in words: said at start, and shown as long as the process runs.
pub(crate) fn warnings(kafka: &Kafka) -> Vec<String> {
    let plaintext = plaintext_beyond_loopback(kafka);
    let mut warnings: Vec<String> = plaintext
        .iter()
        .map(|server| {
            format!("data travels to {server} unencrypted; set [kafka] security_protocol to ssl or sasl_ssl")
        })
        .collect();
    if kafka.security_protocol.is_tls() && !kafka.tls.verify_hostname {
        warnings.push(
            "[kafka.tls] verify_hostname = false: any certificate of a known authority passes".to_owned(),
        );
    }
    warnings
}

/// Bootstrap servers on other machines to which data would travel unencrypted.
fn plaintext_beyond_loopback(kafka: &Kafka) -> Vec<String> {
    match kafka.security_protocol {
        SecurityProtocol::Ssl | SecurityProtocol::SaslSsl => Vec::new(),
        SecurityProtocol::Plaintext | SecurityProtocol::SaslPlaintext => {
            let servers = kafka.bootstrap_servers.split(',').map(str::trim);
            servers.filter(|server| !server.is_empty() && !is_loopback(server)).map(str::to_owned).collect()
        }
    }
}

fn is_loopback(server: &str) -> bool {
    let bare = server.rsplit_once("://").map_or(server, |(_, rest)| rest);
    let host = match bare.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => bare.split(':').next().unwrap_or_default(),
    };
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plaintext_to_another_machine_is_worth_a_warning() {
        let servers = "localhost:9092, 127.0.0.1:9092,[::1]:9092, kafka.internal:9092,10.0.0.5:9092";
        let mut kafka = Kafka { bootstrap_servers: servers.to_owned(), ..Kafka::default() };
        assert_eq!(plaintext_beyond_loopback(&kafka), ["kafka.internal:9092", "10.0.0.5:9092"]);
        assert_eq!(warnings(&kafka).len(), 2);
        kafka.security_protocol = SecurityProtocol::SaslSsl;
        assert_eq!(warnings(&kafka), Vec::<String>::new());
    }

    #[test]
    fn a_host_name_that_is_not_verified_is_worth_a_warning_under_tls_only() {
        let mut kafka = Kafka::default();
        kafka.tls.verify_hostname = false;
        assert_eq!(warnings(&kafka), Vec::<String>::new());
        kafka.security_protocol = SecurityProtocol::Ssl;
        assert!(warnings(&kafka)[0].contains("verify_hostname"));
    }
}

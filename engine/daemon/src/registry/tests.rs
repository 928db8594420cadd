//! What is asked and what answers mean. Asking a registry itself is in `tests/clients`.

use pico_config::{Location, RecordSchema, RegistryLogin, Rule, SchemaSource, UrlOrigin};
use pico_record::codec::Registered;
use serde_json::json;

use super::*;

fn avro() -> Registered {
    Registered { kind: "AVRO", text: "\"int\"".to_owned() }
}

#[test]
fn a_lookup_does_not_register_and_registering_is_asked_for() {
    let found = Wanted::Found(avro());
    assert_eq!((found.path("s"), found.body()), (vec!["subjects", "s"], Some(json!({"schema": "\"int\""}))));
    let proto = Wanted::Registered(Registered { kind: "PROTOBUF", text: "x".to_owned() });
    assert_eq!(proto.path("s"), ["subjects", "s", "versions"]);
    assert_eq!(proto.body(), Some(json!({"schema": "x", "schemaType": "PROTOBUF"})));
    let newest = Wanted::Newest("JSON");
    assert_eq!((newest.path("s"), newest.body()), (vec!["subjects", "s", "versions", "latest"], None));
}

#[test]
fn an_answer_is_an_id_a_definite_no_or_a_passing_one() {
    let found = Wanted::Found(avro());
    assert_eq!(found.id(200, br#"{"id":7,"version":1}"#), Ok(7));
    assert!(!found.id(200, b"<html>").unwrap_err().is_definite);
    assert!(!found.id(200, br#"{"id":-1}"#).unwrap_err().is_definite);
    for (status, is_definite) in [
        (401, true),
        (403, true),
        (404, true),
        (409, true),
        (422, true),
        (400, true),
        (302, true),
        (429, false),
        (500, false),
        (503, false),
    ] {
        let refusal = found.id(status, br#"{"error_code":1,"message":"words"}"#).unwrap_err();
        assert_eq!(refusal.is_definite, is_definite, "{status}");
        assert!(refusal.reason.starts_with(&format!("status {status}: words; ")), "{}", refusal.reason);
    }
    let missing = found.id(404, b"").unwrap_err().reason;
    assert_eq!(missing, "status 404; register the schema there, or write register = true");
}

#[test]
fn the_newest_version_must_be_of_the_blocks_kind() {
    let newest = Wanted::Newest("JSON");
    assert_eq!(newest.id(200, br#"{"id":3,"schemaType":"JSON"}"#), Ok(3));
    let refusal = newest.id(200, br#"{"id":3}"#).unwrap_err();
    assert!(refusal.is_definite && refusal.reason.contains("of type AVRO"), "{}", refusal.reason);
}

fn block(url: &str) -> TopicBlock {
    let registry = SchemaRegistry {
        url: url.to_owned(),
        subject: "t-value".to_owned(),
        register: false,
        login: RegistryLogin::Nobody,
        ca_pem: None,
        timeout: std::time::Duration::from_millis(300),
        origin: UrlOrigin::Operator,
    };
    let schema = RecordSchema {
        source: SchemaSource::Avro { text: "\"int\"".to_owned() },
        file: None,
        location: Location::Variable("x".to_owned()),
        path: String::new(),
    };
    let plain = TopicBlock::new(Rule::Static("t".to_owned()));
    TopicBlock { schema: Schema::Avro, record_schema: Some(schema), schema_registry: Some(registry), ..plain }
}

#[tokio::test]
async fn a_registry_that_is_down_is_a_passing_reason() {
    let failure = SchemaIds::of(&[block("http://127.0.0.1:1")]).get().await.unwrap_err();
    assert_eq!((failure.kind, failure.cause.code), (OpenKind::Passing, "registry.unreachable"));
    assert!(failure.cause.message.contains("127.0.0.1:1, subject \"t-value\""), "{}", failure.cause.message);
}

#[tokio::test]
async fn blocks_without_a_registry_ask_nobody() {
    let plain = TopicBlock::new(Rule::Static("t".to_owned()));
    assert_eq!(SchemaIds::of(&[plain.clone(), plain]).get().await, Ok(vec![None, None]));
}

#[tokio::test]
async fn a_url_that_came_through_the_api_leads_over_https_to_public_addresses_only() {
    let through_api = |url: &str| {
        let mut block = block(url);
        block.schema_registry.iter_mut().for_each(|registry| registry.origin = UrlOrigin::Api);
        SchemaIds::of(&[block])
    };
    for (scheme, host, why) in [
        ("http", "registry.example", "not https"),
        ("https", "127.0.0.1:1", "loopback"),
        ("https", "[fd12::1]", "in a private range"),
        ("https", "0x0a000007", "in a private range"),
        ("https", "169.254.169.254", "metadata services"),
    ] {
        let failure = through_api(&format!("{scheme}://{host}")).get().await.unwrap_err();
        assert_eq!((failure.kind, failure.cause.code), (OpenKind::Config, "registry.refused"), "{host}");
        assert!(failure.cause.message.contains(why), "{host}: {}", failure.cause.message);
    }
    // A name is looked at when it is resolved, so that it cannot lead elsewhere by then.
    let failure = through_api("https://localhost:1").get().await.unwrap_err();
    assert!(
        failure.cause.message.contains("every address of localhost is loopback"),
        "{}",
        failure.cause.message
    );
}

#[tokio::test]
async fn no_url_at_all_leads_to_a_metadata_service() {
    let url = format!("http://{}", "169.254.169.254");
    let failure = SchemaIds::of(&[block(&url)]).get().await.unwrap_err();
    assert_eq!(failure.kind, OpenKind::Config);
    assert!(failure.cause.message.contains("metadata services"), "{}", failure.cause.message);
}

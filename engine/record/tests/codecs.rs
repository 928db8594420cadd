//! Records on their way into a block with a schema of its own.

use pico_config::{
    Action, Limits, Location, RecordSchema, RegistryLogin, Schema, SchemaConversion, SchemaRegistry,
    SchemaSource, TopicBlock, Transform, UrlOrigin,
};
use pico_record::{RecordPath, RuleError, Stage};
use picomq_connector_sdk::Record;

use crate::given::*;

const RECORD: &str = r#"{"type":"record","name":"R","fields":[{"name":"n","type":"long"}]}"#;

fn avro(topic: &str, text: &str) -> TopicBlock {
    let mut block = to(topic);
    block.schema = Schema::Avro;
    block.record_schema = Some(RecordSchema {
        source: SchemaSource::Avro { text: text.to_owned() },
        file: None,
        location: Location::File("a.toml".into()),
        path: "topics[0].avro_schema_path".to_owned(),
    });
    block
}

fn registered(block: TopicBlock) -> TopicBlock {
    let registry = SchemaRegistry {
        url: "http://registry.example".to_owned(),
        subject: "r-value".to_owned(),
        register: false,
        login: RegistryLogin::Nobody,
        ca_pem: None,
        timeout: std::time::Duration::from_secs(1),
        origin: UrlOrigin::Operator,
    };
    TopicBlock { schema_registry: Some(registry), ..block }
}

fn payloads(sent: &[Sent]) -> Vec<Vec<u8>> {
    sent.iter().map(|sent| sent.payload.clone().unwrap_or_default()).collect()
}

#[test]
fn each_block_gets_its_own_encoding_of_the_same_record() {
    let mut path =
        path(&[to("json"), avro("avro", RECORD), avro("number", r#"{"type":"map","values":"int"}"#)]);

    let routed = path.route(json(&[r#"{"n":3}"#, r#"{"n":-1}"#]), PROVENANCE).unwrap();

    let expected: [&[u8]; 6] =
        [b"{\"n\":3}", b"{\"n\":-1}", &[6], &[1], &[2, 2, b'n', 6, 0], &[2, 2, b'n', 1, 0]];
    assert_eq!(payloads(&sent(&routed)), expected);
}

#[test]
fn a_record_that_does_not_fit_names_itself_its_field_and_its_value_b112() {
    let mut path = path(&[avro("t", RECORD)]);

    for (payload, reason) in [
        (r#"{"n":"x"}"#, "topics[0]: field \"n\": \"x\" is not a long (64 bits)"),
        ("[3]", "topics[0]: an array is not an object, for a record"),
        ("3", "topics[0]: 3 is not an object, for a record"),
    ] {
        let failure = path.route(json(&[r#"{"n":1}"#, payload]), PROVENANCE).unwrap_err();
        assert_eq!((failure.code, failure.stage), ("encode_failed", Some(Stage::Encode)));
        assert_eq!(failure.message, format!("record 1: {reason}"));
    }
    let failure = path.route(json(&["{"]), PROVENANCE).unwrap_err();
    assert_eq!(failure.code, "payload_not_json");
    assert_eq!(payloads(&sent(&path.route(json(&[r#"{"n":1}"#]), PROVENANCE).unwrap())), [[2]]);
}

#[test]
fn what_is_in_the_schema_already_leaves_unchanged_and_a_tombstone_stays_one_b119() {
    let mut path = path(&[avro("t", RECORD)]);
    let records = vec![Record::new([6u8]), Record { payload: None, ..Record::default() }];

    let routed = path.route(batch(Schema::Avro, records), PROVENANCE).unwrap();
    let payloads: Vec<_> = sent(&routed).into_iter().map(|sent| sent.payload).collect();
    assert_eq!(payloads, [Some(vec![6]), None]);

    let tombstone = vec![Record { payload: None, ..Record::default() }];
    let routed = path.route(batch(Schema::Json, tombstone), PROVENANCE).unwrap();
    assert_eq!(sent(&routed)[0].payload, None);
    let failure = path.route(batch(Schema::Text, vec![Record::new("{}")]), PROVENANCE).unwrap_err();
    assert_eq!(failure.code, "schema_pair_refused");
}

#[test]
fn the_frame_of_a_registry_stands_before_every_payload() {
    let blocks = [registered(avro("avro", RECORD)), registered(to("json")), to("plain")];
    let mut path = path(&blocks);
    path.set_schema_ids(&blocks, &[Some(258), Some(7), None]).unwrap();

    let routed = path.route(json(&[r#"{"n":3}"#]), PROVENANCE).unwrap();
    let expected: [&[u8]; 3] = [&[0, 0, 0, 1, 2, 6], b"\0\0\0\0\x07{\"n\":3}", b"{\"n\":3}"];
    assert_eq!(payloads(&sent(&routed)), expected);

    let routed =
        path.route(batch(Schema::Json, vec![Record { payload: None, ..Record::default() }]), PROVENANCE);
    assert!(sent(&routed.unwrap()).iter().all(|sent| sent.payload.is_none()), "a tombstone has no frame");
    assert!(path.route(json(&["{"]), PROVENANCE).is_err(), "json is still checked to be json");
}

#[test]
fn a_registry_without_an_answer_is_no_frame_left_out() {
    let blocks = [registered(to("json"))];
    assert_eq!(path(&blocks).set_schema_ids(&blocks, &[None]), Err(RuleError::NoSchemaId { block: 0 }));
    assert_eq!(path(&blocks).set_schema_ids(&blocks, &[]), Err(RuleError::NoSchemaId { block: 0 }));
}

#[test]
fn a_schema_that_is_none_makes_no_path() {
    let error = RecordPath::new(&[to("t"), avro("u", "\"nonsense\"")], &Limits::default()).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("the avro schema of topics[1] cannot be used:") && text.contains("nonsense"),
        "{text}"
    );
}

#[test]
fn the_encoded_size_is_held_against_the_limit() {
    let limits = Limits { record_bytes: 4, ..Limits::default() };
    let mut path = RecordPath::new(&[avro("t", RECORD)], &limits).unwrap();
    assert!(path.route(json(&[r#"{"n":1}"#]), PROVENANCE).is_ok(), "7 bytes of JSON are 1 of Avro");
    let failure = path.route(json(&[r#"{"n":9223372036854775807}"#]), PROVENANCE).unwrap_err();
    assert_eq!(failure.code, "record_too_large");
}

/// A convert transform of the record schema.
fn convert(from: Schema, to: Schema) -> Transform {
    let RecordSchema { source, file, location, path } = avro("t", RECORD).record_schema.unwrap();
    let schema = RecordSchema { source, file, location, path };
    let action = Action::Convert(SchemaConversion { from, to, schema, int64_as_string: false });
    Transform { place: "transforms[0]".to_owned(), is_enabled: true, when: None, action }
}

#[test]
fn a_convert_transform_decodes_before_the_rule_reads_its_field_and_before_a_block_encodes_again_b113() {
    let by_n = block(rule(field("n"), "orders.{value}"));
    let back = avro("avro", RECORD);
    let mut path = path(&[by_n, back]).with_transforms(&[convert(Schema::Avro, Schema::Json)]).unwrap();

    let routed = path.route(batch(Schema::Avro, vec![Record::new([6u8])]), PROVENANCE).unwrap();
    assert_eq!(topics(&routed), ["orders.3", "avro"]);
    assert_eq!(payloads(&sent(&routed)), [&b"{\"n\":3}"[..], &[6]]);

    let failure = path.route(batch(Schema::Avro, vec![Record::new([0xffu8])]), PROVENANCE).unwrap_err();
    assert_eq!((failure.code, failure.stage), ("decode_failed", Some(Stage::Transform)));
    assert!(failure.message.starts_with("record 0: transforms[0]: field \"n\": "), "{}", failure.message);
    let failure = path.route(json(&["{}"]), PROVENANCE).unwrap_err();
    assert_eq!(failure.code, "schema_pair_refused", "it takes avro alone: {}", failure.message);
}

#[test]
fn a_convert_transform_passes_tombstones_and_labels_what_it_writes_b119() {
    let mut raw = to("t");
    raw.schema = Schema::Avro;
    let mut path = path(&[raw]).with_transforms(&[convert(Schema::Json, Schema::Avro)]).unwrap();
    let records = vec![Record::new("{\"n\":3}"), Record { payload: None, ..Record::default() }];

    let routed = path.route(batch(Schema::Json, records), PROVENANCE).unwrap();

    let payloads: Vec<_> = sent(&routed).into_iter().map(|sent| sent.payload).collect();
    assert_eq!(payloads, [Some(vec![6]), None]);
}

#[test]
fn pairs_that_transforms_fix_are_refused_before_the_first_record() {
    let limits = Limits::default();
    let path = |blocks: &[TopicBlock]| RecordPath::new(blocks, &limits).unwrap();
    let to_avro = || convert(Schema::Json, Schema::Avro);
    let error = path(&[to("t")]).with_transforms(&[to_avro()]).unwrap_err();
    assert!(error.to_string().starts_with("the records are avro and topics[0] asks for json: "), "{error}");
    let twice = [to_avro(), to_avro()];
    let error = path(&[avro("t", RECORD)]).with_transforms(&twice).unwrap_err();
    assert_eq!(error, RuleError::TransformTakes { place: "transforms[0]".to_owned(), given: Schema::Avro });
    assert!(path(&[avro("t", RECORD)]).with_transforms(&[to_avro()]).is_ok());
}

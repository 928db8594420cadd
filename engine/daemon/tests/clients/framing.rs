//! Confluent's wire format, from the random source to Confluent's deserializers.

use std::process::Command;

use pico_devbroker::DevBroker;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::registry::{Registry, checked};
use crate::support::{Daemon, Folder};

const RECORDS: usize = 40;

const AVSC: &str = r#"{"type": "record", "name": "Event", "namespace": "demo", "fields": [
    {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
    {"name": "sequence", "type": "long"},
    {"name": "user_id", "type": ["null", "string"], "default": null},
    {"name": "title", "type": "string"},
    {"name": "name", "type": "string"},
    {"name": "text", "type": "string"},
    {"name": "source", "type": "string", "default": "random"}
]}"#;

/// The message stands second and inside another, so that its place takes more than one byte.
const PROTO: &str = r#"syntax = "proto3";
package demo;
message Other { string note = 1; }
message Outer {
  message Unused { string note = 1; }
  message Event {
    string id = 1;
    int64 sequence = 2;
    string user_id = 3;
    string title = 4;
    string name = 5;
    string text = 6;
  }
}
"#;

const JSON_SCHEMA: &str = r#"{"$schema": "http://json-schema.org/draft-07/schema#", "title": "Event",
    "type": "object", "properties": {"sequence": {"type": "integer"}}, "required": ["id", "sequence"]}"#;

/// The source of `RECORDS` records, to a topic for each schema and one without a frame.
fn definition(registry: &Registry) -> String {
    let block = |topic: &str, more: &str| format!("[[topics]]\ntopic = \"{topic}\"\n{more}\n");
    let avro =
        format!("schema = \"avro\"\navro_schema_path = \"e.avsc\"\n{}", registry.table(", register = true"));
    let proto = format!(
        "schema = \"proto\"\nproto_schema_path = \"e.proto\"\nproto_message = \"Outer.Event\"\n{}",
        registry.table(", register = true, subject = \"events of/proto\"")
    );
    format!(
        "type = \"source\"\nkey = \"framed\"\npath = \"libpicomq_connector_random_source\"\n{}{}{}{}\
         [plugin_config]\ninterval = \"10ms\"\nmessages_range = [5, 5]\nmax_count = {RECORDS}\n",
        block("avro", &avro),
        block("proto", &proto),
        block("json", &registry.table("")),
        block("plain", ""),
    )
}

fn broker(runtime: &tokio::runtime::Runtime) -> DevBroker {
    runtime.block_on(async {
        let broker = pico_devbroker::start(pico_devbroker::Config::default()).await.unwrap();
        for topic in ["avro", "proto", "json", "plain"] {
            broker.handle().create_topic(topic).await.unwrap();
        }
        broker
    })
}

fn values(broker: &DevBroker, topic: &str) -> Vec<Vec<u8>> {
    let records = broker.handle().records(topic, 0, usize::MAX).unwrap();
    records.into_iter().map(|record| record.value.unwrap().to_vec()).collect()
}

fn hex(values: &[Vec<u8>]) -> String {
    let line = |value: &Vec<u8>| value.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n";
    values.iter().map(line).collect()
}

/// The random source's records, as the topic without a frame has them.
fn expected(broker: &DevBroker) -> Vec<Value> {
    values(broker, "plain").iter().map(|value| serde_json::from_slice(value).unwrap()).collect()
}

#[test]
fn confluents_deserializers_read_avro_protobuf_and_json_that_the_daemon_framed() {
    let folder = Folder::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (broker, registry) = (broker(&runtime), Registry::start(&folder));
    folder.write("schema.json", JSON_SCHEMA);
    folder.write("sources/e.avsc", AVSC);
    let proto = folder.write("sources/e.proto", PROTO);
    registry.read(&folder, &["register", "json-value", "schema.json"], "");
    folder.write("sources/framed.toml", &definition(&registry));
    let variables = [("PICOMQ_CONNECTORS_KAFKA__BOOTSTRAP_SERVERS", broker.addr().to_string())];
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));

    let mut daemon = Daemon::start_in(&folder, "", &variables);
    let topics = ["avro", "proto", "json", "plain"];
    daemon.wait_for("all records", || topics.iter().all(|topic| values(&broker, topic).len() == RECORDS));
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.wait().0, 0);

    let plain = expected(&broker);
    let avro = registry.read(&folder, &["avro", "avro"], &hex(&values(&broker, "avro")));
    let with_default = |value: &Value| {
        let mut value = value.clone();
        value["source"] = json!("random");
        value
    };
    assert_eq!(avro, plain.iter().map(with_default).collect::<Value>());
    let json = registry.read(&folder, &["json", "json", "schema.json"], &hex(&values(&broker, "json")));
    assert_eq!(json, Value::Array(plain.clone()));
    let set = folder.path().join("set.bin");
    let out = format!("--descriptor_set_out={}", set.display());
    let include = format!("-I{}", proto.parent().unwrap().display());
    let output = Command::new("protoc").arg(out).arg(include).arg(&proto).output();
    checked("protoc", output.unwrap());
    let arguments = ["proto", "proto", set.to_str().unwrap(), "demo.Outer.Event"];
    let read = registry.read(&folder, &arguments, &hex(&values(&broker, "proto")));
    assert_eq!(read, plain.iter().map(as_protobuf_prints).collect::<Value>());
}

/// 64 bits are a string in protobuf's JSON, and a number that is 0 is not there.
fn as_protobuf_prints(value: &Value) -> Value {
    let mut value = value.clone();
    match value["sequence"].as_u64().unwrap() {
        0 => drop(value.as_object_mut().unwrap().remove("sequence")),
        sequence => value["sequence"] = json!(sequence.to_string()),
    }
    value
}

use pico_config::{Engine, Env};
use picomq_connector_sdk::{Batch, Record, Schema};

use super::*;
use crate::dry_run::{record_path, show};

const SOURCE: &str = "type = \"source\"\nkey = \"orders\"\npath = \"lib\"\n[[topics]]\ntopic = \"all\"\n[[topics]]\n\
                      topic = { strategy = \"field\", path = \"tenant\", template = \"orders.{value}\" }\n";

fn looked(payloads: &[&str], end: End) -> (pico_config::Definition, Looked) {
    let engine = Engine::defaults(std::path::Path::new("/srv"));
    let (definition, findings) =
        pico_config::check_definition("orders.toml".as_ref(), SOURCE, &engine, &Env::default());
    let definition = definition.unwrap_or_else(|| panic!("{findings:?}"));
    let mut batch = Batch::new(Schema::Json);
    for (number, payload) in payloads.iter().enumerate() {
        batch.push(Record::new(*payload).with_key(format!("k{number}")).with_id(format!("lsn-{number}")));
    }
    let mut records = Vec::new();
    let mut path = record_path(&definition, &engine).unwrap();
    see(&mut path, GuestBatch::from_batch(batch), &mut records).unwrap();
    (definition, Looked { records, end })
}

const WANTED: Wanted = Wanted { records: 3, within: Duration::from_secs(30) };

#[test]
fn a_row_is_a_record_and_a_block_and_one_that_fails_says_why() {
    let payloads = [r#"{"tenant":"acme"}"#, r#"{"no":1}"#, r#"{"tenant":"bolt"}"#];
    let (definition, looked) = looked(&payloads, End::Enough);
    assert!(looked.has_failed());
    insta::assert_snapshot!(show::text(&definition, WANTED, &looked), @r#"
    #  RECORD  KEY  BYTES  TOPIC
    1  lsn-0   k0      33  all
                       33  orders.acme
    2  lsn-1   k1          ✗ unroutable_record: record 1 (id "lsn-1"): field "tenant" is not there, so topics[1] has no topic for it; send a value or give the rule a fallback
    3  lsn-2   k2      33  all
                       33  orders.bolt
    1 would fail; as [errors] stands, for each: its whole batch would be nacked and read again
    nothing was produced, created or saved, and nothing was acknowledged
    "#);
}

#[test]
fn programs_get_every_destination() {
    let (definition, looked) = looked(&[r#"{"tenant":"acme"}"#, "{"], End::TimedOut(Some("no route".into())));
    let document = show::document(&definition, WANTED, &looked);
    assert_eq!(document["records"][0]["sent"][1]["topic"], "orders.acme");
    assert_eq!(document["records"][1]["error"]["code"], "payload_not_json");
    assert_eq!((&document["end"], &document["reason"]), (&"timed_out".into(), &"no route".into()));
}

#[test]
fn nothing_to_see_is_said_with_what_would_help() {
    let (definition, looked) = looked(&[], End::TimedOut(None));
    let text = show::text(&definition, WANTED, &looked);
    assert!(text.starts_with("no record within 30 s; ask for more time with --seconds\n"), "{text}");
}

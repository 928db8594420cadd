//! Offsets of Debezium's, as Kafka Connect keeps them, out of whatever they were saved into.
//!
//! Only Connect's own words are known here: a partition says of which upstream, an offset where in it. What an offset means is for the
//! plugin: it gets both, as `{"debezium": {"partition": …, "offset": …}}` in the place of a state.

use serde_json::{Map, Value, json};

/// One source connector's place in its upstream.
#[derive(Debug, Clone, PartialEq)]
struct Found {
    /// The connector's name, where it is told.
    connector: Option<String>,
    partition: Map<String, Value>,
    offset: Map<String, Value>,
}

/// An offset in the form that a plugin takes, and what is to be said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) state: Vec<u8>,
    pub(super) said: String,
}

/// Finds the offset in `bytes`: the answer of `GET /connectors/NAME/offsets`, keys and values of the offsets topic in any number of lines,
/// a value alone, or the file of a standalone worker. With several, `server` says which.
///
/// # Errors
/// None is found, or more than one.
pub(super) fn take(bytes: &[u8], server: Option<&str>) -> Result<Taken, String> {
    let all = found(&pieces(bytes));
    let is_wanted = |one: &&Found| {
        server.is_none_or(|server| one.server() == Some(server) || one.connector.as_deref() == Some(server))
    };
    let wanted: Vec<&Found> = all.iter().filter(is_wanted).collect();
    match wanted[..] {
        [one] => Ok(one.taken()),
        [] if all.is_empty() => Err("no offset of Kafka Connect's is in the file".to_owned()),
        _ => Err(format!(
            "the file has offsets of {}; say with --server which of them",
            all.iter().map(Found::name).collect::<Vec<_>>().join(", ")
        )),
    }
}

impl Found {
    fn server(&self) -> Option<&str> {
        self.partition.get("server").and_then(Value::as_str)
    }

    fn name(&self) -> String {
        let partition = || Value::Object(self.partition.clone()).to_string();
        self.server().map_or_else(partition, str::to_owned)
    }

    fn taken(&self) -> Taken {
        let (partition, offset) = (&self.partition, &self.offset);
        let state = json!({ "debezium": { "partition": partition, "offset": offset } });
        let of = match (partition.is_empty(), &self.connector) {
            (true, _) => "without a name".to_owned(),
            (false, Some(connector)) => format!("of {:?}, connector {connector:?}", self.name()),
            (false, None) => format!("of {:?}", self.name()),
        };
        let said = format!("the offset {of}: {}\n", Value::Object(offset.clone()));
        Taken { state: state.to_string().into_bytes(), said }
    }
}

/// Every JSON object and array in `bytes`, wherever it stands: between tabs, in lines, in Java's serialized maps.
fn pieces(bytes: &[u8]) -> Vec<Value> {
    let (mut pieces, mut at) = (Vec::new(), 0);
    while let Some(next) = bytes[at..].iter().position(|byte| matches!(byte, b'{' | b'[')) {
        at += next;
        let mut values = serde_json::Deserializer::from_slice(&bytes[at..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                at += values.byte_offset();
                pieces.push(value);
            }
            Some(Err(_)) | None => at += 1,
        }
    }
    pieces
}

/// The last offset of each partition. A key without a value takes it away, as in the topic.
fn found(pieces: &[Value]) -> Vec<Found> {
    let mut all: Vec<Found> = Vec::new();
    let mut key: Option<(Option<String>, Map<String, Value>)> = None;
    for piece in pieces {
        if let Some(next) = key_of(piece) {
            if let Some((_, partition)) = key.replace(next) {
                all.retain(|one| one.partition != partition);
            }
            continue;
        }
        let Value::Object(object) = piece else { continue };
        let listed = object.get("offsets").and_then(Value::as_array);
        for entry in listed.map_or(std::slice::from_ref(piece), Vec::as_slice) {
            let (connector, partition, offset) = match (entry.get("partition"), entry.get("offset")) {
                (Some(Value::Object(partition)), Some(Value::Object(offset))) => {
                    (None, partition.clone(), offset.clone())
                }
                (Some(_), Some(_)) => continue,
                (_, _) => match (key.take(), entry.get("payload").unwrap_or(entry)) {
                    (key, Value::Object(offset)) => {
                        let (connector, partition) = key.unwrap_or_default();
                        (connector, partition, offset.clone())
                    }
                    (_, _) => continue,
                },
            };
            all.retain(|one| one.partition != partition);
            all.push(Found { connector, partition, offset });
        }
    }
    if let Some((_, partition)) = key {
        all.retain(|one| one.partition != partition);
    }
    all
}

/// `["connector", {"server": "shop"}]`
fn key_of(piece: &Value) -> Option<(Option<String>, Map<String, Value>)> {
    match piece.as_array().map(Vec::as_slice) {
        Some([Value::String(connector), Value::Object(partition)]) => {
            Some((Some(connector.clone()), partition.clone()))
        }
        Some(_) | None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFSET: &str =
        r#"{"lsn_proc":24599200,"messageType":"UPDATE","lsn_commit":24599144,"lsn":24599200}"#;

    fn right(partition: &str) -> Value {
        let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        json!({ "debezium": { "partition": json(partition), "offset": json(OFFSET) } })
    }

    fn state(bytes: &[u8], server: Option<&str>) -> Value {
        serde_json::from_slice(&take(bytes, server).unwrap().state).unwrap()
    }

    #[test]
    fn every_form_in_which_an_offset_is_kept_is_read() {
        let rest = format!(r#"{{"offsets":[{{"partition":{{"server":"shop"}},"offset":{OFFSET}}}]}}"#);
        let topic = format!(
            "[\"dbz\",{{\"server\":\"shop\"}}]\t{{\"lsn\":5}}\n[\"dbz\",{{\"server\":\"shop\"}}]\t{OFFSET}\n"
        );
        // A worker's file is a serialized java.util.HashMap of byte[] to byte[].
        let file = [
            &b"\xac\xed\0\x05sr\0\x11java.util.HashMap\x05\x07\xda\xc1\xc3\x16`\xd1\x03\0\x02F\0\nloadFactorI\0\tthresholdxp?@\0\0ur\0\x02[B\xac\0\0\x17"[..],
            br#"["dbz",{"server":"shop"}]"#,
            b"uq\0~\0\x02\0\0\0\x5a",
            OFFSET.as_bytes(),
            b"x",
        ]
        .concat();
        for bytes in [rest.as_bytes(), topic.as_bytes(), &file] {
            assert_eq!(state(bytes, None), right(r#"{"server":"shop"}"#));
            assert_eq!(state(bytes, Some("shop")), right(r#"{"server":"shop"}"#));
        }
        assert_eq!(state(OFFSET.as_bytes(), None), right("{}"));
    }

    #[test]
    fn of_several_the_named_one_is_taken_and_none_is_guessed() {
        let topic = format!(
            "[\"a\",{{\"server\":\"one\"}}]\t{{\"lsn\":5}}\n[\"b\",{{\"server\":\"two\"}}]\t{OFFSET}\n"
        );
        let why = take(topic.as_bytes(), None).unwrap_err();
        assert!(why.contains("one, two") && why.contains("--server"), "{why}");
        assert_eq!(state(topic.as_bytes(), Some("two")), right(r#"{"server":"two"}"#));
        assert_eq!(
            state(topic.as_bytes(), Some("b")),
            right(r#"{"server":"two"}"#),
            "by the connector's name"
        );
        assert!(take(topic.as_bytes(), Some("three")).is_err());
    }

    #[test]
    fn an_offset_that_was_taken_away_is_not_there() {
        let topic = format!(
            "[\"a\",{{\"server\":\"one\"}}]\t{{\"lsn\":5}}\n[\"a\",{{\"server\":\"one\"}}]\t\n[\"b\",{{\"server\":\"two\"}}]\t{OFFSET}\n"
        );
        assert_eq!(state(topic.as_bytes(), None), right(r#"{"server":"two"}"#));
        for bytes in
            [&b""[..], b"nothing", br#"{"offsets":[]}"#, b"[1,2]", b"{", b"[\"a\",{\"server\":\"one\"}]\t"]
        {
            assert!(take(bytes, None).is_err(), "{}", String::from_utf8_lossy(bytes));
        }
    }
}

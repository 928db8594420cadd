//! The tables of `[[tests]]`.

use crate::shape::{Kind, Names, Shape, field, required, words};

pub(crate) static TEST: Shape = Shape {
    fields: &[
        field("name", Kind::Text, "its position", "What the test claims, for the report."),
        required("input", Kind::Table(&INPUT), "The record as the plugin would give it."),
        field(
            "expect",
            Kind::Tables(&EXPECT),
            "",
            "The records that leave, all of them, in the order of the [[topics]] blocks. One of `expect`, `filtered` and `error` is written.",
        ),
        field("filtered", Kind::Bool, "false", "True: a rule drops the record, so nothing leaves."),
        field(
            "error",
            Kind::Text,
            "",
            "Code with which the record fails, such as `unroutable_record`, whatever [errors] makes of it.",
        ),
    ],
    foreign: &[
        ("inputs", "a test has one record, `input`"),
        ("output", "what leaves is `expect`"),
        ("outputs", "what leaves is `expect`"),
        ("topic", "`topic` belongs into [[tests.expect]]"),
        ("payload", "`payload` belongs into [tests.input]"),
    ],
};

static INPUT: Shape = Shape {
    fields: &[
        field("payload", Kind::Text, "empty", "The payload as text, JSON for most; `$${` is a plain `${`."),
        field("payload_base64", Kind::Text, "", "The payload as bytes in base64, instead of `payload`."),
        field(
            "tombstone",
            Kind::Bool,
            "false",
            "True: a record without a payload, which is not an empty one.",
        ),
        field(
            "schema",
            words(&["json", "raw", "text", "avro", "proto", "flatbuffer"]),
            "\"json\"",
            "What the plugin's payloads are.",
        ),
        field("key", Kind::Text, "none", "The key that the plugin gives."),
        field("key_base64", Kind::Text, "", "The same as bytes in base64, instead of `key`."),
        field("headers", Kind::Texts { names: Names::Plain }, "empty", "The headers that the plugin gives."),
        field(
            "timestamp",
            Kind::Integer { min: 0, max: i64::MAX as u64 },
            "none",
            "Time of the record, Unix milliseconds.",
        ),
        field("id", Kind::Text, "none", "Record id of the plugin; travels as the header picomq.id."),
    ],
    foreign: &[
        ("value", "what goes in is `payload`"),
        ("timestamp_ms", "write timestamp = 1700000000000; it is in milliseconds"),
    ],
};

static EXPECT: Shape = Shape {
    fields: &[
        required("topic", Kind::Text, "The topic it goes to."),
        field(
            "block",
            Kind::Integer { min: 0, max: 65_535 },
            "any",
            "Position of the [[topics]] block that sends it, from 0.",
        ),
        field("key", Kind::Text, "any", "Its key as text."),
        field("no_key", Kind::Bool, "false", "True: it has no key."),
        field(
            "headers",
            Kind::Texts { names: Names::Plain },
            "any",
            "Headers that it has, each with this value; it may have others.",
        ),
        field("without_headers", Kind::List(&Kind::Text), "none", "Headers that it has not."),
        field(
            "value",
            Kind::Text,
            "any",
            "Its value, compared as JSON: the order of members, blanks and the writing of numbers do not count.",
        ),
        field("value_text", Kind::Text, "any", "Its value to the byte, instead of `value`."),
        field("value_base64", Kind::Text, "any", "The same in base64, instead of `value`."),
        field("tombstone", Kind::Bool, "false", "True: it has no value."),
        field(
            "ignore",
            Kind::List(&Kind::Text),
            "none",
            "Dotted paths in `value` that are not compared, such as a time or a random id.",
        ),
    ],
    foreign: &[
        ("payload", "what comes out is `value`"),
        ("json", "write value = '…'; it is compared as JSON"),
    ],
};

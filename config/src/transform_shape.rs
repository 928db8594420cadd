//! The tables of `[[transforms]]`, one for each `type`.

use crate::shape::{Field, Kind, Shape, Tagged, field, not_yet, required, words};

/// The fields of every transform, then its own.
macro_rules! transform {
    ($name:literal, $own:expr) => {
        transform!($name, WHEN, $own)
    };
    ($name:literal, $when:expr, $own:expr) => {
        Shape {
            fields: {
                const OWN: &[Field] = &$own;
                &{
                    let mut all = [const { field("", Kind::Bool, "", "") }; 3 + OWN.len()];
                    all[0] = field("type", words(&[$name]), "", "What it does.");
                    all[1] = field("enabled", Kind::Bool, "true", "Whether it is applied.");
                    all[2] = $when;
                    let mut at = 0;
                    while at < OWN.len() {
                        all[3 + at] = OWN[at];
                        at += 1;
                    }
                    all
                }
            },
            foreign: &[("key", "the fields stand in `fields`"), ("condition", "`when` is a jq expression")],
        }
    };
}

const WHEN: Field = field(
    "when",
    Kind::Text,
    "all",
    "A jq expression that is true or false; records for which it is false pass unchanged.",
);

pub(crate) static TRANSFORMS: Tagged = Tagged {
    tag: "type",
    shapes: &[
        ("add_fields", &ADD_FIELDS),
        ("update_fields", &UPDATE_FIELDS),
        ("delete_fields", &DELETE_FIELDS),
        ("rename_fields", &RENAME_FIELDS),
        ("filter_fields", &FILTER_FIELDS),
        ("filter_records", &FILTER_RECORDS),
        ("mask_fields", &MASK_FIELDS),
        ("unwrap_envelope", &UNWRAP_ENVELOPE),
        ("jq", &JQ),
        ("avro_convert", &AVRO_CONVERT),
        ("proto_convert", &PROTO_CONVERT),
        ("flatbuffer_convert", &FLATBUFFER_CONVERT),
        ("flat_buffer_convert", &FLAT_BUFFER_CONVERT),
    ],
    later: &[],
};

const TEXT: Kind = Kind::Text;

static ADD_FIELDS: Shape = transform!(
    "add_fields",
    [required("fields", Kind::Tables(&NEW_FIELD), "Fields to write where they are absent.")]
);

static NEW_FIELD: Shape = Shape {
    fields: &[
        required("key", TEXT, "Dotted path of the field; objects on the way are made."),
        required("value", Kind::Table(&VALUE), "What is written."),
    ],
    foreign: VALUE_WORDS,
};

static UPDATE_FIELDS: Shape = transform!(
    "update_fields",
    [required("fields", Kind::Tables(&UPDATE), "Fields to write, each by its condition.")]
);

static UPDATE: Shape = Shape {
    fields: &[
        required("key", TEXT, "Dotted path of the field; objects on the way are made."),
        required("value", Kind::Table(&VALUE), "What is written."),
        field(
            "condition",
            words(&["always", "key_exists", "key_not_exists"]),
            "\"always\"",
            "When it is written.",
        ),
    ],
    foreign: VALUE_WORDS,
};

const VALUE_WORDS: &[(&str, &str)] = &[
    ("static", "write value = { static = … }"),
    ("computed", "write value = { computed = \"…\" }"),
    ("name", "the path of a field is `key`"),
    ("path", "the path of a field is `key`"),
];

static VALUE: Shape = Shape {
    fields: &[
        field("static", Kind::Any, "", "Any value; it is written as JSON."),
        field(
            "computed",
            words(&[
                "date_time",
                "timestamp_seconds",
                "timestamp_millis",
                "timestamp_micros",
                "timestamp_nanos",
                "uuid_v4",
                "uuid_v7",
            ]),
            "",
            "Made anew for each record: the time of the transform, or a UUID.",
        ),
    ],
    foreign: &[],
};

static DELETE_FIELDS: Shape = transform!(
    "delete_fields",
    [required("fields", Kind::List(&TEXT), "Dotted paths of the fields to take out.")]
);

static RENAME_FIELDS: Shape = transform!(
    "rename_fields",
    [required("fields", Kind::Tables(&RENAME), "Fields that get another name or place.")]
);

static RENAME: Shape = Shape {
    fields: &[
        required("from", TEXT, "Dotted path of the field as it is."),
        required("to", TEXT, "Dotted path it has from then on."),
    ],
    foreign: &[("key", "write from = \"…\" and to = \"…\"")],
};

static FILTER_FIELDS: Shape = transform!(
    "filter_fields",
    [
        field("keep_fields", Kind::List(&TEXT), "none", "Dotted paths of fields that stay in any case."),
        field("patterns", Kind::Tables(&FIELD_PATTERN), "none", "Any of them is enough to match."),
        field(
            "include_matching",
            Kind::Bool,
            "true",
            "Whether the fields that match stay, or those that do not.",
        ),
    ]
);

static FIELD_PATTERN: Shape = Shape {
    fields: &[
        field("key_pattern", Kind::Table(&KEY_PATTERN), "any", "What the name must be."),
        field("value_pattern", Kind::TextOrTable(&VALUE_PATTERN), "any", "What the value must be."),
    ],
    foreign: &[("key", "write key_pattern = { exact = \"…\" }"), ("value", "write value_pattern = …")],
};

static KEY_PATTERN: Shape = Shape {
    fields: &[
        field("exact", TEXT, "", "The name is this."),
        field("starts_with", TEXT, "", "The name begins so."),
        field("ends_with", TEXT, "", "The name ends so."),
        field("contains", TEXT, "", "The name holds this."),
        field("regex", TEXT, "", "The expression is found in the name."),
    ],
    foreign: &[],
};

/// Patterns that are a word alone.
pub(crate) const TYPE_PATTERNS: &[&str] =
    &["is_null", "is_not_null", "is_string", "is_number", "is_boolean", "is_object", "is_array"];

static VALUE_PATTERN: Shape = Shape {
    fields: &[
        field("equals", Kind::Any, "", "The same JSON value; numbers by what they are worth."),
        field("contains", TEXT, "", "A string that holds this one."),
        field("regex", TEXT, "", "A string in which the expression is found."),
        field("greater_than", Kind::Number, "", "A number above this one."),
        field("less_than", Kind::Number, "", "A number below this one."),
        field(
            "between",
            Kind::List(&Kind::Number),
            "",
            "A number from the first to the second, both included.",
        ),
        field("is_null", Kind::Bool, "", "Null; the word alone says the same."),
        field("is_not_null", Kind::Bool, "", "Anything but null."),
        field("is_string", Kind::Bool, "", "A string."),
        field("is_number", Kind::Bool, "", "A number."),
        field("is_boolean", Kind::Bool, "", "True or false."),
        field("is_object", Kind::Bool, "", "An object."),
        field("is_array", Kind::Bool, "", "An array."),
    ],
    foreign: &[],
};

static FILTER_RECORDS: Shape = transform!(
    "filter_records",
    [
        field(
            "patterns",
            Kind::Tables(&RECORD_PATTERN),
            "none",
            "Any of them is enough to match; without patterns every record is dropped for which `when` is true.",
        ),
        field(
            "include_matching",
            Kind::Bool,
            "true",
            "Whether the records that match stay, or those that do not.",
        ),
    ]
);

static RECORD_PATTERN: Shape = Shape {
    fields: &[
        required("field", TEXT, "Dotted path; a field that is not there matches nothing."),
        required("value_pattern", Kind::TextOrTable(&VALUE_PATTERN), "What the value must be."),
    ],
    foreign: &[("key", "the path of a field is `field`"), ("key_pattern", "the path of a field is `field`")],
};

static MASK_FIELDS: Shape = transform!(
    "mask_fields",
    [
        required("fields", Kind::List(&TEXT), "Dotted paths of the fields to hide; null stays null."),
        field("method", words(&["redact", "hash"]), "\"redact\"", "Another text, or a hash of the value."),
        field("replacement", TEXT, "\"***\"", "The text for `redact`."),
        field(
            "hash_key",
            Kind::Secret,
            "none",
            "Makes the hash HMAC-SHA-256 instead of SHA-256, so that short values cannot be guessed.",
        ),
    ]
);

static UNWRAP_ENVELOPE: Shape = transform!(
    "unwrap_envelope",
    [
        required("field", TEXT, "Dotted path; its value becomes the payload."),
        field(
            "if_missing",
            words(&["pass", "error"]),
            "\"pass\"",
            "A record without the field passes unchanged, or goes by [errors].",
        ),
    ]
);

static JQ: Shape = transform!(
    "jq",
    [required(
        "filter",
        TEXT,
        "A jq expression; its one output becomes the payload, without an output the record is dropped.",
    )]
);

const ALL_RECORDS: Field = not_yet("when", "take it out: records of one batch would leave in two schemas");
const RENAME_INSTEAD: &str = "put a rename_fields transform beside it, where the payload is JSON";
const NO_OPTIONS: &str =
    "take it out: values are always checked against the schema, JSON is written without blanks";
const NOTHING_UNKNOWN: &str = "take it out: fields that the schema does not know are left out";

static AVRO_CONVERT: Shape = transform!(
    "avro_convert",
    ALL_RECORDS,
    [
        field("source_format", words(&["avro", "json"]), "\"avro\"", "What it takes."),
        field("target_format", words(&["json", "avro"]), "\"json\"", "What it gives."),
        field("schema_path", TEXT, "", "File of the Avro schema (.avsc)."),
        field("schema_json", TEXT, "", "The Avro schema itself."),
        not_yet("field_mappings", RENAME_INSTEAD),
        not_yet("conversion_options", NO_OPTIONS),
    ]
);

static PROTO_CONVERT: Shape = transform!(
    "proto_convert",
    ALL_RECORDS,
    [
        field("source_format", words(&["proto", "json"]), "\"proto\"", "What it takes."),
        field("target_format", words(&["json", "proto"]), "\"json\"", "What it gives."),
        field("schema_path", TEXT, "", "The .proto file; imports are found beside it."),
        field(
            "include_paths",
            Kind::List(&TEXT),
            "the folder of the file",
            "Folders in which imports are looked for."
        ),
        field("descriptor_set", TEXT, "", "File that `protoc --include_imports --descriptor_set_out` wrote."),
        field("message_type", TEXT, "the only one", "The message, with or without its package."),
        field(
            "int64_as_string",
            Kind::Bool,
            "false",
            "64-bit integers as strings, as protobuf's own JSON has them."
        ),
        not_yet("field_mappings", RENAME_INSTEAD),
        not_yet("preserve_unknown_fields", NOTHING_UNKNOWN),
        not_yet(
            "schema_registry_url",
            "take it out: a registry belongs into a [[topics]] block, schema_registry"
        ),
        not_yet("conversion_options", NO_OPTIONS),
    ]
);

static FLATBUFFER_CONVERT: Shape = transform!("flatbuffer_convert", ALL_RECORDS, FLATBUFFER_KEYS);

/// As the existing runtimes spell it.
static FLAT_BUFFER_CONVERT: Shape = transform!("flat_buffer_convert", ALL_RECORDS, FLATBUFFER_KEYS);

const FLATBUFFER_KEYS: [Field; 8] = [
    field("source_format", words(&["flatbuffer", "flat_buffer", "json"]), "\"flatbuffer\"", "What it takes."),
    field("target_format", words(&["json", "flatbuffer", "flat_buffer"]), "\"json\"", "What it gives."),
    field("schema_path", TEXT, "", "The binary schema (.bfbs) that `flatc --binary --schema` wrote."),
    field("root_table_name", TEXT, "the schema's root_type", "The table."),
    not_yet("include_paths", "take it out: a binary schema holds all that it includes"),
    not_yet("field_mappings", RENAME_INSTEAD),
    not_yet("preserve_unknown_fields", NOTHING_UNKNOWN),
    not_yet("conversion_options", NO_OPTIONS),
];

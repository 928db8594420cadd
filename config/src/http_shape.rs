//! The tables of `[http]`.

use crate::shape::{Kind, Shape, field, required, words};

const METHOD: Kind = words(&["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

pub(crate) static HTTP: Shape = Shape {
    fields: &[
        field("enabled", Kind::Bool, "true", "Whether the API is served."),
        field(
            "address",
            Kind::Text,
            "\"127.0.0.1:8081\"",
            "host:port; one that other machines reach needs an API key.",
        ),
        field(
            "api_key",
            Kind::Secret,
            "empty",
            "Key that opens everything, in the header `api-key` or `Authorization: Bearer`; best as ${file:/run/secrets/x}.",
        ),
        field(
            "api_keys",
            Kind::Tables(&API_KEY),
            "",
            "Further keys, by name and role; several at once, so that one can be replaced while the others work.",
        ),
        field(
            "allowed_hosts",
            Kind::List(&Kind::Text),
            "empty",
            "Further names in the Host header that are answered; \".example.org\" stands for all names that end so.",
        ),
        field("cors", Kind::Table(&CORS), "", "Pages of other origins that may use the API from a browser."),
        field("metrics", Kind::Table(&METRICS), "", "Prometheus metrics."),
        field("tls", Kind::Table(&TLS), "", "TLS of the API."),
    ],
    foreign: &[("port", "the port is part of `address`"), ("host", "the host is part of `address`")],
};

static API_KEY: Shape = Shape {
    fields: &[
        required("name", Kind::Text, "What the log calls it."),
        required("key", Kind::Secret, "The key; best as ${file:/run/secrets/x}."),
        field("role", words(&["admin", "read"]), "\"admin\"", "Whether it opens everything or only GET."),
    ],
    foreign: &[],
};

static CORS: Shape = Shape {
    fields: &[
        field("enabled", Kind::Bool, "false", "Whether pages of the origins below are let in."),
        field(
            "allowed_origins",
            Kind::List(&Kind::Text),
            "empty",
            "Origins such as \"https://example.org\"; \"*\" only with API keys and without credentials.",
        ),
        field(
            "allowed_methods",
            Kind::List(&METHOD),
            "[\"GET\", \"POST\", \"PUT\", \"DELETE\"]",
            "Methods their pages may use.",
        ),
        field(
            "allowed_headers",
            Kind::List(&Kind::Text),
            "[\"content-type\", \"api-key\", \"authorization\"]",
            "Headers their pages may send.",
        ),
        field("exposed_headers", Kind::List(&Kind::Text), "empty", "Headers their pages may read."),
        field("allow_credentials", Kind::Bool, "false", "Whether browsers send along what they keep for us."),
        field(
            "allow_private_network",
            Kind::Bool,
            "false",
            "Whether pages of public sites may reach a private address.",
        ),
    ],
    foreign: &[],
};

static METRICS: Shape = Shape {
    fields: &[
        field("enabled", Kind::Bool, "true", "Whether metrics are served."),
        field("endpoint", Kind::Text, "\"/metrics\"", "Path of the metrics."),
    ],
    foreign: &[],
};

static TLS: Shape = Shape {
    fields: &[
        field(
            "enabled",
            Kind::Bool,
            "false",
            "Whether the API speaks TLS, 1.2 or newer, instead of plain HTTP.",
        ),
        field(
            "cert_file",
            Kind::Text,
            "none",
            "PEM file of our certificate and those that lead to its root.",
        ),
        field("key_file", Kind::Text, "none", "PEM file of its key. Both are read again when they change."),
    ],
    foreign: &[],
};

//! `[http]`: addresses, keys, hosts, origins, certificates.

use pico_config::{Env, Http, Role, Severity};

use crate::given::{engine, engine_with, lines, refused_engine};

const KEY: &str = "0123456789abcdef0123456789abcdef";

fn http(text: &str) -> Http {
    engine(text).unwrap_or_else(|findings| panic!("{}", lines(&findings))).0.http
}

fn codes(text: &str) -> Vec<&'static str> {
    engine(text).unwrap_err().iter().map(|finding| finding.code).collect()
}

#[test]
fn an_address_beyond_loopback_needs_a_key_b131() {
    insta::assert_snapshot!(refused_engine("[http]\naddress = \"0.0.0.0:8081\""), @r#"config.not_loopback 2:11 http.address: `address` is `0.0.0.0:8081`, beyond loopback, and there is no API key: whoever reaches it commands the engine (set http.api_key, best as "${file:/run/secrets/api_key}", or write address = "127.0.0.1:8081")"#);
    for address in ["[::]:1", "example.org:80", "10.0.0.1:1", "127.0.0.1.evil:1"] {
        assert_eq!(codes(&format!("[http]\naddress = \"{address}\"")), ["config.not_loopback"], "{address}");
        assert_eq!(
            codes(&format!("[http]\naddress = \"{address}\"\napi_key = \"\"")),
            ["config.not_loopback"],
            "an empty key is none"
        );
        http(&format!("[http]\naddress = \"{address}\"\napi_key = \"{KEY}\""));
    }
    for address in ["8081", "localhost", "localhost:99999", ":1"] {
        assert_eq!(codes(&format!("[http]\naddress = \"{address}\"")), ["config.bad_address"], "{address}");
    }
    for address in ["localhost:1", "127.1.2.3:0", "[::1]:1"] {
        http(&format!("[http]\naddress = \"{address}\""));
    }
    http("[http]\nenabled = false\naddress = \"0.0.0.0:1\"");
}

#[test]
fn keys_come_with_name_and_role_and_from_variables() {
    let http = http(&format!(
        "[http]\napi_key = \"{KEY}\"\n[[http.api_keys]]\nname = \"grafana\"\nkey = \"{KEY}r\"\nrole = \"read\"\n\
         [[http.api_keys]]\nname = \"next\"\nkey = \"{KEY}n\"\n"
    ));
    let keys: Vec<_> = http.keys.iter().map(|key| (key.name.as_str(), key.key.expose(), key.role)).collect();
    assert_eq!(
        keys,
        [
            ("api_key", KEY, Role::Admin),
            ("grafana", &*format!("{KEY}r"), Role::Read),
            ("next", &*format!("{KEY}n"), Role::Admin),
        ]
    );
    let env = Env::from_pairs([("PICOMQ_CONNECTORS_HTTP__API_KEY", KEY), ("PICOMQ_CONNECTORS_API_KEY", KEY)]);
    let (engine, findings) = engine_with("", &env).unwrap();
    assert_eq!((engine.http.keys.len(), findings), (1, vec![]), "the latter is the command line's");
}

#[test]
fn keys_that_cannot_work_are_refused_without_being_shown() {
    let of = |more: &str| refused_engine(&format!("[http]\n{more}"));
    insta::assert_snapshot!(of("api_key = \"two words hunter2\""), @"config.bad_key 2:11 http.api_key: an API key is 1 to 512 printable ASCII characters without blanks, so that a header can carry it (a good key: openssl rand -hex 32)");
    let two = |first: &str, second: &str| {
        of(&format!("api_key = \"{KEY}\"\napi_keys = [{{ {first} }}, {{ {second} }}]"))
    };
    let good = format!("name = \"a\", key = \"{KEY}a\"");
    for (second, code) in [
        (format!("name = \"a\", key = \"{KEY}b\""), "config.bad_key"),
        (format!("name = \"\", key = \"{KEY}b\""), "config.bad_key"),
        (format!("name = \"b\", key = \"{KEY}a\""), "config.bad_key"),
        ("name = \"b\", key = \"\"".to_owned(), "config.bad_key"),
        ("name = \"b\"".to_owned(), "config.missing_field"),
        (format!("name = \"b\", key = \"{KEY}b\", role = \"root\""), "config.unknown_value"),
    ] {
        let said = two(&good, &second);
        assert!(said.starts_with(code) && !said.contains(KEY), "{second}: {said}");
    }
}

#[test]
fn a_short_key_and_keys_in_plain_text_are_said() {
    let said = |text: &str| -> Vec<_> {
        engine(text).unwrap().1.iter().map(|finding| (finding.severity, finding.code)).collect()
    };
    assert_eq!(said("[http]\napi_key = \"hunter2\""), [(Severity::Warning, "config.weak_key")]);
    let open = format!("[http]\naddress = \"0.0.0.0:1\"\napi_key = \"{KEY}\"\n");
    assert_eq!(said(&open), [(Severity::Info, "config.plain_text")]);
    assert_eq!(
        said(&format!("{open}tls = {{ enabled = true, cert_file = \"c.pem\", key_file = \"k.pem\" }}")),
        []
    );
}

#[test]
fn a_certificate_needs_its_key_and_both_are_found_beside_the_file() {
    let tls = http("[http.tls]\nenabled = true\ncert_file = \"c.pem\"\nkey_file = \"/k.pem\"").tls.unwrap();
    assert!(tls.cert_file.is_absolute() && tls.cert_file.ends_with("c.pem"));
    assert_eq!(tls.key_file.to_str(), Some("/k.pem"));
    assert_eq!(codes("[http.tls]\nenabled = true\ncert_file = \"c.pem\""), ["config.missing_field"]);
    assert_eq!(codes("[http.tls]\nenabled = true\ncert_file = \"c\"\nkey_file = \"\""), ["config.empty"]);
    assert_eq!(http("[http.tls]\nenabled = false\ncert_file = \"\"").tls, None);
}

#[test]
fn a_star_among_the_origins_is_refused_where_it_opens_the_engine_b131() {
    let cors = |keys: &str, more: &str| format!("[http]\n{keys}\n[http.cors]\nenabled = true\n{more}");
    let key = format!("api_key = \"{KEY}\"");
    assert_eq!(codes(&cors("", "allowed_origins = [\"*\"]")), ["config.bad_origin"]);
    let credentials = "allowed_origins = [\"*\"]\nallow_credentials = true";
    assert_eq!(codes(&cors(&key, credentials)), ["config.bad_origin"]);
    assert_eq!(codes(&cors(&key, "")), ["config.missing_field"]);
    for origin in ["null", "example.org", "https://example.org/", "HTTPS://A", "https://"] {
        assert_eq!(codes(&cors("", &format!("allowed_origins = [\"{origin}\"]"))), ["config.bad_origin"]);
    }
    assert_eq!(
        codes(&cors(&key, "allowed_origins = [\"*\"]\nallowed_methods = [\"BREW\"]")),
        ["config.unknown_value"]
    );
    let read = http(&cors(&key, "allowed_origins = [\"*\"]\nexposed_headers = [\"\"]")).cors.unwrap();
    assert_eq!(read.allowed_methods, ["GET", "POST", "PUT", "DELETE"]);
    assert_eq!(read.allowed_headers, ["content-type", "api-key", "authorization"]);
    assert_eq!(read.exposed_headers, Vec::<String>::new());
    assert_eq!(http("[http.cors]\nenabled = false\nallowed_origins = [\"*\"]").cors, None);
}

#[test]
fn hosts_are_names_without_scheme_and_port() {
    let hosts =
        http("[http]\nallowed_hosts = [\"Ops.example.org\", \".svc.cluster.local\", \"::1\"]").allowed_hosts;
    assert_eq!(hosts, ["ops.example.org", ".svc.cluster.local", "::1"]);
    for bad in ["", ".", "*", "https://a", "a:80"] {
        assert_eq!(codes(&format!("[http]\nallowed_hosts = [\"{bad}\"]")), ["config.bad_host"], "{bad}");
    }
}

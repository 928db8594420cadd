//! From a checked `[http]` to the API server's configuration.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use crate::checked::{Checked, Fields, Item};
use crate::context::{Context, Draft, Place};
use crate::http::{ApiKey, Cors, Http, HttpTls, Role};
use crate::path_in::path_in;
use crate::secret::Secret;

/// A shorter key is within reach of guessing, whatever slows it down.
const KEY_LENGTH_MIN: usize = 16;
/// Longest header a key may need.
const KEY_LENGTH_MAX: usize = 512;

const MAKE_A_KEY: &str = "a good key: openssl rand -hex 32";

pub(crate) fn read_http(cx: &mut Context<'_>, table: &Fields, folder: &Path) -> Http {
    let base = Http::default();
    let keys = read_keys(cx, table);
    // A key that does not fit has its finding; that there is none would be wrong beside it.
    let has_keys = !keys.is_empty() || !table.list("api_keys").is_empty() || has_any(table);
    let tls = read_tls(cx, table, folder);
    let metrics = table.table("metrics");
    let enabled = table.flag("enabled").unwrap_or(base.enabled);
    if let Some((text, place)) = table.text("address").filter(|_| enabled) {
        check_address(cx, (text, place), has_keys, tls.is_some());
    }
    Http {
        enabled,
        address: table.text("address").map_or(base.address, |(text, _)| text.to_owned()),
        keys,
        allowed_hosts: read_hosts(cx, table),
        cors: table.table("cors").and_then(|cors| read_cors(cx, cors, has_keys)),
        tls,
        metrics_enabled: metrics.and_then(|metrics| metrics.flag("enabled")).unwrap_or(base.metrics_enabled),
        metrics_endpoint: metrics
            .and_then(|metrics| read_endpoint(cx, metrics))
            .unwrap_or(base.metrics_endpoint),
    }
}

fn has_any(table: &Fields) -> bool {
    table.has_failed("api_key")
        || table.has_failed("api_keys")
        || table.text("api_key").is_some_and(|(key, _)| !key.is_empty())
}

fn read_keys(cx: &mut Context<'_>, table: &Fields) -> Vec<ApiKey> {
    let mut keys = Vec::new();
    if let Some((text, place)) = table.text("api_key").filter(|(key, _)| !key.is_empty()) {
        keys.extend(read_key(cx, ("api_key", text, place), Role::Admin));
    }
    for item in table.list("api_keys") {
        let Checked::Table(fields) = &item.value else { continue };
        let (Some((name, name_place)), Some((text, place))) = (fields.text("name"), fields.text("key"))
        else {
            continue;
        };
        if name.is_empty() || keys.iter().any(|known: &ApiKey| known.name == name) {
            let reason = format!("`name` of an API key must be there once and not be empty, not `{name}`");
            cx.add(name_place, Draft::error("config.bad_key", reason));
        }
        let role = if fields.word("role") == Some("read") { Role::Read } else { Role::Admin };
        keys.extend(read_key(cx, (name, text, place), role));
    }
    let texts: BTreeSet<&str> = keys.iter().map(|key| key.key.expose()).collect();
    if texts.len() < keys.len() {
        let reason = "two API keys are the same text, so nobody can tell who used it";
        cx.add(&table.place, Draft::error("config.bad_key", reason).hint(MAKE_A_KEY));
    }
    keys
}

/// No message shows any of it.
fn read_key(cx: &mut Context<'_>, (name, text, place): (&str, &str, &Place), role: Role) -> Option<ApiKey> {
    let is_sendable = !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic());
    if !is_sendable || text.len() > KEY_LENGTH_MAX {
        let reason = format!(
            "an API key is 1 to {KEY_LENGTH_MAX} printable ASCII characters without blanks, so that a header can carry it"
        );
        cx.add(place, Draft::error("config.bad_key", reason).hint(MAKE_A_KEY));
        return None;
    }
    if text.len() < KEY_LENGTH_MIN {
        let reason = format!("the API key has fewer than {KEY_LENGTH_MIN} characters and can be guessed");
        cx.add(place, Draft::warning("config.weak_key", reason).hint(MAKE_A_KEY));
    }
    Some(ApiKey { name: name.to_owned(), key: Secret::new(text.to_owned()), role })
}

fn read_tls(cx: &mut Context<'_>, table: &Fields, folder: &Path) -> Option<HttpTls> {
    let tls = table.table("tls").filter(|tls| tls.flag("enabled") == Some(true))?;
    let cert_file = needed_path(cx, tls, "cert_file", folder);
    let key_file = needed_path(cx, tls, "key_file", folder);
    Some(HttpTls { cert_file: cert_file?, key_file: key_file? })
}

fn needed_path(cx: &mut Context<'_>, tls: &Fields, name: &str, folder: &Path) -> Option<PathBuf> {
    if tls.get(name).is_none() && !tls.has_failed(name) {
        let reason = format!("`{name}` is missing: http.tls.enabled = true needs a certificate and its key");
        cx.add(&tls.place, Draft::error("config.missing_field", reason));
    }
    path_in(cx, tls, name, folder)
}

fn read_hosts(cx: &mut Context<'_>, table: &Fields) -> Vec<String> {
    let mut hosts = Vec::new();
    for (text, item) in texts(table, "allowed_hosts") {
        let bare = text.strip_prefix('.').unwrap_or(text);
        let is_name = !bare.is_empty()
            && bare.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
        if is_name || bare.parse::<IpAddr>().is_ok() {
            hosts.push(text.to_ascii_lowercase());
        } else {
            let reason = format!("`{text}` in `allowed_hosts` is no host name");
            let hint =
                "names without scheme and port, such as \"connectors.example.org\" or \".svc.cluster.local\"";
            cx.add(&item.place, Draft::error("config.bad_host", reason).hint(hint));
        }
    }
    hosts
}

fn read_cors(cx: &mut Context<'_>, cors: &Fields, has_keys: bool) -> Option<Cors> {
    if cors.flag("enabled") != Some(true) {
        return None;
    }
    let allow_credentials = cors.flag("allow_credentials").unwrap_or(false);
    let mut allowed_origins = Vec::new();
    for (text, item) in texts(cors, "allowed_origins") {
        match refusal_of_origin(text, has_keys, allow_credentials) {
            Some(reason) => {
                let hint = "name each origin, such as \"https://example.org\"";
                cx.add(&item.place, Draft::error("config.bad_origin", reason).hint(hint));
            }
            None => allowed_origins.push(text.to_owned()),
        }
    }
    if cors.list("allowed_origins").is_empty() && !cors.has_failed("allowed_origins") {
        let reason = "`allowed_origins` is missing: http.cors.enabled = true needs the origins to let in";
        cx.add(&cors.place, Draft::error("config.missing_field", reason));
    }
    let methods: Vec<String> = cors.list("allowed_methods").iter().filter_map(word).collect();
    let or = |list: Vec<String>, default: &[&str]| match list.is_empty() {
        true => default.iter().map(|text| (*text).to_owned()).collect(),
        false => list,
    };
    Some(Cors {
        allowed_origins,
        allowed_methods: or(methods, &["GET", "POST", "PUT", "DELETE"]),
        allowed_headers: or(
            headers(cx, cors, "allowed_headers"),
            &["content-type", "api-key", "authorization"],
        ),
        exposed_headers: headers(cx, cors, "exposed_headers"),
        allow_credentials,
        allow_private_network: cors.flag("allow_private_network").unwrap_or(false),
    })
}

fn refusal_of_origin(text: &str, has_keys: bool, allow_credentials: bool) -> Option<String> {
    if text == "*" {
        return match (has_keys, allow_credentials) {
            (_, true) => {
                Some("origin `*` with `allow_credentials` lets every page act as its reader".to_owned())
            }
            (false, _) => Some("origin `*` without API keys lets every page command the engine".to_owned()),
            (true, false) => None,
        };
    }
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let is_origin = host.is_some_and(|host| {
        !host.is_empty()
            && host.chars().all(|c| {
                matches!(c, '.' | '-' | ':' | '[' | ']') || c.is_ascii_lowercase() || c.is_ascii_digit()
            })
    });
    (!is_origin).then(|| format!("`{text}` is no origin: a scheme, a host in lower case and perhaps a port"))
}

/// The existing runtimes write one empty text for none.
fn headers(cx: &mut Context<'_>, cors: &Fields, name: &str) -> Vec<String> {
    let mut headers = Vec::new();
    for (text, item) in texts(cors, name).filter(|(text, _)| !text.is_empty()) {
        if text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
            headers.push(text.to_ascii_lowercase());
        } else {
            let reason = format!("`{text}` in `{name}` is no name of a header");
            cx.add(&item.place, Draft::error("config.bad_header", reason));
        }
    }
    headers
}

fn texts<'a>(table: &'a Fields, name: &str) -> impl Iterator<Item = (&'a str, &'a Item)> {
    table.list(name).iter().filter_map(|item| match &item.value {
        Checked::Text(text) => Some((text.resolved.as_str(), item)),
        Checked::Word(_) | Checked::Bool(_) | Checked::Number(_) | Checked::Time(_) => None,
        Checked::List(_) | Checked::Table(_) | Checked::Texts(_) | Checked::Free(_) => None,
        Checked::Any(_) | Checked::Decimal(_) | Checked::Tagged(_) => None,
    })
}

fn word(item: &Item) -> Option<String> {
    if let Checked::Word(word) = item.value { Some(word.to_owned()) } else { None }
}

fn read_endpoint(cx: &mut Context<'_>, metrics: &Fields) -> Option<String> {
    let (text, place) = metrics.text("endpoint")?;
    let is_path = text.len() > 1 && text.starts_with('/') && text.chars().all(|c| c.is_ascii_graphic());
    if !is_path || text.contains(['?', '#', '{', '}', '*']) {
        let reason = "`endpoint` must be a path that begins with `/`, such as \"/metrics\"";
        cx.add(place, Draft::error("config.bad_endpoint", reason));
        return None;
    }
    Some(text.to_owned())
}

/// `host:port`; without keys loopback only, since whoever reaches the port commands the engine.
fn check_address(cx: &mut Context<'_>, (text, place): (&str, &Place), has_keys: bool, has_tls: bool) {
    let parts = text.rsplit_once(':').filter(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    let Some((host, _)) = parts else {
        let draft = Draft::error("config.bad_address", "`address` must be host:port");
        cx.add(place, draft.hint("write address = \"127.0.0.1:8081\""));
        return;
    };
    if is_loopback(host) {
        return;
    }
    if !has_keys {
        let reason = format!(
            "`address` is `{text}`, beyond loopback, and there is no API key: whoever reaches it commands the engine"
        );
        let hint = "set http.api_key, best as \"${file:/run/secrets/api_key}\", or write address = \"127.0.0.1:8081\"";
        cx.add(place, Draft::error("config.not_loopback", reason).hint(hint));
    } else if !has_tls {
        let reason = format!("API keys and data travel to `{text}` unencrypted");
        let hint = "set http.tls, or let a proxy in front speak TLS";
        cx.add(place, Draft::info("config.plain_text", reason).hint(hint));
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

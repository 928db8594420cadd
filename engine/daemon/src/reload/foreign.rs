//! What a definition that came through the API may not do: reach further into this machine, or into the network it
//! stands in, than the files already do.

use std::collections::BTreeSet;
use std::net::IpAddr;

use pico_config::{
    Definition, Finding, Location, Severity, UrlOrigin, Written, forbidden_address, private_address,
};
use serde_json::Value;
use url::{Host, Url};

/// Ends of the names of keys whose values are files.
const FILE_NAMES: [&str; 6] = ["path", "file", "files", "directory", "dir", "descriptor_set"];

/// Ends of names that only the resolver of a private network knows (RFC 6761, RFC 6762, and ICANN's for this).
const PRIVATE_NAMES: [&str; 4] = ["localhost", "local", "internal", "home.arpa"];

/// What is wanted of the URLs in a definition that came through the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Urls {
    /// https, and public.
    Public,
    /// Anything: `[limits] private_urls = true`.
    Any,
}

impl Urls {
    /// By `[limits]`.
    pub(crate) fn of(limits: &pico_config::Limits) -> Urls {
        if limits.private_urls { Urls::Any } else { Urls::Public }
    }
}

/// What `written` would add to what its files hold: references, values of keys that name files, and URLs.
pub(crate) fn refusals(
    written: &Written,
    held: Option<&Written>,
    urls: Urls,
    location: &Location,
) -> Vec<Finding> {
    let known = held.map(Written::references).unwrap_or_default();
    let mut findings: Vec<Finding> = written
        .references()
        .difference(&known)
        .map(|_reference| {
            let reason = "a definition that comes through the API may not add a reference";
            refusal("config.reference_through_api", reason, location)
                .with_hint("write the reference into the file in the folder of definitions")
        })
        .collect();
    let (files, held_files) = (file_values(written), held.map(file_values).unwrap_or_default());
    findings.extend(files.difference(&held_files).filter(|(path, value)| !is_bare_library(path, value)).map(
        |(path, _)| {
            let reason = format!(
                "a definition that comes through the API may not change `{path}`, which names a file"
            );
            refusal("config.file_through_api", &reason, location)
                .with_path(path.clone())
                .with_hint("write it into the file in the folder of definitions")
        },
    ));
    if urls == Urls::Public {
        let known = held.map(texts).unwrap_or_default();
        findings.extend(private_urls(written, &known).map(|(path, why)| {
            let reason =
                format!("a URL that comes through the API must be https and public, and `{path}` is {why}");
            refusal("config.private_url_through_api", &reason, location).with_path(path).with_hint(
                "write it into the file in the folder of definitions, or set [limits] private_urls = true",
            )
        }));
    }
    findings
}

/// The URLs that are no longer the operator's: those of registries that `held`, the file that people edit, does not
/// write. Their names are looked at again at each connection.
pub(crate) fn mark_urls(definition: &mut Definition, held: &BTreeSet<String>) {
    let written: Vec<(String, Value)> = definition.written.values();
    for (number, block) in definition.topics.iter_mut().enumerate() {
        let path = format!("topics[{number}].schema_registry.url");
        let is_held = written
            .iter()
            .any(|(at, value)| *at == path && matches!(value, Value::String(text) if held.contains(text)));
        if let Some(registry) = block.schema_registry.as_mut().filter(|_| !is_held) {
            registry.origin = UrlOrigin::Api;
        }
    }
}

/// Every text in a file.
pub(crate) fn texts(written: &Written) -> BTreeSet<String> {
    let text = |(_, value)| if let Value::String(text) = value { Some(text) } else { None };
    written.values().into_iter().filter_map(text).collect()
}

/// The paths of URLs that the engine or a plugin would ask, with what is wrong with them. A plugin's other settings are
/// its own affair: an address without a scheme, or of another protocol than HTTP, is not seen here.
fn private_urls(written: &Written, known: &BTreeSet<String>) -> impl Iterator<Item = (String, String)> {
    written.values().into_iter().filter_map(|(path, value)| {
        let is_asked = path.starts_with("plugin_config.") || path.ends_with(".schema_registry.url");
        let Value::String(text) = value else { return None };
        if !is_asked || known.contains(&text) {
            return None;
        }
        not_public(&text).map(|why| (path, why))
    })
}

/// Why a text that is an HTTP URL is not public; `None` for any other text.
fn not_public(text: &str) -> Option<String> {
    let url = Url::parse(text.trim()).ok()?;
    match url.scheme() {
        "https" => {}
        "http" => return Some("not https".to_owned()),
        _ => return None,
    }
    let address = match url.host()? {
        Host::Ipv4(address) => IpAddr::V4(address),
        Host::Ipv6(address) => IpAddr::V6(address),
        Host::Domain(name) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            let is_private = !name.contains('.')
                || PRIVATE_NAMES.iter().any(|end| name == *end || name.ends_with(&format!(".{end}")));
            return is_private.then(|| format!("at {name}, a name of a private network"));
        }
    };
    forbidden_address(address)
        .or_else(|| private_address(address))
        .map(|why| format!("at an address that is {why}"))
}

fn refusal(code: &'static str, reason: &str, location: &Location) -> Finding {
    Finding::new(code, Severity::Error, location.clone(), reason)
}

/// A library of the plugin folders by its name, which the operator put there.
fn is_bare_library(path: &str, value: &str) -> bool {
    path == "path" && !value.contains(['/', '\\'])
}

fn file_values(written: &Written) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for (path, value) in written.values() {
        let name = path
            .rsplit('.')
            .next()
            .unwrap_or(&path)
            .trim_end_matches(|c: char| c == ']' || c == '[' || c.is_ascii_digit());
        let names_file = FILE_NAMES.iter().any(|end| name == *end || name.ends_with(&format!("_{end}")));
        // A rule's `path` is a place in a record.
        let is_rule = path.ends_with(".topic.path");
        if let Value::String(text) = value
            && names_file
            && !is_rule
        {
            found.insert((path, text));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(text: &str, held: Option<&str>, urls: Urls) -> Vec<(&'static str, String)> {
        let (written, held) = (pico_config::written_of(text), held.map(pico_config::written_of));
        let location = Location::File("sent.toml".into());
        let findings = refusals(&written, held.as_ref(), urls, &location);
        findings.into_iter().map(|finding| (finding.code, finding.toml_path)).collect()
    }

    /// A setting of a plugin, with a URL put together here: whose host it is stands beside its scheme.
    fn of_url(scheme: &str, host: &str) -> String {
        format!("[plugin_config]\nhosts = [\"{scheme}://{host}\"]\n")
    }

    #[test]
    fn a_url_that_is_not_https_or_not_public_is_refused_where_it_stands() {
        let refused = ("config.private_url_through_api", "plugin_config.hosts[0]".to_owned());
        assert_eq!(
            codes(&of_url("http", "search.example"), None, Urls::Public),
            std::slice::from_ref(&refused)
        );
        for host in [
            "127.0.0.1:9200",
            "[::1]",
            "10.0.0.7/x",
            "0x7f.1",
            "169.254.169.254/latest",
            "localhost",
            "search",
            "db.internal.",
            "printer.local",
            "u:p@192.168.1.1",
        ] {
            let text = of_url("HTTPS", host);
            assert_eq!(codes(&text, None, Urls::Public), std::slice::from_ref(&refused), "{host}");
            assert_eq!(codes(&text, None, Urls::Any), [], "{host}");
        }
        for (scheme, host) in
            [("https", "search.example:9200/x"), ("https", "8.8.8.8"), ("postgres", "u@10.0.0.7/d")]
        {
            assert_eq!(codes(&of_url(scheme, host), None, Urls::Public), [], "{host}");
        }
        assert_eq!(codes("[plugin_config]\nname = \"no url\"\n", None, Urls::Public), []);
    }

    #[test]
    fn what_the_file_holds_already_may_stay_and_data_is_no_url_of_ours() {
        let inner = of_url("http", "10.0.0.7");
        assert_eq!(codes(&inner, Some(&inner), Urls::Public), []);
        let data = "[[transforms]]\ntype = \"add_fields\"\nfields = [{ key = \"u\", value = { static = \"http://localhost\" } }]\n";
        assert_eq!(codes(data, None, Urls::Public), []);
        let registry = "[[topics]]\ntopic = \"t\"\nschema_registry = { url = \"http://registry.example\" }\n";
        let refused = ("config.private_url_through_api", "topics[0].schema_registry.url".to_owned());
        assert_eq!(codes(registry, None, Urls::Public), [refused]);
    }
}

//! Nothing tracked may lean on one machine: no absolute path of somebody's folder, no registry but the public ones.

use crate::tree::{File, Tree};

/// Folders that exist on one machine only. In pieces, so that this file does not find itself.
const FOLDERS: [&str; 4] =
    [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];
/// What names a registry of one's own, or holds its address.
const REGISTRIES: [&str; 5] = [
    concat!("--index", "-url"),
    concat!("--extra-index", "-url"),
    concat!("replace", "-with"),
    concat!("<mirror", "Of>"),
    concat!("npm_config", "_registry"),
];
/// Hosts that a URL in a file may name. Everything else is a line here, with a reason to be found in the file.
const HOSTS: [&str; 21] = [
    "localhost",
    "127.0.0.1",
    "[::1]",
    "host",
    "example.com",
    "example.org",
    "github.com",
    "maven.apache.org",
    "www.apache.org",
    "www.w3.org",
    "www.rfc-editor.org",
    "kafka.apache.org",
    "docs.rs",
    "doc.rust-lang.org",
    "rustup.rs",
    "keepachangelog.com",
    "semver.org",
    "json-schema.org",
    "jqlang.org",
    "protobuf.dev",
    "picomq.com",
];

/// Names that nobody can register.
const RESERVED: [&str; 3] = [".example", ".invalid", ".localhost"];

/// Every place that ties the repository to a machine.
pub(crate) fn tied(tree: &Tree) -> Vec<String> {
    tree.files.iter().flat_map(|file| [folders(file), hosts(file)].concat()).collect()
}

fn folders(file: &File) -> Vec<String> {
    let mut findings = Vec::new();
    for tie in FOLDERS.iter().chain(&REGISTRIES) {
        let found = file.text.match_indices(tie).filter(|(at, _)| !is_longer_path(&file.text[..*at]));
        findings.extend(
            found.map(|(at, _)| format!("{}:{}: `{tie}` is of one machine", file.path, file.line_of(at))),
        );
    }
    findings
}

/// A folder of that name inside another path is nobody's home.
fn is_longer_path(before: &str) -> bool {
    before.ends_with(|last: char| last.is_alphanumeric() || matches!(last, '.' | '-' | '_' | '}'))
}

fn hosts(file: &File) -> Vec<String> {
    let mut findings = Vec::new();
    for scheme in ["http://", "https://"] {
        for (at, _) in file.text.match_indices(scheme) {
            let host = host(&file.text[at + scheme.len()..]);
            // A name of one letter is made up.
            let is_pattern =
                host.len() < 2 || host.contains(['{', '$', '<', '%']) || host.chars().all(char::is_uppercase);
            let is_reserved = RESERVED.iter().any(|end| host.ends_with(end));
            if !is_pattern && !is_reserved && !HOSTS.contains(&host) {
                findings.push(format!(
                    "{}:{}: host `{host}` is not on the list of known ones",
                    file.path,
                    file.line_of(at)
                ));
            }
        }
    }
    findings
}

fn host(url: &str) -> &str {
    let end =
        url.find(|byte: char| byte.is_whitespace() || "/\"'`)>,;\\|?#".contains(byte)).unwrap_or(url.len());
    let authority = url[..end].rsplit('@').next().unwrap_or_default().trim_end_matches([':', '[']);
    match authority.rsplit_once(':') {
        Some((host, port))
            if port.parse::<u16>().is_ok() || port.starts_with(['{', '$']) || port == "PORT" =>
        {
            host
        }
        _ => authority,
    }
}

#[test]
fn a_folder_of_one_machine_is_found_and_a_relative_one_is_not() {
    let planted = format!("cd {}x\nlet a = \"x{}y\";\n", FOLDERS[0], FOLDERS[0]);
    assert_eq!(tied(&Tree::planted(&[("a.sh", &planted)])).len(), 1);
}

#[test]
fn a_registry_of_ones_own_is_found() {
    let planted = format!("pip install {} x", REGISTRIES[0]);
    assert_eq!(tied(&Tree::planted(&[("a.sh", &planted)])).len(), 1);
}

#[test]
fn an_unknown_host_is_found_and_loopback_is_not() {
    let scheme = "https:";
    let planted = format!("http://127.0.0.1:8081/health http://{{address}}/ {scheme}//mirror.corp:8443/x");
    let findings = tied(&Tree::planted(&[("a.md", &planted)]));
    assert_eq!(findings, ["a.md:1: host `mirror.corp` is not on the list of known ones"]);
}

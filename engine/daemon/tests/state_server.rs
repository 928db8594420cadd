//! `run` with its checkpoints on a server.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;

use reference_state_server::{Fault, StateServer};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::support::{Daemon, Folder};

fn definition(key: &str) -> String {
    format!("type = \"source\"\nkey = \"{key}\"\npath = \"libnothing\"\n[[topics]]\ntopic = \"x\"\n")
}

fn config(url: &str) -> String {
    format!(
        "[state]\nstorage = \"http\"\n[state.http]\nurl = \"{url}\"\ntimeout = \"1s\"\n\
         request_headers = {{ authorization = \"Bearer hunter2\" }}\n[state.http.retry]\nmax_attempts = 1\n"
    )
}

fn last_error(daemon: &Daemon, key: &str) -> String {
    let (_, body) = daemon.get(&format!("/sources/{key}"));
    let source: serde_json::Value = serde_json::from_str(&body).unwrap();
    source["last_error"]["message"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_secret_in_the_url_or_headers_of_a_refusing_server_is_shown_nowhere_b066() {
    let server = StateServer::start().unwrap();
    let url = format!("{}/hunter2/?token=hunter2&sig=hunter2", server.url());
    server.down();
    let folder = Folder::new();
    folder.write("sources/a.toml", &definition("a"));
    folder.write("sources/b.toml", &definition("b"));
    let daemon = Daemon::start_with(&folder, &config(&url));
    daemon.wait_for("a refused connection", || last_error(&daemon, "a").contains("state server"));
    server.plan_loads(vec![Fault::status(401), Fault::status(500), Fault::Cut { applies: false }]);
    server.up().unwrap();
    daemon.wait_for("an answer", || server.requests() > 3);

    let mut shown = vec![std::fs::read_to_string(folder.path().join("log")).unwrap()];
    for path in ["/sources", "/sources/a", "/sources/b", "/stats", "/health", "/ready", "/metrics"] {
        shown.push(daemon.get(path).1);
    }
    assert!(shown[0].contains("http://127.0.0.1:"), "the origin is said at start: {}", shown[0]);
    for text in shown {
        assert!(!text.contains("hunter2"), "{text}");
    }
}

#[test]
fn a_url_with_a_user_is_refused_at_start_without_being_shown_b066() {
    let folder = Folder::new();
    folder.write("config.toml", &config("http://me:hunter2@localhost/?token=hunter2"));
    for arguments in [&["run"][..], &["check", "config.toml"]] {
        let (code, out, err) = folder.told(arguments);
        assert_eq!(code, 2, "{out}{err}");
        assert!(format!("{out}{err}").contains("holds a user"), "{out}{err}");
        assert!(!format!("{out}{err}").contains("hunter2"), "{out}{err}");
    }
}

/// A server of one answer, 404, over TLS. It ends with the process of the test.
fn tls_server(certificate: rcgen::CertifiedKey<rcgen::KeyPair>) -> u16 {
    let key = PrivateKeyDer::try_from(certificate.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let session = ServerConnection::new(config.clone()).unwrap();
            let mut stream = StreamOwned::new(session, stream.unwrap());
            // A client that does not trust us hangs up here.
            if stream.read(&mut [0; 4096]).is_ok() {
                stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").ok();
            }
        }
    });
    port
}

#[test]
fn a_server_behind_tls_is_asked_when_the_system_trusts_it_and_not_before() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let folder = Folder::new();
    let trusted = folder.write("authority.pem", &made.cert.pem());
    let url = format!("https://localhost:{}/checkpoints", tls_server(made));
    folder.write("sources/a.toml", &definition("a"));

    let untrusting = Daemon::start_in(&folder, &config(&url), &[]);
    untrusting.wait_for("a refusal", || last_error(&untrusting, "a").contains("certificate"));
    drop(untrusting);
    let variables = [("SSL_CERT_FILE", trusted.to_str().unwrap())];
    let trusting = Daemon::start_in(&folder, &config(&url), &variables);
    // The state was loaded, so the plugin is next, and it is not there.
    trusting.wait_for("the plugin's turn", || last_error(&trusting, "a").contains("libnothing"));
}

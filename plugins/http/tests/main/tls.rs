//! HTTPS.

use std::fs;
use std::sync::Arc;

use rcgen::generate_simple_self_signed;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::support::{Served, exchange, open, post, try_open};

/// Certificate and key of `localhost` in files, and a client that trusts it.
fn certificate(folder: &TempDir) -> (Value, TlsConnector) {
    let made = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (cert_file, key_file) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    fs::write(&cert_file, made.cert.pem()).unwrap();
    fs::write(&key_file, made.signing_key.serialize_pem()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(made.cert.der().to_vec())).unwrap();
    let client = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    (json!({ "cert_file": cert_file, "key_file": key_file }), TlsConnector::from(Arc::new(client)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_post_over_tls_is_taken_and_one_in_plain_text_is_not() {
    let folder = TempDir::new().unwrap();
    let (tls, client) = certificate(&folder);
    let served = Served::start(json!({ "tls": tls })).await;
    let stream = TcpStream::connect(served.open.address).await.unwrap();
    let stream = client.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap();
    assert_eq!(exchange(stream, &post("{}").bytes()).await.status, 200);
    assert_eq!(served.send(post("{}")).await.status, 0);
    assert_eq!(served.records().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handshake_that_never_comes_is_cut() {
    let folder = TempDir::new().unwrap();
    let (tls, _) = certificate(&folder);
    let source = open(json!({ "tls": tls, "header_timeout": "200ms" })).await;
    let stream = TcpStream::connect(source.address).await.unwrap();
    assert_eq!(exchange(stream, b"").await.status, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_are_no_certificate_are_refused_by_name() {
    let folder = TempDir::new().unwrap();
    let (mut tls, _) = certificate(&folder);
    let empty = folder.path().join("empty.pem");
    fs::write(&empty, "").unwrap();
    tls["key_file"] = json!(empty);
    let error = try_open(json!({ "tls": tls }), None).await.err().unwrap();
    assert!(error.to_string().contains("tls.key_file"), "{error}");
    let error =
        try_open(json!({ "tls": { "cert_file": "/nowhere.pem", "key_file": "/nowhere.pem" } }), None).await;
    assert!(error.err().unwrap().to_string().contains("tls.cert_file"));
}

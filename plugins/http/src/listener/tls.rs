//! Certificate and key of a listener.

use std::path::Path;
use std::sync::Arc;

use picomq_connector_sdk::Error;
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::config::TlsConfig;

/// Reads the files, once: a new certificate is taken up by a restart of the source.
pub(super) fn acceptor(tls: &TlsConfig) -> Result<TlsAcceptor, Error> {
    let chain = CertificateDer::pem_file_iter(&tls.cert_file)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unreadable("tls.cert_file", &tls.cert_file, error))?;
    let key = PrivateKeyDer::from_pem_file(&tls.key_file)
        .map_err(|error| unreadable("tls.key_file", &tls.key_file, error))?;
    let unusable =
        |error| Error::config("tls: certificate and key cannot be used together").with_cause(error);
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(unusable)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn unreadable(key: &str, path: &Path, error: rustls::pki_types::pem::Error) -> Error {
    Error::config(format!("{key} = \"{}\" cannot be read as PEM", path.display())).with_cause(error)
}

//! TLS of the API. The certificate is read again when its files change, so that a renewed one needs no restart.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use pico_config::HttpTls;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert, ServerConfig};
use rustls::sign::CertifiedKey;
use tokio_rustls::TlsAcceptor;

use crate::error::Error;

/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Larger files are no certificates.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// What makes TLS connections of plain ones.
#[derive(Clone)]
pub(crate) struct Tls {
    acceptor: TlsAcceptor,
}

impl Tls {
    /// Reads the files, and looks at them again for as long as the process runs.
    ///
    /// # Errors
    /// A file cannot be read, holds no certificate or key, or the two do not fit together.
    pub(crate) fn open(files: &HttpTls) -> Result<Tls, Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let (pair, texts) = read(files, &provider)
            .map_err(|reason| refused(reason).with_hint("mend [http.tls] cert_file and key_file"))?;
        let current = Arc::new(Current { pair: RwLock::new(Arc::new(pair)) });
        let config = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|cause| refused("this build has no TLS versions".to_owned()).because(cause))?;
        let mut config = config.with_no_client_auth().with_cert_resolver(current.clone());
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        tokio::spawn(renew(files.clone(), provider, texts, current));
        Ok(Tls { acceptor: TlsAcceptor::from(Arc::new(config)) })
    }

    /// Makes a TLS connection; the caller limits the time.
    pub(crate) async fn accept<S>(&self, stream: S) -> std::io::Result<tokio_rustls::server::TlsStream<S>>
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    {
        self.acceptor.accept(stream).await
    }
}

fn refused(reason: String) -> Error {
    Error::environment("http.bad_certificate", reason)
        .with_hint("[http.tls] takes a certificate with its chain and its key, both as PEM files that the daemon may read")
}

/// The certificate that new connections get.
#[derive(Debug)]
struct Current {
    pair: RwLock<Arc<CertifiedKey>>,
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.pair.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

/// The bytes of both files.
type Texts = (Vec<u8>, Vec<u8>);

/// No reason shows anything of a file.
fn read(files: &HttpTls, provider: &CryptoProvider) -> Result<(CertifiedKey, Texts), String> {
    let texts = (bytes(&files.cert_file)?, bytes(&files.key_file)?);
    let no = |path: &PathBuf, what: &str| format!("{} holds no {what} in PEM", path.display());
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&texts.0).collect();
    let certificates = certificates.ok().filter(|list| !list.is_empty());
    let certificates = certificates.ok_or_else(|| no(&files.cert_file, "certificate"))?;
    let key = PrivateKeyDer::from_pem_slice(&texts.1).map_err(|_| no(&files.key_file, "private key"))?;
    let pair = CertifiedKey::from_der(certificates, key, provider).map_err(|cause| {
        let (certificate, key) = (files.cert_file.display(), files.key_file.display());
        format!("{certificate} and {key} do not fit together: {cause}")
    })?;
    Ok((pair, texts))
}

fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    let cannot = |cause: std::io::Error| format!("{} cannot be read: {cause}", path.display());
    let length = std::fs::metadata(path).map_err(cannot)?.len();
    if length > FILE_BYTES_MAX {
        return Err(format!("{} has {length} bytes, more than any certificate", path.display()));
    }
    std::fs::read(path).map_err(cannot)
}

async fn renew(files: HttpTls, provider: Arc<CryptoProvider>, mut texts: Texts, current: Arc<Current>) {
    let mut said = String::new();
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let (files, provider) = (files.clone(), provider.clone());
        let Ok(looked) = tokio::task::spawn_blocking(move || read(&files, &provider)).await else { continue };
        match looked {
            Ok((_, same)) if same == texts => said.clear(),
            Ok((pair, new)) => {
                *current.pair.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(pair);
                texts = new;
                said.clear();
                tracing::info!("the certificate of the API was renewed");
            }
            Err(reason) if reason == said => {}
            Err(reason) => {
                tracing::error!(
                    reason,
                    "the certificate of the API cannot be renewed; the former one is kept"
                );
                said = reason;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pair of its own for `localhost`.
    fn pair() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    fn files(folder: &Path, certificate: &str, key: &str) -> HttpTls {
        let files = HttpTls { cert_file: folder.join("c.pem"), key_file: folder.join("k.pem") };
        std::fs::write(&files.cert_file, certificate).unwrap();
        std::fs::write(&files.key_file, key).unwrap();
        files
    }

    #[test]
    fn files_that_do_not_fit_are_refused_by_name_without_their_text() {
        let provider = rustls::crypto::ring::default_provider();
        let folder = tempfile::tempdir().unwrap();
        let ((certificate, key), (_, other)) = (pair(), pair());
        assert!(read(&files(folder.path(), &certificate, &key), &provider).is_ok());
        for (certificate, key, said) in [
            (certificate.as_str(), other.as_str(), "do not fit together"),
            (certificate.as_str(), "hunter2", "k.pem holds no private key"),
            ("hunter2", key.as_str(), "c.pem holds no certificate"),
        ] {
            let reason = read(&files(folder.path(), certificate, key), &provider).unwrap_err();
            assert!(reason.contains(said) && !reason.contains("hunter2"), "{reason}");
        }
        let missing = HttpTls { cert_file: "/no/such".into(), key_file: "/no/such".into() };
        assert!(read(&missing, &provider).unwrap_err().contains("/no/such cannot be read"));
    }
}

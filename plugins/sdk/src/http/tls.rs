//! Whom a client trusts and how it shows itself.

use std::error::Error;
use std::path::{Path, PathBuf};

use reqwest::{Certificate, ClientBuilder, Identity};

use crate::Error as SourceError;

/// How the client shows itself to servers that ask for a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// PEM, the certificate first, then its chain.
    pub certificate: PathBuf,
    /// PEM, PKCS #8, PKCS #1 or SEC1, not encrypted.
    pub key: PathBuf,
}

/// Trusts the authorities of `file` alone instead of the system's.
pub(super) fn trust(builder: ClientBuilder, file: &Path) -> Result<ClientBuilder, SourceError> {
    let pem = read("ca_file", file)?;
    let authorities = Certificate::from_pem_bundle(&pem).map_err(|error| wrong("ca_file", file, error))?;
    if authorities.is_empty() {
        return Err(SourceError::config(format!("ca_file: {} holds no PEM certificate", file.display())));
    }
    Ok(builder.tls_certs_only(authorities))
}

/// Shows `own` to servers that ask.
pub(super) fn show(builder: ClientBuilder, own: &ClientCertificate) -> Result<ClientBuilder, SourceError> {
    let mut pem = read("client_cert", &own.certificate)?;
    pem.push(b'\n');
    pem.extend(read("client_key", &own.key)?);
    let identity = Identity::from_pem(&pem).map_err(|error| wrong("client_cert", &own.certificate, error))?;
    Ok(builder.identity(identity))
}

fn read(key: &str, file: &Path) -> Result<Vec<u8>, SourceError> {
    std::fs::read(file).map_err(|error| {
        SourceError::config(format!("{key}: {} cannot be read", file.display())).with_cause(error)
    })
}

fn wrong(key: &str, file: &Path, error: reqwest::Error) -> SourceError {
    let why = super::outbound::reason(error);
    SourceError::config(format!("{key}: {} is not the PEM it should be", file.display())).with_cause(why)
}

/// Whether a request failed because the server's certificate is not to be trusted.
pub(super) fn is_untrusted(error: &(dyn Error + 'static)) -> bool {
    matches!(fault(error), Some(rustls::Error::InvalidCertificate(_)))
}

/// Whether what answered spoke no TLS.
pub(super) fn is_plain(error: &(dyn Error + 'static)) -> bool {
    matches!(fault(error), Some(rustls::Error::InvalidMessage(_)))
}

/// What TLS has against a connection.
fn fault<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e rustls::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(fault) = error.downcast_ref() {
            return Some(fault);
        }
        // An I/O error shows the error it carries by `get_ref` alone; its `source` is that one's source.
        let carried = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        next = carried.map(|inner| inner as &(dyn Error + 'static)).or_else(|| error.source());
    }
    None
}

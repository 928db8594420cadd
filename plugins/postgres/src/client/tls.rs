//! TLS as `sslmode` says, on rustls with ring; no provider is installed for the process.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::socket::Socket;
use crate::error::Error;
use crate::target::{Host, TlsMode, TlsWish};

/// Speaks TLS on a connection whose server said yes to it.
pub(super) async fn wrap(tcp: Socket, host: &Host, wish: &TlsWish) -> Result<TlsStream<Socket>, Error> {
    let failed = |why: String| Error::Tls { place: host.to_string(), why };
    let wish_read = wish.clone();
    // Reading files may block.
    let config = tokio::task::spawn_blocking(move || config(&wish_read)).await;
    let config = config.map_err(|error| failed(error.to_string()))?.map_err(failed)?;
    let name = ServerName::try_from(host.name.clone()).map_err(|error| failed(error.to_string()))?;
    let connecting = TlsConnector::from(Arc::new(config)).connect(name, tcp).await;
    connecting.map_err(|error| failed(error.to_string()))
}

fn config(wish: &TlsWish) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Arc::new(Verifier::new(wish, Arc::clone(&provider))?);
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let (Some(certificate), Some(key)) = (&wish.certificate, &wish.key) else {
        return Ok(builder.with_no_client_auth());
    };
    let chain = certificates(certificate)?;
    let key =
        PrivateKeyDer::from_pem_file(key).map_err(|error| format!("sslkey {}: {error}", key.display()))?;
    builder.with_client_auth_cert(chain, key).map_err(|error| format!("sslcert and sslkey: {error}"))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let list = read.map_err(|error| format!("{}: {error}", path.display()))?;
    if list.is_empty() {
        return Err(format!("{} holds no certificate", path.display()));
    }
    Ok(list)
}

fn authorities(wish: &TlsWish) -> Result<RootCertStore, String> {
    let mut store = RootCertStore::empty();
    let list = match &wish.authorities {
        Some(path) => certificates(path)?,
        None => rustls_native_certs::load_native_certs().certs,
    };
    store.add_parsable_certificates(list);
    if store.is_empty() {
        return Err("no authority to verify the server with; name a file with sslrootcert".to_owned());
    }
    Ok(store)
}

/// Which of the server's claims is verified.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    chain: Option<Arc<WebPkiServerVerifier>>,
    is_name_verified: bool,
}

impl Verifier {
    fn new(wish: &TlsWish, provider: Arc<CryptoProvider>) -> Result<Verifier, String> {
        let is_chain_verified = match wish.mode {
            TlsMode::VerifyCa | TlsMode::VerifyFull => true,
            // libpq: require with a root certificate is verify-ca.
            TlsMode::Require => wish.authorities.is_some(),
            TlsMode::Prefer | TlsMode::Disable => false,
        };
        let mut chain = None;
        if is_chain_verified {
            let roots = Arc::new(authorities(wish)?);
            let built = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
            chain = Some(built.map_err(|error| error.to_string())?);
        }
        Ok(Verifier { provider, chain, is_name_verified: wish.mode == TlsMode::VerifyFull })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        let answer = chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match answer {
            // The name is looked at last, when everything else was found right.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.is_name_verified => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

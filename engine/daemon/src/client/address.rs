//! Where a daemon is: what `--url` may say.

use crate::error::Error;

/// A URL in its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// As it was typed, for messages.
    pub(crate) url: String,
    /// Whether it is https.
    pub(crate) is_tls: bool,
    /// `host:port`.
    pub(crate) authority: String,
    /// Path below which the API lies; empty or without a slash at its end.
    pub(crate) base: String,
}

impl Address {
    /// Checks the URL.
    ///
    /// # Errors
    /// Another scheme, no host, or a name and password in it.
    pub(crate) fn parse(url: &str) -> Result<Address, Error> {
        // A password in it must not be printed.
        let shown = if url.contains('@') { "the URL".to_owned() } else { format!("{url:?}") };
        let refuse = |reason: &str| {
            Error::environment("client.bad_url", format!("{shown} {reason}"))
                .with_hint("use --url http://HOST:PORT or https://HOST:PORT, as `run` prints it at start")
        };
        let schemes = [("http://", false, 80), ("https://", true, 443)];
        let found = schemes
            .iter()
            .find_map(|(scheme, is_tls, port)| url.strip_prefix(scheme).map(|rest| (rest, *is_tls, *port)));
        let (rest, is_tls, port) = found.ok_or_else(|| refuse("does not begin with http:// or https://"))?;
        let (authority, base) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.is_empty() || authority.contains(['@', '?', '#', ' ']) {
            return Err(refuse("names no host and port"));
        }
        let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let authority = if has_port { authority.to_owned() } else { format!("{authority}:{port}") };
        let base = base.trim_end_matches('/');
        let base = if base.is_empty() { String::new() } else { format!("/{base}") };
        Ok(Address { url: url.to_owned(), is_tls, authority, base })
    }

    /// The name without port and brackets, as it stands in a certificate.
    pub(crate) fn host(&self) -> &str {
        let host = self.authority.rsplit_once(':').map_or(self.authority.as_str(), |(host, _)| host);
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_without_a_port_means_that_of_its_scheme_and_a_base_path_is_kept() {
        let address = Address::parse("http://host/ops/").unwrap();
        assert_eq!((address.authority.as_str(), address.base.as_str()), ("host:80", "/ops"));
        let address = Address::parse("https://host").unwrap();
        assert_eq!((address.authority.as_str(), address.is_tls), ("host:443", true));
        let address = Address::parse("http://[::1]:8081").unwrap();
        assert_eq!((address.authority.as_str(), address.host()), ("[::1]:8081", "::1"));
    }

    #[test]
    fn other_schemes_and_credentials_are_refused_with_what_would_be_right() {
        for bad in ["127.0.0.1:8081", "ftp://host", "http://", "http://user:secret@host"] {
            let error = Address::parse(bad).unwrap_err();
            assert!(!error.to_string().contains("secret"));
            assert!(matches!(&error, Error::Environment { hint: Some(hint), .. } if hint.contains("--url")));
        }
    }
}

//! Who asks.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::HeaderValue;

use crate::{Error, Secret};

/// The `Authorization` of every request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Auth {
    /// None, unless the URL of a host names a user.
    None,
    /// RFC 7617.
    Basic {
        /// Without a colon.
        user: String,
        /// Any text.
        password: Secret,
    },
    /// `Authorization: <scheme> <credentials>`: `Bearer`, `ApiKey` (Elasticsearch), `Token` (InfluxDB).
    Scheme {
        /// The word before the credentials.
        scheme: &'static str,
        /// As they are sent.
        credentials: Secret,
    },
}

impl Auth {
    /// The value of the header.
    ///
    /// # Errors
    /// [`Error::Config`] when a header cannot carry it.
    pub(super) fn header(&self) -> Result<Option<HeaderValue>, Error> {
        let text = match self {
            Auth::None => return Ok(None),
            Auth::Basic { user, .. } if user.contains(':') => {
                return Err(Error::config("username: basic authentication has no colon in a user"));
            }
            Auth::Basic { user, password } => {
                format!("Basic {}", STANDARD.encode(format!("{user}:{}", password.expose())))
            }
            Auth::Scheme { scheme, credentials } => format!("{scheme} {}", credentials.expose()),
        };
        let mut value = HeaderValue::from_str(&text).map_err(|_| {
            Error::config(
                "the token or API key holds a line break or another character that no HTTP header can carry",
            )
        })?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    /// What must not be repeated from an answer: the secret, and the header made of it.
    pub(super) fn secrets(&self) -> Vec<Secret> {
        match self {
            Auth::None => Vec::new(),
            Auth::Basic { user, password } => {
                let sent = STANDARD.encode(format!("{user}:{}", password.expose()));
                vec![password.clone(), Secret::new(sent)]
            }
            Auth::Scheme { credentials, .. } => vec![credentials.clone()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(auth: &Auth) -> String {
        auth.header().unwrap().unwrap().to_str().unwrap().to_owned()
    }

    #[test]
    fn the_header_is_that_of_its_scheme() {
        let basic = Auth::Basic { user: "Aladdin".into(), password: Secret::new("open sesame") };
        assert_eq!(sent(&basic), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        let key = Auth::Scheme { scheme: "ApiKey", credentials: Secret::new("aWQ6a2V5") };
        assert_eq!(sent(&key), "ApiKey aWQ6a2V5");
        assert!(key.header().unwrap().unwrap().is_sensitive());
    }

    #[test]
    fn a_secret_that_no_header_can_carry_is_refused_without_showing_it() {
        let broken = Auth::Scheme { scheme: "Bearer", credentials: Secret::new("s3cret\n") };
        let error = broken.header().unwrap_err();
        assert!(matches!(error, Error::Config(_)) && !error.chain().contains("s3cret"));
        let colon = Auth::Basic { user: "a:b".into(), password: Secret::new("s3cret") };
        assert!(matches!(colon.header(), Err(Error::Config(_))));
    }
}

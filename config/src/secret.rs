//! Values that must never be printed.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};

/// A secret text: wiped when dropped, shown as `[REDACTED]`, never serialized. Two secrets are equal if their texts
/// are, so that a reload notices a changed password.
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// Takes the text over.
    pub fn new(text: String) -> Secret {
        Secret(SecretString::from(text))
    }

    /// The text itself, for the one place that hands it to a client.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// Whether nothing was set.
    pub fn is_empty(&self) -> bool {
        self.expose().is_empty()
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Secret) -> bool {
        self.expose() == other.expose()
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[REDACTED]")
    }
}

/// Words in the name of a setting that say its value is a secret.
const SECRET_WORDS: [&str; 11] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "api_key",
    "apikey",
    "api-key",
    "private",
    "credential",
    "connection_string",
];

/// Whether a setting of this name holds a secret, by its words. Errs towards yes.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word)) || name.ends_with(".pem")
}

/// Whether a text carries a password in itself: `scheme://user:password@…`, `password=…`, `?token=…`.
pub(crate) fn has_password(text: &str) -> bool {
    let in_authority = text.split_once("://").is_some_and(|(_, rest)| {
        rest.split(['/', '?', '#']).next().is_some_and(|authority| authority.contains('@'))
            || rest.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
    });
    in_authority
        || text.split(['?', '&', ';', ' ']).any(|pair| {
            pair.split_once('=').is_some_and(|(name, value)| is_secret_name(name.trim()) && !value.is_empty())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_printed_but_compared() {
        let secret = Secret::new("hunter2".to_owned());
        assert_eq!(format!("{secret:?}"), "[REDACTED]");
        assert_eq!(secret, Secret::new("hunter2".to_owned()));
        assert_ne!(secret, Secret::new("hunter3".to_owned()));
    }

    #[test]
    fn names_of_secrets_are_known_by_their_words() {
        for name in ["sasl.password", "auth_bearer_token", "API_KEY", "ssl.key.pem", "connection_string"] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["interval", "tables", "user_pool", "compression.type"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}

//! Where a server is, as a definition says it: `https://user:password@host:9200/prefix`.

use std::fmt;

use reqwest::Url;

use crate::{Error, Secret};

/// The address of one server, checked. Shown without the user and password that may have stood in it.
#[derive(Clone, PartialEq, Eq)]
pub struct BaseUrl {
    url: Url,
    login: Option<(String, Secret)>,
}

impl BaseUrl {
    /// Reads the value of `key`.
    ///
    /// # Errors
    /// [`Error::Config`] for what is no `http` or `https` URL, and for one with a query or a fragment. The text names
    /// `key` and never the value: what cannot be read may hold a password.
    pub fn parse(key: &str, text: &str) -> Result<BaseUrl, Error> {
        let refused = |why: &str| {
            Error::config(format!("{key}: {why}; right is an address such as https://example.com:9200"))
        };
        let mut url = Url::parse(text).map_err(|error| refused(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(refused("not an http or https URL"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(refused("a query or a fragment has no meaning here"));
        }
        let login = login_in(&url).map_err(refused)?;
        let cleared = url.set_username("").and_then(|()| url.set_password(None));
        cleared.expect("an http URL with a host takes a user and a password");
        Ok(BaseUrl { url, login })
    }

    /// User and password that stood in the URL.
    pub fn login(&self) -> Option<(&str, &Secret)> {
        self.login.as_ref().map(|(user, password)| (user.as_str(), password))
    }

    /// Whether it is https.
    pub fn is_tls(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Whether what is sent stays on this machine.
    pub fn is_loopback(&self) -> bool {
        let host = self.url.host_str().unwrap_or_default();
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }

    /// The URL of `segments` below it, each percent-encoded as one segment.
    pub(super) fn below(&self, segments: &[String]) -> Url {
        let mut url = self.url.clone();
        url.path_segments_mut().expect("an http URL has a path").pop_if_empty().extend(segments);
        url
    }
}

/// User and password, decoded; a password without a user is a token written at the wrong place.
fn login_in(url: &Url) -> Result<Option<(String, Secret)>, &'static str> {
    match (url.username(), url.password()) {
        ("", None) => Ok(None),
        ("", Some(_)) => Err("a password without a user"),
        (user, password) => {
            let password = decoded(password.unwrap_or_default())?;
            Ok(Some((decoded(user)?, Secret::new(password))))
        }
    }
}

/// Undoes percent-encoding.
fn decoded(text: &str) -> Result<String, &'static str> {
    const WRONG: &str = "user or password is not percent-encoded UTF-8";
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let (byte, after) = match (first, tail) {
            (b'%', [high, low, after @ ..]) => (hex(*high, *low).ok_or(WRONG)?, after),
            (b'%', _) => return Err(WRONG),
            (plain, after) => (*plain, after),
        };
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8(bytes).map_err(|_| WRONG)
}

fn hex(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.url.as_str().trim_end_matches('/'))
    }
}

impl fmt::Debug for BaseUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "BaseUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_in_the_url_is_taken_out_decoded_and_never_shown() {
        let url = BaseUrl::parse("url", "https://me:s%40cret@host:9200/base/").unwrap();
        let (user, password) = url.login().unwrap();
        assert_eq!((user, password.expose()), ("me", "s@cret"));
        assert_eq!(url.to_string(), "https://host:9200/base");
        assert!(!format!("{url:?}").contains("cret"));
    }

    #[test]
    fn what_is_no_address_is_refused_without_its_text() {
        for text in [
            "host:9200/s3cret",
            "ftp://me:s3cret@host",
            "http://me:s3cret@host/?x=1",
            "http://:s3cret@host",
            "http://me:s3cret%ff@host",
            "http://me:s3cret%4@host",
            "s3cret",
        ] {
            let error = BaseUrl::parse("url", text).unwrap_err();
            assert!(matches!(error, Error::Config(_)));
            assert!(
                error.chain().starts_with("url: ") && !error.chain().contains("s3cret"),
                "{}",
                error.chain()
            );
        }
    }

    #[test]
    fn a_segment_cannot_leave_its_place() {
        let url = BaseUrl::parse("url", "http://host/base").unwrap();
        let below = |segment: &str| url.below(&[segment.to_owned(), "_search".to_owned()]).to_string();
        assert_eq!(below("a/../b?c#d%2f"), "http://host/base/a%2F..%2Fb%3Fc%23d%252f/_search");
        assert_eq!(below("logs-*,other"), "http://host/base/logs-*,other/_search");
    }
}

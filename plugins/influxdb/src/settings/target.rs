//! Which server, in which language, as whom.

use picomq_connector_sdk::http::{Auth, BaseUrl};
use picomq_connector_sdk::{Error, http};

use super::check::{absolute, duration};
use crate::client::Endpoint;
use crate::config::{InfluxConfig, Language, Version};
use crate::query::Dialect;

impl InfluxConfig {
    pub(super) fn dialect(&self) -> Result<Dialect, Error> {
        match (self.version, self.language) {
            (Version::V1, None | Some(Language::InfluxQl)) | (Version::V2, Some(Language::InfluxQl)) => {
                Ok(Dialect::InfluxQl)
            }
            (Version::V2, None | Some(Language::Flux)) => Ok(Dialect::Flux),
            (Version::V3, None | Some(Language::Sql)) => Ok(Dialect::Sql),
            (Version::V1, Some(_)) => Err(Error::config("language: version = \"v1\" is read by influxql")),
            (Version::V2, Some(_)) => {
                Err(Error::config("language: version = \"v2\" is read by flux or influxql"))
            }
            (Version::V3, Some(_)) => Err(Error::config("language: version = \"v3\" is read by sql")),
        }
    }

    pub(super) fn endpoint(&self, dialect: Dialect) -> Result<Endpoint, Error> {
        let needed = |key: &str, value: &Option<String>| match value {
            Some(value) if !value.trim().is_empty() => Ok(Some(value.clone())),
            Some(_) | None => Err(Error::config(format!(
                "{key} is missing: version = \"{}\" in this language needs it",
                self.version_word()
            ))),
        };
        let (org, database) = match dialect {
            Dialect::Flux => (needed("org", &self.org)?, None),
            Dialect::InfluxQl | Dialect::Sql => (None, needed("db", &self.db)?),
        };
        if self.retention_policy.is_some() && dialect != Dialect::InfluxQl {
            return Err(Error::config("retention_policy is a key of InfluxQL; leave it out"));
        }
        Ok(Endpoint { dialect, org, database, retention_policy: self.retention_policy.clone() })
    }

    pub(super) fn client(&self) -> Result<http::Settings, Error> {
        let base = BaseUrl::parse("url", &self.url)?;
        if base.login().is_some() {
            return Err(Error::config(
                "url: it holds a user; write it as username and password, which are kept secret",
            ));
        }
        absolute("ca_file", self.ca_file.as_deref())?;
        Ok(http::Settings {
            hosts: vec![base],
            auth: self.auth()?,
            ca_file: self.ca_file.clone(),
            client_certificate: None,
            timeout: duration("timeout", &self.timeout)?,
            is_gzip_wanted: false,
        })
    }

    fn auth(&self) -> Result<Auth, Error> {
        match (self.version, &self.token, &self.username, &self.password) {
            (Version::V1, None, None, None) => Ok(Auth::None),
            (Version::V1, None, Some(user), Some(password)) => {
                Ok(Auth::Basic { user: user.clone(), password: password.clone() })
            }
            (Version::V1, None, _, _) => {
                Err(Error::config("username and password go together; one of them is missing"))
            }
            (Version::V1, Some(_), _, _) => Err(Error::config(
                "token: version = \"v1\" knows username and password; or set version = \"v2\"",
            )),
            (Version::V2 | Version::V3, _, Some(_), _) | (Version::V2 | Version::V3, _, _, Some(_)) => Err(
                Error::config("username and password are keys of version = \"v1\"; v2 and v3 take a token"),
            ),
            (Version::V2, Some(token), None, None) => {
                Ok(Auth::Scheme { scheme: "Token", credentials: token.clone() })
            }
            (Version::V3, Some(token), None, None) => {
                Ok(Auth::Scheme { scheme: "Bearer", credentials: token.clone() })
            }
            (Version::V2 | Version::V3, None, None, None) => Err(Error::config(format!(
                "token is missing: version = \"{}\" needs one that may read",
                self.version_word()
            ))),
        }
    }

    pub(super) fn version_word(&self) -> &'static str {
        match self.version {
            Version::V1 => "v1",
            Version::V2 => "v2",
            Version::V3 => "v3",
        }
    }
}

//! The paths of a definition and what protects them.

use std::time::Duration;

use picomq_connector_sdk::Error;

use super::Target;
use crate::auth::{Credentials, Family, Keys};
use crate::config::{EndpointConfig, HttpConfig};
use crate::key::is_header_name;
use crate::secret::Secret;

/// Longest `topic_path`.
const TOPIC_PATH_BYTES_MAX: usize = 249;

/// How a path is protected, as written in either place.
struct Written<'a> {
    /// Where, for messages: `auth_secret`, `endpoints[0].auth_secret`.
    place: String,
    family: Family,
    secrets: Vec<&'a Secret>,
    header: Option<&'a str>,
    prefix: Option<&'a str>,
}

/// All paths of a definition.
pub(super) fn targets(config: &HttpConfig, tolerance: Duration) -> Result<Vec<Target>, Error> {
    let mut targets = Vec::new();
    targets.extend(topic(config, tolerance)?);
    for (place, endpoint) in config.endpoints.iter().enumerate() {
        let target = target_of_endpoint(endpoint, &format!("endpoints[{place}]."), tolerance)?;
        if targets.iter().any(|known: &Target| known.path == target.path) {
            return Err(Error::config(format!(
                "endpoints[{place}].endpoint_id = \"{}\" stands there twice; give each endpoint its own",
                endpoint.endpoint_id
            )));
        }
        targets.push(target);
    }
    Ok(targets)
}

fn topic(config: &HttpConfig, tolerance: Duration) -> Result<Option<Target>, Error> {
    let family = match (config.auth_type, &config.auth_bearer_token) {
        (Some(family), None) => family,
        (None | Some(Family::Bearer), Some(_)) => Family::Bearer,
        (None, None) => Family::None,
        (Some(family), Some(_)) => {
            return Err(Error::config(format!(
                "auth_bearer_token is for auth_type = \"bearer\", not for \"{family}\"; use auth_secret"
            )));
        }
    };
    if config.auth_bearer_token.is_some() && config.auth_secret.is_some() {
        return Err(Error::config("auth_bearer_token and auth_secret are the same thing; set one of them"));
    }
    let secrets = [&config.auth_bearer_token, &config.auth_secret, &config.auth_secret_previous];
    let written = Written {
        place: String::new(),
        family,
        secrets: secrets.into_iter().flatten().collect(),
        header: config.hmac_header.as_deref(),
        prefix: config.hmac_prefix.as_deref(),
    };
    let Some(path) = &config.topic_path else {
        if family != Family::None || !written.secrets.is_empty() {
            return Err(Error::config(
                "there is a token or an auth_type but no topic_path to protect; set topic_path, or \
                 protect the endpoints each by its own auth_type",
            ));
        }
        return Ok(None);
    };
    check_topic_path(path)?;
    let credentials = credentials(&written, tolerance)?;
    Ok(Some(Target { path: format!("/topics/{path}"), name: None, credentials, expires_at: None }))
}

fn check_topic_path(path: &str) -> Result<(), Error> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte);
    let is_good = !path.is_empty()
        && path.len() <= TOPIC_PATH_BYTES_MAX
        && path.bytes().all(is_plain)
        && path.split('/').all(|segment| !matches!(segment, "" | "." | ".."));
    if is_good {
        return Ok(());
    }
    Err(Error::config(format!(
        "topic_path = \"{path}\" cannot be part of a path: right are letters, digits, `.`, `_`, `-` and single `/` \
         between them, up to {TOPIC_PATH_BYTES_MAX}"
    )))
}

/// The path of one endpoint. `place` is put before the names of its keys in messages.
pub(crate) fn target_of_endpoint(
    endpoint: &EndpointConfig,
    place: &str,
    tolerance: Duration,
) -> Result<Target, Error> {
    let id = &endpoint.endpoint_id;
    if !is_endpoint_id(id) {
        return Err(Error::config(format!(
            "{place}endpoint_id = \"{id}\" is not 32 lower-case hexadecimal digits"
        )));
    }
    let written = Written {
        place: place.to_owned(),
        family: endpoint.auth_type,
        secrets: [&endpoint.auth_secret, &endpoint.auth_secret_previous].into_iter().flatten().collect(),
        header: endpoint.hmac_header.as_deref(),
        prefix: endpoint.hmac_prefix.as_deref(),
    };
    Ok(Target {
        path: format!("/e/{id}"),
        name: Some(endpoint.name.clone().unwrap_or_else(|| id.clone())),
        credentials: credentials(&written, tolerance)?,
        expires_at: endpoint.expires_at,
    })
}

/// Whether it can be the id of an endpoint.
fn is_endpoint_id(id: &str) -> bool {
    id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

fn credentials(written: &Written<'_>, tolerance: Duration) -> Result<Credentials, Error> {
    let Written { place, family, secrets, header, prefix } = written;
    if family.has_secret() && secrets.is_empty() {
        return Err(Error::config(format!("{place}auth_type = \"{family}\" needs {place}auth_secret")));
    }
    let secrets: Vec<Secret> = secrets.iter().map(|secret| (*secret).clone()).collect();
    let keys = Keys::new(*family, &secrets)
        .map_err(|what| Error::config(format!("{place}auth_secret cannot be used: {what}")))?;
    let credentials = Credentials::new(*family, keys, tolerance);
    if header.is_none() && prefix.is_none() {
        return Ok(credentials);
    }
    if !matches!(family, Family::HmacSha256 | Family::HmacSha1) {
        return Err(Error::config(format!(
            "{place}hmac_header and {place}hmac_prefix are for auth_type hmac-sha256 and hmac-sha1, {family} has its own"
        )));
    }
    let header = header.unwrap_or("X-Hub-Signature-256");
    if !is_header_name(header) {
        return Err(Error::config(format!("{place}hmac_header = \"{header}\" is no name of a header")));
    }
    Ok(credentials.in_header(&header.to_ascii_lowercase(), prefix.unwrap_or("sha256=")))
}

//! What can be done to endpoints at run time, as commands. Pure but for fresh ids and secrets.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use picomq_connector_sdk::Error;
use ring::rand::{SecureRandom, SystemRandom};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::file::Stored;
use crate::auth::Family;

/// A command with its arguments.
pub(super) enum Change {
    Create(Create),
    Rotate(Rotate),
    Retire(One),
    Delete(One),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Create {
    endpoint_id: Option<String>,
    name: Option<String>,
    auth_type: Family,
    auth_secret: Option<String>,
    hmac_header: Option<String>,
    hmac_prefix: Option<String>,
    expires_at: Option<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rotate {
    endpoint_id: String,
    auth_secret: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct One {
    endpoint_id: String,
}

impl Change {
    /// The command of that name; none if there is no such.
    pub(super) fn read(name: &str, arguments: Value) -> Result<Option<Change>, Error> {
        Ok(Some(match name {
            "create_endpoint" => Change::Create(read(name, arguments)?),
            "rotate_endpoint" => Change::Rotate(read(name, arguments)?),
            "retire_secret" => Change::Retire(read(name, arguments)?),
            "delete_endpoint" => Change::Delete(read(name, arguments)?),
            _ => return Ok(None),
        }))
    }

    /// Does it, and answers what the person needs to know. A secret made here is shown this once.
    pub(super) fn apply(self, stored: &mut BTreeMap<String, Stored>) -> Result<Value, Error> {
        match self {
            Change::Create(create) => create.apply(stored),
            Change::Rotate(rotate) => {
                let one = living(stored, &rotate.endpoint_id)?;
                if one.auth_type == Family::None {
                    return Err(Error::config("an endpoint of auth_type none has no secret"));
                }
                let secret = rotate.auth_secret.map_or_else(|| fresh_secret(one.auth_type), Ok)?;
                one.auth_secret_previous = one.auth_secret.replace(secret.clone());
                Ok(json!({ "endpoint_id": rotate.endpoint_id, "auth_secret": secret }))
            }
            Change::Retire(One { endpoint_id }) => {
                living(stored, &endpoint_id)?.auth_secret_previous = None;
                Ok(json!({ "endpoint_id": endpoint_id }))
            }
            Change::Delete(One { endpoint_id }) => {
                let one = living(stored, &endpoint_id)?;
                (one.is_deleted, one.auth_secret, one.auth_secret_previous) = (true, None, None);
                Ok(json!({ "endpoint_id": endpoint_id }))
            }
        }
    }
}

impl Create {
    fn apply(self, stored: &mut BTreeMap<String, Stored>) -> Result<Value, Error> {
        let id = self.endpoint_id.map_or_else(|| random::<16>().map(|bytes| hex(&bytes)), Ok)?;
        if stored.contains_key(&id) {
            return Err(Error::config(format!(
                "endpoint_id {id} is or was in use; leave it out for a fresh one"
            )));
        }
        let is_fresh = self.auth_secret.is_none() && self.auth_type != Family::None;
        let secret = if is_fresh { Some(fresh_secret(self.auth_type)?) } else { self.auth_secret };
        let mut answer = json!({ "endpoint_id": id, "path": format!("/e/{id}") });
        if is_fresh {
            answer["auth_secret"] = json!(secret);
        }
        let one = Stored {
            name: self.name,
            auth_type: self.auth_type,
            auth_secret: secret,
            auth_secret_previous: None,
            hmac_header: self.hmac_header,
            hmac_prefix: self.hmac_prefix,
            expires_at: self.expires_at,
            is_deleted: false,
        };
        stored.insert(id, one);
        Ok(answer)
    }
}

fn read<T: DeserializeOwned>(name: &str, arguments: Value) -> Result<T, Error> {
    serde_json::from_value(arguments)
        .map_err(|error| Error::config(format!("the arguments of {name} are not right")).with_cause(error))
}

fn living<'a>(stored: &'a mut BTreeMap<String, Stored>, id: &str) -> Result<&'a mut Stored, Error> {
    stored.get_mut(id).filter(|one| !one.is_deleted).ok_or_else(|| {
        Error::config(format!("there is no endpoint {id} made at run time; list_endpoints names them"))
    })
}

fn fresh_secret(family: Family) -> Result<String, Error> {
    let bytes = random::<32>()?;
    Ok(match family {
        Family::StandardWebhooks => format!("whsec_{}", STANDARD.encode(bytes)),
        Family::None
        | Family::Bearer
        | Family::HmacSha256
        | Family::HmacSha1
        | Family::Github
        | Family::Stripe
        | Family::Slack
        | Family::Shopify => hex(&bytes),
    })
}

fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map(|()| bytes).or(Err(Error::transient("the system has no random numbers now")))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

//! From the `schema_registry` table of a block to what is asked of which registry.

use std::time::Duration;

use picomq_connector_sdk::Schema;

use crate::checked::Fields;
use crate::context::{Context, Draft};
use crate::read_schema::folder;
use crate::record_schema::{RegistryLogin, SchemaRegistry, UrlOrigin};
use crate::rule::Rule;
use crate::schema_file::read_bytes;
use crate::secret::Secret;

const TIMEOUT: Duration = Duration::from_secs(5);

/// None where there is no such table, or where a finding says why not.
pub(crate) fn read_registry(
    cx: &mut Context<'_>,
    fields: &Fields,
    rule: Option<&Rule>,
    schema: Schema,
) -> Option<SchemaRegistry> {
    let table = fields.table("schema_registry")?;
    let is_known = matches!(schema, Schema::Avro | Schema::Proto | Schema::Json);
    let register = table.flag("register").unwrap_or(false);
    let reason = match schema {
        Schema::Raw | Schema::Text | Schema::FlatBuffer => {
            Some(format!("a schema registry knows no {schema}: only avro, proto and json"))
        }
        Schema::Json if register => {
            Some("a json block has no schema that could be registered; register it yourself, its newest version is used".to_owned())
        }
        Schema::Avro | Schema::Proto | Schema::Json => None,
    };
    if let Some(reason) = reason {
        cx.add(&table.place, Draft::error("config.bad_registry", reason));
    }
    if schema == Schema::Json {
        let reason = "records of a json block are not held against the schema in its registry; docs/schemas.md, Registry";
        cx.add(&table.place, Draft::info("config.json_not_validated", reason));
    }
    let (url, subject, login) = (url(cx, table), subject(cx, table, rule), login(cx, table));
    let ca_file = table.table("tls").and_then(|tls| tls.text("ca_file")).filter(|(text, _)| !text.is_empty());
    let ca_pem = match ca_file {
        Some((text, place)) => Some(read_bytes(cx, &folder(cx).join(text), place)?),
        None => None,
    };
    let timeout = table.time("timeout").unwrap_or(TIMEOUT);
    let (url, subject, login) = (url?, subject?, login?);
    is_known.then_some(SchemaRegistry {
        url,
        subject,
        register,
        login,
        ca_pem,
        timeout,
        origin: UrlOrigin::Operator,
    })
}

fn url(cx: &mut Context<'_>, table: &Fields) -> Option<String> {
    let (text, place) = table.text("url")?;
    let authority = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let host = authority.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    let reason = match host {
        None | Some("") => "`url` must begin with https:// or http:// and a host",
        Some(host) if host.contains('@') => "`url` must not hold a user; write username and password",
        Some(_) if text.contains(['?', '#']) || text.contains(char::is_whitespace) => {
            "`url` must be an address and a path alone"
        }
        Some(_) => return Some(text.trim_end_matches('/').to_owned()),
    };
    cx.add(place, Draft::error("config.bad_url", reason).hint("write url = \"https://registry.example\""));
    None
}

/// Confluent's own strategy, one subject for the values of a topic, where there is one topic.
fn subject(cx: &mut Context<'_>, table: &Fields, rule: Option<&Rule>) -> Option<String> {
    let written = table.text("subject").map(|(text, _)| text).filter(|text| !text.is_empty());
    match (written, rule?) {
        (Some(text), _) => Some(text.to_owned()),
        (None, Rule::Static(topic)) => Some(format!("{topic}-value")),
        (None, Rule::Dynamic { .. }) => {
            let reason = "`subject` is missing: the topic is a rule, so it cannot be taken from its name";
            cx.add(
                &table.place,
                Draft::error("config.missing_field", reason).hint("write subject = \"orders-value\""),
            );
            None
        }
    }
}

fn login(cx: &mut Context<'_>, table: &Fields) -> Option<RegistryLogin> {
    let text = |name| table.text(name).map(|(text, _)| text).filter(|text| !text.is_empty());
    match (text("username"), text("password"), text("token")) {
        (None, None, None) => Some(RegistryLogin::Nobody),
        (Some(username), Some(password), None) => {
            let (username, password) = (username.to_owned(), Secret::new(password.to_owned()));
            Some(RegistryLogin::Basic { username, password })
        }
        (None, None, Some(token)) => Some(RegistryLogin::Token(Secret::new(token.to_owned()))),
        (_, _, _) => {
            let reason = "username and password are needed together, or a token alone";
            cx.add(&table.place, Draft::error("config.missing_field", reason));
            None
        }
    }
}

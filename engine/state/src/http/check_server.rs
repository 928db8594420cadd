//! Whether a server keeps the contract of `docs/state-http.md`, asked on a resource that no source has.

use std::sync::Arc;

use pico_config::{HttpState, SourceKey};

use super::client::Client;
use super::meaning::{self, Attempt, Loaded, Saved, Tag};
use super::record::{Condition, Request};
use crate::error::StateError;

/// One demand of the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerCheck {
    /// What is demanded, as a short sentence.
    pub demand: &'static str,
    /// What it did instead; `None` when it is kept.
    pub fault: Option<String>,
}

/// Goes through the demands one by one and removes what it left there. A demand that rests on a broken one may be
/// reported too.
///
/// # Errors
/// [`StateError::ServerUnusable`] when no client can be made.
pub async fn check_server(settings: HttpState) -> Result<Vec<ServerCheck>, StateError> {
    let name = format!("pico-check-{}", uuid::Uuid::new_v4().simple());
    let key = name.parse().expect("letters, digits and dashes are a key");
    let mut asker = Asker { client: Client::new(settings)?, key, checks: Vec::new() };
    asker.ask().await;
    Ok(asker.checks)
}

struct Asker {
    client: Client,
    key: SourceKey,
    checks: Vec<ServerCheck>,
}

impl Asker {
    async fn ask(&mut self) {
        let absent = self.load().await;
        self.check("a state that was never saved is answered with 404", is_absent(&absent));
        let first = request(Condition::Absent, b"first");
        let first_tag = self
            .saves("the first save lands under If-None-Match: * and is given a strong ETag", &first)
            .await;
        let loaded = self.load().await;
        self.check(
            "a load gives the bytes and the tag of the last save",
            is_this(&loaded, b"first", &first_tag),
        );
        let again = self.save(&first).await;
        self.check("the same request again is answered as the first time", is_answered(&again, &first_tag));
        let rival = self.save(&request(Condition::Absent, b"rival")).await;
        self.check("If-None-Match: * is refused with 412 where a state is", is_refused(&rival));
        let second = request(condition(&first_tag), b"second");
        let second_tag = self
            .saves("a save lands under If-Match with the newest tag, and gets another tag", &second)
            .await;
        let stale = self.save(&request(condition(&first_tag), b"stale")).await;
        self.check("If-Match with an older tag is refused with 412", is_refused(&stale));
        let late = self.save(&first).await;
        let loaded = self.load().await;
        let is_kept = is_answered(&late, &first_tag).and(is_this(&loaded, b"second", &second_tag));
        self.check("a late copy of an older save is answered as the first time and changes nothing", is_kept);
        let empty = request(condition(&second_tag), b"");
        let empty_tag = self.saves("an empty state can be saved", &empty).await;
        let loaded = self.load().await;
        self.check("an empty state is loaded as one", is_this(&loaded, b"", &empty_tag));
        let removed = meaning::of_removal(self.client.remove(&self.key, &condition(&empty_tag)).await);
        let loaded = self.load().await;
        let is_gone = is_absent(&loaded).map_err(|fault| format!("DELETE: {removed:?}; then {fault}"));
        self.check("DELETE removes a state (needed by `state reset` alone)", is_gone);
    }

    /// A save that must land; its tag must be a strong one that differs from the condition's.
    async fn saves(&mut self, demand: &'static str, request: &Request) -> Option<Tag> {
        let (tag, outcome) = match self.save(request).await {
            Saved::Landed(Some(tag)) if request.condition == Condition::Is(tag.clone()) => {
                (Some(tag), Err("it answered with the tag of the state before".to_owned()))
            }
            Saved::Landed(Some(tag)) => (Some(tag), Ok(())),
            Saved::Landed(None) => (None, Err("it answered without a strong ETag".to_owned())),
            other => (None, Err(format!("{other:?}"))),
        };
        self.check(demand, outcome);
        tag
    }

    async fn save(&self, request: &Request) -> Saved {
        meaning::of_save(self.client.save(&self.key, request).await)
    }

    async fn load(&self) -> Loaded {
        let attempt: Attempt = self.client.load(&self.key).await;
        meaning::of_load(attempt)
    }

    fn check(&mut self, demand: &'static str, outcome: Result<(), String>) {
        self.checks.push(ServerCheck { demand, fault: outcome.err() });
    }
}

fn request(condition: Condition, state: &[u8]) -> Request {
    Request { key: uuid::Uuid::new_v4().to_string(), condition, state: Arc::from(state) }
}

fn condition(tag: &Option<Tag>) -> Condition {
    tag.clone().map_or(Condition::None, Condition::Is)
}

fn is_absent(loaded: &Loaded) -> Result<(), String> {
    if *loaded == Loaded::Absent { Ok(()) } else { Err(format!("it answered {loaded:?}")) }
}

fn is_this(loaded: &Loaded, state: &[u8], tag: &Option<Tag>) -> Result<(), String> {
    match loaded {
        Loaded::Found(found, found_tag) if found == state && found_tag == tag && tag.is_some() => Ok(()),
        other => Err(format!("it answered {other:?} instead of {} bytes under {tag:?}", state.len())),
    }
}

fn is_answered(saved: &Saved, tag: &Option<Tag>) -> Result<(), String> {
    match saved {
        Saved::Landed(answered) if answered == tag && tag.is_some() => Ok(()),
        other => Err(format!("it answered {other:?} instead of the tag {tag:?}")),
    }
}

fn is_refused(saved: &Saved) -> Result<(), String> {
    if *saved == Saved::Refused { Ok(()) } else { Err(format!("it answered {saved:?}")) }
}

//! A reload as an event, for those who listen.

use pico_actors::telemetry::ReloadOutcome;
use serde_json::{Map, Value, json};

use super::{Plan, Refused, Trigger};
use crate::events::{Events, Kind};

/// Tells what came of a reload. A look that found nothing changed is no news.
pub(super) fn tell(trigger: Trigger, outcome: &Result<Plan, Refused>) {
    if let Some(fields) = fields(trigger, outcome) {
        Events::of_process().publish(Kind::Reload, None, fields);
    }
}

fn fields(trigger: Trigger, carried_out: &Result<Plan, Refused>) -> Option<Map<String, Value>> {
    let (outcome, told) = match carried_out {
        Ok(plan) if plan.is_empty() && trigger == Trigger::Watch => return None,
        Ok(plan) => {
            // Which values changed is for those who ask; here is what became of which source.
            let changes: Vec<Value> = plan
                .changes
                .iter()
                .map(|change| json!({ "key": change.key, "action": change.action }))
                .collect();
            (plan.outcome(), json!({ "changes": changes, "unchanged": plan.unchanged }))
        }
        Err(Refused::Unreadable(finding)) => {
            let told = json!({ "code": finding.code, "reason": finding.summary() });
            (ReloadOutcome::Refused, told)
        }
        Err(Refused::Outdated { .. }) => {
            let told = json!({ "reason": "another plan was confirmed than the present one" });
            (ReloadOutcome::Conflict, told)
        }
        Err(Refused::Ending) => (ReloadOutcome::Refused, json!({ "reason": "the daemon is shutting down" })),
    };
    let Value::Object(mut fields) = told else { return None };
    let word = match trigger {
        Trigger::Watch => "watch",
        Trigger::Signal => "signal",
        Trigger::Api => "api",
    };
    fields.insert("outcome".to_owned(), outcome.as_str().into());
    fields.insert("trigger".to_owned(), word.into());
    Some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        serde_json::from_value(json!({
            "plan": "1", "unchanged": 2, "findings": [], "needs_restart": [],
            "changes": [{ "key": "a", "action": "start", "values": [], "notes": [] }],
        }))
        .unwrap()
    }

    #[test]
    fn what_became_of_which_source_is_told_and_nothing_changed_is_not() {
        let told = fields(Trigger::Api, &Ok(plan())).unwrap();
        assert_eq!((&told["outcome"], &told["trigger"]), (&"applied".into(), &"api".into()));
        assert_eq!(told["changes"], json!([{ "key": "a", "action": "start" }]));
        let empty = || Plan { changes: Vec::new(), ..plan() };
        assert_eq!(fields(Trigger::Watch, &Ok(empty())), None);
        assert!(fields(Trigger::Signal, &Ok(empty())).is_some());
        let conflict = fields(Trigger::Api, &Err(Refused::Outdated { now: Box::new(plan()) })).unwrap();
        assert_eq!(conflict["outcome"], "conflict");
    }
}

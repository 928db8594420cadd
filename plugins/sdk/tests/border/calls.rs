//! Errors, configuration, commands and descriptions over the border.

use std::sync::Arc;

use picomq_connector_sdk::State;
use picomq_connector_sdk::ffi::host::{CommandError, Mode, OpenError, OpenRequest, PollError};
use serde_json::{Value, json};

use crate::said::listen;
use crate::support::{Said, library, request, scripted};

#[tokio::test]
async fn each_kind_of_error_arrives_as_its_kind_with_its_causes() {
    let open = async |step: &str| scripted(&format!(r#"{{"open": "{step}"}}"#)).await.unwrap_err();
    assert!(matches!(open("permanent").await, OpenError::Permanent(_)));
    assert!(matches!(open("state").await, OpenError::State(_)));
    let error = open("transient").await;
    assert!(
        matches!(&error, OpenError::Transient(text) if text == "try later: the cause below"),
        "{error:?}"
    );

    let source = scripted(r#"{"poll": ["transient", "permanent", "state", "good"]}"#).await.unwrap();
    assert!(matches!(source.poll().await, Err(PollError::Transient(_))));
    assert!(matches!(source.poll().await, Err(PollError::Permanent(_))));
    assert!(matches!(source.poll().await, Err(PollError::Permanent(_))));
    assert!(source.poll().await.is_ok(), "an error of a poll ends nothing");
}

#[tokio::test]
async fn a_wrong_configuration_is_refused_with_key_and_suggestion() {
    let unknown = scripted(r#"{"pol": ["good"]}"#).await.unwrap_err();
    assert!(
        matches!(&unknown, OpenError::Config(text) if text.contains("did you mean `poll`")),
        "{unknown:?}"
    );
    let wrong = scripted(r#"{"poll": ["good", 7]}"#).await.unwrap_err();
    assert!(matches!(&wrong, OpenError::Config(text) if text.contains("plugin_config.poll[1]")), "{wrong:?}");
}

#[tokio::test]
async fn a_command_answers_json_and_an_unknown_one_is_unknown() {
    let source = scripted("{}").await.unwrap();
    assert_eq!(source.command("echo", "[1]").await.unwrap(), r#"{"echo":[1]}"#);
    assert!(matches!(source.command("nothing", "{}").await, Err(CommandError::Unknown(_))));
    assert!(
        matches!(source.command("fail", "{}").await, Err(CommandError::Failed(text)) if text == "not now")
    );
    assert!(matches!(source.command("echo", "{").await, Err(CommandError::Failed(_))));
}

#[tokio::test]
async fn settings_are_held_against_what_the_source_takes_without_an_instance() {
    let checked = async |config: &str| library("scripted").check(request(config)).await;
    assert!(checked("{}").await.is_ok());
    let refused = checked(r#"{"open": "permanent"}"#).await;
    assert!(
        matches!(&refused, Err(CommandError::Failed(text)) if text.starts_with("open = \"permanent\": not for ")),
        "{refused:?}"
    );
    let wrong = checked(r#"{"open": 7}"#).await;
    assert!(matches!(&wrong, Err(CommandError::Failed(text)) if text.contains("open")), "{wrong:?}");
    assert!(matches!(checked(r#"{"open": "panic"}"#).await, Err(CommandError::Panicked(_))));
}

#[tokio::test]
async fn a_command_runs_beside_a_poll() {
    let source = scripted(r#"{"poll": ["sleep"]}"#).await.unwrap();
    let poll = source.poll();
    assert_eq!(source.command("echo", "1").await.unwrap(), r#"{"echo":1}"#);
    drop(poll);
}

#[tokio::test]
async fn a_saved_state_is_described_without_an_instance() {
    let library = library("scripted");
    let state = State::encode(&41_u64, 1).unwrap();
    let described = library.describe_state(state.as_bytes()).await.unwrap();
    assert_eq!(described, r#"{"version":1,"state":41}"#);
    assert!(matches!(library.describe_state(b"?").await, Err(CommandError::Failed(_))));
}

#[tokio::test]
async fn a_stopped_source_takes_commands_without_an_instance() {
    listen();
    let library = library("scripted");
    let state = State::encode(&41_u64, 1).unwrap();
    let said = Arc::new(Said::default());
    let request = |mode, config| OpenRequest {
        mode,
        state: Some(state.as_bytes().to_vec()),
        host: said.clone(),
        ..request(config)
    };
    for (mode, inspects) in [(Mode::Inspect, true), (Mode::Run, false)] {
        let answer = library.maintain(request(mode, "{}"), "look", "[1]").await.unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer, json!({ "got": [1], "inspects": inspects, "key": "test", "state": 41 }));
    }
    assert!(said.logs().iter().any(|line| line.contains("maintained")), "{:?}", said.logs());
    let ask = async |config, name, arguments| {
        library.maintain(request(Mode::Run, config), name, arguments).await.unwrap_err()
    };
    assert!(matches!(ask("{}", "nothing", "{}").await, CommandError::Unknown(_)));
    assert!(matches!(ask("{}", "fail", "{}").await, CommandError::Failed(text) if text == "not like that"));
    assert!(matches!(ask("{}", "look", "{").await, CommandError::Failed(_)));
    assert!(
        matches!(ask("{}", "panic", "{}").await, CommandError::Panicked(text) if text.contains("while stopped"))
    );
    let wrong = ask(r#"{"pol": []}"#, "look", "{}").await;
    assert!(
        matches!(&wrong, CommandError::Failed(text) if text.contains("did you mean `poll`")),
        "{wrong:?}"
    );
}

//! Panics of the author's code, wherever they happen.

use picomq_connector_sdk::Verdict;
use picomq_connector_sdk::ffi::host::{Closed, Instance, OpenError, OpenRequest, PollError, ResolveError};
use std::sync::Arc;

use crate::support::{Said, library, request, scripted};

/// After a panic every call but destroy is refused on this side already.
async fn is_only_good_for_destroy(source: &Instance) {
    assert!(matches!(source.poll().await, Err(PollError::Panicked(_))));
    assert!(matches!(source.resolve(Verdict::Nack).await, Err(ResolveError::Panicked(_))));
    assert!(source.command("echo", "{}").await.is_err());
    assert_eq!(source.close().await, Closed { leaked: false });
}

#[tokio::test]
async fn a_panic_in_open_comes_back_with_text_and_place_b125() {
    let error = scripted(r#"{"open": "panic"}"#).await.unwrap_err();
    let OpenError::Panicked(text) = &error else { panic!("{error:?}") };
    assert!(text.contains("as scripted") && text.contains("scripted.rs:"), "{text}");
}

#[tokio::test]
async fn a_panic_in_the_third_poll_leaves_only_destroy_b125() {
    let source = scripted(r#"{"poll": ["good", "good", "panic"]}"#).await.unwrap();
    for _ in 0..2 {
        source.poll().await.unwrap();
    }
    let error = source.poll().await.unwrap_err();
    assert!(matches!(&error, PollError::Panicked(text) if text.contains("as scripted")), "{error:?}");
    is_only_good_for_destroy(&source).await;
}

#[tokio::test]
async fn a_panic_in_a_verdict_leaves_only_destroy_b125() {
    let source = scripted(r#"{"verdict": "panic"}"#).await.unwrap();
    source.poll().await.unwrap();
    let error = source.resolve(Verdict::Ack).await.unwrap_err();
    assert!(matches!(&error, ResolveError::Panicked(text) if text.contains("as scripted")), "{error:?}");
    is_only_good_for_destroy(&source).await;
}

#[tokio::test]
async fn a_panic_in_close_or_drop_still_ends_the_instance_b125() {
    for config in [r#"{"close": "panic"}"#, r#"{"drop": "panic"}"#, r#"{"close": "panic", "drop": "panic"}"#]
    {
        let source = scripted(config).await.unwrap();
        assert_eq!(source.close().await, Closed { leaked: false }, "{config}");
    }
}

#[tokio::test]
async fn a_panic_in_a_command_leaves_only_destroy_b125() {
    let source = scripted("{}").await.unwrap();
    assert!(source.command("panic", "{}").await.unwrap_err().to_string().contains("as commanded"));
    is_only_good_for_destroy(&source).await;
}

#[tokio::test]
async fn the_authors_close_is_not_called_after_a_panic_b125() {
    let said = Arc::new(Said::default());
    let config = r#"{"poll": ["panic"]}"#;
    let opening = OpenRequest { host: Arc::clone(&said) as Arc<_>, ..request(config) };
    crate::said::listen();
    let source = library("scripted").open(opening).await.unwrap();
    assert!(source.poll().await.is_err());
    source.close().await;
    let logs = said.logs();
    assert!(logs.iter().any(|line| line.contains("open")), "{logs:?}");
    assert!(!logs.iter().any(|line| line.contains("closing")), "{logs:?}");
}

#[tokio::test]
async fn a_panic_in_a_task_of_the_source_is_its_own_affair() {
    let source = scripted(r#"{"poll": ["panic_in_task"]}"#).await.unwrap();
    assert_eq!(source.poll().await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_same_source_opens_again_after_a_panic_b125() {
    for _ in 0..50 {
        let source = scripted(r#"{"poll": ["good", "panic"]}"#).await.unwrap();
        assert!(source.poll().await.is_ok());
        assert!(matches!(source.poll().await, Err(PollError::Panicked(_))));
        assert_eq!(source.destroy().await, Closed { leaked: false });
    }
}

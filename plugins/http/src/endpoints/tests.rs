use std::os::unix::fs::PermissionsExt;

use picomq_connector_sdk::conformance::{Bench, Setting};
use picomq_connector_sdk::{Error, Source};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::HttpSource;

async fn open(folder: &TempDir, address: &str) -> Bench<HttpSource> {
    let config = json!({ "listen_addr": address, "endpoints_file": folder.path().join("endpoints.json") });
    Bench::open(Setting::new(config)).await.unwrap()
}

async fn command(source: &Bench<HttpSource>, name: &str, arguments: Value) -> Result<Value, Error> {
    source.source().command(name, arguments).await.map(|answer| answer.expect("the command is known"))
}

#[tokio::test]
async fn what_is_made_is_there_after_a_restart_and_what_is_deleted_stays_away() {
    let folder = TempDir::new().unwrap();
    let source = open(&folder, "127.0.0.1:0").await;
    let made =
        command(&source, "create_endpoint", json!({ "name": "shop", "auth_type": "github" })).await.unwrap();
    let gone = command(&source, "create_endpoint", json!({ "auth_type": "bearer" })).await.unwrap();
    command(&source, "delete_endpoint", json!({ "endpoint_id": gone["endpoint_id"] })).await.unwrap();
    source.source().close().await;
    drop(source);

    let source = open(&folder, "127.0.0.1:0").await;
    let list = command(&source, "list_endpoints", json!(null)).await.unwrap();
    assert_eq!(list.as_array().unwrap().len(), 1);
    assert_eq!((&list[0]["endpoint_id"], &list[0]["name"]), (&made["endpoint_id"], &json!("shop")));
    let again = json!({ "endpoint_id": gone["endpoint_id"], "auth_type": "bearer" });
    let error = command(&source, "create_endpoint", again).await.unwrap_err();
    assert!(error.to_string().contains("is or was in use"), "{error}");
}

#[tokio::test]
async fn secrets_are_told_once_never_listed_and_kept_for_the_owner_alone() {
    let folder = TempDir::new().unwrap();
    let source = open(&folder, "127.0.0.1:0").await;
    let made =
        command(&source, "create_endpoint", json!({ "auth_type": "standard-webhooks" })).await.unwrap();
    let secret = made["auth_secret"].as_str().unwrap();
    assert!(secret.starts_with("whsec_"));
    let list = command(&source, "list_endpoints", json!(null)).await.unwrap();
    assert!(!list.to_string().contains(secret));
    let file = folder.path().join("endpoints.json");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(std::fs::read_to_string(&file).unwrap().contains(secret));
}

#[tokio::test]
async fn a_rotation_keeps_the_old_secret_until_it_is_retired() {
    let folder = TempDir::new().unwrap();
    let source = open(&folder, "127.0.0.1:0").await;
    let made = command(&source, "create_endpoint", json!({ "auth_type": "bearer" })).await.unwrap();
    let id = json!({ "endpoint_id": made["endpoint_id"] });
    let rotated = command(&source, "rotate_endpoint", id.clone()).await.unwrap();
    assert_ne!(rotated["auth_secret"], made["auth_secret"]);
    let has_previous = |list: &Value| list[0]["has_previous_secret"].as_bool().unwrap();
    assert!(has_previous(&command(&source, "list_endpoints", json!(null)).await.unwrap()));
    command(&source, "retire_secret", id).await.unwrap();
    assert!(!has_previous(&command(&source, "list_endpoints", json!(null)).await.unwrap()));
}

#[tokio::test]
async fn a_change_that_cannot_be_is_refused_and_changes_nothing() {
    let folder = TempDir::new().unwrap();
    let source = open(&folder, "127.0.0.1:0").await;
    for (name, arguments) in [
        ("create_endpoint", json!({ "auth_type": "github", "endpoint_id": "short" })),
        ("create_endpoint", json!({ "auth_type": "stripe", "hmac_header": "x" })),
        ("create_endpoint", json!({ "auth_type": "bearer", "colour": "red" })),
        ("create_endpoint", json!({})),
        ("delete_endpoint", json!({ "endpoint_id": "0".repeat(32) })),
        ("rotate_endpoint", json!({ "endpoint_id": "0".repeat(32) })),
    ] {
        assert!(matches!(command(&source, name, arguments).await, Err(Error::Config(_))), "{name}");
    }
    assert_eq!(command(&source, "list_endpoints", json!(null)).await.unwrap(), json!([]));
    assert!(source.source().command("explode", json!(null)).await.unwrap().is_none());
}

#[tokio::test]
async fn beyond_loopback_no_open_endpoint_can_be_made() {
    let folder = TempDir::new().unwrap();
    let source = open(&folder, "0.0.0.0:0").await;
    let error = command(&source, "create_endpoint", json!({ "auth_type": "none" })).await.unwrap_err();
    assert!(error.to_string().contains("beyond this machine"), "{error}");
}

#[tokio::test]
async fn no_endpoint_that_signs_the_time_can_be_made_where_a_repeat_would_not_be_known() {
    let folder = TempDir::new().unwrap();
    let config = json!({
        "listen_addr": "127.0.0.1:0", "endpoints_file": folder.path().join("endpoints.json"), "dedupe_window": "1m",
    });
    let source = Bench::<HttpSource>::open(Setting::new(config)).await.unwrap();
    let error = command(&source, "create_endpoint", json!({ "auth_type": "stripe" })).await.unwrap_err();
    assert!(error.to_string().contains("dedupe_window"), "{error}");
    command(&source, "create_endpoint", json!({ "auth_type": "github" })).await.unwrap();
}

/// As a crash may leave it, or somebody who waits for the secrets.
#[tokio::test]
async fn a_file_that_lies_beside_it_gives_neither_its_rights_nor_its_place() {
    let folder = TempDir::new().unwrap();
    let (beside, elsewhere) = (folder.path().join("endpoints.json.new"), folder.path().join("elsewhere"));
    std::fs::write(&elsewhere, "untouched").unwrap();
    std::os::unix::fs::symlink(&elsewhere, &beside).unwrap();
    let source = open(&folder, "127.0.0.1:0").await;
    command(&source, "create_endpoint", json!({ "auth_type": "bearer" })).await.unwrap();
    assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "untouched");
    let kept = std::fs::symlink_metadata(folder.path().join("endpoints.json")).unwrap();
    assert!(kept.is_file() && kept.permissions().mode() & 0o777 == 0o600);
}

#[tokio::test]
async fn a_damaged_file_is_refused_and_not_begun_anew() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("endpoints.json");
    std::fs::write(&file, "{\"version\": 1, \"endpoints\": {\"x").unwrap();
    let config = json!({ "listen_addr": "127.0.0.1:0", "endpoints_file": file });
    let error = Bench::<HttpSource>::open(Setting::new(config)).await.err().unwrap();
    assert!(matches!(&error, Error::Config(_)) && error.to_string().contains("endpoints.json"), "{error}");
}

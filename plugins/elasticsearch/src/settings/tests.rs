use serde_json::json;

use super::*;

const LIMITS: Limits = Limits { batch_records: 10_000, batch_bytes: 64 << 20 };

fn with(more: Value) -> Result<Settings, String> {
    let mut config = json!({ "url": "http://me:s3cret@host:9200", "index": "docs", "timestamp_field": "at" });
    for (key, value) in more.as_object().unwrap() {
        match value {
            Value::Null => drop(config.as_object_mut().unwrap().remove(key)),
            value => config[key] = value.clone(),
        }
    }
    let config: ElasticsearchConfig = serde_json::from_value(config).map_err(|error| error.to_string())?;
    config.check(&LIMITS).map_err(|error| error.chain())
}

#[test]
fn the_defaults_are_those_of_the_documentation() {
    let settings = with(json!({})).unwrap();
    assert_eq!(settings.order, Order::Timestamp { field: "at".into(), tie: "_seq_no".into() });
    assert_eq!((settings.page_documents, settings.overlap_nanos), (1000, 10_000_000_000));
    assert_eq!((settings.interval, &*settings.keep_alive), (Duration::from_secs(10), "60000ms"));
    assert_eq!((settings.pagination, settings.has_metadata), (Pagination::Auto, true));
    assert_eq!(settings.client.timeout, Duration::from_secs(30));
}

#[test]
fn without_a_timestamp_field_the_two_ways_out_are_named() {
    let text = with(json!({ "timestamp_field": null })).unwrap_err();
    assert!(text.contains("timestamp_field") && text.contains("mode = \"snapshot\""), "{text}");
    assert_eq!(with(json!({ "timestamp_field": null, "mode": "snapshot" })).unwrap().order, Order::Sequence);
}

#[test]
fn a_definition_of_the_existing_runtimes_is_taken() {
    let settings = with(json!({
        "username": null, "query": { "term": { "a": 1 } }, "polling_interval": "30s", "batch_size": 100, "scroll_timeout": "5m",
        "state": { "enabled": true, "storage_type": "file", "storage_config": { "base_path": "./x" }, "state_id": "y",
                   "auto_save_interval": "5m", "tracked_fields": ["a"] }
    }))
    .unwrap();
    assert!(settings.has_old_state);
    assert_eq!((settings.page_documents, &*settings.keep_alive), (100, "300000ms"));
}

#[test]
fn there_is_one_way_to_log_in() {
    let auth = |more: Value| {
        let mut settings = json!({ "url": "http://host" });
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        with(settings).map(|settings| settings.client.auth)
    };
    let key = |credentials: &str| Auth::Scheme { scheme: "ApiKey", credentials: Secret::new(credentials) };
    assert_eq!(auth(json!({})), Ok(Auth::None));
    assert_eq!(auth(json!({ "api_key": "id:key" })), Ok(key("aWQ6a2V5")));
    assert_eq!(auth(json!({ "api_key": "aWQ6a2V5" })), Ok(key("aWQ6a2V5")));
    assert!(matches!(auth(json!({ "bearer_token": "t" })), Ok(Auth::Scheme { scheme: "Bearer", .. })));
    assert!(auth(json!({ "bearer_token": "t", "api_key": "k" })).unwrap_err().contains("keep one"));
    assert!(auth(json!({ "username": "u" })).unwrap_err().contains("give both"));
}

#[test]
fn what_cannot_be_is_refused_with_the_key_and_without_the_secret() {
    for (key, value) in [
        ("url", json!("host:9200")),
        ("hosts", json!(["s3cret"])),
        ("index", json!("")),
        ("index", json!("a,,b")),
        ("index", json!("_all")),
        ("batch_size", json!(0)),
        ("batch_size", json!(10_001)),
        ("polling_interval", json!("fast")),
        ("overlap", json!("2days")),
        ("scroll_timeout", json!("1ms")),
        ("timeout", json!("0s")),
        ("tie_breaker", json!("")),
        ("mode", json!("cdc")),
        ("pagination", json!("from")),
        ("client_cert", json!("/x")),
        ("indexes", json!("x")),
    ] {
        let text = with(json!({ key: value })).unwrap_err();
        assert!(text.contains(key) || text.contains(value.as_str().unwrap_or("?")), "{key}: {text}");
        assert!(!text.contains("s3cret"), "{text}");
    }
}

#[test]
fn a_page_leaves_room_for_keys_and_headers() {
    let small = Limits { batch_records: 50, batch_bytes: 3 << 20 };
    let config = json!({ "url": "http://host", "index": "docs", "timestamp_field": "at" });
    let settings = serde_json::from_value::<ElasticsearchConfig>(config).unwrap().check(&small).unwrap();
    assert_eq!((settings.page_documents, settings.page_bytes), (50, 1 << 20));
}

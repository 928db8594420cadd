use picomq_connector_sdk::conformance::{Bench, Setting};
use serde_json::{Value, json};

use crate::HttpSource;

/// What opening with these keys beside a listener on loopback is refused with.
async fn refusal(keys: Value) -> String {
    let mut config = json!({ "listen_addr": "127.0.0.1:0" });
    for (key, value) in keys.as_object().unwrap() {
        config[key] = value.clone();
    }
    match Bench::<HttpSource>::open(Setting::new(config)).await {
        Ok(_) => panic!("{keys} is taken"),
        Err(error) => error.chain(),
    }
}

#[tokio::test]
async fn a_misspelt_protection_is_refused_and_leaves_nothing_open_b108() {
    let text = refusal(json!({ "topic_path": "a", "auth_baerer_token": "x" })).await;
    assert!(text.contains("did you mean `auth_bearer_token`"), "{text}");
    let text = refusal(json!({ "topic_path": "a", "auth_type": "baerer" })).await;
    assert!(text.contains("auth_type"), "{text}");
}

#[tokio::test]
async fn beyond_loopback_nothing_may_be_open_to_anybody() {
    let open = json!({ "topic_path": "orders" });
    let endpoint = json!({ "endpoints": [{ "endpoint_id": "0".repeat(32), "auth_type": "none" }] });
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
        for keys in [&open, &endpoint] {
            let mut keys = keys.clone();
            keys["listen_addr"] = json!(address);
            let text = refusal(keys).await;
            assert!(
                text.contains("reached from beyond this machine") && text.contains("auth_bearer_token"),
                "{text}"
            );
        }
    }
}

#[tokio::test]
async fn wrong_values_are_refused_with_key_value_and_what_would_be_right() {
    let id = "0123456789abcdef0123456789abcdef";
    let endpoint = |more: Value| {
        let mut endpoint = json!({ "endpoint_id": id, "auth_type": "bearer", "auth_secret": "x" });
        for (key, value) in more.as_object().unwrap() {
            endpoint[key] = value.clone();
        }
        json!({ "endpoints": [endpoint] })
    };
    let cases = [
        (json!({ "topic_path": "a", "listen_addr": "example.com:80" }), "127.0.0.1:8088"),
        (json!({ "topic_path": "a b" }), "topic_path = \"a b\""),
        (json!({ "topic_path": "a/../b" }), "topic_path"),
        (json!({ "topic_path": "a", "max_body_size_bytes": 64_000_001 }), "1 to 64000000"),
        (json!({ "topic_path": "a", "max_body_size_bytes": 0 }), "1 to 64000000"),
        (json!({ "topic_path": "a", "buffer_capacity": 1_000_001 }), "1 to 1000000"),
        (json!({ "topic_path": "a", "max_batch_size": 0 }), "1 to 100000"),
        (json!({ "topic_path": "a", "buffer_bytes": 10 }), "buffer_bytes = 10"),
        (json!({ "topic_path": "a", "instance_name": "unrouted" }), "unrouted"),
        (json!({ "topic_path": "a", "forward_headers": ["Authorization"] }), "carries a secret"),
        (json!({ "topic_path": "a", "forward_headers": ["a b"] }), "no name of a header"),
        (json!({ "topic_path": "a", "answer_timeout": "soon" }), "answer_timeout = \"soon\""),
        (json!({ "topic_path": "a", "answer_timeout": "0s" }), "longer than nothing"),
        (json!({ "topic_path": "a", "key": "{value}" }), "{header:NAME}"),
        (json!({ "topic_path": "a", "ack": "spooled" }), "needs spool_dir"),
        (json!({ "topic_path": "a", "ack": "spooled", "spool_dir": "x" }), "relative"),
        (json!({ "topic_path": "a", "ack": "spooled", "spool_dir": "/x", "spool_max_bytes": 5 }), "64 MiB"),
        (json!({ "topic_path": "a", "auth_type": "github" }), "needs auth_secret"),
        (json!({ "topic_path": "a", "auth_type": "github", "auth_bearer_token": "x" }), "use auth_secret"),
        (
            json!({ "topic_path": "a", "auth_type": "github", "auth_secret": "x", "hmac_header": "y" }),
            "has its own",
        ),
        (
            json!({ "topic_path": "a", "auth_type": "stripe", "auth_secret": "x", "dedupe_window": "9m" }),
            "twice",
        ),
        (
            json!({ "topic_path": "a", "auth_type": "slack", "auth_secret": "x", "dedupe_capacity": 0 }),
            "capacity",
        ),
        (json!({ "topic_path": "a", "management_token": "x" }), "create_endpoint"),
        (json!({ "topic_path": "a", "tls": { "cert_file": "c.pem", "key_file": "/k.pem" } }), "relative"),
        (json!({ "auth_bearer_token": "x" }), "no topic_path"),
        (json!({}), "nothing to post to"),
        (endpoint(json!({ "endpoint_id": "ABC" })), "32 lower-case"),
        (endpoint(json!({ "auth_secret": "" })), "endpoints[0].auth_secret"),
        (endpoint(json!({ "hmac_header": "y" })), "hmac-sha256"),
    ];
    for (keys, part) in cases {
        let text = refusal(keys.clone()).await;
        assert!(text.contains(part), "{keys}: {text}");
    }
}

#[tokio::test]
async fn no_refusal_shows_a_secret() {
    let canary = "c4n4ry-hunter2";
    let cases = [
        json!({ "auth_bearer_token": canary }),
        json!({ "topic_path": "a", "auth_type": "standard-webhooks", "auth_secret": canary }),
        json!({ "topic_path": "a", "auth_type": "none", "auth_secret": canary }),
        json!({ "topic_path": "a", "management_token": canary }),
        json!({ "topic_path": "a b", "auth_bearer_token": canary, "auth_secret": canary }),
    ];
    for keys in cases {
        let text = refusal(keys).await;
        assert!(!text.contains(canary), "{text}");
    }
}

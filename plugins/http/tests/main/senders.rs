//! The families over the wire, repeats, and endpoints made at run time.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use picomq_connector_sdk::Source;
use ring::hmac;
use serde_json::json;
use tempfile::TempDir;

use crate::support::{Ask, Served, open, post};

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn sign(secret: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), &parts.concat()).as_ref().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn stripe(secret: &str, time_s: u64, body: &str) -> Ask {
    let signature = hex(&sign(secret.as_bytes(), &[time_s.to_string().as_bytes(), b".", body.as_bytes()]));
    post(body).with("stripe-signature", format!("t={time_s},v1={signature}"))
}

fn slack(secret: &str, time_s: u64, body: &str) -> Ask {
    let text = format!("v0:{time_s}:{body}");
    let signature = hex(&sign(secret.as_bytes(), &[text.as_bytes()]));
    post(body)
        .with("x-slack-signature", format!("v0={signature}"))
        .with("x-slack-request-timestamp", time_s.to_string())
}

fn standard(secret: &[u8], id: &str, time_s: u64, body: &str) -> Ask {
    let text = format!("{id}.{time_s}.{body}");
    post(body)
        .with("webhook-id", id)
        .with("webhook-timestamp", time_s.to_string())
        .with("webhook-signature", format!("v1,{}", STANDARD.encode(sign(secret, &[text.as_bytes()]))))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn github_and_shopify_are_taken_with_their_published_signatures() {
    let served = Served::start(json!({
        "schema": "text", "auth_type": "github", "auth_secret": "It's a Secret to Everybody",
    }))
    .await;
    let signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    let ask = post("Hello, World!").with("X-Hub-Signature-256", signature).with("X-GitHub-Delivery", "d-1");
    assert_eq!(served.record_of(ask.clone()).await.id.as_deref(), Some("d-1"));
    assert_eq!(served.send(Ask { body: b"Hello, World".to_vec(), ..ask }).await.status, 401);

    let secret = "test-webhook-secret";
    let served = Served::start(json!({ "auth_type": "shopify", "auth_secret": secret })).await;
    let body = r#"{"id":1234567890,"email":"customer@example.com","total_price":"123.45"}"#;
    let ask = post(body).with("X-Shopify-Hmac-Sha256", "QNyObTlKbMx2qDlPF/ZOZcBqg5OgPg+2oky3zldc0Gw=");
    assert_eq!(served.record_of(ask).await.payload, body.as_bytes());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stripe_slack_and_standard_webhooks_are_taken_now_and_not_late() {
    let served = Served::start(json!({ "auth_type": "stripe", "auth_secret": "s" })).await;
    assert_eq!(
        served.record_of(stripe("s", now_s(), r#"{"id":"evt_1"}"#)).await.id.as_deref(),
        Some("evt_1")
    );
    assert_eq!(served.send(stripe("s", now_s() - 400, r#"{"id":"evt_2"}"#)).await.status, 401);
    assert_eq!(served.send(stripe("other", now_s(), r#"{"id":"evt_3"}"#)).await.status, 401);

    let served = Served::start(json!({ "auth_type": "slack", "auth_secret": "s", "schema": "text" })).await;
    let body = r#"{"event_id":"Ev1"}"#;
    assert_eq!(served.record_of(slack("s", now_s(), body)).await.id.as_deref(), Some("Ev1"));
    assert_eq!(served.send(slack("s", now_s() + 400, body)).await.status, 401);

    let key = b"0123456789abcdef0123456789abcdef";
    let secret = format!("whsec_{}", STANDARD.encode(key));
    let served = Served::start(json!({ "auth_type": "standard-webhooks", "auth_secret": secret })).await;
    assert_eq!(served.record_of(standard(key, "msg_1", now_s(), "{}")).await.id.as_deref(), Some("msg_1"));
    assert_eq!(served.send(standard(b"other", "msg_2", now_s(), "{}")).await.status, 401);
    assert_eq!(served.records().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slack_gets_its_challenge_back_only_when_it_signed_it() {
    let served = Served::start(json!({ "auth_type": "slack", "auth_secret": "s" })).await;
    let body = r#"{"type":"url_verification","challenge":"3eZbrw1aBm2r"}"#;
    let reply = served.send(slack("s", now_s(), body)).await;
    assert_eq!((reply.status, reply.body.as_str()), (200, "3eZbrw1aBm2r"));
    assert_eq!(served.send(slack("t", now_s(), body)).await.status, 401);
    assert!(served.records().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signature_is_of_the_bytes_as_they_came_b107() {
    let served =
        Served::start(json!({ "auth_type": "hmac-sha256", "auth_secret": "s", "hmac_header": "X-Sig" }))
            .await;
    let body = "{ \"a\" :1.0,\"b\":\"\\u0061\"}";
    let good = format!("sha256={}", hex(&sign(b"s", &[body.as_bytes()])));
    assert_eq!(served.record_of(post(body).with("x-sig", &good)).await.payload, body.as_bytes());
    let spaced = body.replace(":1.0", ": 1.0");
    assert_eq!(served.send(post(spaced).with("x-sig", &good)).await.status, 401);
    assert_eq!(served.send(post(body).with("x-sig", "")).await.status, 401);
    assert_eq!(served.send(post(body).with("x-sig", &good[..good.len() - 2])).await.status, 401);
    assert_eq!(served.send(post(body)).await.status, 401);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_bearer_tokens_are_good_during_a_rotation_and_no_other() {
    let served = Served::start(json!({ "auth_bearer_token": "new", "auth_secret_previous": "old" })).await;
    for token in ["new", "old"] {
        served.record_of(post("{}").with("authorization", format!("Bearer {token}"))).await;
    }
    for wrong in ["Bearer x", "Basic new", "new"] {
        let reply = served.send(post("{}").with("authorization", wrong)).await;
        assert_eq!(reply.status, 401);
        assert!(reply.head.contains("www-authenticate: bearer"));
    }
    assert_eq!(served.send(post("{}")).await.status, 401);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_captured_request_sent_again_makes_no_second_record() {
    let served = Served::start(json!({ "auth_type": "stripe", "auth_secret": "s" })).await;
    // Without a name in the body: the signature is what is recognised.
    let ask = stripe("s", now_s(), "{}");
    served.record_of(ask.clone()).await;
    for _ in 0..3 {
        assert_eq!(served.send(ask.clone()).await.status, 200);
    }
    assert_eq!(served.records().len(), 1);
    // Signed anew a second later it is another post.
    served.record_of(stripe("s", now_s() - 1, "{}")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_captured_request_under_another_unsigned_name_makes_no_second_record() {
    let keys = json!({ "auth_type": "slack", "auth_secret": "s", "schema": "text", "id_header": "x-id" });
    let served = Served::start(keys).await;
    // A form, which has no event_id.
    let ask = slack("s", now_s(), "command=%2Fdeploy");
    assert_eq!(served.record_of(ask.clone().with("x-id", "1")).await.id.as_deref(), Some("1"));
    for other in [ask.clone().with("x-id", "2"), ask] {
        assert_eq!(served.send(other).await.status, 200);
    }
    assert_eq!(served.records().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_is_empty_is_none() {
    let served = Served::start(json!({ "auth_type": "stripe", "auth_secret": "s" })).await;
    let bodies = [r#"{"id":"","n":1}"#, r#"{"id":"","n":2}"#];
    for body in bodies {
        assert_eq!(served.record_of(stripe("s", now_s(), body)).await.id, None);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_that_is_sent_again_is_answered_without_a_second_record() {
    let served = Served::start(json!({ "id_header": "x-id" })).await;
    served.record_of(post("{}").with("x-id", "1")).await;
    assert_eq!(served.send(post("{\"other\": 1}").with("x-id", "1")).await.status, 200);
    assert_eq!(served.records().len(), 1);
    served.record_of(post("{}").with("x-id", "2")).await;
    assert_eq!(served.send(post("{}").with("x-id", "x".repeat(257))).await.status, 400);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endpoints_are_found_by_id_until_they_expire() {
    let (living, expired) = ("0".repeat(32), "1".repeat(32));
    let served = Served::start(json!({ "endpoints": [
        { "endpoint_id": living, "name": "shop", "auth_type": "bearer", "auth_secret": "x" },
        { "endpoint_id": expired, "auth_type": "bearer", "auth_secret": "x", "expires_at": 1_700_000_000 },
    ] }))
    .await;
    let to = |id: &str| post("{}").to(&format!("/e/{id}")).with("authorization", "Bearer x");
    let record = served.record_of(to(&living)).await;
    assert_eq!(record.header("picomq.http.endpoint").as_deref(), Some("shop"));
    assert_eq!(served.send(to(&expired)).await.status, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_made_by_command_takes_posts_at_once_and_none_once_it_is_deleted() {
    let folder = TempDir::new().unwrap();
    let served = Served::start(json!({ "endpoints_file": folder.path().join("endpoints.json") })).await;
    let source = served.open.bench.source();
    let made = source.command("create_endpoint", json!({ "auth_type": "bearer" })).await.unwrap().unwrap();
    let (path, secret) = (made["path"].as_str().unwrap(), made["auth_secret"].as_str().unwrap());
    let ask = post("{}").to(path).with("authorization", format!("Bearer {secret}"));
    served.record_of(ask.clone()).await;
    let id = json!({ "endpoint_id": made["endpoint_id"] });
    let rotated = source.command("rotate_endpoint", id.clone()).await.unwrap().unwrap();
    served.record_of(ask.clone()).await;
    let fresh = format!("Bearer {}", rotated["auth_secret"].as_str().unwrap());
    served.record_of(post("{}").to(path).with("authorization", &fresh)).await;
    source.command("retire_secret", id.clone()).await.unwrap();
    assert_eq!(served.send(ask).await.status, 401);
    source.command("delete_endpoint", id).await.unwrap();
    assert_eq!(served.send(post("{}").to(path).with("authorization", fresh)).await.status, 404);
}

/// Nothing that is told to anybody holds a secret or a payload.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_answer_and_no_command_shows_a_secret() {
    let canary = "c4n4ry-hunter2";
    let source = open(json!({ "auth_bearer_token": canary, "endpoints": [
        { "endpoint_id": "0".repeat(32), "auth_type": "github", "auth_secret": canary },
    ] }))
    .await;
    let mut told = vec![source.status().await.to_string()];
    let list = source.bench.source().command("list_endpoints", json!(null)).await.unwrap().unwrap();
    told.push(list.to_string());
    for ask in [post("{}"), post("{}").with("authorization", "Bearer c4n4ry"), post("{}").to("/nowhere")] {
        let reply = source.send(ask).await;
        told.push(reply.head + &reply.body);
    }
    told.push(format!("{:?}", source.bench.reports()));
    assert!(told.iter().all(|text| !text.contains(canary)), "{told:?}");
}

//! When a post is answered, and with what.

use std::net::SocketAddr;
use std::time::Duration;

use picomq_connector_sdk::Source;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::support::{Served, open, post, seen_of, try_open};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_answered_before_the_batch_is_acknowledged_b106() {
    let source = open(json!({})).await;
    let sending = source.sending(post("{}"));
    assert_eq!(source.poll().await.len(), 1);
    // However long the delivery takes.
    sleep(Duration::from_millis(200)).await;
    assert!(!sending.is_finished());
    source.ack().await;
    let reply = sending.await.unwrap();
    assert_eq!((reply.status, reply.body.as_str()), (200, r#"{"status":"delivered"}"#));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_nacked_batch_comes_again_and_its_senders_go_on_waiting() {
    let source = open(json!({})).await;
    let sending = source.sending(post("{\"a\":1}"));
    let first = seen_of(&source.poll().await);
    source.nack().await;
    assert_eq!(seen_of(&source.poll().await), first);
    assert!(!sending.is_finished());
    source.ack().await;
    assert_eq!(sending.await.unwrap().status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_post_that_is_not_safe_in_time_is_answered_503_and_not_delivered_if_no_batch_held_it() {
    let source = open(json!({ "answer_timeout": "100ms" })).await;
    let reply = source.send(post("{}")).await;
    assert_eq!(reply.status, 503);
    assert!(reply.head.contains("retry-after: 5"), "{}", reply.head);
    assert!(source.has_nothing().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeat_of_what_was_delivered_after_its_503_is_answered_200_without_a_second_record() {
    let source = open(json!({ "answer_timeout": "3s", "id_header": "x-id" })).await;
    let ask = post("{}").with("x-id", "1");
    let sending = source.sending(ask.clone());
    assert_eq!(source.poll().await.len(), 1);
    assert_eq!(sending.await.unwrap().status, 503);
    source.ack().await;
    assert_eq!(source.send(ask).await.status, 200);
    assert!(source.has_nothing().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sender_that_hangs_up_before_its_post_was_polled_takes_it_along() {
    let source = open(json!({})).await;
    let mut stream = TcpStream::connect(source.address).await.unwrap();
    stream.write_all(&post("{}").bytes()).await.unwrap();
    source.wait_held(1).await;
    drop(stream);
    source.wait_held(0).await;
    assert!(source.has_nothing().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_it_is_full_senders_are_told_to_come_again_b106() {
    let source = open(json!({ "buffer_capacity": 2 })).await;
    let waiting = [source.sending(post("{}")), source.sending(post("{}"))];
    source.wait_held(2).await;
    let reply = source.send(post("{}")).await;
    assert_eq!(reply.status, 429);
    assert!(reply.head.contains("retry-after: 1"), "{}", reply.head);
    assert_eq!(source.poll().await.len(), 2);
    source.ack().await;
    for waiting in waiting {
        assert_eq!(waiting.await.unwrap().status, 200);
    }
}

/// Sends eight of nine thousand bytes.
async fn begin_large(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = "POST /topics/a HTTP/1.1\r\nhost: a\r\ncontent-length: 9000\r\n\r\n";
    stream.write_all(format!("{head}{}", "x".repeat(8_000)).as_bytes()).await.unwrap();
    // Most often it has its bytes by then; whoever rests on it looks.
    sleep(Duration::from_millis(20)).await;
    stream
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_under_way_share_the_bytes_of_the_buffer() {
    let keys = json!({ "buffer_bytes": 10_000, "max_body_size_bytes": 10_000, "schema": "text" });
    let source = open(keys).await;
    let mut slow = begin_large(source.address).await;
    // Until the slow one has its bytes, the other may still have room; then it is the slow one that is refused, and
    // comes again.
    let mut status = 0;
    for _ in 0..100 {
        if slow.try_read(&mut [0; 64]).is_ok() {
            slow = begin_large(source.address).await;
        }
        let sending = source.sending(post("x".repeat(5_000)));
        tokio::select! {
            reply = sending => { status = reply.unwrap().status; }
            () = sleep(Duration::from_millis(50)) => { source.poll().await; source.ack().await; }
        }
        if status == 429 {
            break;
        }
    }
    assert_eq!(status, 429);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_answers_everybody_and_gives_the_port_back_b106() {
    let source = open(json!({})).await;
    let (polled, waiting) = (source.sending(post("{}")), source.sending(post("{}")));
    source.wait_held(2).await;
    source.bench.source().close().await;
    assert_eq!((polled.await.unwrap().status, waiting.await.unwrap().status), (503, 503));
    assert!(TcpStream::connect(source.address).await.is_err());
}

/// The batch was saved, and the process died before its senders were answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_that_was_saved_is_known_to_the_next_process() {
    let keys = json!({ "id_header": "x-id" });
    let source = open(keys.clone()).await;
    let ask = post("{}").with("x-id", "1");
    let sending = source.sending(ask.clone());
    let state = source.poll().await.state().map(picomq_connector_sdk::State::from_bytes);
    assert!(state.is_some());
    sending.abort();
    drop(source);
    let source = try_open(keys, state).await.unwrap();
    assert_eq!(source.send(ask).await.status, 200);
    assert!(source.has_nothing().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn posts_without_names_cost_no_write_of_the_state() {
    let source = open(json!({})).await;
    let sending = source.sending(post("{}"));
    assert!(source.poll().await.state().is_none());
    source.ack().await;
    assert_eq!(sending.await.unwrap().status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_posts_at_once_are_a_record_each() {
    let served = Served::start(json!({})).await;
    let sending: Vec<_> = (0..100).map(|number| served.open.sending(post(number.to_string()))).collect();
    for sending in sending {
        assert_eq!(sending.await.unwrap().status, 200);
    }
    let mut numbers: Vec<u32> = served
        .records()
        .iter()
        .map(|record| String::from_utf8_lossy(&record.payload).parse().unwrap())
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..100).collect::<Vec<u32>>());
}

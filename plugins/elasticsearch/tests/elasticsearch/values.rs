//! Values, fields and names as servers know them.

use picomq_connector_sdk::{CheckStatus, Error};
use serde_json::{Value, json};

use crate::reading::{Reading, config, with};
use crate::server::{KINDS, Kind, Place};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_is_the_document_byte_for_byte_with_its_name_b099() {
    for kind in KINDS {
        let place = Place::with_index(
            kind,
            1,
            json!({ "at": { "type": "date" }, "deep": { "enabled": false, "type": "object" } }),
        )
        .await;
        let deep = format!("{}1{}", "{\"d\":".repeat(15), "}".repeat(15));
        let text = format!(
            r#"{{"at": "2026-01-01T00:00:00.001Z",  "n":9007199254740993, "p":1.10, "a.b":"x", "deep": {deep}, "s":"é\u0000"}}"#
        );
        let body = format!("{{\"index\":{{\"_index\":\"{}\",\"_id\":\"ß/ 1\"}}}}\n{text}\n", place.name);
        place.bulk(body).await;
        place.refresh(&place.name).await;
        let mut reading = Reading::open(config(&place, json!({})), None).await;
        let seen = reading.step().await.unwrap().remove(0);
        assert_eq!(seen.text, text, "{kind:?}");
        assert_eq!((&*seen.key, &*seen.id), ("ß/ 1", &*format!("{}/ß/ 1/0", place.name)));
        assert_eq!(seen.event_time_ns, Some(1_767_225_600_001_000_000));
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            seen.headers,
            [
                header("picomq.index", &place.name),
                header("picomq.document_id", "ß/ 1"),
                header("picomq.seq_no", "0"),
                header("picomq.primary_term", "1"),
                header("picomq.version", "1"),
            ]
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nanoseconds_order_documents_and_resume_to_the_last_digit_b099() {
    for kind in KINDS {
        let place = Place::with_index(kind, 2, json!({ "at": { "type": "date_nanos" } })).await;
        let time = |nanos: usize| format!("2026-01-01T00:00:00.123456{nanos:03}Z");
        place.put((0..30).map(|n| (format!("d{n:02}"), json!({ "at": time(n) })))).await;
        let config = config(&place, json!({ "batch_size": 7 }));
        let mut reading = Reading::open(config.clone(), None).await;
        let mut keys = reading.keys(14).await;
        let mut reading = reading.killed(config).await;
        keys.extend(reading.keys(16).await);
        assert!(keys.is_sorted() && keys.len() == 30, "{kind:?}: {keys:?}");
        reading.nothing().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_way_of_paging_that_loses_nanoseconds_is_refused_b099() {
    for (kind, pagination, works) in [
        (Kind::OpenSearch, "pit", false),
        (Kind::Elasticsearch8, "pit", true),
        (Kind::Elasticsearch7, "search_after", false),
        (Kind::Elasticsearch7, "scroll", true),
    ] {
        let place = Place::with_index(kind, 3, json!({ "at": { "type": "date_nanos" } })).await;
        let time = |nanos: usize| format!("2026-01-01T00:00:00.123456{nanos:03}Z");
        place.put((0..60).map(|n| (format!("d{n:02}"), json!({ "at": time(n) })))).await;
        let more = json!({ "pagination": pagination, "batch_size": 7 });
        let mut reading = Reading::open(config(&place, more), None).await;
        match works {
            true => assert!(reading.keys(60).await.is_sorted(), "{kind:?}"),
            false => {
                let error = reading.step().await.unwrap_err();
                assert!(
                    matches!(error, Error::Permanent(_)) && error.chain().contains("pagination"),
                    "{error:?}"
                );
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dates_of_both_kinds_under_one_pattern_are_one_order_b099() {
    for kind in KINDS {
        let place = Place::new(kind).await;
        let (coarse, fine) = (format!("{}-a", place.name), format!("{}-b", place.name));
        place.create(&coarse, 1, json!({ "at": { "type": "date" } })).await;
        place.write(&coarse, [("1".to_owned(), json!({ "at": "2026-01-01T00:00:00.001Z" }))]).await;
        place.refresh(&coarse).await;
        let base = json!({ "index": format!("{}-*", place.name), "timestamp_field": "at" });
        let config = with(&place.url(), base, json!({}));
        let mut reading = Reading::open(config.clone(), None).await;
        assert_eq!(reading.keys(1).await, ["1"]);
        // The position counts milliseconds; from here on it counts nanoseconds.
        place.create(&fine, 1, json!({ "at": { "type": "date_nanos" } })).await;
        place.write(&fine, [("2".to_owned(), json!({ "at": "2026-01-01T00:00:00.001000001Z" }))]).await;
        place.write(&coarse, [("3".to_owned(), json!({ "at": "2026-01-01T00:00:00.002Z" }))]).await;
        place.refresh(&fine).await;
        place.refresh(&coarse).await;
        let mut reading = reading.killed(config).await;
        assert_eq!(reading.keys(2).await, ["2", "3"], "{kind:?}");
        reading.nothing().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_field_in_an_object_a_format_of_ones_own_and_a_nested_field_are_cursors_b097() {
    let stamps = [
        ("a.b", json!({ "a": { "properties": { "b": { "type": "date" } } } })),
        ("t", json!({ "t": { "type": "date", "format": "dd/MM/yyyy HH:mm:ss" } })),
        ("n.t", json!({ "n": { "type": "nested", "properties": { "t": { "type": "date" } } } })),
        ("s", json!({ "s": { "type": "keyword" } })),
        ("e", json!({ "e": { "type": "long" } })),
    ];
    for kind in KINDS {
        for (field, properties) in &stamps {
            let place = Place::with_index(kind, 2, properties.clone()).await;
            let document = |n: usize| match *field {
                "a.b" => json!({ "a": { "b": format!("2026-01-01T00:00:{n:02}Z") } }),
                "t" => json!({ "t": format!("01/01/2026 00:00:{n:02}") }),
                "n.t" => json!({ "n": [{ "t": format!("2026-01-01T00:00:{n:02}Z") }] }),
                "s" => json!({ "s": format!("2026-{n:02}") }),
                _ => json!({ "e": n as i64 - 20 }),
            };
            place.put((0..25).map(|n| (format!("d{n:02}"), document(n)))).await;
            let config = config(&place, json!({ "timestamp_field": field, "batch_size": 10 }));
            let mut reading = Reading::open(config.clone(), None).await;
            let mut keys = reading.keys(10).await;
            let mut reading = reading.killed(config).await;
            keys.extend(reading.keys(15).await);
            assert!(keys.is_sorted(), "{kind:?} {field}: {keys:?}");
            reading.nothing().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_without_the_field_is_told_about_and_stops_nothing_b097() {
    for kind in KINDS {
        let place = Place::with_index(kind, 1, json!({ "at": { "type": "date" } })).await;
        place
            .put([
                ("none".to_owned(), json!({ "n": 1 })),
                ("null".to_owned(), json!({ "at": null })),
                ("some".to_owned(), json!({ "at": "2026-01-01T00:00:00Z" })),
            ])
            .await;
        let mut reading = Reading::open(config(&place, json!({})), None).await;
        assert_eq!(reading.keys(1).await, ["some"]);
        place.put([("next".to_owned(), json!({ "at": "2026-01-01T00:00:00Z" }))]).await;
        assert_eq!(reading.keys(1).await, ["next"]);
        let (status, advice) = reading.check("missing_timestamps").unwrap();
        assert!(status == CheckStatus::Warn && advice.starts_with("2 documents"), "{kind:?}: {advice}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_dated_ahead_waits_for_its_time_and_holds_up_nobody() {
    for (kind, field) in
        [(KINDS[0], "date"), (KINDS[0], "date_nanos"), (KINDS[1], "date_nanos"), (KINDS[2], "date")]
    {
        let place = Place::with_index(kind, 2, json!({ "at": { "type": field } })).await;
        let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(3);
        place
            .put([
                ("far".to_owned(), json!({ "at": "2200-01-01T00:00:00Z" })),
                ("soon".to_owned(), json!({ "at": soon.to_string() })),
                ("past".to_owned(), json!({ "at": "2026-01-01T00:00:00Z" })),
            ])
            .await;
        let mut reading = Reading::open(config(&place, json!({})), None).await;
        // On a slow machine its time may have come by now.
        let mut keys: Vec<String> = Vec::new();
        while keys.is_empty() {
            keys.extend(reading.step().await.unwrap().into_iter().map(|seen| seen.key));
        }
        let (status, advice) = reading.check("future_timestamps").unwrap();
        assert!(status == CheckStatus::Warn && advice.contains("dated ahead"), "{kind:?}: {advice}");
        place.put([("next".to_owned(), json!({ "at": "2026-01-02T00:00:00Z" }))]).await;
        keys.extend(reading.keys(3 - keys.len()).await);
        assert!(jiff::Timestamp::now() >= soon, "{kind:?} {field}: {keys:?}");
        keys.sort();
        assert_eq!(keys, ["next", "past", "soon"], "{kind:?} {field}");
        reading.nothing().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_index_is_quiet_and_one_without_the_field_is_an_error_b097() {
    for kind in KINDS {
        let place = Place::with_index(kind, 1, json!({})).await;
        let mut reading = Reading::open(config(&place, json!({})), None).await;
        reading.nothing().await;
        place.put([("a".to_owned(), json!({ "other": 1 }))]).await;
        let error = reading.step().await.unwrap_err();
        assert!(
            matches!(error, Error::Permanent(_)) && error.chain().contains("timestamp_field"),
            "{kind:?}: {error}"
        );
        // Mapped by the first document that has it, and all is well.
        place.put([("b".to_owned(), json!({ "at": "2026-01-01T00:00:00Z" }))]).await;
        assert_eq!(reading.keys(1).await, ["b"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_that_is_not_there_is_read_when_it_is_b098() {
    for kind in KINDS {
        let place = Place::new(kind).await;
        let mut reading = Reading::open(config(&place, json!({})), None).await;
        let error = reading.step().await.unwrap_err();
        assert!(matches!(error, Error::Transient(_)), "{kind:?}: {error:?}");
        assert!(error.chain().contains(&place.name), "{error}");
        place.create(&place.name, 1, json!({ "at": { "type": "date" } })).await;
        place.put([("a".to_owned(), json!({ "at": "2026-01-01T00:00:00Z" }))]).await;
        assert_eq!(reading.keys(1).await, ["a"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_alias_over_several_indices_and_a_tie_break_of_ones_own_are_read() {
    for kind in KINDS {
        let place = Place::new(kind).await;
        let mut actions: Vec<Value> = Vec::new();
        for part in 0..3 {
            let index = format!("{}-{part}", place.name);
            let properties = json!({ "at": { "type": "date" }, "uid": { "type": "keyword" } });
            place.create(&index, 1, properties).await;
            let document = |n| json!({ "at": "2026-01-01T00:00:00Z", "uid": format!("{n}-{part}") });
            place.write(&index, (0..10).map(|n| (format!("{n}"), document(n)))).await;
            place.refresh(&index).await;
            actions.push(json!({ "add": { "index": index, "alias": place.name } }));
        }
        place
            .ask(picomq_connector_sdk::http::Method::POST, &["_aliases"], Some(json!({ "actions": actions })))
            .await;
        for tie in ["uid", "_seq_no"] {
            let more = json!({ "tie_breaker": tie, "batch_size": 4, "include_metadata": false });
            let mut reading = Reading::open(config(&place, more), None).await;
            let mut ids = Vec::new();
            while ids.len() < 30 {
                let seen = reading.step().await.unwrap();
                assert!(seen.iter().all(|seen| seen.headers.is_empty()));
                ids.extend(seen.into_iter().map(|seen| seen.id));
            }
            assert_eq!(crate::reading::distinct(ids).len(), 30, "{kind:?} {tie}");
            reading.nothing().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_window_smaller_than_a_page_and_documents_larger_than_one_make_pages_smaller_b099() {
    for kind in KINDS {
        let place = Place::with_index(
            kind,
            1,
            json!({ "at": { "type": "date" }, "big": { "type": "object", "enabled": false } }),
        )
        .await;
        let method = picomq_connector_sdk::http::Method::PUT;
        let narrow = json!({ "index": { "max_result_window": 5 } });
        place.ask(method, &[&place.name, "_settings"], Some(narrow)).await;
        let big = "x".repeat(5 << 20);
        for n in 0..12 {
            let document =
                json!({ "at": "2026-01-01T00:00:00Z", "big": { "x": if n < 6 { &big } else { "" } } });
            place.write(&place.name, [(format!("d{n:02}"), document)]).await;
        }
        place.refresh(&place.name).await;
        let mut reading = Reading::open(config(&place, json!({ "batch_size": 100 })), None).await;
        assert_eq!(crate::reading::distinct(reading.keys(12).await).len(), 12, "{kind:?}");
        reading.nothing().await;
    }
}

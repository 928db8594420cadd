//! kcat, a client on an older librdkafka (2.0 on Debian 12).

use std::io::{BufRead, BufReader};

use super::programs::{broker_with, checked, command, numbers, run, values};

fn lines(values: &[String]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

#[tokio::test]
async fn what_kcat_produces_kcat_consumes_with_keys_and_headers() {
    let broker = broker_with(&["t"]).await;
    let address = broker.addr().to_string();

    run("kcat", &["-b", &address, "-P", "-t", "t", "-K:", "-H", "kind=test"], "k1:one\nk2:two\n").await;
    let printed =
        run("kcat", &["-b", &address, "-C", "-t", "t", "-e", "-q", "-f", "%o %k %s %h\n"], "").await;

    assert_eq!(printed, "0 k1 one kind=test\n1 k2 two kind=test\n");
    let record = &broker.handle().records("t", 1, 1).unwrap()[0];
    assert_eq!(record.key.as_deref(), Some(&b"k2"[..]));
    assert_eq!(record.headers[0].name, "kind");
}

#[tokio::test]
async fn every_compression_passes_through() {
    let broker = broker_with(&["t"]).await;
    let address = broker.addr().to_string();
    let text = "compressible ".repeat(50);

    for codec in ["none", "gzip", "snappy", "lz4", "zstd"] {
        let topic = format!("t-{codec}");
        broker.handle().create_topic(&topic).await.unwrap();
        run("kcat", &["-b", &address, "-P", "-t", &topic, "-z", codec], &text).await;
        let printed = run("kcat", &["-b", &address, "-C", "-t", &topic, "-e", "-q"], "").await;
        assert_eq!(printed.trim_end(), text.trim_end(), "{codec}");
    }
    let bytes = |topic: &str| broker.handle().topic(topic).unwrap().bytes;
    assert!(bytes("t-zstd") < bytes("t-none") / 2, "it was compressed, and kept so");
}

#[tokio::test]
async fn a_tail_shows_the_last_records_and_then_new_ones() {
    let broker = broker_with(&["t"]).await;
    let address = broker.addr().to_string();
    let produce = ["-b", &address, "-P", "-t", "t"];
    run("kcat", &produce, &lines(&numbers(5))).await;

    let tail = ["-b", &address, "-C", "-t", "t", "-o", "-2", "-c", "4", "-u", "-q"];
    let mut child = command("kcat", &tail).spawn().unwrap();
    let mut printed = BufReader::new(child.stdout.take().unwrap());
    let (first, mut printed) = tokio::task::spawn_blocking(move || {
        let mut first = String::new();
        for _ in 0..2 {
            printed.read_line(&mut first).unwrap();
        }
        (first, printed)
    })
    .await
    .unwrap();
    run("kcat", &produce, "5\n6\n").await;
    let (rest, output) = tokio::task::spawn_blocking(move || {
        let mut rest = String::new();
        while printed.read_line(&mut rest).unwrap() > 0 {}
        (rest, child.wait_with_output().unwrap())
    })
    .await
    .unwrap();

    checked("kcat -C", output);
    assert_eq!((first.as_str(), rest.as_str()), ("3\n4\n", "5\n6\n"));
}

#[tokio::test]
async fn a_group_resumes_where_it_left_off() {
    let broker = broker_with(&["t"]).await;
    let address = broker.addr().to_string();
    run("kcat", &["-b", &address, "-P", "-t", "t"], &lines(&numbers(10))).await;
    let consume = |count| {
        let address = address.clone();
        async move {
            let group =
                ["-b", &address, "-X", "auto.offset.reset=earliest", "-G", "g", "-q", "-c", count, "t"];
            run("kcat", &group, "").await
        }
    };

    let first = consume("4").await;
    let second = consume("6").await;

    assert_eq!([first, second].concat(), lines(&numbers(10)));
}

#[tokio::test]
async fn offsets_by_time_are_found() {
    let broker = broker_with(&["t"]).await;
    let address = broker.addr().to_string();
    run("kcat", &["-b", &address, "-P", "-t", "t"], &lines(&numbers(3))).await;
    let second = broker.handle().records("t", 1, 1).unwrap()[0].timestamp_ms;

    for (time, expected) in [("-1".to_owned(), 3), ("-2".to_owned(), 0), (second.to_string(), 1)] {
        let printed = run("kcat", &["-b", &address, "-Q", "-t", &format!("t:0:{time}")], "").await;
        // Records of one batch can have the same millisecond, of which the first is right.
        let found: i64 = printed.trim().rsplit(' ').next().unwrap().parse().unwrap();
        let is_right = found == expected || (expected == 1 && found == 0);
        assert!(is_right, "time {time}: {printed}");
    }
}

#[tokio::test]
async fn two_thousand_topics_are_listed() {
    let broker = broker_with(&[]).await;
    for number in 0..2_000 {
        broker.handle().create_topic(&format!("m{number}")).await.unwrap();
    }

    let printed = run("kcat", &["-b", &broker.addr().to_string(), "-L"], "").await;

    assert_eq!(printed.matches("with 1 partitions").count(), 2_000);
    assert!(values(&broker, "m1999").is_empty());
}

//! `status`: the table of a daemon, and advice where there is none.

use crate::support::{Daemon, Folder};

#[test]
fn no_daemon_is_an_obstacle_with_advice_not_a_crash() {
    let (code, out, err) = Folder::new().told(&["status", "--url", "http://127.0.0.1:1"]);
    assert_eq!((code, out.as_str()), (3, ""));
    insta::assert_snapshot!(err, @r"
    client.no_daemon
      no daemon answers at `http://127.0.0.1:1`: Connection refused (os error 111)
      hint: start one with `pico-connectors run`, or name another with --url or PICOMQ_CONNECTORS_URL
    ");
}

#[test]
fn a_url_that_is_none_is_refused_with_the_right_shape() {
    let (code, _, err) = Folder::new().told(&["status", "--url", "localhost:8081", "--json"]);
    assert_eq!(code, 3);
    let error: serde_json::Value = serde_json::from_str(&err).unwrap();
    assert_eq!(error["code"], "client.bad_url");
    assert!(error["hint"].as_str().unwrap().contains("http://HOST:PORT or https://HOST:PORT"));
}

#[test]
fn something_else_at_the_address_is_told_apart_from_a_daemon() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let other = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        std::io::Read::read(&mut stream, &mut [0; 1024]).unwrap();
        std::io::Write::write_all(&mut stream, b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello").unwrap();
    });
    let (code, _, err) = Folder::new().told(&["status", "--url", &format!("http://127.0.0.1:{port}")]);
    other.join().unwrap();
    assert_eq!(code, 3);
    assert!(err.contains("not that of a pico-connectors daemon"), "{err}");
}

#[test]
fn the_table_names_every_source_with_its_error() {
    let folder = Folder::new();
    folder.write("sources/a.toml", "key = 5\n");
    let daemon = Daemon::start(&folder);

    let (code, out, _) = folder.told(&["status", "--url", &format!("http://127.0.0.1:{}", daemon.port())]);

    assert_eq!(code, 0);
    assert!(out.lines().any(|line| line.starts_with('a') && line.contains("✗ error")), "{out}");
    assert!(out.contains("0 of 1 sources run"), "{out}");
}

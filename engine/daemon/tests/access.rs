//! A daemon with keys and TLS, and what the command line says when they do not fit.

use crate::support::{Daemon, Folder};

const KEY: &str = "0123456789abcdef-admin";
const READ: &str = "0123456789abcdef-read";

fn keys() -> String {
    format!("api_key = \"{KEY}\"\napi_keys = [{{ name = \"eyes\", key = \"{READ}\", role = \"read\" }}]\n")
}

/// What a verb says with this key against this URL: exit code, both streams, the URL and folder taken out.
fn told(folder: &Folder, url: &str, key: &str, arguments: &[&str]) -> (i32, String, String) {
    let mut command = folder.command(arguments);
    command.args(["--url", url]).env("PICOMQ_CONNECTORS_API_KEY", key);
    let certificate = folder.path().join("cert.pem");
    if certificate.exists() && key != "untrusting" {
        command.env("PICOMQ_CONNECTORS_CA_FILE", certificate);
    }
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(url, "URL");
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_missing_and_a_wrong_key_are_told_apart_with_what_to_do_b131() {
    let folder = Folder::new();
    let daemon = Daemon::start_with(&folder, &keys());
    let url = format!("http://127.0.0.1:{}", daemon.port());

    let (code, _, err) = told(&folder, &url, "", &["status"]);
    assert_eq!(code, 3);
    insta::assert_snapshot!(err, @r"
    http.no_key
      URL: this path needs an API key
      hint: set PICOMQ_CONNECTORS_API_KEY to a key of the daemon's [http] api_key or api_keys
    ");
    let (code, _, err) = told(&folder, &url, "guessed", &["status"]);
    assert_eq!(code, 3);
    insta::assert_snapshot!(err, @r"
    http.wrong_key
      URL: the API key is not one of this daemon
      hint: PICOMQ_CONNECTORS_API_KEY holds a key that this daemon does not know; look at its [http] api_key and api_keys
    ");
    for key in [KEY, READ] {
        let (code, out, err) = told(&folder, &url, key, &["status"]);
        assert_eq!(code, 0, "{err}");
        assert!(out.contains("no definition is loaded"), "{out}");
    }
    // What a container image asks needs no key; whether it may be sent work is for those who have one.
    assert_eq!(told(&folder, &url, "", &["healthcheck"]).0, 0);
    let (_, _, err) = told(&folder, &url, "", &["healthcheck", "--ready"]);
    assert!(err.starts_with("http.no_key"), "{err}");
    let (_, _, err) = told(&folder, &url, READ, &["healthcheck", "--ready"]);
    assert!(err.starts_with("engine.not_ready"), "{err}");
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(log.contains("a wrong API key"), "{log}");
    assert!(!log.contains(KEY) && !log.contains(READ) && !log.contains("guessed"), "{log}");
}

#[test]
fn a_certificate_is_trusted_when_its_file_is_named_and_not_before() {
    let folder = Folder::new();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    folder.write("cert.pem", &made.cert.pem());
    folder.write("key.pem", &made.signing_key.serialize_pem());
    let tls = "tls = { enabled = true, cert_file = \"cert.pem\", key_file = \"key.pem\" }\n";
    let daemon = Daemon::start_with(&folder, &format!("{}{tls}", keys()));
    let url = format!("https://localhost:{}", daemon.port());

    let (code, out, err) = told(&folder, &url, KEY, &["status"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("no definition is loaded"), "{out}");

    let (code, _, err) = told(&folder, &url, "untrusting", &["status"]);
    assert_eq!(code, 3);
    assert!(err.starts_with("client.not_trusted") && err.contains("PICOMQ_CONNECTORS_CA_FILE"), "{err}");

    let plain = format!("http://localhost:{}", daemon.port());
    let (code, _, err) = told(&folder, &plain, KEY, &["status"]);
    assert_eq!(code, 3);
    assert!(err.contains("if it speaks https://"), "{err}");
}

#[test]
fn a_certificate_that_is_none_ends_the_start_with_its_name() {
    let folder = Folder::new();
    folder.write("cert.pem", "hunter2");
    folder.write("key.pem", "hunter2");
    folder.write(
        "config.toml",
        "[http]\naddress = \"127.0.0.1:0\"\ntls = { enabled = true, cert_file = \"cert.pem\", key_file = \"key.pem\" }\n",
    );
    let (code, _, err) = folder.told(&["run"]);
    assert_eq!(code, 3, "{err}");
    assert!(err.contains("DIR/cert.pem holds no certificate") && !err.contains("hunter2"), "{err}");
}

#[test]
fn an_open_address_with_a_key_is_listened_on() {
    let folder = Folder::new();
    let daemon = Daemon::start_with(&folder, &keys());
    drop(daemon);
    let open = format!("[http]\naddress = \"0.0.0.0:0\"\n{}", keys());
    folder.write("config.toml", &open);
    let (code, out, _) = folder.told(&["check", "config.toml"]);
    assert_eq!(code, 0, "{out}");
}

#[test]
fn a_daemon_of_another_version_is_named_with_both_versions() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let other = std::thread::spawn(move || {
        for body in [
            "{\"code\":\"http.unknown_route\",\"detail\":\"there is nothing at this path\",\"status\":404}",
            "pico-connectors 0.0.1\n",
        ] {
            let (mut stream, _) = listener.accept().unwrap();
            std::io::Read::read(&mut stream, &mut [0; 1024]).unwrap();
            let status = if body.starts_with('{') { "404 Not Found" } else { "200 OK" };
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            std::io::Write::write_all(&mut stream, answer.as_bytes()).unwrap();
        }
    });
    let (code, _, err) = told(&Folder::new(), &url, "", &["status"]);
    other.join().unwrap();
    assert_eq!(code, 3);
    assert!(err.starts_with("client.other_version\n  URL: the daemon is pico-connectors 0.0.1"), "{err}");
    assert!(err.contains(concat!("this is ", env!("CARGO_PKG_VERSION"))), "{err}");
}

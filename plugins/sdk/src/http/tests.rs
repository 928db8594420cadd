use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use super::head::{RETRY_AFTER_MAX, retry_after};
use super::stub::{Reply, Stub, serve};
use super::*;
use crate::{Error, Secret};

fn settings(urls: &[String]) -> Settings {
    Settings {
        hosts: urls.iter().map(|url| BaseUrl::parse("url", url).unwrap()).collect(),
        auth: Auth::None,
        ca_file: None,
        client_certificate: None,
        timeout: Duration::from_secs(20),
        is_gzip_wanted: false,
    }
}

async fn client(url: &str) -> Client {
    Client::open(settings(&[url.to_owned()])).await.unwrap()
}

/// Asks and reads at most `limit` bytes.
async fn asked(client: &Client, limit: usize) -> Result<(Head, Extent, Vec<u8>), Error> {
    let mut body = Vec::new();
    let answer = client.send(&Request::get(["x"])).await?;
    let (head, extent) = answer.read(&mut body, limit).await?;
    Ok((head, extent, body))
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

/// A port of the loopback where nobody listens.
async fn nobody() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[tokio::test]
async fn a_request_arrives_as_it_was_written() {
    let stub = Stub::start(|_| Reply::json(200, "{}")).await;
    let auth = Auth::Scheme { scheme: "ApiKey", credentials: Secret::new("a2V5") };
    let with_auth = Settings { auth, ..settings(&[format!("{}/base", stub.url())]) };
    let client = Client::open(with_auth).await.unwrap();
    let request =
        Request::post(["a b,c*", "_search"]).query("filter_path", "a.b,c d").json(&b"{\"x\":1}"[..]);
    client.send(&request).await.unwrap();
    let seen = &stub.asked()[0];
    assert_eq!(seen.method, "POST");
    assert_eq!(seen.target, "/base/a%20b,c*/_search?filter_path=a.b%2Cc+d");
    assert_eq!(seen.header("authorization"), Some("ApiKey a2V5"));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.body, b"{\"x\":1}");
}

#[tokio::test]
async fn a_user_in_the_url_is_sent_as_basic_authentication_and_not_beside_others() {
    let stub = Stub::start(|_| Reply::json(200, "{}")).await;
    let url = stub.url().replace("//", "//me:s3cret@");
    asked(&client(&url).await, 9).await.unwrap();
    assert_eq!(stub.asked()[0].header("authorization"), Some("Basic bWU6czNjcmV0"));
    let twice = Auth::Basic { user: "other".into(), password: Secret::new("pw") };
    let error = Client::open(Settings { auth: twice, ..settings(&[url]) }).await.unwrap_err();
    assert!(matches!(error, Error::Config(_)) && !error.chain().contains("s3cret"));
}

#[tokio::test]
async fn an_answer_of_the_limit_is_taken_and_a_longer_one_is_not() {
    let stub = Stub::start(|_| Reply::json(200, vec![b'x'; 1000])).await;
    let client = client(&stub.url()).await;
    let (_, extent, body) = asked(&client, 1000).await.unwrap();
    assert_eq!((extent, body.len()), (Extent::Whole, 1000));
    assert_eq!(asked(&client, 999).await.unwrap().1, Extent::TooLong);
}

#[tokio::test]
async fn a_compressed_answer_is_counted_as_it_unfolds() {
    let zeros = gzip(&vec![0; 50_000_000]);
    assert!(zeros.len() < 1_000_000);
    let stub = Stub::start(move |_| Reply::json(200, zeros.clone()).with("content-encoding", "gzip")).await;
    let wanted = Settings { is_gzip_wanted: true, ..settings(&[stub.url()]) };
    let client = Client::open(wanted).await.unwrap();
    let mut body = Vec::new();
    let answer = client.send(&Request::get(["x"])).await.unwrap();
    assert_eq!(answer.read(&mut body, 8 << 20).await.unwrap().1, Extent::TooLong);
    assert!(body.capacity() <= 17 << 20, "{} bytes of room were taken", body.capacity());
    assert_eq!(asked(&client, 50_000_000).await.unwrap().2.len(), 50_000_000);
    assert_eq!(stub.asked()[0].header("accept-encoding"), Some("gzip"));
}

#[tokio::test]
async fn a_body_cut_short_is_an_error_and_no_body() {
    let plain = vec![b'x'; 1000];
    let zipped = gzip(b"some text that is compressed");
    let bodies = [
        Reply { cut_at: Some(500), ..Reply::json(200, plain) },
        Reply::json(200, &zipped[..zipped.len() - 9]).with("content-encoding", "gzip"),
        Reply::json(200, &b"not compressed"[..]).with("content-encoding", "gzip"),
    ];
    for reply in bodies {
        let stub = Stub::start(move |_| reply.clone()).await;
        let error = asked(&client(&stub.url()).await, 1 << 20).await.unwrap_err();
        assert!(matches!(error, Error::Transient(_)), "{error:?}");
    }
}

#[tokio::test]
async fn each_status_is_what_it_means() {
    use Kind::{Authentication, Permanent, Redirect, Success, Transient};
    let meant = [
        (200, Success),
        (204, Success),
        (301, Redirect),
        (308, Redirect),
        (400, Permanent),
        (401, Authentication),
        (403, Authentication),
        (404, Permanent),
        (408, Transient),
        (413, Permanent),
        (429, Transient),
        (500, Transient),
        (501, Permanent),
        (502, Transient),
        (503, Transient),
        (504, Transient),
    ];
    let next = AtomicU32::new(0);
    let stub = Stub::start(move |_| {
        let index = next.fetch_add(1, Ordering::Relaxed) as usize;
        Reply { status: meant[index].0, ..Reply::default() }
    })
    .await;
    let client = client(&stub.url()).await;
    for (status, kind) in meant {
        let (head, ..) = asked(&client, 9).await.unwrap();
        assert_eq!((head.status(), head.kind()), (status, kind));
        let is_transient = head.refusal("the search", "no").is_transient();
        assert_eq!(is_transient, kind == Transient, "{status}");
    }
}

#[tokio::test]
async fn a_redirect_is_told_and_not_followed() {
    let stub = Stub::start(|_| {
        Reply { status: 302, ..Reply::default() }
            .with("location", "https://elsewhere.example/x?signature=s3cret")
    })
    .await;
    let (head, ..) = asked(&client(&stub.url()).await, 9).await.unwrap();
    let text = head.refusal("the search", "").chain();
    assert!(text.contains("https://elsewhere.example") && !text.contains("s3cret"), "{text}");
    assert_eq!(stub.asked().len(), 1);
}

#[test]
fn retry_after_is_seconds_or_a_date_and_never_for_ever() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
    let cases = [
        ("5", Some(5)),
        (" 0 ", Some(0)),
        ("Sun, 06 Nov 1994 08:49:47 GMT", Some(10)),
        ("Sun, 06 Nov 1994 08:49:27 GMT", Some(0)),
        ("99999999999", Some(RETRY_AFTER_MAX.as_secs())),
        ("Sat, 06 Nov 2094 08:49:37 GMT", Some(RETRY_AFTER_MAX.as_secs())),
        ("soon", None),
        ("-1", None),
    ];
    for (text, seconds) in cases {
        assert_eq!(retry_after(text, now), seconds.map(Duration::from_secs), "{text}");
    }
}

#[tokio::test]
async fn a_wish_to_be_left_alone_is_remembered() {
    let stub = Stub::start(|asked| match asked.target.as_str() {
        "/x" => Reply { status: 429, ..Reply::default() }.with("retry-after", "30"),
        _ => Reply::json(200, "{}"),
    })
    .await;
    let client = client(&stub.url()).await;
    client.send(&Request::get(["y"])).await.unwrap();
    assert_eq!(client.quiet_left(), None);
    let (head, ..) = asked(&client, 9).await.unwrap();
    assert_eq!(head.refusal("the search", "").retry_after(), Some(Duration::from_secs(30)));
    let left = client.quiet_left().unwrap();
    assert!(left > Duration::from_secs(1) && left <= Duration::from_secs(30), "{left:?}");
}

#[tokio::test]
async fn a_host_that_is_away_is_passed_over_and_the_good_one_is_kept() {
    let failing = Stub::start(|_| Reply { status: 503, ..Reply::default() }).await;
    let good = Stub::start(|_| Reply::json(200, "{}")).await;
    let urls = [nobody().await, failing.url(), good.url()];
    let client = Client::open(settings(&urls)).await.unwrap();
    for _ in 0..3 {
        assert!(asked(&client, 9).await.unwrap().0.is_success());
    }
    assert_eq!((failing.asked().len(), good.asked().len()), (1, 3));
}

#[tokio::test]
async fn when_no_host_answers_each_was_asked_once_and_a_servers_word_goes_first() {
    let failing = Stub::start(|_| Reply { status: 503, ..Reply::default() }.with("retry-after", "7")).await;
    let client = Client::open(settings(&[failing.url(), nobody().await])).await.unwrap();
    let (head, ..) = asked(&client, 9).await.unwrap();
    assert_eq!((head.status(), failing.asked().len()), (503, 1));
    let alone = Client::open(settings(&[nobody().await])).await.unwrap();
    let error = asked(&alone, 9).await.unwrap_err();
    assert!(matches!(error, Error::Transient(_)) && error.chain().contains("cannot connect"), "{error:?}");
}

#[tokio::test]
async fn a_silent_server_is_given_up_after_the_timeout() {
    let stub = Stub::start(|_| Reply { delay: Duration::from_secs(60), ..Reply::json(200, "{}") }).await;
    let short = Settings { timeout: Duration::from_millis(50), ..settings(&[stub.url()]) };
    let error = asked(&Client::open(short).await.unwrap(), 9).await.unwrap_err();
    assert!(matches!(error, Error::Transient(_)) && error.chain().contains("within 50 ms"), "{error:?}");
}

#[tokio::test]
async fn no_error_repeats_a_secret_that_the_server_said_back() {
    let stub = Stub::start(|_| Reply { status: 401, ..Reply::default() }).await;
    let auth = Auth::Basic { user: "me".into(), password: Secret::new("s3cret") };
    let client = Client::open(Settings { auth, ..settings(&[stub.url()]) }).await.unwrap();
    let (head, ..) = asked(&client, 9).await.unwrap();
    let reason = format!("bad\n  s3cret bWU6czNjcmV0 {}", "é".repeat(1000));
    let text = head.refusal("the search", &reason).chain();
    assert!(text.contains("bad *** *** é") && text.contains("401"), "{text}");
    assert!(text.chars().count() < 700, "{text}");
    assert!(!format!("{client:?}").contains("s3cret") && !format!("{client:?}").contains("bWU6"));
}

/// Serves one certificate, signed by itself, for `localhost`; answers the folder with its PEM and the URL.
async fn tls_server() -> (tempfile::TempDir, String) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    outbound::install_cryptography();
    let config =
        ServerConfig::builder().with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key);
    let acceptor = TlsAcceptor::from(Arc::new(config.unwrap()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                if let Ok(stream) = acceptor.accept(stream).await {
                    let script = Arc::new(|_: &stub::Asked| Reply::json(200, "{}"));
                    serve(stream, script, Arc::new(Mutex::new(Vec::new()))).await;
                }
            });
        }
    });
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("ca.pem"), made.cert.pem()).unwrap();
    std::fs::write(folder.path().join("empty.pem"), "nothing").unwrap();
    (folder, url)
}

#[tokio::test]
async fn an_unknown_authority_is_refused_until_it_is_named() {
    let (folder, url) = tls_server().await;
    let (other, _) = tls_server().await;
    let trusting =
        |file: std::path::PathBuf| Settings { ca_file: Some(file), ..settings(std::slice::from_ref(&url)) };
    let client = Client::open(trusting(folder.path().join("ca.pem"))).await.unwrap();
    assert!(asked(&client, 9).await.unwrap().0.is_success());
    let client = Client::open(trusting(other.path().join("ca.pem"))).await.unwrap();
    let error = asked(&client, 9).await.unwrap_err();
    assert!(matches!(error, Error::Permanent(_)) && error.chain().contains("ca_file"), "{error:?}");
    for wrong in ["empty.pem", "missing.pem"] {
        let error = Client::open(trusting(folder.path().join(wrong))).await.unwrap_err();
        assert!(matches!(error, Error::Config(_)) && error.chain().contains(wrong), "{error:?}");
    }
}

#[tokio::test]
async fn a_server_without_tls_is_told_from_one_that_is_away() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            // As servers do with what is no request to them.
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n").await;
        }
    });
    let client = Client::open(settings(&[url])).await.unwrap();

    let error = asked(&client, 9).await.unwrap_err();

    assert!(matches!(error, Error::Transient { .. }) && error.chain().contains("write http://"), "{error:?}");
}

//! The API from outside: a foreign tool that tries everything our own document says, secrets looked for in all that
//! leaves the process, and clients that want it to stand still.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use chaos_tests::binaries;
use chaos_tests::campaign::{Campaign, seed};
use chaos_tests::daemon::Daemon;
use chaos_tests::kafka::Kafka;
use chaos_tests::launch::Launch;
use chaos_tests::services::of_python;
use chaos_tests::wait::wait_for;
use chaos_tests::workload::Workload;

use crate::stage::{Stage, WITHIN};

/// Requests the tool tries for each operation, beside those it thinks of by itself.
const EXAMPLES: &str = "20";

/// Slow or broken clients at once.
const HOSTILE: usize = 200;

fn wait_ready(daemon: &Daemon) {
    wait_for("readiness", WITHIN, || match daemon.request("GET", "/ready") {
        Ok(answer) if answer.status == 200 => Ok(()),
        Ok(answer) => Err(answer.body),
        Err(error) => Err(error.to_string()),
    })
    .unwrap();
}

#[test]
fn a_foreign_tool_that_tries_all_that_the_document_says_finds_no_fault() {
    let stage = Stage::new("api-document");
    stage.define(&Workload::new("random", seed()));
    let daemon = stage.start();
    wait_ready(&daemon);
    let url = format!("http://127.0.0.1:{}/openapi.json", stage.site.port());
    let mut tool = of_python("st");
    tool.current_dir(stage.site.dir()).args(["run", &url, "--no-color", "--request-timeout", "20"]);
    // Streams do not end by themselves, and no schema can say which state a plugin takes. The state of a source is
    // there also after it was deleted: it says that nothing is saved.
    tool.args(["--exclude-path", "/events", "--exclude-path", "/sources/{key}/tail"]);
    tool.args(["--exclude-checks", "positive_data_acceptance,use_after_free"]);
    tool.args(["--phases", "examples,coverage,fuzzing,stateful", "--max-examples", EXAMPLES]);
    // The same requests each time, unless somebody asks for others.
    tool.args(["--seed", &std::env::var("CHAOS_SEED").unwrap_or_else(|_| "1".to_owned())]);

    let output = tool.output().unwrap();

    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains(" generated, "), "it tried nothing: {said}");
    daemon.source("random").unwrap();
}

/// One request with a key; the whole answer, head and body.
fn ask(port: u16, key: &str, head: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(WITHIN)).unwrap();
    let length = body.len();
    let request = format!(
        "{head} HTTP/1.0\r\nHost: 127.0.0.1\r\napi-key: {key}\r\nContent-Type: application/toml\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // A server that refuses a body may close before it read all of it.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// A site with a secret in every place that takes one.
fn planted(canary: &str) -> Stage {
    let kafka = format!(
        "security_protocol = \"sasl_plaintext\"\nsasl = {{ username = \"u\", password = \"{canary}-sasl\" }}\n"
    );
    let stage = Stage::on("api-canary", &Kafka::shared().bootstrap(), &kafka);
    let good = Workload { create_topics: false, ..Workload::new("good", seed()) };
    stage.define(&good);
    let secrets = format!(
        "[plugin_config]\npassword = \"{canary}-plugin\"\nurl = \"pg://u:{canary}-url@h/d\"\ninterval = 5\n"
    );
    let refused = good.definition().replace("key = \"good\"", "key = \"refused\"");
    let refused = refused.split("[plugin_config]").next().unwrap().to_owned() + &secrets;
    stage.site.define("refused", &refused).unwrap();
    stage.site.define("broken", &format!("password = \"{canary}-syntax\nkey = ")).unwrap();
    stage
}

/// The answers of every path that can be looked at, and of requests that are refused.
fn answers(port: u16, canary: &str) -> Vec<(String, String)> {
    let admin = format!("{canary}-admin-key");
    let document = ask(port, &admin, "GET /openapi.json", "");
    let (_, body) = document.split_once("\r\n\r\n").unwrap();
    let document: serde_json::Value = serde_json::from_str(body).unwrap();
    let mut all = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        if operations.get("get").is_none() || path.ends_with("/tail") {
            continue;
        }
        for key in ["good", "refused", "broken"] {
            let path = path.replace("{key}", key);
            let path = if path == "/events" { "/events?last=1000&follow=false".to_owned() } else { path };
            all.push((format!("GET {path}"), ask(port, &admin, &format!("GET {path}"), "")));
        }
    }
    let body = format!("type = \"source\"\n[plugin_config]\npassword = \"{canary}-sent\"\nx = \n");
    for head in [
        "POST /definitions/validate",
        "POST /reload",
        "POST /sources/good/restart",
        "POST /sources/good/commands/x",
        "PUT /sources/good/state",
        "POST /nowhere",
    ] {
        all.push((head.to_owned(), ask(port, &admin, head, &body)));
    }
    for key in [format!("{canary}-guess"), String::new()] {
        all.push((format!("GET /sources with {key:?}"), ask(port, &key, "GET /sources", "")));
    }
    all
}

/// What the verbs print, on both streams.
fn verbs(stage: &Stage, canary: &str) -> Vec<(String, String)> {
    let config = stage.site.config().display().to_string();
    let url = format!("http://127.0.0.1:{}", stage.site.port());
    let verbs: [&[&str]; 12] = [
        &["status"],
        &["describe", "good"],
        &["describe", "refused"],
        &["logs", "--last", "1000", "--events"],
        &["plan"],
        &["doctor"],
        &["check"],
        &["plugins"],
        &["state", "show", "good"],
        &["pause", "refused"],
        &["tail", "nobody"],
        &["healthcheck"],
    ];
    let run = |verb: &&[&str]| {
        ["human", "json"].map(|format| {
            let mut command = Command::new(binaries::engine().unwrap());
            command.args(*verb).args(["--config", &config, "--url", &url, "--format", format]);
            command.env("PICOMQ_CONNECTORS_API_KEY", format!("{canary}-admin-key"));
            command.env("PICOMQ_CONNECTORS_HTTP__API_KEY", format!("{canary}-admin-key"));
            let output = command.output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned()
                + &String::from_utf8_lossy(&output.stderr);
            (format!("{} {format}", verb.join(" ")), said)
        })
    };
    verbs.iter().flat_map(run).collect()
}

#[test]
fn no_secret_leaves_by_any_answer_event_log_line_or_verb_b130() {
    let canary = format!("canary{}bird", seed());
    let stage = planted(&canary);
    let environment = [
        ("PICOMQ_CONNECTORS_LOG", "debug".to_owned()),
        ("PICOMQ_CONNECTORS_HTTP__API_KEY", format!("{canary}-admin-key")),
        (
            "PICOMQ_CONNECTORS_HTTP__API_KEYS",
            format!("[{{\"name\":\"eyes\",\"key\":\"{canary}-read-key\",\"role\":\"read\"}}]"),
        ),
    ];
    let environment = environment.map(|(name, value)| (name.to_owned(), value)).to_vec();
    let daemon = stage.start_with(&Launch { environment, ..Launch::default() });

    let mut said = answers(stage.site.port(), &canary);
    said.extend(verbs(&stage, &canary));
    daemon.terminate();
    wait_for("the last words", WITHIN, || {
        let log = std::fs::read_to_string(stage.site.log()).unwrap();
        if log.contains("shutting down") { Ok(()) } else { Err("it has not heard yet".to_owned()) }
    })
    .unwrap();
    said.push(("the log".to_owned(), std::fs::read_to_string(stage.site.log()).unwrap()));

    for (what, text) in &said {
        assert!(!text.contains(&canary), "{what}: {text}");
    }
    let of = |what: &str| &said.iter().find(|(name, _)| name == what).unwrap().1;
    assert!(of("GET /sources/good").contains("200 OK"), "the key opens it: {}", of("GET /sources/good"));
    assert!(of("the log").contains("DEBUG"), "debug lines were looked at too");
    assert!(of("GET /events?last=1000&follow=false").contains("event: log"), "there were events");
    assert!(of("describe refused human").contains("refused"), "{}", of("describe refused human"));
}

/// Clients that take a connection and give nothing for it.
fn hostile(port: u16) -> Vec<TcpStream> {
    let open = |number: usize| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
        let request = match number % 4 {
            0 => "GET /sources HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ".to_owned(),
            1 => "POST /reload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
                  Content-Length: 60000\r\n\r\n{"
                .to_owned(),
            2 => "GET /events?last=1000 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".to_owned(),
            // Many questions, and not one answer read.
            _ => "GET /stats HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".repeat(50),
        };
        stream.write_all(request.as_bytes()).ok()?;
        Some(stream)
    };
    (0..HOSTILE).filter_map(open).collect()
}

#[test]
fn two_hundred_slow_and_hostile_clients_do_not_slow_delivery() {
    const WINDOW: Duration = Duration::from_secs(8);
    let bootstrap = Kafka::shared().bootstrap();
    let workload = Workload::new("besieged", seed());
    let mut campaign = Campaign::new("api-hostile", workload, &bootstrap, &bootstrap, "").unwrap();
    let daemon = campaign.start(&Launch::default()).unwrap();
    campaign.wait_progress(&daemon, 5, WITHIN).unwrap();
    let port = campaign.site.port();
    let mut delivered = || {
        let (begin, began) = (campaign.position(), Instant::now());
        campaign.run_for(WINDOW).unwrap();
        (campaign.position() - begin) as f64 / began.elapsed().as_secs_f64()
    };

    let alone = delivered();
    let mut clients = hostile(port);
    let besieged = delivered();
    // Those that were let go come again.
    clients.extend(hostile(port));
    let again = delivered();

    eprintln!("records a second: {alone:.0} alone, {besieged:.0} and {again:.0} besieged");
    // The machine is shared: what counts is that delivery does not wait for them.
    assert!(besieged > alone / 3.0 && again > alone / 3.0, "{alone:.0} {besieged:.0} {again:.0}");
    drop(clients);
    wait_for("an answer once they are gone", WITHIN, || match daemon.request("GET", "/health") {
        Ok(answer) if answer.status == 200 => Ok(()),
        Ok(answer) => Err(answer.body),
        Err(error) => Err(error.to_string()),
    })
    .unwrap();
    campaign.drain(daemon, WITHIN).unwrap().assert_clean();
}

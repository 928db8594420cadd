//! Webhooks by wrk at 64 connections: the HTTP source in both ways to answer, each beside nginx that reads the same post
//! and says 200, in alternating turns. wrk, nginx, engine and broker share the machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use chaos_tests::launch::Launch;
use chaos_tests::ports::free_port;
use chaos_tests::posts::post;
use chaos_tests::site::{Site, scratch};
use chaos_tests::wait::{pause, wait_for};

use super::{Bench, WARM_SECONDS, report};

const KEY: &str = "hooks";
const CONNECTIONS: &str = "64";
const SOON: Duration = Duration::from_secs(60);
/// What is posted: a small order.
const SCRIPT: &str = "wrk.method = \"POST\"\n\
    wrk.body = '{\"order\":1042,\"customer\":\"c-17\",\"items\":[{\"sku\":\"a-1\",\"count\":2},{\"sku\":\"b-9\",\"count\":1}],\"total\":\"123.45\"}'\n\
    wrk.headers[\"Content-Type\"] = \"application/json\"\n";

/// What wrk saw.
#[derive(Debug, Clone, Copy)]
struct Seen {
    rate: f64,
    p99_ms: f64,
}

/// Both ways, each against nginx; the best turn must reach the ratio.
pub(super) fn posts(bench: &Bench) -> bool {
    let delivered = compare(bench, "delivered", 0.3);
    let spooled = compare(bench, "spooled", 0.5);
    delivered && spooled
}

fn compare(bench: &Bench, ack: &str, least: f64) -> bool {
    let dir = scratch().join("bench-hooks");
    let mut best: f64 = 0.0;
    for turn in 0..bench.pairs {
        let source = source(bench, &dir, ack, turn);
        let nginx = nginx(bench, &dir);
        let ratio = source.rate / nginx.rate;
        best = best.max(ratio);
        println!(
            "webhooks, {ack}, turn {turn}: {:.0} posts/s, p99 {:.2} ms; nginx {:.0} posts/s, p99 {:.2} ms; ratio {ratio:.3}",
            source.rate, source.p99_ms, nginx.rate, nginx.p99_ms
        );
    }
    report(&format!("webhooks, {ack}: best ratio to nginx of {} turns", bench.pairs), best, least)
}

fn source(bench: &Bench, dir: &Path, ack: &str, turn: u32) -> Seen {
    let (site, port) = (Site::new(dir, &bench.kafka.bootstrap(), "").unwrap(), free_port());
    let topic = format!("bench-hooks-{ack}-{turn}");
    let definition = format!(
        "type = \"source\"\nkey = \"{KEY}\"\nenabled = true\nname = \"Bench\"\n\
         path = \"picomq_connector_http_source\"\nmax_in_flight = {window}\n\n\
         [[topics]]\ntopic = \"{topic}\"\ncreate_topics = true\n\n\
         [plugin_config]\nlisten_addr = \"127.0.0.1:{port}\"\ntopic_path = \"a\"\nack = \"{ack}\"\n\
         spool_dir = {spool:?}\nmax_batch_size = 5000\n",
        spool = dir.join("spool"),
        window = 4,
    );
    site.define(KEY, &definition).unwrap();
    let mut daemon = site.start(&Launch::default()).unwrap();
    wait_for("a post answered 200", SOON, || match post(port, "/topics/a", 0) {
        Ok(200) => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .unwrap();
    let seen = wrk(bench, dir, port, "/topics/a");
    daemon.terminate();
    assert_eq!(daemon.wait_exit(SOON).unwrap().code(), Some(0), "the engine drains when asked to");
    bench.admin.delete(&[topic]).unwrap();
    seen
}

fn nginx(bench: &Bench, dir: &Path) -> Seen {
    let port = free_port();
    let running = Nginx::start(dir, port);
    let seen = wrk(bench, dir, port, "/topics/a");
    drop(running);
    seen
}

/// Warm, then measured. Anything but 2xx is no measurement.
fn wrk(bench: &Bench, dir: &Path, port: u16, path: &str) -> Seen {
    let script = dir.join("post.lua");
    fs::write(&script, SCRIPT).unwrap();
    let run = |seconds: u32| {
        let output = Command::new("wrk")
            .args(["--latency", "-t", "2", "-c", CONNECTIONS, "-d", &format!("{seconds}s"), "-s"])
            .arg(&script)
            .arg(format!("http://127.0.0.1:{port}{path}"))
            .output()
            .expect("wrk is installed by services/install.sh");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    run(WARM_SECONDS);
    let text = run(bench.seconds);
    assert!(!text.contains("Non-2xx") && !text.contains("Socket errors"), "{text}");
    read(&text).unwrap_or_else(|| panic!("not what wrk prints: {text}"))
}

fn read(text: &str) -> Option<Seen> {
    let after = |name: &str| text.lines().find_map(|line| line.trim().strip_prefix(name).map(str::trim));
    Some(Seen { rate: after("Requests/sec:")?.parse().ok()?, p99_ms: milliseconds(after("99%")?)? })
}

fn milliseconds(text: &str) -> Option<f64> {
    let units = [("us", 0.001), ("ms", 1.0), ("s", 1000.0)];
    units.iter().find_map(|(unit, factor)| Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * factor))
}

/// nginx with a configuration of its own, as this user.
struct Nginx(Child);

impl Nginx {
    fn start(dir: &Path, port: u16) -> Nginx {
        let home: PathBuf = dir.join("nginx");
        fs::create_dir_all(&home).unwrap();
        let config = home.join("nginx.conf");
        let text = format!(
            "daemon off; worker_processes auto; pid nginx.pid; error_log error.log;\n\
             events {{ worker_connections 1024; }}\n\
             http {{\n access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;\n\
              uwsgi_temp_path uwsgi; scgi_temp_path scgi; keepalive_requests 1000000000;\n\
              server {{ listen 127.0.0.1:{port}; location / {{ return 200; }} }}\n}}\n"
        );
        fs::write(&config, text).unwrap();
        let child = Command::new("nginx")
            .arg("-p")
            .arg(&home)
            .arg("-c")
            .arg(&config)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nginx is installed by services/install.sh");
        wait_for("nginx", SOON, || post(port, "/", 0).map_err(|error| error.to_string())).unwrap();
        Nginx(child)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Its master ends the workers when it is told to; a kill would leave them.
        let id = rustix::process::Pid::from_child(&self.0);
        let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        let _ = self.0.wait();
        pause(Duration::from_millis(200));
    }
}

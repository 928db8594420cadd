//! Webhooks by wrk at 64 connections: the HTTP source in both ways to answer, each beside nginx that reads the same post
//! and says 200, in alternating turns. wrk, nginx, engine and broker share the machine.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use chaos_tests::launch::Launch;
use chaos_tests::ports::free_port;
use chaos_tests::posts::post;
use chaos_tests::site::{Site, scratch};
use chaos_tests::wait::{pause, wait_for};

use super::{Bench, WARM_SECONDS, report, report_most};

const KEY: &str = "hooks";
const CONNECTIONS: u32 = 64;
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
    /// Of the engine, once the posts are over.
    resident_mib: f64,
}

/// How a post is answered, and where the spool lies.
#[derive(Debug, Clone)]
struct Way {
    name: &'static str,
    ack: &'static str,
    spool: PathBuf,
}

/// Both ways, each against nginx; the best turn must reach the ratio. On a disk every spooled post waits for one sync, so
/// 64 connections get at most 64 answers a sync: where that is less than the ratio asks for, four fifths of it count.
/// In memory, where a sync costs nothing, the ratio counts.
pub(super) fn posts(bench: &Bench) -> bool {
    let (dir, memory) = (scratch().join("bench-hooks"), super::in_memory().join("picomq-bench-spool"));
    let delivered = Way { name: "delivered", ack: "delivered", spool: dir.join("spool") };
    let good = compare(bench, &delivered, 0.3, None);
    let on_disk = Way { name: "spooled", ack: "spooled", spool: dir.join("spool") };
    let sync = sync_p50();
    let most = f64::from(CONNECTIONS) / sync.as_secs_f64();
    println!(
        "webhooks: one sync of this disk p50 {:.2} ms, so {CONNECTIONS} connections get at most {most:.0} spooled posts/s",
        sync.as_secs_f64() * 1e3
    );
    let good = compare(bench, &on_disk, 0.5, Some(most)) && good;
    let in_memory = Way { name: "spooled in memory", ack: "spooled", spool: memory };
    let good = compare(bench, &in_memory, 0.5, None) && good;
    let _ = fs::remove_dir_all(&in_memory.spool);
    good
}

/// Appending and syncing 16 KiB, as the spool does at this load, with nothing else running.
fn sync_p50() -> Duration {
    const SYNCS: usize = 200;
    let path = scratch().join("bench-sync");
    let mut file = fs::File::create(&path).unwrap();
    let mut took: Vec<Duration> = (0..SYNCS)
        .map(|_| {
            let began = Instant::now();
            file.write_all(&[7; 16 << 10]).unwrap();
            file.sync_data().unwrap();
            began.elapsed()
        })
        .collect();
    let _ = fs::remove_file(&path);
    took.sort_unstable();
    took[SYNCS / 2]
}

fn compare(bench: &Bench, way: &Way, least: f64, most: Option<f64>) -> bool {
    let name = way.name;
    let (mut best, mut of_most, mut resident): (f64, f64, f64) = (0.0, 0.0, 0.0);
    for turn in 0..bench.pairs {
        let (source, nginx) = (source(bench, way, turn), nginx(bench));
        let ratio = source.rate / nginx.rate;
        best = best.max(ratio);
        resident = resident.max(source.resident_mib);
        of_most = of_most.max(most.map_or(0.0, |most| source.rate / most));
        println!(
            "webhooks, {name}, turn {turn}: {:.0} posts/s, p99 {:.2} ms; nginx {:.0} posts/s, p99 {:.2} ms; ratio {ratio:.3}",
            source.rate, source.p99_ms, nginx.rate, nginx.p99_ms
        );
    }
    let is_small = report_most(&format!("webhooks, {name}: MiB resident"), resident, 80.0);
    let is_fast = match most {
        Some(_) if best < least => {
            report(&format!("webhooks, {name}: best share of what the disk allows"), of_most, 0.8)
        }
        Some(_) | None => {
            report(&format!("webhooks, {name}: best ratio to nginx of {} turns", bench.pairs), best, least)
        }
    };
    is_small && is_fast
}

fn source(bench: &Bench, way: &Way, turn: u32) -> Seen {
    let dir = scratch().join("bench-hooks");
    let (site, port) = (Site::new(&dir, &bench.kafka.bootstrap(), "").unwrap(), free_port());
    let _ = fs::remove_dir_all(&way.spool);
    let topic = format!("bench-hooks-{}-{turn}", way.name.replace(' ', "-"));
    let definition = format!(
        "type = \"source\"\nkey = \"{KEY}\"\nenabled = true\nname = \"Bench\"\n\
         path = \"picomq_connector_http_source\"\n\n\
         [[topics]]\ntopic = \"{topic}\"\ncreate_topics = true\n\n\
         [plugin_config]\nlisten_addr = \"127.0.0.1:{port}\"\ntopic_path = \"a\"\nack = \"{ack}\"\n\
         spool_dir = {spool:?}\nmax_batch_size = 5000\n",
        ack = way.ack,
        spool = way.spool,
    );
    site.define(KEY, &definition).unwrap();
    let mut daemon = site.start(&Launch::default()).unwrap();
    wait_for("a post answered 200", SOON, || match post(port, "/topics/a", 0) {
        Ok(200) => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .unwrap();
    let mut seen = wrk(bench, &dir, port, "/topics/a");
    seen.resident_mib = daemon.resident_kib().unwrap() as f64 / 1024.0;
    daemon.terminate();
    assert_eq!(daemon.wait_exit(SOON).unwrap().code(), Some(0), "the engine drains when asked to");
    bench.admin.delete(&[topic]).unwrap();
    seen
}

fn nginx(bench: &Bench) -> Seen {
    let (dir, port) = (scratch().join("bench-hooks"), free_port());
    let running = Nginx::start(&dir, port);
    let seen = wrk(bench, &dir, port, "/topics/a");
    drop(running);
    seen
}

/// Warm, then measured. Anything but 2xx is no measurement.
fn wrk(bench: &Bench, dir: &Path, port: u16, path: &str) -> Seen {
    let script = dir.join("post.lua");
    fs::write(&script, SCRIPT).unwrap();
    let run = |seconds: u32| {
        let output = Command::new("wrk")
            .args([
                "--latency",
                "-t",
                "2",
                "-c",
                &CONNECTIONS.to_string(),
                "-d",
                &format!("{seconds}s"),
                "-s",
            ])
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
    let (rate, p99_ms) = (after("Requests/sec:")?.parse().ok()?, milliseconds(after("99%")?)?);
    Some(Seen { rate, p99_ms, resident_mib: 0.0 })
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

//! Builds and runs the bare loop, `bare.c`, against the librdkafka that this workspace has built.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

use chaos_tests::binaries;
use chaos_tests::site::scratch;

use super::{BATCH, Bench, Load, WARM_SECONDS};

/// What it measured.
pub(super) struct Outcome {
    pub(super) rate: f64,
    pub(super) save_p50_us: u64,
}

pub(super) fn run(bench: &Bench, load: &Load) -> Outcome {
    let state = scratch().join("bench-bare");
    fs::create_dir_all(&state).unwrap();
    let numbers = [load.topics, BATCH, load.window].map(|number| number.to_string());
    let output = Command::new(binary())
        .arg(bench.kafka.bootstrap())
        .arg(&load.prefix)
        .args(&numbers)
        .arg(&state)
        .args([WARM_SECONDS.to_string(), bench.seconds.to_string()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let value = |name: &str| -> f64 {
        let found = text.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        found.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
    };
    Outcome { rate: value("records") / value("seconds"), save_p50_us: value("save_p50_us") as u64 }
}

fn binary() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench/bare.c");
        let client = newest("rdkafka-sys-", "src/librdkafka.a").expect("librdkafka was built for this bench");
        let target = scratch().join("bare");
        fs::create_dir_all(scratch()).unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-O2", "-Wall", "-o"]).arg(&target);
        compiler.arg("-I").arg(client.parent().unwrap());
        compiler.arg(source).arg(&client);
        // Built by their crates where the system has none of its own.
        compiler.args(newest("zstd-sys-", "libzstd.a"));
        let compressed = newest("libz-sys-", "lib/libz.a");
        compiler.args(if compressed.is_none() { &["-lz"][..] } else { &[] }).args(compressed);
        let status =
            compiler.args(["-lssl", "-lcrypto", "-lm", "-ldl", "-lpthread", "-lrt"]).status().unwrap();
        assert!(status.success(), "the bare loop does not compile");
        target
    })
}

/// The newest file at `out/path` of a build script's folder that begins with `name`.
fn newest(name: &str, path: &str) -> Option<PathBuf> {
    let folders = fs::read_dir(binaries::folder().join("build")).unwrap().flatten();
    folders
        .filter(|folder| folder.file_name().to_string_lossy().starts_with(name))
        .map(|folder| folder.path().join("out").join(path))
        .filter(|file| file.exists())
        .max_by_key(|file| file.metadata().and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH))
}

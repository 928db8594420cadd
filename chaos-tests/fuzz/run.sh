#!/usr/bin/env bash
# Runs every fuzz target for SECONDS each: fuzz/run.sh [SECONDS] [TARGET…]. What it finds lies in fuzz/artifacts/TARGET,
# what it learned in fuzz/corpus/TARGET. cargo-fuzz wants a nightly compiler for the sanitizer; RUSTC_BOOTSTRAP makes the
# installed one do.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(definition template state_file broker_frames webhook_spool webhook_signature avro proto flatbuffer
  transforms postgres_stream postgres_values postgres_texts elasticsearch_page influxdb_answer)
if ! cargo fuzz --version >/dev/null 2>&1; then
  echo "— installing cargo-fuzz, a few minutes —"
  cargo install cargo-fuzz --version 0.13.2 --locked
fi
export RUSTC_BOOTSTRAP=1
# A target folder of its own: every crate is built with the sanitizer there.
unset CARGO_TARGET_DIR
for target in "${targets[@]}"; do
  echo "— $target, $seconds s —"
  corpus=fuzz/corpus/$target
  mkdir -p "$corpus"
  [ -d "fuzz/seeds/$target" ] && cp "fuzz/seeds/$target"/* "$corpus"
  [ "$target" = definition ] && cp ../config/examples/*.toml "$corpus"
  cargo fuzz run "$target" "$corpus" -- -max_total_time="$seconds" -max_len=65536 -rss_limit_mb=2048 -print_final_stats=1
done

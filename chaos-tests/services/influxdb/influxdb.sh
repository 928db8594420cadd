#!/usr/bin/env bash
# One InfluxDB in the foreground, on 127.0.0.1 alone. Everything it writes lies under DATA_DIR; started again on the same folder
# it goes on with what is there. Ready when GET /ping answers 204.
#
#   DATA_DIR=dir PORT=18086 VERSION=1 ./influxdb.sh
#
# VERSION=1: InfluxQL. AUTH=true switches authentication on: the first query must then be
#   CREATE USER name WITH PASSWORD '...' WITH ALL PRIVILEGES
# MAX_ROWS cuts answers that are not chunked after so many rows.
# VERSION=2: Flux and InfluxQL. The first call must be POST /api/v2/setup, which makes user, organisation, bucket and token.
# STOP_ON_EOF=1 ends the server when stdin closes, so that it never outlives the test that started it; with
# REMOVE_AT_END=1 its folder goes too.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${DATA_DIR:?}" "${PORT:?}" "${VERSION:=1}"
influxd=$("$here/fetch.sh" "$VERSION")
mkdir -p "$DATA_DIR"
DATA_DIR=$(cd "$DATA_DIR" && pwd)
cd "$DATA_DIR"

if [ "$VERSION" = 1 ]; then
  cat > influxdb.conf <<T
reporting-disabled = true
bind-address = "127.0.0.1:0"

[meta]
dir = "$DATA_DIR/meta"

[data]
dir = "$DATA_DIR/data"
wal-dir = "$DATA_DIR/wal"
index-version = "tsi1"

[http]
bind-address = "127.0.0.1:$PORT"
auth-enabled = ${AUTH:-false}
max-row-limit = ${MAX_ROWS:-0}
log-enabled = false

[monitor]
store-enabled = false

[continuous_queries]
enabled = false
T
  arguments=(run -config "$DATA_DIR/influxdb.conf")
else
  arguments=(run --http-bind-address "127.0.0.1:$PORT" --bolt-path "$DATA_DIR/influxd.bolt"
    --sqlite-path "$DATA_DIR/influxd.sqlite" --engine-path "$DATA_DIR/engine" --reporting-disabled --ui-disabled --log-level info)
fi

if [ -n "${STOP_ON_EOF:-}" ]; then
  server=$$
  exec 3<&0
  (
    cat <&3 > /dev/null
    # The id may belong to somebody else by now: only our own server has our folder on its command line.
    if grep -qsF "$DATA_DIR/" "/proc/$server/cmdline"; then
      kill -KILL "$server"
    fi
    [ -z "${REMOVE_AT_END:-}" ] || rm -rf "$DATA_DIR"
  ) > /dev/null 2>&1 &
fi
HOME=$DATA_DIR exec "$influxd" "${arguments[@]}" < /dev/null

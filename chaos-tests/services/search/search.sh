#!/usr/bin/env bash
# One search server in the foreground: HTTP on 127.0.0.1:PORT, no security, everything it writes under DATA_DIR. Started again on the
# same folder it goes on with what is there. Its own code throughout, started by Server.java beside this script: the
# distributions with their launchers are in no package registry. Ready when GET /_cluster/health answers; ends on SIGTERM.
# Needs a JDK 17 (java compiles Server.java), not a JRE.
#
#   DATA_DIR=dir PORT=19200 KIND=opensearch|elasticsearch7|elasticsearch8 [HEAP=512m] ./search.sh
#
# STOP_ON_EOF=1 ends the server when stdin closes, so that it never outlives the test that started it; with
# REMOVE_AT_END=1 its folder goes too.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${DATA_DIR:?}" "${PORT:?}" "${KIND:?}" "${HEAP:=512m}"
home=$("$here/fetch.sh" "$KIND")
mkdir -p "$DATA_DIR"/{config,data,logs,tmp}
cd "$DATA_DIR"
DATA_DIR=$PWD
# A nearly full disk would make indices read-only.
cat > "config/${KIND%[78]}.yml" <<Y
cluster.name: test
node.name: test
discovery.type: single-node
network.host: 127.0.0.1
http.port: $PORT
transport.port: 0
path.data: $DATA_DIR/data
path.logs: $DATA_DIR/logs
cluster.routing.allocation.disk.threshold_enabled: false
Y
cat > config/log4j2.properties <<'P'
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %p %c{1.} %m%n%ex
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
P
program=$DATA_DIR/Server.java
arguments=("$DATA_DIR")
case $KIND in
  opensearch) cp "$here/Server.java" "$program" ;;
  elasticsearch7) sed s/opensearch/elasticsearch/ "$here/Server.java" > "$program" ;;
  elasticsearch8)
    program=$here/elasticsearch8/Server.java
    arguments=("$home" "$DATA_DIR/config") ;;
esac

if [ -n "${STOP_ON_EOF:-}" ]; then
  server=$$
  exec 3<&0
  (
    cat <&3 > /dev/null
    # The id may belong to somebody else by now: only our own server has our folder on its command line.
    if grep -qsF "$DATA_DIR/tmp" "/proc/$server/cmdline"; then
      kill -KILL "$server"
    fi
    if [ -n "${REMOVE_AT_END:-}" ]; then
      while kill -0 "$server" 2> /dev/null; do sleep 0.1; done
      rm -rf "$DATA_DIR"
    fi
  ) > /dev/null 2>&1 &
fi
exec java -Xms"$HEAP" -Xmx"$HEAP" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:+ExitOnOutOfMemoryError -XX:-UsePerfData \
  -Djava.io.tmpdir="$DATA_DIR/tmp" -Dlog4j.shutdownHookEnabled=false -cp "$home/lib/*" "$program" \
  "${arguments[@]}" < /dev/null

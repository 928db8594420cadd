#!/usr/bin/env bash
# One worker of Kafka Connect (distributed mode) with Debezium's connector for PostgreSQL, in the foreground. REST on
# 127.0.0.1:PORT. Everything it writes lies under DATA_DIR and in three topics of the broker that end in its GROUP; started
# again with the same group on the same broker it goes on with its connectors and their offsets.
#
#   DATA_DIR=dir PORT=18083 BOOTSTRAP=127.0.0.1:19092 GROUP=connect ./connect.sh
#
# HEAP is Java's -Xmx. STOP_ON_EOF=1 ends the worker when stdin closes, so that it never outlives the test that started it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${DATA_DIR:?}" "${PORT:?}" "${BOOTSTRAP:?}" "${GROUP:=connect}" "${HEAP:=2g}"
lib=$("$here/fetch.sh" connect)
plugins=$("$here/fetch.sh" debezium)
mkdir -p "$DATA_DIR"
DATA_DIR=$(cd "$DATA_DIR" && pwd)
config=$DATA_DIR/connect.properties

cat > "$config" <<P
bootstrap.servers=$BOOTSTRAP
group.id=$GROUP
listeners=http://127.0.0.1:$PORT
rest.advertised.host.name=127.0.0.1
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
key.converter.schemas.enable=false
value.converter.schemas.enable=false
config.storage.topic=configs-$GROUP
config.storage.replication.factor=1
offset.storage.topic=offsets-$GROUP
offset.storage.replication.factor=1
offset.storage.partitions=1
offset.flush.interval.ms=1000
status.storage.topic=status-$GROUP
status.storage.replication.factor=1
status.storage.partitions=1
connector.client.config.override.policy=All
plugin.path=$plugins
P

if [ -n "${STOP_ON_EOF:-}" ]; then
  worker=$$
  exec 3<&0
  (
    cat <&3 > /dev/null
    # The id may belong to somebody else by now: only our own worker has our configuration on its command line.
    if grep -qsF "$config" "/proc/$worker/cmdline"; then
      kill -KILL "$worker"
    fi
  ) > /dev/null 2>&1 &
fi
exec java -Xms256m -Xmx"$HEAP" -XX:+UseG1GC -Dorg.slf4j.simpleLogger.defaultLogLevel="${CONNECT_LOG_LEVEL:-warn}" -cp "$lib/*" \
  org.apache.kafka.connect.cli.ConnectDistributed "$config" < /dev/null

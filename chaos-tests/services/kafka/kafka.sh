#!/usr/bin/env bash
# One Apache Kafka (KRaft, broker and controller in one process) in the foreground. Everything it writes lies under
# DATA_DIR; started again on the same folder it goes on with what is there.
#
#   DATA_DIR=dir PORT=19092 CONTROLLER_PORT=19093 ./kafka.sh
#
# Switches, each a listener of its own beside the plain one, 127.0.0.1 only:
#   PROXIED_PORT, PROXY_PORT  listens on the first and tells clients to come to the second, where a test's proxy stands
#   SASL_PORT      SASL_PLAINTEXT, with an authorizer: nobody may anything unless granted with tool.sh AclCommand,
#                  except the clients of the plain listener (User:ANONYMOUS), which may all.
#                  writer / writer-secret by SCRAM-SHA-512 and SCRAM-SHA-256, plain / plain-secret by PLAIN
#   TLS_PORT       SSL: server certificate for localhost and 127.0.0.1, authority in DATA_DIR/tls/ca.pem
#   SASL_TLS_PORT  SASL_SSL: both, the same users and certificates
# LOG_DIR puts the log of the broker elsewhere (a small tmpfs). STOP_ON_EOF=1 ends the server when stdin closes, so
# that it never outlives the test that started it; with REMOVE_AT_END=1 its folder goes too.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${DATA_DIR:?}" "${PORT:?}" "${CONTROLLER_PORT:?}"
lib=$("$here/fetch.sh")
mkdir -p "$DATA_DIR"
DATA_DIR=$(cd "$DATA_DIR" && pwd)
LOG_DIR=${LOG_DIR:-$DATA_DIR/log}
config=$DATA_DIR/server.properties

listeners=PLAINTEXT://127.0.0.1:$PORT
advertised=$listeners
protocols=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
extra=()

listener() { # name, protocol, port it listens on, port it names to clients
  listeners+=,$1://127.0.0.1:$3
  advertised+=,$1://127.0.0.1:$4
  protocols+=,$1:$2
}

tls() {
  local dir=$DATA_DIR/tls
  if [ ! -e "$dir/ca.pem" ]; then
    mkdir -p "$dir"
    local store=(-storetype PKCS12 -storepass keystore-secret)
    keytool -genkeypair -alias ca -dname CN=test-authority -ext bc:c -keyalg EC -validity 3650 -keystore "$dir/ca.p12" "${store[@]}"
    keytool -exportcert -alias ca -rfc -keystore "$dir/ca.p12" "${store[@]}" > "$dir/ca.crt"
    keytool -genkeypair -alias server -dname CN=localhost -keyalg EC -validity 3650 -keystore "$dir/server.p12" "${store[@]}"
    keytool -certreq -alias server -keystore "$dir/server.p12" "${store[@]}" |
      keytool -gencert -alias ca -rfc -validity 3650 -ext san=dns:localhost,ip:127.0.0.1 -keystore "$dir/ca.p12" "${store[@]}" > "$dir/server.crt"
    keytool -importcert -noprompt -alias ca -file "$dir/ca.crt" -keystore "$dir/server.p12" "${store[@]}"
    keytool -importcert -noprompt -alias server -file "$dir/server.crt" -keystore "$dir/server.p12" "${store[@]}"
    mv "$dir/ca.crt" "$dir/ca.pem"
  fi 2>> "$DATA_DIR/keytool.log"
  extra+=("ssl.keystore.location=$dir/server.p12" "ssl.keystore.password=keystore-secret" "ssl.keystore.type=PKCS12")
}

sasl() { # name of the listener in lower case
  local scram='org.apache.kafka.common.security.scram.ScramLoginModule required;'
  local plain='org.apache.kafka.common.security.plain.PlainLoginModule required user_plain="plain-secret";'
  extra+=(
    "listener.name.$1.sasl.enabled.mechanisms=SCRAM-SHA-512,SCRAM-SHA-256,PLAIN"
    "listener.name.$1.scram-sha-512.sasl.jaas.config=$scram"
    "listener.name.$1.scram-sha-256.sasl.jaas.config=$scram"
    "listener.name.$1.plain.sasl.jaas.config=$plain")
}

[ -z "${PROXIED_PORT:-}" ] || listener PROXIED PLAINTEXT "$PROXIED_PORT" "${PROXY_PORT:?}"
[ -z "${SASL_PORT:-}" ] || { listener SASL SASL_PLAINTEXT "$SASL_PORT" "$SASL_PORT"; sasl sasl; }
[ -z "${TLS_PORT:-}" ] || listener TLS SSL "$TLS_PORT" "$TLS_PORT"
[ -z "${SASL_TLS_PORT:-}" ] || { listener SASLTLS SASL_SSL "$SASL_TLS_PORT" "$SASL_TLS_PORT"; sasl sasltls; }
[ -z "${TLS_PORT:-}${SASL_TLS_PORT:-}" ] || tls
if [ -n "${SASL_PORT:-}${SASL_TLS_PORT:-}" ]; then
  extra+=(
    authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
    super.users=User:ANONYMOUS)
fi

cat > "$config" <<P
process.roles=broker,controller
node.id=1
listeners=$listeners,CONTROLLER://127.0.0.1:$CONTROLLER_PORT
advertised.listeners=$advertised
listener.security.protocol.map=$protocols
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:$CONTROLLER_PORT
log.dirs=$LOG_DIR
num.partitions=1
auto.create.topics.enable=false
delete.topic.enable=true
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
log.segment.bytes=268435456
log.retention.bytes=-1
log.index.size.max.bytes=1048576
P
[ ${#extra[@]} -eq 0 ] || printf '%s\n' "${extra[@]}" >> "$config"

options=(-Xms256m -Xmx1g -XX:+UseSerialGC -Dorg.slf4j.simpleLogger.defaultLogLevel="${KAFKA_LOG_LEVEL:-warn}")
if [ ! -e "$LOG_DIR/meta.properties" ]; then
  users=()
  if [ -n "${SASL_PORT:-}${SASL_TLS_PORT:-}" ]; then
    users=(--add-scram 'SCRAM-SHA-512=[name=writer,password=writer-secret]' --add-scram 'SCRAM-SHA-256=[name=writer,password=writer-secret]')
  fi
  java "${options[@]}" -XX:TieredStopAtLevel=1 -cp "$lib/*" kafka.tools.StorageTool format \
    -t AAAAAAAAAAAAAAAAAAAAAA -c "$config" "${users[@]}" > "$DATA_DIR/format.log" 2>&1
fi

if [ -n "${STOP_ON_EOF:-}" ]; then
  server=$$
  exec 3<&0
  (
    cat <&3 > /dev/null
    # The id may belong to somebody else by now: only our own server has our configuration on its command line.
    if grep -qsF "$config" "/proc/$server/cmdline"; then
      kill -KILL "$server"
    fi
    [ -z "${REMOVE_AT_END:-}" ] || rm -rf "$DATA_DIR"
  ) > /dev/null 2>&1 &
fi
exec java "${options[@]}" -cp "$lib/*" kafka.Kafka "$config" < /dev/null

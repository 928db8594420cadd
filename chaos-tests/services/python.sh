#!/usr/bin/env bash
# Prints the path of a Python interpreter that has the confluent-kafka client; creates its virtual environment in the cache
# folder if it is missing. Several callers at once are fine: one builds, the others wait.
set -euo pipefail

CONFLUENT_KAFKA=2.16.1

cache="${CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/picomq-services}"
home="$cache/python"
python="$home/bin/python"
stamp="$home/confluent-kafka-$CONFLUENT_KAFKA"

mkdir -p "$cache"
exec 9>"$cache/python.lock"
flock 9
if [ ! -e "$stamp" ]; then
    rm -rf "$home"
    python3 -m venv "$home" >&2
    "$home/bin/pip" install --quiet --disable-pip-version-check "confluent-kafka==$CONFLUENT_KAFKA" >&2
    "$python" -c 'import confluent_kafka' >&2
    touch "$stamp"
fi
echo "$python"

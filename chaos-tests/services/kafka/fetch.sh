#!/usr/bin/env bash
# Prints the folder with the jars of Apache Kafka, fetching them with Maven when they are not there yet.
# One fetch at a time: several tests may ask at once. The folder is CACHE_DIR, default ~/.cache/picomq-services.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/picomq-services}
version=$(sed -n 's:.*<kafka.version>\(.*\)</kafka.version>.*:\1:p' "$here/pom.xml")
lib=$cache/kafka-$version
if [ ! -e "$lib/.done" ]; then
  mkdir -p "$cache"
  exec 9> "$cache/.kafka.lock"
  flock 9
  if [ ! -e "$lib/.done" ]; then
    mvn -q -B -f "$here/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$lib" >&2
    touch "$lib/.done"
  fi
fi
echo "$lib"

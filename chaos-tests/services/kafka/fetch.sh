#!/usr/bin/env bash
# Prints the folder with the jars of Apache Kafka, of Kafka Connect, or of Debezium's connector for PostgreSQL, fetching
# them with Maven when they are not there yet. One fetch at a time: several tests may ask at once. The folder is
# CACHE_DIR, default ~/.cache/picomq-services.
# usage: ./fetch.sh [kafka|connect|debezium]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/picomq-services}
case ${1:-kafka} in
  kafka) pom=$here/pom.xml name=kafka ;;
  connect) pom=$here/connect.pom.xml name=connect ;;
  # A worker looks for a folder of each connector in the folder that it is given.
  debezium) pom=$here/debezium.pom.xml name=debezium into=/connector ;;
  *) echo "no recipe for $1" >&2; exit 1 ;;
esac
version=$(sed -n 's:.*<server.version>\(.*\)</server.version>.*:\1:p' "$pom")
lib=$cache/$name-$version
jars=$lib${into:-}
if [ ! -e "$lib/.done" ]; then
  mkdir -p "$cache"
  exec 9> "$cache/.kafka.lock"
  flock 9
  if [ ! -e "$lib/.done" ]; then
    mvn -q -B -f "$pom" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$jars" >&2
    # What the worker brings itself must not lie in the folder of a connector too.
    [ "$name" != debezium ] || rm -f "$jars"/{kafka-clients,connect-api,slf4j-api,jakarta.ws.rs-api}-*.jar
    touch "$lib/.done"
  fi
fi
echo "$lib"

#!/usr/bin/env bash
# Prints the folder with the jars of a search server, fetching them with Maven when they are not there yet:
# opensearch 2.19, elasticsearch7 (7.10, the last one under the Apache licence) or elasticsearch8 (8.19, for tests alone).
# One fetch at a time: several tests may ask at once. The folder is CACHE_DIR, default ~/.cache/picomq-services.
# usage: ./fetch.sh opensearch|elasticsearch7|elasticsearch8
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
kind=${1:?opensearch, elasticsearch7 or elasticsearch8}
pom=$here/$kind/pom.xml
[ -e "$pom" ] || { echo "no recipe for $kind" >&2; exit 1; }
cache=${CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/picomq-services}
version=$(sed -n 's:.*<\(opensearch\|elasticsearch\).version>\(.*\)</.*:\2:p' "$pom")
home=$cache/$kind-$version
if [ ! -e "$home/.done" ]; then
  mkdir -p "$cache"
  exec 9> "$cache/.$kind.lock"
  flock 9
  if [ ! -e "$home/.done" ]; then
    rm -rf "$home"
    mvn -q -B -C -f "$pom" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$home/lib" >&2
    if [ "$kind" = elasticsearch8 ]; then
      # Version 8 takes a plugin from a folder of its own alone, with a descriptor that the published jar does not have.
      module=$home/modules/transport-netty4
      mkdir -p "$module"
      mv "$home"/lib/{netty-*,transport-netty4-*}.jar "$module"
      printf '%s\n' name=transport-netty4 "description=HTTP and transport over Netty" \
        classname=org.elasticsearch.transport.netty4.Netty4Plugin "version=$version" "elasticsearch.version=$version" \
        java.version=17 > "$module/plugin-descriptor.properties"
    fi
    touch "$home/.done"
  fi
fi
echo "$home"

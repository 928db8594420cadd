#!/usr/bin/env bash
# Prints the path of influxd. 1 is Debian's package, unpacked into the cache folder and not installed (5 MB); 2 is built there
# from its Go module and its Rust part, once, in minutes. One fetch at a time: several tests may ask at once.
# usage: ./fetch.sh 1|2
set -euo pipefail
VERSION_2=v2.8.0

version=${1:?1 or 2}
cache=$(realpath -m "${CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/picomq-services}")
case $version in
  1) home=$cache/influxdb-1 influxd=$home/usr/bin/influxd ;;
  2) home=$cache/influxdb-$VERSION_2 influxd=$home/influxd ;;
  *) echo "no recipe for InfluxDB $version" >&2; exit 1 ;;
esac
if [ -x "$influxd" ]; then
  echo "$influxd"
  exit 0
fi
mkdir -p "$cache"
exec 9> "$cache/.influxdb.lock"
flock 9
if [ -x "$influxd" ]; then
  echo "$influxd"
  exit 0
fi
new=$(mktemp -d "$home.XXXXXX")
trap 'rm -rf "$new"' EXIT

unpack() {
  # From the package lists of the machine, which may be old or absent.
  download() { apt-get -qq -o APT::Sandbox::User=root download influxdb; }
  (cd "$new" && { download || { apt-get -qq update && download; }; }) >&2
  dpkg-deb -x "$new"/influxdb_*.deb "$new"
  rm "$new"/influxdb_*.deb
  rm -rf "$home"
  mv -T "$new" "$home"
}

# The folder of a Go module, fetched if need be.
module() { go mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p'; }

build() {
  command -v go > /dev/null || { echo "InfluxDB 2 is built with Go: install 1.24 or newer" >&2; exit 1; }
  echo "building InfluxDB $VERSION_2, once; some minutes" >&2
  # Go caches of its own: a shared build cache would remember where an earlier build had libflux.a.
  export GOTOOLCHAIN=local GOWORK=off GOFLAGS=-modcacherw GOMODCACHE=$new/go-mod GOCACHE=$new/go-build
  cd "$new"
  cd "$(module "github.com/influxdata/influxdb/v2@$VERSION_2")"
  # Flux is a Rust library. Its sources lie in its Go module, which is read-only and asks for a Rust of its own.
  cp -r "$(module github.com/influxdata/flux)" "$new/flux"
  chmod -R u+w "$new/flux"
  rm -f "$new/flux/rust-toolchain.toml"
  (
    cd "$new/flux/libflux"
    export CARGO_TARGET_DIR=$new/target CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1
    # It denies warnings, and newer compilers have more of them.
    export RUSTFLAGS=--cap-lints=allow
    cargo rustc --quiet --release --locked --package flux --lib --crate-type staticlib
  )
  cat > "$new/pkg-config" <<P
#!/bin/sh
case "\$1" in
  --cflags) echo "-I$new/flux/libflux/include" ;;
  --libs) echo "$new/target/release/libflux.a -ldl -lm -lpthread" ;;
esac
P
  chmod +x "$new/pkg-config"
  PKG_CONFIG=$new/pkg-config CGO_ENABLED=1 go build -tags sqlite_foreign_keys,sqlite_json \
    -ldflags "-s -w -X main.version=$VERSION_2" -o "$new/influxd" ./cmd/influxd
  mkdir -p "$home"
  mv "$new/influxd" "$influxd"
}

case $version in
  1) unpack ;;
  2) build >&2 ;;
esac
echo "$influxd"

#!/usr/bin/env bash
# Prints the path of a Python interpreter that has what python.txt names; creates its virtual environment in the cache
# folder if it is missing. Several callers at once are fine: one builds, the others wait.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

cache="${CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/picomq-services}"
# One environment a list, so that two versions of the list do not fight over one.
list=$(sha256sum "$here/python.txt" | cut -c1-12)
home="$cache/python-$list"
python="$home/bin/python"

mkdir -p "$cache"
exec 9>"$cache/python.lock"
flock 9
if [ ! -e "$home/complete" ]; then
    rm -rf "$home"
    python3 -m venv "$home" >&2
    "$home/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/python.txt" >&2
    touch "$home/complete"
fi
echo "$python"

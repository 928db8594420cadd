#!/usr/bin/env bash
# Installs what packages.txt names and the machine lacks. Asks dpkg first: with everything there it takes
# a fraction of a second and needs neither root nor network. `install.sh building` looks at that group alone.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
group=${1:-}
mapfile -t wanted < <(awk -v group="$group" '
  /^#/ { is_wanted = group == "" || index($0, "# " group ":") == 1; next }
  NF && is_wanted { print $1 }' "$here/packages.txt")
if [ ${#wanted[@]} -eq 0 ]; then
  echo "packages.txt has no group \"$group\"" >&2
  exit 1
fi
missing=()
for package in "${wanted[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi
echo "installing: ${missing[*]}"
sudo=()
[ "$(id -u)" -eq 0 ] || sudo=(sudo)
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"

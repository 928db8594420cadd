#!/usr/bin/env bash
# Plants each fault of this folder in a copy of the tree and runs the tests that its patch names: one of them must fail.
#
#   run.sh [PATTERN]     only patches whose name contains PATTERN
#
# The copy is the tree as it is, with what is not committed yet. Exit 1 when a mutant survives, a patch does not
# apply, a mutant does not compile, or a named test already fails without the mutant.
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(git -C "$here" rev-parse --show-toplevel)
cargo=${CARGO:-cargo}
limit_seconds=${MUTANT_SECONDS:-600}
copy=$(mktemp -d "${TMPDIR:-/tmp}/mutants.XXXXXX")
export CARGO_TARGET_DIR=${MUTANT_TARGET_DIR:-$top/target/mutants}
log=$copy.log
failures=0
declare -A baseline

cleanup() {
    git -C "$top" worktree remove --force "$copy" 2>/dev/null
    rm -rf "$copy" "$log"
}
trap cleanup EXIT

# A worktree of HEAD, brought to the state of the working copy, so that `git apply` and `git checkout` work in it.
make_copy() {
    git -C "$top" worktree add --quiet --detach "$copy" HEAD || exit 1
    git -C "$top" diff --binary HEAD | git -C "$copy" apply --allow-empty --whitespace=nowarn || exit 1
    git -C "$top" ls-files --others --exclude-standard -z | (cd "$top" && xargs -0 -r cp --parents -t "$copy")
    git -C "$copy" add --all
    git -C "$copy" -c user.name=mutants -c user.email=mutants@localhost commit --quiet --no-verify --allow-empty -m "the tree under test"
}

# run_tests ARGUMENTS: 0 passed, 1 failed (or hung), 2 does not compile
run_tests() {
    (cd "$copy" && $cargo test --quiet $1 --no-run) >"$log" 2>&1 || return 2
    (cd "$copy" && timeout "$limit_seconds" $cargo test --quiet $1) >"$log" 2>&1 || return 1
}

report() {
    printf '%-48s %-14s %s\n' "$1" "$2" "$3"
}

# A named test that fails anyway, or that is not there, proves nothing.
is_sound() {
    local tests=$1
    if [ -z "${baseline[$tests]:-}" ]; then
        if run_tests "$tests" && grep -qE '^test result: ok\. [1-9]' "$log"; then
            baseline[$tests]=passes
        else
            baseline[$tests]=fails
        fi
    fi
    [ "${baseline[$tests]}" = passes ]
}

try_mutant() {
    local patch=$1 name tests verdict
    name=$(basename "$patch" .patch)
    tests=$(sed -n 's/^# test: //p' "$patch")
    if ! is_sound "$tests"; then
        verdict="UNSOUND"
    elif ! git -C "$copy" apply --whitespace=nowarn "$patch" 2>"$log"; then
        verdict="DOES NOT APPLY"
    else
        run_tests "$tests"
        case $? in
            0) verdict="SURVIVED" ;;
            1) verdict="killed" ;;
            *) verdict="NO BUILD" ;;
        esac
        git -C "$copy" checkout --quiet -- .
    fi
    report "$name" "$verdict" "$(sed -n 's/^test \(.*\) \.\.\. FAILED$/\1/p; s/^    \([a-z_:0-9]*\)$/\1/p' "$log" | sort -u | head -1)"
    if [ "$verdict" != killed ]; then
        failures=$((failures + 1))
        tail -n 20 "$log" | sed 's/^/    | /'
    fi
}

make_copy
total=0
for patch in "$here"/*"${1:-}"*.patch; do
    try_mutant "$patch"
    total=$((total + 1))
done
echo "$((total - failures)) of $total mutants killed"
[ "$failures" -eq 0 ]

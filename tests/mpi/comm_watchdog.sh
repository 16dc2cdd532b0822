#!/bin/sh
# A rank that is stopped or hangs ends the job within the deadline, with exit code 1 and exactly one error line, which
# names it.
program=./tests/mpi/comm_check
mpirun=${MPIRUN:-mpirun}
command -v "$mpirun" >/dev/null 2>&1 || { echo "no mpirun: nothing to run these on"; exit 77; }
# Open MPI unloads its plugins before the leaks are counted: they cannot be told from ours.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
output=$(mktemp) || exit 1
trap 'rm -f "$output"' EXIT
failed=0

expect() { # expect RANKS SECONDS PATTERN CASE [argument]
  ranks=$1 seconds=$2 pattern=$3
  shift 3
  begin=$(date +%s)
  timeout 60 "$mpirun" -n "$ranks" --oversubscribe "$program" "$@" 2>"$output"
  got=$? took=$(($(date +%s) - begin))
  lines=$(grep -c '^stoker: error: ' "$output")
  if [ "$got" -eq 1 ] && [ "$lines" -eq 1 ] && [ "$took" -le "$seconds" ] && grep -q "^stoker: error: .*$pattern" "$output"; then
    echo "ok: $ranks ranks: $*: $took s: $(grep '^stoker: error: ' "$output")"
  else
    echo "FAILED: $ranks ranks: $*: exit $got, $took s, $lines error lines"
    cat "$output"
    failed=1
  fi
}

# The deadlines are 2 s (silent) and 2 s (stuck) in comm_check; the rest is start-up, on a machine that may be busy.
expect 2 15 'no sign of life from rank 1 (' stop before
expect 4 20 'no sign of life from rank 3 (' stop before
expect 2 15 'no sign of life from rank 1 (' stop amid
expect 3 20 'no sign of life from rank 2 (' stop amid
expect 3 20 'rank 2 (.*) in step 3, reading input did not come' hang
exit $failed

#!/bin/sh
# comm_check (tests/mpi/comm_check.cpp) on 1 to 8 ranks: sums, small collectives, counters, the orderly end.
program=./tests/mpi/comm_check
mpirun=${MPIRUN:-mpirun}
command -v "$mpirun" >/dev/null 2>&1 || { echo "no mpirun: nothing to run these on"; exit 77; }
failed=0

expect() { # expect CODE RANKS CASE [argument]
  code=$1 ranks=$2
  shift 2
  timeout 300 "$mpirun" -n "$ranks" --oversubscribe "$program" "$@"
  got=$?
  if [ "$got" -eq "$code" ]; then echo "ok: $ranks ranks: $*"; else echo "FAILED: $ranks ranks: $*: exit $got, not $code"; failed=1; fi
}

for ranks in 1 2 3 4 5 8; do
  expect 0 "$ranks" sums
  expect 0 "$ranks" small
done
expect 0 3 overlap
expect 75 3 end 75
expect 2 2 end 2
expect 0 1 end 75
expect 3 3 abort 3
exit $failed

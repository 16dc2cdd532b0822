#!/bin/sh
# comm_check (tests/mpi/comm_check.cpp) on 1 to 8 ranks: sums, small collectives, counters, the orderly end.
program=./tests/mpi/comm_check
mpirun=${MPIRUN:-mpirun}
command -v "$mpirun" >/dev/null 2>&1 || { echo "no mpirun: nothing to run these on"; exit 77; }
# Open MPI unloads its plugins before the leaks are counted: they cannot be told from ours.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
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

# A launch that connects nobody: code 2 on every process, and a line from the first alone.
refused() { # refused LINES NAME=VALUE…
  lines=$1
  shift
  text=$(env "$@" timeout 60 "$program" factory 2>&1)
  code=$?
  if [ $code -eq 2 ] && [ "$(printf '%s\n' "$text" | grep -c '^stoker: error: .*mpirun')" -eq "$lines" ]; then
    echo "ok: $*: $text"
  else
    echo "FAILED: $*: exit $code: $text"
    failed=1
  fi
}
refused 1 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=0
refused 0 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=3
refused 1 PMI_RANK=0 PMI_SIZE=4
refused 0 PMI_RANK=2 PMI_SIZE=4
SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_JOB_ID=1 timeout 60 "$program" factory || { echo "FAILED: a lone process in a batch script"; failed=1; }
exit $failed

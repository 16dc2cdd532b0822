#!/usr/bin/env python3
"""Trainings under ThreadSanitizer: prefetch, checkpoint writer, metrics and communication threads have no data race.

One compute thread a rank, since libgomp, oneDNN and Open MPI are not instrumented; tsan.supp has what that makes
necessary. A planted race shows that the rest is seen. $STOKER and $PLANTED_RACE are of the TSan build.
"""

import os
import subprocess
import sys

from stoker_testing import TESTS, Skip, add_case, case, main, stoker

sys.path.insert(0, str(TESTS / "exactness"))
from everything import options  # noqa: E402  (from the folder beside this one)

FOUND = 66  # the exit code that TSAN_OPTIONS asks for when there was a report
SETTINGS = {"TSAN_OPTIONS": f"suppressions={TESTS}/sanitizers/tsan.supp:exitcode={FOUND}:ignore_noninstrumented_modules=1",
            "OMP_NUM_THREADS": "1"}


@case("the planted race is found")
def _(_):
    done = subprocess.run([os.environ["PLANTED_RACE"]], env=dict(os.environ, **SETTINGS), text=True, capture_output=True,
                          check=False, timeout=120)
    if "unexpected memory mapping" in done.stderr:
        raise Skip("ThreadSanitizer does not start: address space randomisation is too wide (vm.mmap_rnd_bits)")
    assert done.returncode == FOUND and "data race" in done.stderr and "planted_race.cpp" in done.stderr, done.stderr


def check_training(ranks, more, folder):
    done = stoker(*options(folder / "run", 2, 12, "--checkpoint-every", "3steps", *more), ranks=ranks, env=SETTINGS,
                  expect=None, timeout=600)
    if "unexpected memory mapping" in done.stderr:
        raise Skip("ThreadSanitizer does not start: address space randomisation is too wide (vm.mmap_rnd_bits)")
    assert done.returncode == 0 and "ThreadSanitizer" not in done.stderr, done.stderr[-6000:]


for count, extra in ((0, ()), (0, ("--input-threads", 3)), (2, ())):
    add_case(f"training {'alone' if not count else f'on {count} ranks'} {' '.join(map(str, extra))}".strip(),
             lambda folder, n=count, e=extra: check_training(n, e, folder))

if __name__ == "__main__":
    main()

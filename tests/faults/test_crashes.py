#!/usr/bin/env python3
"""Crashes at random moments: the run ends soon, with a verdict, and resumed it comes to the same bits.

Kinds: SIGKILL of a rank, of mpirun; SIGTERM to mpirun (which leaves the ranks two seconds and always returns 1);
SIGSTOP of a rank (seen by the others' watchdog, --timeout). STOKER_FAULTS crashes of each kind [20; 3 with
CI=true]; STOKER_SEED repeats a run.
"""

import contextlib
import os
import random
import signal
import sys
import time

from stoker_testing import EXIT_DONE, TESTS, Launched, add_case, is_running, main

sys.path.insert(0, str(TESTS / "exactness"))
from everything import check_same, options, wait_for_steps  # noqa: E402  (from the folder beside this one)

STEPS, VIRTUAL_RANKS, CRASHES_OF_A_RUN = 200, 4, 3
CRASHES = int(os.environ.get("STOKER_FAULTS", 3 if os.environ.get("CI") == "true" else 20))
SEED = int(os.environ.get("STOKER_SEED", random.randrange(1 << 30)))
DEADLINE, STALL_TIMEOUT = 10, 5


def wait_for_a_moment(run, directory, chance):
    """A moment of the start or, more often, one between two steps or in one."""
    if chance.random() < 0.25:
        time.sleep(chance.uniform(0, 0.6))
        return
    wait_for_steps(run, directory, chance.randrange(STEPS // CRASHES_OF_A_RUN))
    time.sleep(chance.uniform(0, 0.005))


def disturb(run, kind, chance):
    """Does the harm; returns the processes that must be gone when the run has ended."""
    pids = run.rank_pids()
    if kind == "SIGKILL of mpirun":
        run.process.kill()
    elif kind == "SIGTERM to mpirun":
        run.process.terminate()
    elif pids:
        os.kill(chance.choice(pids), signal.SIGKILL if kind == "SIGKILL of a rank" else signal.SIGSTOP)
    return pids


def check_end(run, kind, pids):
    """Within the deadline: mpirun and every rank are gone, and the code says that it was no success."""
    start = time.monotonic()
    limit = DEADLINE + (STALL_TIMEOUT if kind == "SIGSTOP of a rank" else 0)
    code = run.wait(timeout=limit)
    while any(map(is_running, pids)):
        assert time.monotonic() - start < limit, f"ranks are left {limit} s after {kind}"
        time.sleep(0.05)
    assert code != EXIT_DONE or "done" in run.text(), f"exit 0 after {kind}: {run.text()[-2000:]}"
    if kind == "SIGSTOP of a rank" and code != EXIT_DONE:
        assert "stoker: error: " in run.text(), f"no verdict after {kind}: {run.text()[-2000:]}"
    return code


def check_crash(kind, number, folder):
    chance = random.Random(f"{SEED} {kind} {number}")
    directory = folder / "run"
    crashes = 0
    for attempt in range(CRASHES_OF_A_RUN + 1):
        train = options(directory, VIRTUAL_RANKS, STEPS, "--checkpoint-every", "17steps", "--timeout",
                        STALL_TIMEOUT)
        run = Launched(train, chance.choice([2, 3, 4]), folder)
        pids = []
        if attempt < CRASHES_OF_A_RUN:
            wait_for_a_moment(run, directory, chance)
            if run.process.poll() is None:
                pids = disturb(run, kind, chance)
                crashes += 1
        try:
            code = check_end(run, kind, pids) if pids else run.wait(300)
        finally:
            for pid in pids:  # a stopped rank of a failed test must not stay
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        if code == EXIT_DONE and run.process.poll() is not None and not pids:
            break
    assert crashes >= 1, "the run was over before any crash"
    check_same(directory, VIRTUAL_RANKS, STEPS)


for crash in ("SIGKILL of a rank", "SIGKILL of mpirun", "SIGTERM to mpirun", "SIGSTOP of a rank"):
    for index in range(CRASHES):
        add_case(f"{crash} {index + 1} (STOKER_SEED={SEED})",
                 lambda folder, k=crash, i=index: check_crash(k, i, folder))

if __name__ == "__main__":
    main()

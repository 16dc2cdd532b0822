#!/usr/bin/env python3
"""Stopped in good order at random moments and resumed each time on another number of ranks: the same bits.

SIGTERM to every rank and SIGUSR1 to mpirun both end the run with 75 and a checkpoint; a signal that comes before the
trainer has started its work may end it otherwise, and one that comes late finds it done. STOKER_SEED repeats a run.
"""

import os
import random
import signal

from everything import check_same, options, wait_for_steps
from stoker_testing import EXIT_DONE, EXIT_STOPPED, Launched, add_case, main

STEPS, VIRTUAL_RANKS, STOPS = 300, 8, 4
SEED = int(os.environ.get("STOKER_SEED", random.randrange(1 << 30)))


def stop(run, how):
    if how == "SIGUSR1 to mpirun":
        run.process.send_signal(signal.SIGUSR1)
        return
    for pid in run.rank_pids():
        os.kill(pid, signal.SIGTERM)


def check_stops(how, folder):
    chance = random.Random(f"{SEED} {how}")
    print(f"# STOKER_SEED={SEED}")
    directory, stopped = folder / "run", 0
    for attempt in range(60):
        run = Launched(options(directory, VIRTUAL_RANKS, STEPS), chance.choice([1, 2, 3, 4, 8]), folder)
        if stopped < STOPS:
            wait_for_steps(run, directory, chance.randrange(STEPS // (2 * STOPS)))
            if run.process.poll() is None:
                stop(run, how)
        code = run.wait()
        assert code in (EXIT_DONE, EXIT_STOPPED), f"attempt {attempt} ended with {code}: {run.text()[-3000:]}"
        if code == EXIT_DONE:
            break
        stopped += 1
    assert stopped >= 1, "the run was over before any signal"
    check_same(directory, VIRTUAL_RANKS, STEPS)


for kind in ("SIGTERM to the ranks", "SIGUSR1 to mpirun"):
    add_case(f"{kind}, resumed on another number of ranks", lambda folder, how=kind: check_stops(how, folder))

if __name__ == "__main__":
    main()

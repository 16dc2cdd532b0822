#!/usr/bin/env python3
"""A disk that is full during a checkpoint: one line says so, the older checkpoints stay good, and with room again the
run goes on to the same bits. Needs to mount a small tmpfs (root, and a container that allows it).
"""

import contextlib
import os
import subprocess
import sys

from stoker_testing import TESTS, Skip, add_case, checkpoint_path, checkpoints, error_lines, main, stoker

sys.path.insert(0, str(TESTS / "exactness"))
from everything import check_same, options  # noqa: E402  (from the folder beside this one)

VIRTUAL_RANKS, STEPS = 2, 60


@contextlib.contextmanager
def small_disk(folder, kilobytes):
    """A tmpfs of a size; yields a function that sets another size."""
    folder.mkdir()
    if os.geteuid() != 0:
        raise Skip("mounting a tmpfs needs root")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)],
                             capture_output=True, check=False)
    if mounted.returncode != 0:
        raise Skip("mounting a tmpfs is not allowed here")
    try:
        yield lambda size: subprocess.run(["mount", "-o", f"remount,size={size}k", str(folder)], check=True)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def check_full(checkpoints_that_fit, folder):
    """The disk has room for so many checkpoints, and not quite for the next."""
    first = folder / "measure"
    stoker(*options(first, VIRTUAL_RANKS, 5, "--checkpoint-every", "5steps"), ranks=2)
    one = sum(path.stat().st_size + 4096 for path in checkpoint_path(first, 5).iterdir()) / 1024
    rest = sum(path.stat().st_size + 4096 for path in first.rglob("*")
               if path.is_file() and "checkpoints" not in path.parts) / 1024
    with small_disk(folder / "disk", int(one * (checkpoints_that_fit + 0.6) + rest + 64)) as resize:
        run = folder / "disk" / "run"
        train = options(run, VIRTUAL_RANKS, STEPS, "--checkpoint-every", "5steps", "--keep", 100)
        done = stoker(*train, ranks=2, expect=None)
        assert done.returncode in (1, 2), f"exit {done.returncode} on a full disk: {done.stderr[-2000:]}"
        lines = error_lines(done.stderr)
        assert len(lines) == 1 and "checkpoint" in lines[0], done.stderr[-2000:]
        assert "No space left on device" in done.stderr, done.stderr[-2000:]
        left = checkpoints(run)
        assert len(left) >= checkpoints_that_fit - 1, left
        for step in left[:checkpoints_that_fit - 1]:
            stoker("checkpoint", "verify", checkpoint_path(run, step))
        resize(64 * 1024)
        stoker(*train, ranks=1)
        check_same(run, VIRTUAL_RANKS, STEPS)


for fitting in (2, 3, 4):
    add_case(f"room for {fitting} checkpoints", lambda folder, n=fitting: check_full(n, folder))

if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Damaged checkpoints are refused by name and the newest good one is taken, saying so; the result is the same bits."""

import shutil
import sys

from stoker_testing import TESTS, add_case, case, checkpoint_path, checkpoints, error_lines, main, stoker

sys.path.insert(0, str(TESTS / "exactness"))
from everything import check_same, options  # noqa: E402  (from the folder beside this one)

VIRTUAL_RANKS, STEPS = 4, 60


def started(folder):
    """A run of two ranks with checkpoints at 10, 20, 30."""
    run = folder / "run"
    stoker(*options(run, VIRTUAL_RANKS, 30, "--checkpoint-every", "10steps", "--keep", 5), ranks=2)
    assert checkpoints(run)[-3:] == [10, 20, 30], checkpoints(run)
    return run


def shards(checkpoint):
    return sorted(path for path in checkpoint.iterdir() if path.name != "manifest.h5")


def flip(path):
    """Inverts a byte in the middle of a file, where the arrays are."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


HARM = {
    "a flipped byte in a shard": lambda checkpoint: flip(shards(checkpoint)[-1]),
    "a missing shard": lambda checkpoint: shards(checkpoint)[-1].unlink(),
    "a truncated shard": lambda checkpoint: shards(checkpoint)[0].write_bytes(shards(checkpoint)[0].read_bytes()[:-999]),
    "an empty shard": lambda checkpoint: shards(checkpoint)[0].write_bytes(b""),
    "a flipped byte in the manifest": lambda checkpoint: flip(checkpoint / "manifest.h5"),
    "a truncated manifest": lambda checkpoint: (checkpoint / "manifest.h5").write_bytes(
        (checkpoint / "manifest.h5").read_bytes()[:200]),
}


def check_harm(harm, folder):
    run = started(folder)
    HARM[harm](checkpoint_path(run, 30))
    verified = stoker("checkpoint", "verify", run, expect=None)
    assert verified.returncode != 0 and "00000030" in verified.stdout + verified.stderr, verified
    done = stoker(*options(run, VIRTUAL_RANKS, STEPS, "--checkpoint-every", "10steps", "--keep", 5), ranks=3)
    assert "00000030" in done.stderr and "00000020" in done.stderr, f"not said: {done.stderr[-2000:]}"
    check_same(run, VIRTUAL_RANKS, STEPS)


for damage in HARM:
    add_case(f"{damage}: the one before is taken", lambda folder, h=damage: check_harm(h, folder))


@case("`latest` names a checkpoint that is gone, or is garbage: the newest is found by number")
def _(folder):
    run = started(folder)
    latest = run / "checkpoints" / "latest"
    latest.unlink()
    latest.write_text("step-99999999\n")
    stoker(*options(run, VIRTUAL_RANKS, STEPS), ranks=2)
    check_same(run, VIRTUAL_RANKS, STEPS)


@case("a checkpoint without a manifest is not one")
def _(folder):
    run = started(folder)
    (checkpoint_path(run, 30) / "manifest.h5").unlink()
    stoker(*options(run, VIRTUAL_RANKS, STEPS), ranks=2)
    check_same(run, VIRTUAL_RANKS, STEPS)


@case("a stranger's files in checkpoints/ stay, and a step directory that is there already is no obstacle")
def _(folder):
    run = started(folder)
    (run / "checkpoints" / "notes.txt").write_text("mine")
    (run / "checkpoints" / "step-00000044").mkdir()
    (run / "checkpoints" / "step-00000044" / "half.h5").write_text("left by a crash")
    shutil.copytree(checkpoint_path(run, 10), run / "checkpoints" / "mine-00000010")
    stoker(*options(run, VIRTUAL_RANKS, STEPS, "--checkpoint-every", "2steps"), ranks=2)
    check_same(run, VIRTUAL_RANKS, STEPS)
    assert (run / "checkpoints" / "notes.txt").read_text() == "mine"
    assert (run / "checkpoints" / "mine-00000010").is_dir()


@case("no good checkpoint is left: an error, never a silent fresh start")
def _(folder):
    run = started(folder)
    for step in checkpoints(run):
        flip(shards(checkpoint_path(run, step))[0])
    done = stoker(*options(run, VIRTUAL_RANKS, STEPS), ranks=2, expect=None)
    assert done.returncode in (1, 2) and len(error_lines(done.stderr)) == 1, done.stderr[-2000:]


if __name__ == "__main__":
    main()

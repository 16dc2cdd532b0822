"""The run that exactness and fault tests repeat: dropout, batch normalisation, L2, augmentation, a ragged last batch
smaller than the virtual ranks, every step logged.
"""

import functools
import time

from sklearn.datasets import load_digits

from stoker_testing import TESTS, metrics_without_time, save_npz, session_folder, stoker, weights_hash

FIXTURES = TESTS / "golden" / "fixtures"
SAMPLES, BATCH = 197, 64  # batches of 64, 64, 64, 5


@functools.cache
def data():
    """The DATA argument of an .npz of SAMPLES digits, made once."""
    folder = session_folder()
    bunch = load_digits()
    return save_npz(folder / "digits.npz", bunch.images[:SAMPLES, ..., None].astype("float32"),
                    bunch.target[:SAMPLES].astype("int32"))


def options(run_directory, virtual_ranks, steps, *more):
    """The arguments of `stoker train` for `steps` steps."""
    return ["train", "--model", FIXTURES / "everything.json", "--train", data(), "--validation", data(),
            "--augment", "flip,crop=1", "--loss", "sparse_categorical_crossentropy", "--metrics", "accuracy",
            "--optimizer", "adam", "--learning-rate", 0.002, "--batch-size", BATCH, "--seed", 5,
            "--virtual-ranks", virtual_ranks, "--threads", 1, "--log-every", 1, "--epochs", steps, "--steps", steps,
            "--output", run_directory, *more]


@functools.cache
def reference(virtual_ranks, steps):
    """(hash, metrics.jsonl without times) of the run that nothing disturbed, on one rank."""
    folder = session_folder()
    stoker(*options(folder / "run", virtual_ranks, steps))
    return weights_hash(folder / "run"), metrics_without_time(folder / "run")


def check_same(run_directory, virtual_ranks, steps):
    """A finished run has the reference's weights, and its metrics.jsonl to the last digit."""
    wanted_hash, wanted_metrics = reference(virtual_ranks, steps)
    found = metrics_without_time(run_directory)
    for wanted, line in zip(wanted_metrics.splitlines(), found.splitlines()):
        assert line == wanted, f"metrics.jsonl differs:\n  {line}\nis without interruption\n  {wanted}"
    assert found == wanted_metrics, \
        f"metrics.jsonl has {len(found.splitlines())} lines, not {len(wanted_metrics.splitlines())}"
    assert weights_hash(run_directory) == wanted_hash, "the losses are the same, the weights are not"


def lines_of(directory):
    """Steps that have been logged, hence done: the moment of a stop is chosen by them, whatever the machine's speed."""
    try:
        return (directory / "metrics.jsonl").read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def wait_for_steps(run, directory, steps):
    """Until the run has begun its work and logged so many more lines than it found."""
    while run.process.poll() is None and "step" not in run.text():
        time.sleep(0.002)
    wanted = lines_of(directory) + steps
    while run.process.poll() is None and lines_of(directory) < wanted:
        time.sleep(0.002)

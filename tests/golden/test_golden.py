#!/usr/bin/env python3
"""Whole trainings against Keras: after every step the loss within 1e-5 relative and every weight within 1e-4.

Keras runs here, now (make_golden.py); its losses are also compared with those committed in fixtures/losses.json, so
that a Keras that computes something else is seen. A weight's difference is taken relative to the largest magnitude
of its array, or absolutely where that is below 1.
"""

import json
import os
import shutil
import subprocess
import sys

import h5py
import numpy

from golden_models import BATCH, CASES, FILE_KINDS, STEPS, one_hot_targets
from stoker_testing import TESTS, add_case, checkpoint_path, main, metrics, session_folder, stoker

GOLDEN = TESTS / "golden"
FIXTURES = GOLDEN / "fixtures"
LOSS_TOLERANCE, WEIGHT_TOLERANCE = 1e-5, 1e-4
expected_folder = None


def expected(case):
    """What Keras computed for a case: all cases are computed at the first call."""
    global expected_folder
    if expected_folder is None:
        expected_folder = session_folder()
        subprocess.run([sys.executable, str(GOLDEN / "make_golden.py"), "expect", str(expected_folder), *sys.argv[1:]],
                       check=True, stdout=subprocess.DEVNULL, env=dict(os.environ, PYTHONWARNINGS="ignore"))
    return numpy.load(expected_folder / case.file_name)


def training_options(case, run_directory):
    size = 16 if case.model == "lenet5" else 8
    target = "one_hot" if one_hot_targets(case) else "y"
    kind = FILE_KINDS[case.model]
    options = ["--model", FIXTURES / f"{case.model}.{kind}",
               "--train", f"npz:{FIXTURES}/digits{size}.npz?x=x&y={target}",
               "--loss", case.loss, "--optimizer", case.optimizer, "--learning-rate", repr(case.learning_rate),
               "--batch-size", BATCH, "--shuffle", "off", "--threads", 1, "--log-every", 1,
               "--virtual-ranks", case.virtual_ranks, "--epochs", STEPS, "--steps", STEPS,
               "--checkpoint-every", "1steps", "--keep", STEPS + 1, "--output", run_directory]
    if kind == "json":
        options += ["--weights", FIXTURES / f"{case.model}.weights.h5"]
    if case.schedule:
        options += ["--schedule", case.schedule]
    if case.clip_norm:
        options += ["--clip-norm", case.clip_norm]
    return options


def read_weights(path):
    """{"layer/variable": array} of a legacy .h5."""
    found = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset):
            parts = [part.removesuffix(":0") for part in name.split("/")]
            found["/".join(parts[-2:])] = item[()]

    with h5py.File(path) as file:
        file["model_weights"].visititems(visit)
    return found


def find(found, name):
    """The weight "layer/variable" among those that stoker wrote: layers of nested models have the names of the models
    before their own, and Keras 2 calls a depthwise kernel otherwise.
    """
    for spelling in (name, name.replace("/kernel", "/depthwise_kernel")):
        matches = [key for key in found if key == spelling or key.endswith("_" + spelling)]
        if len(matches) == 1:
            return found[matches[0]]
    raise AssertionError(f"no weight {name}; there are {sorted(found)}")


def compare_step(step, wanted, found):
    for name in wanted.files:
        if name in ("losses", "learning_rates"):
            continue
        mine, theirs = find(found, name), wanted[name][step - 1]
        assert mine.shape == theirs.shape, f"{name} has shape {mine.shape}, in Keras {theirs.shape}"
        worst = numpy.abs(mine - theirs).max() / max(1.0, numpy.abs(theirs).max())
        assert worst <= WEIGHT_TOLERANCE, f"{name} is off by {worst:.2e} after step {step}"


def check_case(case, folder):
    wanted = expected(case)
    run_directory = folder / "run"
    stoker("train", *training_options(case, run_directory), ranks=2 if case.virtual_ranks > 1 else 0)
    lines = metrics(run_directory)
    assert [line["step"] for line in lines] == list(range(1, STEPS + 1))
    for line, loss, rate in zip(lines, wanted["losses"], wanted["learning_rates"]):
        assert abs(line["loss"] - loss) <= LOSS_TOLERANCE * abs(loss), \
            f"step {line['step']}: loss {line['loss']:.9g}, in Keras {loss:.9g}"
        assert abs(line["learning_rate"] - rate) <= 1e-6 * rate + 1e-12, \
            f"step {line['step']}: learning rate {line['learning_rate']}, in Keras {rate}"
    for step in range(1, STEPS + 1):
        exported = folder / f"step{step}.h5"
        stoker("checkpoint", "export", checkpoint_path(run_directory, step), "-o", exported)
        compare_step(step, wanted, read_weights(exported))


def check_fixture(case, _):
    committed = json.loads((FIXTURES / "losses.json").read_text())[case.label]
    numpy.testing.assert_allclose(expected(case)["losses"], committed, rtol=LOSS_TOLERANCE)


for one in CASES:
    add_case(one.label, lambda folder, case=one: check_case(case, folder))
    add_case(f"{one.label}: Keras gives what is committed", lambda folder, case=one: check_fixture(case, folder))

if __name__ == "__main__":
    try:
        main()
    finally:
        if expected_folder:
            shutil.rmtree(expected_folder, ignore_errors=True)

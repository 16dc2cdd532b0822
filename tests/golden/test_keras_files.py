#!/usr/bin/env python3
"""Every kind of model file that Keras 3 and Keras 2 save is read with every array in its place.

Each Keras saves the models of keras_files.py; convert_model loads every file and writes the .h5 for both Keras
versions. All kinds of file of a model must give the same digest of weights, also when that .h5 is read again, and
both Keras versions must predict from it what the model predicted before it was first saved.
"""

import functools
import subprocess
import tempfile
from pathlib import Path

import numpy

from keras_files import NO_H5, names_of
from stoker_testing import STOKER, add_case, main, run_python

KERAS = {"keras3": "Keras 3", "keras2": "Keras 2"}
KINDS = ("keras", "h5", "weights.h5", "legacy.h5")
TOLERANCE = 1e-5
PROGRAM = Path(__file__).resolve().parent / "keras_files.py"
# Beside the program under test in its build tree.
CONVERT = Path(STOKER).resolve().parent.parent / "tests" / "unit" / "keras" / "convert_model"
FOLDER = tempfile.TemporaryDirectory(prefix="stoker-keras-files-")


def convert(*arguments):
    """convert_model's two digests: as loaded, as read back."""
    done = subprocess.run([CONVERT, *map(str, arguments)], text=True, capture_output=True, check=False)
    assert done.returncode == 0, f"{arguments[0]}: {done.stderr}"
    return done.stdout.split()


def run_keras_files(action, keras_name, folder):
    run_python(f"import runpy, sys; sys.argv[0] = {str(PROGRAM)!r}; "
               f"runpy.run_path(sys.argv[0], run_name='__main__')", action, keras_name, folder)


@functools.cache
def prepared(saver):
    """The folder with what `saver` saved, converted, and both versions' predictions; errors by file instead."""
    folder = Path(FOLDER.name) / saver
    folder.mkdir()
    run_keras_files("save", saver, folder)
    digests = {}
    for name in names_of(saver):
        for kind in KINDS:
            path = folder / f"{name}.{kind}"
            if not path.exists():
                continue
            output = folder / (f"{name}.out.h5" if kind == "keras" else f"{name}.{kind}.again")
            source = [folder / f"{name}.json", output, path] if "." in kind else [path, output]
            try:
                digests[name, kind] = convert(*source)
            except AssertionError as error:
                digests[name, kind] = error
    for opener in KERAS:
        run_keras_files("predict", opener, folder)
    return folder, digests


def check(saver, name, _):
    folder, digests = prepared(saver)
    kinds = {kind: digest for (model, kind), digest in digests.items() if model == name}
    expected = 2 if name in NO_H5 else len(KINDS) if saver == "keras2" else len(KINDS) - 1
    assert len(kinds) == expected, f"files of {name}: {sorted(kinds)}"
    for kind, digest in kinds.items():
        if isinstance(digest, AssertionError):
            raise digest
        assert digest == [kinds["keras"][0]] * 2, f"{name}.{kind} gives {digest}, {name}.keras {kinds['keras'][0]}"
    for opener in KERAS:
        numpy.testing.assert_allclose(numpy.load(folder / f"{name}.out.h5.{opener}.npy"),
                                      numpy.load(folder / f"{name}.y.npy"), atol=TOLERANCE,
                                      err_msg=f"{name}.out.h5 opened by {KERAS[opener]}")


for saver_name, saver_text in KERAS.items():
    for model_name in names_of(saver_name):
        add_case(f"{model_name} saved by {saver_text}: all files give the same weights and predictions",
                 functools.partial(check, saver_name, model_name))

if __name__ == "__main__":
    main()

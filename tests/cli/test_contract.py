#!/usr/bin/env python3
"""What people and scripts rely on: commands, the files of a run, their fields, exit codes."""

import functools
import json
import re
import shutil
import subprocess
import time

import h5py
import numpy

from stoker_testing import (TESTS, Skip, case, check_user_error, checkpoint_path, checkpoints, environment, main, metrics,
                            metrics_without_time, run_python, save_npz, session_folder, stoker,
                            weights_hash)

FIXTURES = TESTS / "golden" / "fixtures"
MLP = FIXTURES / "mlp.h5"
LOSS = "sparse_categorical_crossentropy"
SAMPLES, BATCH, EPOCHS = 100, 16, 3  # 7 steps an epoch, the last of 4 samples


@functools.cache
def data():
    from sklearn.datasets import load_digits
    bunch = load_digits()
    folder = session_folder()
    return save_npz(folder / "digits.npz", (bunch.images[:SAMPLES, ..., None] / 16).astype("float32"),
                    bunch.target[:SAMPLES].astype("int32"))


def train(output, *more, epochs=EPOCHS, log_every=3):
    return ["train", "--model", MLP, "--train", data(), "--validation", data(), "--loss", LOSS, "--metrics", "accuracy",
            "--optimizer", "adam", "--batch-size", BATCH, "--epochs", epochs, "--log-every", log_every, "--threads", 1,
            "--output", output, *more]


@functools.cache
def finished():
    """The directory of a finished run on two ranks, and what its terminal showed."""
    folder = session_folder()
    done = stoker(*train(folder / "run"), ranks=2)
    return folder / "run", done


@case("version and help")
def _(_):
    assert re.search(r"\d+\.\d+\.\d+", stoker("--version").stdout)
    overview = stoker("help").stdout
    for command in ("train", "evaluate", "predict", "inspect", "checkpoint", "model"):
        assert command in overview, f"`stoker help` does not name {command}"
        text = stoker(command, "--help").stdout
        assert text == stoker("help", command).stdout and command in text


@case("a run's directory has its files")
def _(_):
    run, _ = finished()
    for name in ("model.h5", "metrics.jsonl", "run.json", "report.txt", "report.json", "log.txt", "checkpoints/latest"):
        assert (run / name).stat().st_size > 0, name
    assert (run / "checkpoints" / "latest").resolve().name == checkpoint_path(run, EPOCHS * 7).name or \
        checkpoint_path(run, EPOCHS * 7).name in (run / "checkpoints" / "latest").read_text()
    assert checkpoints(run) == [7, 14, 21]
    strays = [path.name for path in (run / "checkpoints").iterdir() if not re.fullmatch(r"step-\d{8}|latest", path.name)]
    assert not strays, f"left in checkpoints/: {strays}"


@case("metrics.jsonl: a line every --log-every steps and at the end of an epoch's validation")
def _(_):
    run, _ = finished()
    lines = metrics(run)
    assert [line["step"] for line in lines][:3] == [3, 6, 9]
    for line in lines:
        assert set(line) >= {"phase", "epoch", "step", "loss", "accuracy", "learning_rate", "samples_per_second", "time"}
        assert line["epoch"] == (line["step"] - 1) // 7 and line["learning_rate"] == 0.001
    validation = metrics(run, "validation")
    assert [(line["epoch"], line["step"]) for line in validation] == [(0, 7), (1, 14), (2, 21)]
    assert all({"loss", "accuracy"} <= set(line) for line in validation)


@case("metrics.jsonl: a line is the weighted mean over all steps since the last")
def _(folder):
    stoker(*train(folder / "each", "--virtual-ranks", 2, log_every=1))
    each = {line["step"]: line for line in metrics(folder / "each")}
    run, _ = finished()
    last = 0
    for line in metrics(run):
        steps = range(last + 1, line["step"] + 1)
        weights = [4 if step % 7 == 0 else 16 for step in steps]
        mean = sum(each[step]["loss"] * weight for step, weight in zip(steps, weights)) / sum(weights)
        assert abs(mean - line["loss"]) < 1e-6 * abs(mean), (line, mean)
        last = line["step"]


@case("the validation loss and accuracy are Keras' evaluate")
def _(_):
    run, _ = finished()
    path = re.match(r"npz:([^?]*)", data()).group(1)
    keras = json.loads(run_python(
        "import sys, json, numpy, keras\n"
        "model = keras.models.load_model(sys.argv[1], compile=False)\n"
        "model.compile(loss='sparse_categorical_crossentropy', metrics=['accuracy'])\n"
        "d = numpy.load(sys.argv[2])\n"
        "print(json.dumps(model.evaluate(d['x'], d['y'], batch_size=16, verbose=0)))", run / "model.h5", path))
    shown = json.loads(stoker("evaluate", "--model", run / "model.h5", "--data", data(), "--loss", LOSS, "--metrics",
                              "accuracy", "--json").stdout)
    last = metrics(run, "validation")[-1]
    for found in (shown, last):
        assert abs(found["loss"] - keras[0]) < 1e-5 * keras[0], (found, keras)
        assert abs(found["accuracy"] - keras[1]) < 1e-6, (found, keras)


@case("evaluate gives the same on two ranks")
def _(_):
    run, _ = finished()
    arguments = ["evaluate", "--model", run / "model.h5", "--data", data(), "--loss", LOSS, "--json"]
    alone, together = (json.loads(stoker(*arguments, ranks=ranks).stdout) for ranks in (0, 2))
    assert abs(alone["loss"] - together["loss"]) < 1e-6 * alone["loss"]


@case("inspect --json of a model")
def _(_):
    shown = json.loads(stoker("inspect", MLP, "--json").stdout)
    assert shown["parameters"] == shown["trainable_parameters"] == 64 * 16 + 16 + 16 * 10 + 10
    assert set(shown) >= {"inputs", "outputs", "layers"}
    names = [layer["name"] for layer in shown["layers"]]
    assert names[-2:] == ["hidden", "probabilities"], names
    assert sum(layer["parameters"] for layer in shown["layers"]) == shown["parameters"]
    assert all({"name", "class", "output_shape", "parameters"} <= set(layer) for layer in shown["layers"])


@case("inspect works on all that stoker reads and writes")
def _(_):
    run, _ = finished()
    for path in (MLP, FIXTURES / "residual.keras", FIXTURES / "everything.json", FIXTURES / "everything.weights.h5",
                 run, checkpoint_path(run, 14), run / "model.h5", FIXTURES / "digits8.npz"):
        assert stoker("inspect", path).stdout.strip(), path
        json.loads(stoker("inspect", path, "--json").stdout)


@case("inspect --hash: the run, its newest checkpoint and model.h5 are one; another step is another")
def _(folder):
    run, _ = finished()
    digest = weights_hash(run)
    assert digest == weights_hash(checkpoint_path(run, 21)) == weights_hash(run / "model.h5")
    assert digest != weights_hash(checkpoint_path(run, 14))
    exported = folder / "step14.h5"
    stoker("checkpoint", "export", checkpoint_path(run, 14), "-o", exported)
    assert weights_hash(exported) == weights_hash(checkpoint_path(run, 14))


@case("predict writes .h5, .npy and .csv alike, in order")
def _(folder):
    run, _ = finished()
    for kind in ("h5", "npy", "csv"):
        stoker("predict", "--model", run / "model.h5", "--data", data(), "--output", folder / f"out.{kind}")
    with h5py.File(folder / "out.h5") as file:
        rows = file["predictions"][()]
    assert rows.shape == (SAMPLES, 10) and numpy.allclose(rows.sum(axis=1), 1, atol=1e-5)
    numpy.testing.assert_array_equal(rows, numpy.load(folder / "out.npy"))
    text = (folder / "out.csv").read_text().splitlines()
    table = numpy.array([[float(cell) for cell in line.split(",")] for line in text[-SAMPLES:]], dtype="float32")
    numpy.testing.assert_array_equal(rows, table)
    stoker("predict", "--model", run, "--data", data(), "--batch-size", 7, "--output", folder / "by7.npy")
    numpy.testing.assert_allclose(rows, numpy.load(folder / "by7.npy"), atol=1e-6)


@case("checkpoint list and verify")
def _(_):
    run, _ = finished()
    text = stoker("checkpoint", "list", run).stdout
    assert all(str(step) in text for step in (7, 14, 21)), text
    stoker("checkpoint", "verify", run)
    stoker("checkpoint", "verify", checkpoint_path(run, 14))


@case("run.json says what ran")
def _(_):
    run, _ = finished()
    record = json.loads((run / "run.json").read_text())
    assert {"command", "options", "seeds", "digests", "versions", "environment", "attempts"} <= set(record), sorted(record)
    assert len(record["attempts"]) == 1 and {"start", "end", "outcome"} <= set(record["attempts"][0])
    assert "sparse_categorical_accuracy" in json.dumps(record), "what `accuracy` was resolved to is not said"


@case("the report's parts sum to the wall time within 1 %")
def _(_):
    run, _ = finished()
    report = json.loads((run / "report.json").read_text())
    total = sum(report["breakdown"].values())
    assert abs(total - report["wall_seconds"]) <= 0.01 * report["wall_seconds"], report


@case("TensorBoard reads the event files")
def _(_):
    run, _ = finished()
    check_events(run)


def check_events(run, phases=("train", "validation")):
    """The event files have the lines of metrics.jsonl, each once."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    tags_of = {"train": {"loss", "accuracy", "learning_rate", "samples_per_second"}, "validation": {"loss", "accuracy"}}
    for phase in phases:
        events = EventAccumulator(str(run / "tensorboard" / phase))
        events.Reload()
        found = {tag.rpartition("/")[2] for tag in events.Tags()["scalars"]}
        assert {tag.removeprefix("epoch_") for tag in found} >= tags_of[phase], found
        loss = next(tag for tag in events.Tags()["scalars"] if tag.endswith("loss"))
        wanted = [(line["step"], line["loss"]) for line in metrics(run, phase)]
        shown = [(event.step, event.value) for event in events.Scalars(loss)]
        assert [step for step, _ in shown] == [step for step, _ in wanted]
        numpy.testing.assert_allclose([value for _, value in shown], [value for _, value in wanted], rtol=1e-6)


@case("results on stdout, progress on stderr, plain lines where no terminal is")
def _(_):
    run, done = finished()
    for text in (done.stdout, done.stderr, (run / "log.txt").read_text()):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text), "control characters"
    assert "loss" in done.stderr


@case("a finished run says so; more epochs continue it; totals are totals")
def _(folder):
    stoker(*train(folder / "run", epochs=1))
    digest, before = weights_hash(folder / "run"), (folder / "run" / "metrics.jsonl").read_text()
    again = stoker(*train(folder / "run", epochs=1))
    assert re.search("finished|done|complete", again.stdout + again.stderr), again.stderr
    assert weights_hash(folder / "run") == digest and (folder / "run" / "metrics.jsonl").read_text() == before
    stoker(*train(folder / "run", epochs=EPOCHS))
    stoker(*train(folder / "straight"))
    assert weights_hash(folder / "run") == weights_hash(folder / "straight")
    assert metrics_without_time(folder / "run") == metrics_without_time(folder / "straight")
    check_events(folder / "run")


def without_validation(arguments):
    at = arguments.index("--validation")
    return arguments[:at] + arguments[at + 2:]


@case("stopped after every single step, the last too: nothing is missing in the end")
def _(folder):
    for name, change in (("with", list), ("without", without_validation)):
        straight, run = folder / f"{name}-straight", folder / f"{name}-stopped"
        stoker(*change(train(straight, epochs=1)))
        for _ in range(20):
            done = stoker(*change(train(run, epochs=1)), env={"STOKER_DEADLINE": int(time.time())}, expect=None)
            if done.returncode == 0:
                break
            assert done.returncode == 75, done.stderr
        assert metrics_without_time(run) == metrics_without_time(straight), name
        assert weights_hash(run) == weights_hash(straight) == weights_hash(run / "model.h5"), name
        check_events(run, ("train", "validation") if name == "with" else ("train",))


@case("killed between the last checkpoint and the last line: the next run writes it")
def _(folder):
    run = folder / "run"
    arguments = without_validation(train(run, epochs=1))
    stoker(*arguments)
    wanted, lines = metrics_without_time(run), (run / "metrics.jsonl").read_text().splitlines(keepends=True)
    for left in (lines[:-1], [*lines[:-1], lines[-1][:20]]):
        (run / "metrics.jsonl").write_text("".join(left))
        (run / "model.h5").unlink()
        stoker(*arguments)
        assert metrics_without_time(run) == wanted and weights_hash(run / "model.h5") == weights_hash(run)
        assert checkpoints(run) == [7]


@case("inspect foretells the memory that run.json records")
def _(folder):
    for ranks, leaves in ((1, 1), (2, 2), (2, 5)):
        run = folder / f"{ranks}-{leaves}"
        stoker(*train(run, "--virtual-ranks", leaves, epochs=1), ranks=ranks)
        foretold = json.loads(stoker("inspect", MLP, "--json", "--batch-size", BATCH, "--ranks", ranks, "--virtual-ranks",
                                     leaves, "--optimizer", "adam", "--loss", LOSS, "--metrics", "accuracy",
                                     "--threads", 1).stdout)["memory"]
        assert foretold == json.loads((run / "run.json").read_text())["topology"]["memory"], (ranks, leaves)


@case("text labels have the numbers of the training data, whatever names the file has")
def _(folder):
    rows = [f"{value},{value + spread / 10},{name}\n" for spread in range(8)
            for value, name in ((-1, "apple"), (0, "berry"), (1, "cherry"))]
    (folder / "all.csv").write_text("a,b,fruit\n" + "".join(rows))
    (folder / "cherries.csv").write_text("a,b,fruit\n" + "".join(row for row in rows if "cherry" in row))
    stoker("model", "mlp", "--classes", 3, "--input-shape", 2, "-o", folder / "mlp.json")
    run = folder / "run"
    stoker("train", "--model", folder / "mlp.json", "--train", folder / "all.csv", "--optimizer", "adam", "--epochs", 60,
           "--learning-rate", 0.01, "--batch-size", 8, "--output", run, "--log-every", 1000)
    cherries = folder / "cherries.csv"

    def accuracy(*arguments):
        shown = stoker("evaluate", "--data", cherries, "--metrics", "accuracy", "--loss", LOSS, "--json", *arguments)
        return json.loads(shown.stdout)["accuracy"], shown.stderr

    for arguments in (["--model", run], ["--model", run / "model.h5"],
                      ["--model", folder / "mlp.json", "--weights", run / "model.h5"]):
        assert accuracy(*arguments)[0] == 1
    # Training goes on with the model's numbers; a model that does not know them is warned about.
    further = folder / "further"
    stoker("train", "--model", run / "model.h5", "--train", cherries, "--learning-rate", 0, "--output", further)
    assert accuracy("--model", further)[0] == 1
    run_python("import keras, sys; keras.models.load_model(sys.argv[1]).save(sys.argv[2])", run / "model.h5",
               folder / "by_keras.keras")
    assert "classes=" in accuracy("--model", folder / "by_keras.keras")[1]
    (folder / "other.csv").write_text("a,b,fruit\n1,1,durian\n")
    check_user_error(stoker("evaluate", "--model", run, "--data", folder / "other.csv", expect=None), "durian", "other.csv")


@case("evaluate takes the loss and the metrics that the run used")
def _(folder):
    run = folder / "run"
    stoker(*without_validation(train(run, epochs=1)), "--validation", data())
    wanted = metrics(run, "validation")[-1]
    for model in (run, run / "model.h5"):
        done = stoker("evaluate", "--model", model, "--data", data(), "--json")
        shown = json.loads(done.stdout)
        assert abs(shown["loss"] - wanted["loss"]) < 1e-6 and abs(shown["accuracy"] - wanted["accuracy"]) < 1e-6
        assert LOSS in done.stderr, done.stderr


@case("a run's directory without its checkpoints is its model.h5")
def _(folder):
    run = folder / "run"
    stoker(*train(run, epochs=1))
    digest = weights_hash(run)
    shutil.rmtree(run / "checkpoints")
    assert weights_hash(run) == digest
    stoker("predict", "--model", run, "--data", data(), "--output", folder / "p.npy")
    check_user_error(stoker(*train(run, epochs=1), expect=None), "model.h5", "--output")
    assert weights_hash(run / "model.h5") == digest


@case("other threads than before are warned about")
def _(folder):
    stoker(*train(folder / "run", epochs=1))
    done = stoker(*train(folder / "run", epochs=2), "--threads", 2, expect=None)
    check_user_error(done, "twice")
    arguments = train(folder / "run", epochs=2)
    arguments[arguments.index("--threads") + 1] = 2
    assert "--threads 1 keeps them" in stoker(*arguments).stderr


@case("an mlp for a table takes its columns; predict does not look at labels")
def _(folder):
    stoker("model", "mlp", "--classes", 3, "--input-shape", 2, "-o", folder / "mlp.json")
    inputs = json.loads(stoker("inspect", folder / "mlp.json", "--json").stdout)["inputs"]
    assert inputs[0]["shape"] == [None, 2], inputs
    (folder / "a.csv").write_text("a,b,label\n1,2,0\n3,4,1\n5,6,2\n")
    stoker("train", "--model", folder / "mlp.json", "--train", folder / "a.csv", "--output", folder / "run")
    (folder / "b.csv").write_text("a,b,label\n1,2,\n3,4,x\n")
    (folder / "c.csv").write_text("a,b\n1,2\n3,4\n")
    for name in ("b.csv", "c.csv?label=none"):
        stoker("predict", "--model", folder / "run", "--data", f"csv:{folder}/{name}", "-o", folder / f"{name[0]}.npy")
    numpy.testing.assert_array_equal(numpy.load(folder / "b.npy"), numpy.load(folder / "c.npy"))
    check_user_error(stoker("predict", "--model", folder / "run", "--data", folder / "c.csv", "-o", folder / "d.npy",
                            expect=None), "label=none")


@case("a config file is the same options; the command line wins")
def _(folder):
    arguments = train(folder / "config", "--seed", 3)[1:]
    lines = "".join(f"{str(key)[2:]} = {value}\n" for key, value in zip(arguments[::2], arguments[1::2]))
    (folder / "run.cfg").write_text("# a comment\n\n" + lines.replace("epochs = 3", "epochs = 9"))
    stoker("train", "--config", folder / "run.cfg", "--epochs", EPOCHS)
    stoker(*train(folder / "line", "--seed", 3))
    assert weights_hash(folder / "config") == weights_hash(folder / "line")


@case("--weights starts from them, --freeze keeps them")
def _(folder):
    stoker(*train(folder / "first", epochs=1))
    with h5py.File(folder / "first" / "model.h5") as file:
        hidden = find(file, "hidden/kernel")
    stoker(*train(folder / "second", "--weights", folder / "first" / "model.h5", "--freeze", "hid*", epochs=1))
    with h5py.File(folder / "second" / "model.h5") as file:
        numpy.testing.assert_array_equal(hidden, find(file, "hidden/kernel"))
        other = find(file, "probabilities/kernel")
    with h5py.File(folder / "first" / "model.h5") as file:
        assert (find(file, "probabilities/kernel") != other).any()


def find(file, name):
    """The dataset whose path ends in `name`, Keras 2's ":0" aside."""
    found = []
    file["model_weights"].visititems(lambda path, item: found.append(item[()]) if isinstance(item, h5py.Dataset)
                                     and path.removesuffix(":0").endswith(name) else None)
    assert len(found) == 1, name
    return found[0]


@case("retention keeps --keep, the newest among them")
def _(folder):
    stoker(*train(folder / "run", "--keep", 2, "--checkpoint-every", "2steps"))
    kept = checkpoints(folder / "run")
    assert kept[-2:] == [20, 21] and len(kept) <= 3, kept  # the best is kept besides


@case("numbers have a point whatever the locale")
def _(folder):
    name = "de_DE.UTF-8"
    made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", str(folder / name)], capture_output=True, text=True,
                          check=False)
    if made.returncode != 0:
        raise Skip(f"localedef made no {name}: {made.stderr.strip()}")
    env = {"LC_ALL": name, "LOCPATH": folder}
    shown = subprocess.run(["printf", "%.1f", "0,5"], env=environment(**env), capture_output=True, text=True, check=True)
    assert shown.stdout == "0,5", "the locale has no comma"
    stoker(*train(folder / "run", "--learning-rate", "0.002"), env=env)
    assert metrics(folder / "run")[0]["learning_rate"] == 0.002


if __name__ == "__main__":
    main()

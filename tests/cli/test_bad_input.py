#!/usr/bin/env python3
"""Every mistake that a user can mend: exit 2 and one line `stoker: error: WHAT: WHERE: WHAT TO DO` that names the
thing; under mpirun on two ranks too, still one line.
"""

import json
import os
import time

import numpy

from stoker_testing import (TESTS, Launched, add_case, case, check_user_error, error_lines, main, save_npz, stoker)

FIXTURES = TESTS / "golden" / "fixtures"
MLP = FIXTURES / "mlp.h5"
SPARSE = "sparse_categorical_crossentropy"


def digits(folder, samples=32, size=8, name="data.npz", labels=None):
    """The DATA argument of `samples` random images; labels 0…9 unless given."""
    x = numpy.random.default_rng(0).random((samples, size, size, 1), dtype="float32")
    y = numpy.arange(samples, dtype="int32") % 10 if labels is None else labels
    return save_npz(folder / name, x, y)


def train(folder, **options):
    """The arguments of a training that works; keywords replace or (None) remove options."""
    given = {"model": MLP, "loss": SPARSE, "steps": 2, "batch_size": 8, "threads": 1, "output": folder / "run"} | options
    if "train" not in given:
        given["train"] = digits(folder)
    arguments = ["train"]
    for key, value in given.items():
        if value is not None:
            arguments += ["--" + key.replace("_", "-"), value]
    return arguments


def labels(dtype, position, value):
    y = (numpy.arange(32) % 10).astype(dtype)
    y[position] = value
    return y


def model_json(folder, edit):
    """The path of a Keras-2-style Sequential whose layers `edit` may change in place."""
    layers = [
        {"class_name": "InputLayer", "config": {"name": "image", "batch_input_shape": [None, 8, 8, 1]}},
        {"class_name": "Conv2D", "config": {"name": "conv", "filters": 2, "kernel_size": [3, 3]}},
        {"class_name": "Flatten", "config": {"name": "flatten"}},
        {"class_name": "Dense", "config": {"name": "out", "units": 10, "activation": "softmax"}},
    ]
    edit(layers)
    path = folder / "edited.json"
    path.write_text(json.dumps({"class_name": "Sequential", "config": {"name": "edited", "layers": layers}}))
    return path


def layer_option(folder, layer, key, value):
    return model_json(folder, lambda layers: layers[layer]["config"].update({key: value}))


def unknown_layer(folder):
    return model_json(folder, lambda layers: layers.insert(3, {"class_name": "Fancy", "config": {"name": "strange"}}))


def file(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def csv(folder, rows):
    """A DATA argument: rows of f1,f2,label."""
    return f"csv:{file(folder, 'table.csv', 'a,b,kind' + chr(10) + rows)}?label=kind&header=1"


def two_inputs(folder):
    """A model for the CSV's two columns."""
    path = folder / "table.json"
    layers = [{"class_name": "InputLayer", "config": {"name": "row", "batch_input_shape": [None, 2]}},
              {"class_name": "Dense", "config": {"name": "out", "units": 2, "activation": "softmax"}}]
    path.write_text(json.dumps({"class_name": "Sequential", "config": {"name": "table", "layers": layers}}))
    return path


# name → (function of the folder giving the arguments, words that the error line must hold)
MISTAKES = {
    # files
    "model file missing": (lambda f: train(f, model=f / "none.h5"), ["none.h5"]),
    "model is a directory": (lambda f: train(f, model=f), []),
    "data file missing": (lambda f: train(f, train="npz:none.npz"), ["none.npz"]),
    "weights file missing": (lambda f: train(f, weights=f / "none.weights.h5"), ["none.weights.h5"]),
    "truncated .h5": (lambda f: train(f, model=file(f, "cut.h5", MLP.read_bytes()[:5000])), ["cut.h5"]),
    "empty .h5": (lambda f: train(f, model=file(f, "empty.h5", b"")), ["empty.h5"]),
    ".keras is no zip": (lambda f: train(f, model=file(f, "fake.keras", "no zip")), ["fake.keras"]),
    "truncated .keras": (lambda f: train(f, model=file(
        f, "cut.keras", (FIXTURES / "residual.keras").read_bytes()[:9000])), ["cut.keras"]),
    ".json is no JSON": (lambda f: train(f, model=file(f, "bad.json", '{"class_name": ')), ["bad.json"]),
    ".json is no model": (lambda f: train(f, model=file(f, "other.json", '{"a": 1}')), ["other.json"]),
    "an .h5 without a model": (lambda f: train(f, model=FIXTURES / "cnn_batch_norm.weights.h5"),
                               ["cnn_batch_norm.weights.h5"]),
    "weights of another model": (lambda f: train(f, weights=FIXTURES / "lenet5.h5"), ["lenet5.h5"]),
    # models
    "unknown layer": (lambda f: train(f, model=unknown_layer(f)), ["Fancy", "strange", "edited.json"]),
    "channels_first": (lambda f: train(f, model=layer_option(f, 1, "data_format", "channels_first")),
                       ["channels_first", "conv", "edited.json"]),
    "unknown activation": (lambda f: train(f, model=layer_option(f, 3, "activation", "zigzag")), ["zigzag", "out"]),
    "unknown key of a layer": (lambda f: train(f, model=layer_option(f, 3, "frobnicate", 3)), ["frobnicate", "out"]),
    "kernel larger than the image": (lambda f: train(f, model=layer_option(f, 1, "kernel_size", [11, 11])), ["conv"]),
    "negative units": (lambda f: train(f, model=layer_option(f, 3, "units", -1)), ["units", "out"]),
    # data
    "shape of the data is not the model's": (lambda f: train(f, train=digits(f, size=9)), ["8", "9"]),
    "label out of range": (lambda f: train(f, train=digits(f, labels=labels("int32", 5, 10))), ["10", "5"]),
    "label 255 in u8": (lambda f: train(f, train=digits(f, labels=labels("uint8", 3, 255))), ["255", "3"]),
    "label beyond int32": (lambda f: train(f, train=digits(f, labels=labels("int64", 4, 1 << 33))), ["4"]),
    "negative label": (lambda f: train(f, train=digits(f, labels=labels("int32", 7, -1))), ["-1", "7"]),
    "float labels for a sparse loss": (lambda f: train(f, train=digits(f, labels=labels("float32", 6, 0.5))), ["label"]),
    "zero samples": (lambda f: train(f, train=digits(f, samples=0)), ["data.npz"]),
    "x and y of different lengths": (lambda f: train(f, train=digits(f, labels=numpy.zeros(31, "int32"))), ["31", "32"]),
    "an array that is not in the .npz": (lambda f: train(f, train=digits(f).replace("y=y", "y=labels")), ["labels"]),
    "unknown kind of data": (lambda f: train(f, train="tape:reel1"), ["tape"]),
    "unknown key of the data": (lambda f: train(f, train=digits(f) + "&colour=red"), ["colour"]),
    ".npz is no zip": (lambda f: train(f, train=f"npz:{file(f, 'fake.npz', 'no zip')}"), ["fake.npz"]),
    "NaN in the CSV": (lambda f: train(f, model=two_inputs(f), train=csv(f, "1,2,x\n3,nan,y\n5,6,x\n")),
                       ["table.csv", "nan"]),
    "empty cell in the CSV": (lambda f: train(f, model=two_inputs(f), train=csv(f, "1,2,x\n3,,y\n5,6,x\n")),
                              ["table.csv"]),
    "text in the CSV": (lambda f: train(f, model=two_inputs(f), train=csv(f, "1,2,x\n3,four,y\n5,6,x\n")),
                        ["table.csv", "four"]),
    "row too short in the CSV": (lambda f: train(f, model=two_inputs(f), train=csv(f, "1,2,x\n3,y\n5,6,x\n")),
                                 ["table.csv"]),
    "truncated idx": (lambda f: train(f, train="idx:{},{}".format(
        file(f, "x-idx3", bytes([0, 0, 8, 3]) + bytes([0, 0, 0, 9] + [0, 0, 0, 8] * 2) + bytes(20)),
        file(f, "y-idx1", bytes([0, 0, 8, 1, 0, 0, 0, 9]) + bytes(9)))), ["x-idx3"]),
    # options
    "unknown option": (lambda f: train(f, frobnicate=1), ["frobnicate"]),
    "unknown command": (lambda f: ["trian"], ["trian"]),
    "option without its value": (lambda f: [*train(f), "--epochs"], ["epochs"]),
    "option given twice": (lambda f: [*train(f), "--batch-size", 16], ["batch-size"]),
    "stray argument": (lambda f: [*train(f), "stray"], ["stray"]),
    "no model": (lambda f: train(f, model=None), ["--model"]),
    "no training data": (lambda f: train(f, train=None), ["--train"]),
    "batch size zero": (lambda f: train(f, batch_size=0), ["batch-size"]),
    "batch size is a word": (lambda f: train(f, batch_size="many"), ["batch-size", "many"]),
    "learning rate is a word": (lambda f: train(f, learning_rate="fast"), ["learning-rate", "fast"]),
    "unknown loss": (lambda f: train(f, loss="regret"), ["regret"]),
    "unknown argument of a loss": (lambda f: train(f, loss=SPARSE + ":depth=3"), ["depth"]),
    "unknown metric": (lambda f: train(f, metrics="applause"), ["applause"]),
    "unknown optimizer": (lambda f: train(f, optimizer="downhill"), ["downhill"]),
    "unknown argument of an optimizer": (lambda f: train(f, optimizer="sgd:speed=3"), ["speed"]),
    "value of an optimizer's argument": (lambda f: train(f, optimizer="sgd:momentum=lots"), ["momentum", "lots"]),
    "unknown schedule": (lambda f: train(f, schedule="sawtooth"), ["sawtooth"]),
    "unknown augmentation": (lambda f: train(f, augment="melt"), ["melt"]),
    "unknown interval": (lambda f: train(f, checkpoint_every="7moons"), ["7moons"]),
    "unknown device": (lambda f: train(f, device="abacus"), ["abacus"]),
    "validation split of one": (lambda f: train(f, validation_split=1), ["validation-split"]),
    "more virtual ranks than samples in a batch": (lambda f: train(f, virtual_ranks=9), ["virtual-ranks", "batch-size"]),
    "config file missing": (lambda f: [*train(f), "--config", f / "none.cfg"], ["none.cfg"]),
    "unknown key in the config": (lambda f: [*train(f), "--config", file(f, "x.cfg", "frobnicate = 1\n")],
                                  ["frobnicate"]),
    "line of the config without =": (lambda f: [*train(f), "--config", file(f, "x.cfg", "epochs 3\n")], ["x.cfg"]),
    "resume from nowhere": (lambda f: train(f, resume=f / "nowhere"), ["nowhere"]),
    "output below a file": (lambda f: train(f, output=file(f, "plain", "") / "run"), ["plain"]),
    # other commands
    "evaluate without data": (lambda f: ["evaluate", "--model", MLP], ["--data"]),
    "predict into a kind that is unknown": (lambda f: ["predict", "--model", MLP, "--data", digits(f), "--output",
                                                       f / "pred.xls"], ["pred.xls"]),
    "predict into a folder that is not there": (lambda f: ["predict", "--model", MLP, "--data", digits(f), "--output",
                                                           f / "none" / "pred.h5"], ["pred.h5"]),
    "inspect nothing": (lambda f: ["inspect", f / "none"], ["none"]),
    "inspect what is no model": (lambda f: ["inspect", file(f, "notes.txt", "hello")], ["notes.txt"]),
    "checkpoint list of nothing": (lambda f: ["checkpoint", "list", f / "none"], ["none"]),
    "checkpoint without a verb": (lambda f: ["checkpoint"], ["checkpoint"]),
    "unknown built-in model": (lambda f: ["model", "skynet", "-o", f / "m.json"], ["skynet"]),
    "input shape of a built-in model": (lambda f: ["model", "mlp", "-o", f / "m.json", "--input-shape", "8by8"],
                                        ["8by8"]),
}
for mistake, (arguments_of, words) in MISTAKES.items():
    for count in (0,) if mistake.startswith("predict") else (0, 2):  # predict is one process
        add_case(f"{mistake}{' on 2 ranks' if count else ''}",
                 lambda folder, a=arguments_of, w=words, n=count: check_user_error(
                     stoker(*a(folder), ranks=n, expect=None, timeout=60), *w))


@case("batch smaller than the ranks")
def _(folder):
    check_user_error(stoker(*train(folder, batch_size=2), ranks=3, expect=None), "batch-size")


@case("output directory in use")
def _(folder):
    holder = Launched(train(folder, steps=None, epochs=100000), 0, folder)
    try:
        while "step" not in holder.text() and holder.process.poll() is None:
            time.sleep(0.05)
        for ranks in (0, 2):
            check_user_error(stoker(*train(folder), ranks=ranks, expect=None, timeout=60), "run", "use")
    finally:
        holder.process.terminate()
        holder.wait()


CHANGES = {"batch_size": 16, "optimizer": "sgd", "loss": "mean_squared_error", "seed": 9, "virtual_ranks": 2,
           "schedule": "exponential:decay_steps=5,decay_rate=0.5", "augment": "flip", "shuffle": "off"}
for changed_option, new_value in CHANGES.items():
    add_case(f"resumed with another {changed_option}",
             lambda folder, key=changed_option, value=new_value: check_resumed(folder, key, value))


def check_resumed(folder, key, value):
    stoker(*train(folder, optimizer="adam"))
    changed = {"optimizer": "adam", "steps": 2 if key == "schedule" else 4} | {key: value}  # more steps may change it
    if key == "loss":  # needs targets of the output's shape, hence other data too
        changed["train"] = save_npz(folder / "one_hot.npz", numpy.load(folder / "data.npz")["x"],
                                    numpy.eye(10, dtype="float32")[numpy.arange(32) % 10])
    check_user_error(stoker(*train(folder, **changed), expect=None),
                     *([] if key == "loss" else [key.replace("_", "-")]))


@case("resumed with another model")
def _(folder):
    stoker(*train(folder))
    check_user_error(stoker(*train(folder, model=model_json(folder, lambda layers: None), steps=4), expect=None), "model")


@case("resumed with other data")
def _(folder):
    stoker(*train(folder))
    other = digits(folder, samples=40, name="other.npz")
    check_user_error(stoker(*train(folder, train=other, steps=4), expect=None), "--train")


@case("a schedule that has run out")
def _(folder):
    stoker(*train(folder, schedule="cosine"))
    check_user_error(stoker(*train(folder, schedule=None, steps=6), expect=None), "schedule")
    stoker(*train(folder, schedule="constant", steps=6))


@case("OMP_THREAD_LIMIT below the threads")
def _(folder):
    done = stoker(*train(folder, threads=2), env={"OMP_THREAD_LIMIT": 1}, expect=None, timeout=60)
    check_user_error(done, "OMP_THREAD_LIMIT")


@case("OMP_THREAD_LIMIT where no threads are asked for is obeyed")
def _(folder):
    stoker(*train(folder, threads=None), env={"OMP_THREAD_LIMIT": 1}, timeout=60)


@case("an output that is an input")
def _(folder):
    data = digits(folder)
    model = folder / "m.h5"
    model.write_bytes(MLP.read_bytes())
    numpy.save(folder / "x.npy", numpy.zeros((4, 8, 8, 1), "float32"))
    (folder / "link.npy").symlink_to(folder / "x.npy")
    for source, output in ((data, model), (f"npy:{folder}/x.npy", folder / "x.npy"), (folder / "x.npy", folder / "link.npy")):
        before = output.read_bytes()
        check_user_error(stoker("predict", "--model", model, "--data", source, "-o", output, expect=None), "overwrite")
        assert output.read_bytes() == before


@case("outputs of the wrong kind or in no folder")
def _(folder):
    stoker(*train(folder))
    for arguments in (["checkpoint", "export", folder / "run", "-o", folder / "m.keras"],
                      ["model", "mlp", "-o", folder / "m.h5"],
                      ["predict", "--model", MLP, "--data", digits(folder), "-o", folder / "p.txt"]):
        check_user_error(stoker(*arguments, expect=None), "ends in")
        arguments[-1] = folder / "nowhere" / "x"
        check_user_error(stoker(*arguments, expect=None), "no such folder")


@case("an output folder with files that are not of a run, or with a model whose checkpoints are gone")
def _(folder):
    for name in ("model.h5", "metrics.jsonl", "report.txt"):
        foreign = folder / name.replace(".", "-")
        foreign.mkdir()
        (foreign / name).write_text("precious")
        check_user_error(stoker(*train(folder, output=foreign), expect=None), name, "--output")
        assert (foreign / name).read_text() == "precious"


@case("evaluate and predict of an architecture without weights")
def _(folder):
    architecture = model_json(folder, lambda layers: None)
    data = digits(folder)
    check_user_error(stoker("evaluate", "--model", architecture, "--data", data, expect=None), "no weights")
    check_user_error(stoker("predict", "--model", architecture, "--data", data, "-o", folder / "p.npy", expect=None),
                     "no weights")


@case("more text labels than outputs, all named")
def _(folder):
    stoker("model", "mlp", "--classes", 2, "--input-shape", 1, "-o", folder / "mlp.json")
    (folder / "a.csv").write_text("a,b\n1,cat\n2,dog\n3,cat \n4,cow\n")
    check_user_error(stoker(*train(folder, model=folder / "mlp.json", train=folder / "a.csv", batch_size=2), expect=None),
                     "cat, cow, dog", "2 outputs")


@case("text labels in another encoding than UTF-8; paths may be in any")
def _(folder):
    stoker("model", "mlp", "--classes", 2, "--input-shape", 1, "-o", folder / "mlp.json")
    table = folder / os.fsdecode(b"caf\xe9.csv")
    table.write_bytes(b"a,b\n1,caf\xe9\n2,tea\n")
    arguments = train(folder, model=folder / "mlp.json", train=table, batch_size=2)
    check_user_error(stoker(*arguments, expect=None), "UTF-8", "line 2")
    table.write_bytes("a,b\n1,café\n2,tea\n".encode())
    stoker(*arguments)
    stoker("evaluate", "--model", folder / "run", "--data", table)


@case("configuration files: a byte-order mark is none of the option's name; a folder; options of the command line")
def _(folder):
    config = folder / "train.cfg"
    config.write_bytes(b"\xef\xbb\xbfsteps = 1\n")
    stoker(*train(folder, steps=None, config=config))
    check_user_error(stoker(*train(folder, config=folder), expect=None), "configuration", str(folder))
    config.write_text("help = 1\n")
    check_user_error(stoker(*train(folder, config=config), expect=None), "help", "command line")


@case("an unknown layer is named before the arguments of its call")
def _(folder):
    from stoker_testing import run_python
    run_python("import keras, sys; i = keras.Input((8, 8, 1)); x = keras.layers.RandomFlip()(i, training=True); "
               "keras.Model(i, keras.layers.Dense(2)(keras.layers.Flatten()(x))).save(sys.argv[1])", folder / "m.keras")
    check_user_error(stoker(*train(folder, model=folder / "m.keras"), expect=None), "RandomFlip")


@case("a task of a Slurm step of four that MPI does not know of")
def _(folder):
    step = {"SLURM_JOB_ID": 7, "SLURM_STEP_ID": 0, "SLURM_STEPID": 0, "SLURM_NTASKS": 4, "SLURM_STEP_NUM_TASKS": 4,
            "SLURM_PROCID": 0, "SLURM_LOCALID": 0}
    check_user_error(stoker(*train(folder), env=step, expect=None, timeout=60), "4")


@case("a lone evaluate in a batch script for four tasks runs")
def _(folder):
    batch = {"SLURM_JOB_ID": 7, "SLURM_NTASKS": 4, "SLURM_PROCID": 0, "SLURM_LOCALID": 0}
    stoker("evaluate", "--model", MLP, "--data", digits(folder), "--loss", SPARSE, env=batch)


@case("a loss that becomes NaN is named with its step and layer")
def _(folder):
    linear = layer_option(folder, 3, "activation", "linear")
    data = digits(folder, labels=numpy.eye(10, dtype="float32")[numpy.arange(32) % 10])
    for ranks in (0, 2):
        done = stoker(*train(folder, model=linear, train=data, loss="mean_squared_error", optimizer="sgd",
                             learning_rate=1e6, steps=50, output=folder / f"run{ranks}"), ranks=ranks, expect=None)
        lines = error_lines(done.stderr)
        assert done.returncode in (1, 2) and len(lines) == 1, done.stderr[-3000:]
        assert "step" in lines[0] and ("conv" in lines[0] or "out" in lines[0]), lines[0]


if __name__ == "__main__":
    main()

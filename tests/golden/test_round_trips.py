#!/usr/bin/env python3
"""Model files to and from Keras 3 and Keras 2 (tf-keras): the same predictions, the same number of parameters.

Each Keras runs in a process of its own.
"""

import json

import numpy

from golden_models import FILE_KINDS
from stoker_testing import TESTS, add_case, main, run_python, save_npz, stoker

FIXTURES = TESTS / "golden" / "fixtures"
TOLERANCE = 1e-5
KERAS = {"Keras 3": "import keras", "Keras 2": "import tf_keras as keras"}

PREDICT = """
import sys, numpy
model = keras.models.load_model(sys.argv[1], compile=False)
x = numpy.load(sys.argv[2])["x"]
numpy.save(sys.argv[3], model.predict(x, verbose=0))
"""

# A model that both write, of what a user's first file has: default compile included.
SAVE = """
import sys, numpy
layers = keras.layers
keras.utils.set_random_seed(3)
inputs = keras.Input((8, 8, 1))
x = layers.Rescaling(1 / 16)(inputs)
x = layers.Conv2D(8, 3, padding="same", use_bias=False)(x)
x = layers.BatchNormalization()(x)
x = layers.Activation("relu")(x)
x = layers.MaxPooling2D()(x)
x = layers.Dropout(0.25)(layers.Flatten()(x))
x = layers.Dense(24, activation="tanh", kernel_regularizer="l2")(x)
model = keras.Model(inputs, layers.Dense(10, activation="softmax")(x))
if sys.argv[3] == "sequential":
    model = keras.Sequential([layers.Input((8, 8, 1)), layers.Flatten(), layers.Dense(12, activation="relu"),
                              layers.Dense(10, activation="softmax")])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.save(sys.argv[1])
numpy.save(sys.argv[2], model.predict(numpy.load(sys.argv[4])["x"], verbose=0))
"""

COUNT = """
import sys
model = keras.models.model_from_json(open(sys.argv[1]).read())
print(model.count_params(), list(model.input_shape), list(model.output_shape))
"""


def digits_file(folder):
    """All digits as an .npz (values 0…16) and its DATA argument."""
    from sklearn.datasets import load_digits
    bunch = load_digits()
    path = folder / "digits.npz"
    return path, save_npz(path, bunch.images[..., None].astype("float32"), bunch.target.astype("int32"))


def predictions(model, data, folder):
    output = folder / "predictions.npy"
    stoker("predict", "--model", model, "--data", data, "--output", output)
    return numpy.load(output)


def check_written(name, keras, folder):
    """Trained here, opened there."""
    size = 16 if name == "lenet5" else 8
    kind = FILE_KINDS[name]
    data = f"{FIXTURES}/digits{size}.npz"
    weights = ["--weights", FIXTURES / f"{name}.weights.h5"] if kind == "json" else []
    loss = "sparse_categorical_crossentropy" + (":from_logits=true" if name == "cnn_batch_norm" else "")
    stoker("train", "--model", FIXTURES / f"{name}.{kind}", *weights, "--train", f"npz:{data}?x=x&y=y", "--loss", loss,
           "--optimizer", "adam", "--epochs", 3, "--batch-size", 16, "--threads", 1, "--output", folder / "run")
    model = folder / "run" / "model.h5"
    ours = predictions(model, f"npz:{data}?x=x&y=y", folder)
    run_python(KERAS[keras] + PREDICT, model, data, folder / "theirs.npy")
    numpy.testing.assert_allclose(ours, numpy.load(folder / "theirs.npy"), atol=TOLERANCE)


def check_read(structure, kind, keras, folder):
    """Saved there with its default compile: predicts the same here, and trains here without a word about the loss."""
    path, data = digits_file(folder)
    model = folder / f"model.{kind}"
    run_python(KERAS[keras] + SAVE, model, folder / "theirs.npy", structure, path)
    numpy.testing.assert_allclose(predictions(model, data, folder), numpy.load(folder / "theirs.npy"), atol=TOLERANCE)
    stoker("train", "--model", model, "--train", data, "--epochs", 1, "--threads", 1, "--output", folder / "run")
    run = json.loads((folder / "run" / "run.json").read_text())
    assert "adam" in json.dumps(run["options"]).lower() and "sparse_categorical_crossentropy" in json.dumps(run["options"])
    accuracy = json.loads(stoker("evaluate", "--model", folder / "run" / "model.h5", "--data", data, "--loss",
                                 "sparse_categorical_crossentropy", "--metrics", "accuracy", "--json").stdout)
    assert accuracy["samples"] > 0
    # The training loss, since moving statistics of so few steps say little at evaluation.
    lines = [json.loads(line) for line in (folder / "run" / "metrics.jsonl").read_text().splitlines()]
    losses = [line["loss"] for line in lines if line["phase"] == "train"]
    assert losses[-1] < losses[0], losses


def check_built_in(name, shape, folder):
    """`stoker model NAME` opens in Keras with as many parameters as stoker counts."""
    path = folder / f"{name}.json"
    stoker("model", name, "-o", path, "--classes", 10, "--input-shape", shape)
    ours = json.loads(stoker("inspect", path, "--json").stdout)
    count = run_python(KERAS["Keras 3"] + COUNT, path).split()[0]
    assert int(count) == ours["parameters"], f"Keras counts {count}, stoker {ours['parameters']}"


for model_name in ("mlp", "mlp_regularised", "lenet5", "cnn_batch_norm", "residual", "depthwise", "shared_layer",
                   "nested"):
    for version in KERAS:
        add_case(f"{model_name}: model.h5 after training predicts the same in {version}",
                 lambda folder, n=model_name, k=version: check_written(n, k, folder))
for version in KERAS:
    for file_kind in ("keras", "h5"):
        for shape_of_model in ("sequential", "functional"):
            add_case(f"{shape_of_model} .{file_kind} saved by {version} predicts and trains",
                     lambda folder, s=shape_of_model, f=file_kind, k=version: check_read(s, f, k, folder))
for model_name, input_shape in (("mlp", "28x28x1"), ("lenet5", "28x28x1"), ("convnet", "28x28x1"),
                                ("resnet18", "32x32x3"), ("resnet50", "224x224x3"), ("mobilenetv2", "224x224x3")):
    add_case(f"stoker model {model_name} opens in Keras",
             lambda folder, n=model_name, s=input_shape: check_built_in(n, s, folder))

if __name__ == "__main__":
    main()

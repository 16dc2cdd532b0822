"""Trains the cases of golden_models.py in Keras 3 and writes what stoker must reproduce.

    make_golden.py fixtures            writes tests/golden/fixtures/: what is committed
    make_golden.py expect DIR [WORD…]  writes CASE.npz into DIR (cases whose label contains a word; default all)

fixtures/ holds the initial models as Keras saves them, the data (digits8.npz, digits16.npz: x, y, one_hot) and
losses.json ({case: STEPS losses}). CASE.npz holds `losses` and `learning_rates` (STEPS) and for every weight
"layer/variable" its values after each step (STEPS, …). All float32 on one CPU thread; with V virtual ranks the step
is computed leaf by leaf, as the design fixes it.
"""

import ast
import json
import os
import sys
from pathlib import Path

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="")
import keras  # noqa: E402  (after the environment that it reads)
import numpy  # noqa: E402
import tensorflow as tf  # noqa: E402

from golden_models import BATCH, CASES, FILE_KINDS, MODELS, STEPS, digits, one_hot_targets  # noqa: E402

FIXTURES = Path(__file__).resolve().parent / "fixtures"
OPTIMIZERS = {"sgd": keras.optimizers.SGD, "adam": keras.optimizers.Adam, "adamw": keras.optimizers.AdamW,
              "rmsprop": keras.optimizers.RMSprop}
LOSSES = {"sparse_categorical_crossentropy": keras.losses.SparseCategoricalCrossentropy,
          "categorical_crossentropy": keras.losses.CategoricalCrossentropy,
          "binary_crossentropy": keras.losses.BinaryCrossentropy, "mean_squared_error": keras.losses.MeanSquaredError,
          "mean_absolute_error": keras.losses.MeanAbsoluteError, "huber": keras.losses.Huber}


def parse(text):
    """'name:k=v,…' as (name, {k: value})."""
    name, _, rest = text.partition(":")
    pairs = dict(part.split("=") for part in rest.split(",")) if rest else {}
    return name, {key: value == "true" if value in ("true", "false") else ast.literal_eval(value)
                  for key, value in pairs.items() if "/" not in value} | {
                      key: [ast.literal_eval(item) for item in value.split("/")]
                      for key, value in pairs.items() if "/" in value}


def schedule(case):
    """The learning rate, or Keras' schedule for the option's text."""
    if not case.schedule:
        return case.learning_rate
    name, options = parse(case.schedule)
    schedules = keras.optimizers.schedules
    if name == "cosine":
        warmup = options.pop("warmup_steps", 0)
        if warmup:
            return schedules.CosineDecay(0.0, warmup_target=case.learning_rate, warmup_steps=warmup, **options)
        return schedules.CosineDecay(case.learning_rate, **options)
    if name == "exponential":
        return schedules.ExponentialDecay(case.learning_rate, **options)
    return schedules.PiecewiseConstantDecay(options["boundaries"], options["values"])


def compiled(case, model):
    name, options = parse(case.optimizer)
    if case.clip_norm:
        options["global_clipnorm"] = case.clip_norm
    optimizer = OPTIMIZERS[name](learning_rate=schedule(case), **options)
    loss_name, loss_options = parse(case.loss)
    model.compile(optimizer=optimizer, loss=LOSSES[loss_name](**loss_options), run_eagerly=True)
    return model


def key(variable):
    """'layer/variable': the last two parts of the path are unique in these models, however deep the layer is nested."""
    return "/".join(variable.path.split("/")[-2:])


def leaf_step(model, x, y, leaves):
    """One step over the leaves [⌊v·n/V⌋, ⌊(v+1)·n/V⌋) of a batch; returns its loss before the update.

    Each leaf's loss is its sum divided by the size of the whole batch; regularisers act once. Normalisation is within
    a leaf; the moving statistics move once, towards the leaves' statistics weighted by samples.
    """
    norms = [layer for layer in model._flatten_layers() if isinstance(layer, keras.layers.BatchNormalization)]
    before = [(norm.moving_mean.numpy(), norm.moving_variance.numpy(), norm.momentum) for norm in norms]
    statistics = [[0.0, 0.0] for _ in norms]
    gradients, loss = None, 0.0
    for leaf in range(leaves):
        begin, end = leaf * len(x) // leaves, (leaf + 1) * len(x) // leaves
        if begin == end:
            continue
        for norm in norms:
            norm.momentum = 0.0  # the moving statistics become the leaf's own
        with tf.GradientTape() as tape:
            outputs = model(x[begin:end], training=True)
            value = model.loss(y[begin:end], outputs) * ((end - begin) / len(x))
        found = tape.gradient(value, model.trainable_variables)
        gradients = found if gradients is None else [a + b for a, b in zip(gradients, found)]
        loss += float(value)
        for sums, norm in zip(statistics, norms):
            sums[0] += norm.moving_mean.numpy() * ((end - begin) / len(x))
            sums[1] += norm.moving_variance.numpy() * ((end - begin) / len(x))
    for (mean, variance, momentum), (leaf_mean, leaf_variance), norm in zip(before, statistics, norms):
        norm.momentum = momentum
        norm.moving_mean.assign(mean * momentum + leaf_mean * (1 - momentum))
        norm.moving_variance.assign(variance * momentum + leaf_variance * (1 - momentum))
    penalty = 0.0
    if model.losses:
        with tf.GradientTape() as tape:
            penalty = tf.add_n(model.losses)
        extra = tape.gradient(penalty, model.trainable_variables)
        gradients = [a if b is None else a + b for a, b in zip(gradients, extra)]
    model.optimizer.apply(gradients, model.trainable_variables)
    return loss + float(penalty)


def initial_model(name):
    """The model in fixtures/, read back as stoker reads it."""
    kind = FILE_KINDS[name]
    if kind == "json":
        model = keras.models.model_from_json((FIXTURES / f"{name}.json").read_text())
        model.load_weights(FIXTURES / f"{name}.weights.h5")
        return model
    return keras.models.load_model(FIXTURES / f"{name}.{kind}", compile=False)


def train(case):
    """STEPS steps from the initial weights; returns the arrays to write."""
    model = compiled(case, initial_model(case.model))
    data = numpy.load(FIXTURES / f"digits{model.input_shape[1]}.npz")
    x, y = data["x"][:case.samples], data["one_hot" if one_hot_targets(case) else "y"][:case.samples]
    arrays = {"losses": [], "learning_rates": []} | {key(variable): [] for variable in model.weights}
    assert len(arrays) == len(model.weights) + 2, "two weights of one name"
    position = 0
    for _ in range(STEPS):
        batch = slice(position, min(position + BATCH, len(x)))
        position = 0 if batch.stop == len(x) else batch.stop
        arrays["learning_rates"].append(float(model.optimizer.learning_rate))
        if case.virtual_ranks == 1:
            loss = float(model.train_on_batch(x[batch], y[batch]))
        else:
            loss = leaf_step(model, x[batch], y[batch], case.virtual_ranks)
        arrays["losses"].append(loss)
        for variable in model.weights:
            arrays[key(variable)].append(variable.numpy())
    return {name: numpy.array(values) for name, values in arrays.items()}


def write_fixtures():
    FIXTURES.mkdir(exist_ok=True)
    for size in (8, 16):
        x, y = digits(size)
        numpy.savez_compressed(FIXTURES / f"digits{size}.npz", x=x, y=y, one_hot=numpy.eye(10, dtype="float32")[y])
    for name, kind in FILE_KINDS.items():
        keras.utils.set_random_seed(1234)
        model = MODELS[name](keras)
        if kind == "json":
            (FIXTURES / f"{name}.json").write_text(model.to_json())
            model.save_weights(FIXTURES / f"{name}.weights.h5")
        else:
            model.save(FIXTURES / f"{name}.{kind}")
    losses = {case.label: [float(f"{loss:.9g}") for loss in train(case)["losses"]] for case in CASES}
    lines = ",\n".join(f"  {json.dumps(label)}: {json.dumps(values)}" for label, values in losses.items())
    (FIXTURES / "losses.json").write_text(f"{{\n{lines}\n}}\n")


def chosen(words):
    return [case for case in CASES if not words or any(word in case.label for word in words)]


def main():
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    if sys.argv[1:] == ["fixtures"]:
        write_fixtures()
        return
    if sys.argv[1:2] != ["expect"] or len(sys.argv) < 3:
        sys.exit(__doc__)
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for case in chosen(sys.argv[3:]):
        numpy.savez(folder / case.file_name, **train(case))


if __name__ == "__main__":
    main()

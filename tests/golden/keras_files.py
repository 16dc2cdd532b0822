"""Saves models with one Keras in every kind of file, or predicts with what was made of them.

    keras_files.py save KERAS DIR      writes into DIR, for every model NAME, NAME.h5, NAME.keras, NAME.json with
                                       NAME.weights.h5 (and NAME.legacy.h5, weights alone, with Keras 2), x (NAME.x.npy)
                                       and what the model predicts for it (NAME.y.npy)
    keras_files.py predict KERAS DIR   opens every DIR/NAME.out.h5 and writes what it predicts for NAME.x.npy into
                                       NAME.out.h5.KERAS.npy

KERAS is keras3 or keras2. The models are those whose weights readers are known to put in the wrong arrays without a
word: all arrays of a model have the same shape wherever that is possible, and random values.
"""

import os
import random
import sys
from pathlib import Path

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
WIDTH = 4
RANDOM_GRAPHS = 12


def dense(keras, name, **options):
    return keras.layers.Dense(WIDTH, "tanh", name=name, **options)


def puzzle(keras, late_first):
    """The order of model.layers is not that of the calls: Add([early, deep(late)]) counts late, early, deep."""
    inputs = keras.Input((WIDTH,), name="x")
    early = dense(keras, "early")(inputs)
    deep = dense(keras, "deep")(dense(keras, "late")(inputs))
    return keras.Model(inputs, keras.layers.Add(name="sum")([deep, early] if late_first else [early, deep]))


def block(keras, name, order, frozen=(), trainable=True, thawed=(), prefix=True):
    """A nested model of two Dense layers and a BatchNormalization in the given order."""
    x = inputs = keras.Input((WIDTH,), name=f"{name}_in")
    start = f"{name}_" if prefix else ""
    layers = {"d1": dense(keras, f"{start}d1"), "norm": keras.layers.BatchNormalization(name=f"{start}norm"),
              "d2": dense(keras, f"{start}d2")}
    for key in order:
        x = layers[key](x)
    model = keras.Model(inputs, x, name=name)
    for key in frozen:
        layers[key].trainable = False
    if not trainable:
        model.trainable = False
    for key in thawed:
        layers[key].trainable = True
    return model


def nested(keras, prefix=True):
    """Three levels, blocks called twice, frozen parts in every position. Without prefix the same names everywhere."""
    middle_in = keras.Input((WIDTH,), name="middle_in")
    inner = block(keras, "inner", ("d1", "norm", "d2"), frozen=("d1",), prefix=prefix)
    x = inner(dense(keras, "middle_d1" if prefix else "d1")(middle_in))
    x = block(keras, "still", ("norm", "d1", "d2"), trainable=False, prefix=prefix)(x)
    middle = keras.Model(middle_in, inner(x), name="middle")
    inputs = keras.Input((WIDTH,), name="x")
    last = block(keras, "last", ("norm", "d1", "d2"), frozen=("norm", "d2"), prefix=prefix)
    chain = keras.Sequential([keras.layers.Input((WIDTH,)), dense(keras, "chain_d1" if prefix else "d1"),
                              keras.layers.Dropout(0.5, name="drop"), last], name="chain")
    y = keras.layers.Add(name="sum")([chain(middle(inputs)), middle(dense(keras, "d1")(inputs))])
    return keras.Model(inputs, dense(keras, "head")(y), name="nested")


def thawed(keras):
    """A layer that trains in a model that does not: the two versions order its arrays differently."""
    inputs = keras.Input((WIDTH,), name="x")
    inner = block(keras, "inner", ("d1", "norm", "d2"), trainable=False, thawed=("d2",))
    return keras.Model(inputs, inner(inputs))


def ends_nested(keras):
    """The output is the second call of a nested model: node 2 in the file's output_layers, node 1 in calls."""
    inputs = keras.Input((WIDTH,), name="x")
    inner = block(keras, "inner", ("d1", "norm", "d2"))
    return keras.Model(inputs, inner(dense(keras, "between")(inner(inputs))))


def sequential(keras):
    return keras.Sequential([keras.layers.Input((WIDTH,)), dense(keras, "a"), keras.layers.LeakyReLU(0.2),
                             keras.Sequential([dense(keras, "b"), keras.layers.BatchNormalization()]), dense(keras, "c")])


def unnamed(keras):
    """Names that Keras gives, and the default compile() in the file."""
    model = keras.Sequential([keras.layers.Input((8, 8, 1)), keras.layers.Conv2D(3, 3), keras.layers.ReLU(),
                              keras.layers.DepthwiseConv2D(3, padding="same"), keras.layers.SeparableConv2D(5, 2),
                              keras.layers.BatchNormalization(scale=False), keras.layers.MaxPooling2D(),
                              keras.layers.Flatten(), keras.layers.Dense(3, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy", ["accuracy"])
    return model


def built_late(keras):
    """No Input layer: the shape is known from the first call."""
    model = keras.Sequential([dense(keras, "a"), dense(keras, "b")])
    model.build((None, WIDTH))
    return model


def adapted(keras):
    """Normalization's mean and variance are weights, and not trainable, in the middle of a nested model."""
    import numpy
    norm = keras.layers.Normalization(name="standard")
    norm.adapt(numpy.random.default_rng(5).normal(3, 2, (50, WIDTH)).astype("float32"))
    nested_in = keras.Input((WIDTH,), name="nested_in")
    inner = keras.Model(nested_in, dense(keras, "after")(norm(dense(keras, "before")(nested_in))), name="inner")
    inputs = keras.Input((WIDTH,), name="x")
    outer = keras.layers.Normalization(name="outer")
    outer.adapt(numpy.random.default_rng(6).normal(-1, 3, (50, WIDTH)).astype("float32"))
    return keras.Model(inputs, inner(outer(inputs)))


def long_list(keras):
    """More layer names than HDF5 takes in one attribute: layer_names0, layer_names1, …"""
    x = inputs = keras.Input((WIDTH,), name="x")
    for k in range(340):
        name = f"layer_{'n' * 185}_{k:03}"
        x = dense(keras, name)(x) if k % 85 == 0 else keras.layers.Activation("linear", name=name)(x)
    return keras.Model(inputs, x)


def operators(keras):
    """Keras 3's x + y and x * y are operations, not layers."""
    inputs = keras.Input((WIDTH,), name="x")
    a, b = dense(keras, "a")(inputs), dense(keras, "b")(inputs)
    return keras.Model(inputs, dense(keras, "c")(a + b) * a)


def slashes(keras):
    """Keras 2 takes a slash in a layer's name: the group of one layer then lies in that of another."""
    inputs = keras.Input((WIDTH,), name="x")
    x = dense(keras, "block/a")(inputs)
    x = dense(keras, "block")(keras.layers.BatchNormalization(name="block/a/norm")(x))
    return keras.Model(inputs, dense(keras, "block_a")(x))


def held_inference(keras):
    """training=False in a call, which Keras 2 holds to."""
    inputs = keras.Input((WIDTH,), name="x")
    inner = block(keras, "inner", ("d1", "norm", "d2"))
    return keras.Model(inputs, dense(keras, "head")(inner(inputs, training=False)))


def random_graph(keras, seed):
    """Layers, shared layers, nested models and merges called on each other at random."""
    draw = random.Random(seed)
    inputs = keras.Input((WIDTH,), name="x")
    tensors, used, callables = [inputs], set(), []
    for k in range(draw.randint(8, 16)):
        what = draw.random()
        if what < 0.25 and len(tensors) > 1:
            chosen = draw.sample(range(len(tensors)), 2)
            merge = draw.choice([keras.layers.Add, keras.layers.Average, keras.layers.Maximum])
            result = merge(name=f"merge{k}")([tensors[c] for c in chosen])
        else:
            chosen = [draw.randrange(len(tensors))]
            if what < 0.45 and callables:
                layer = draw.choice(callables)
            elif what < 0.6:
                order = draw.sample(["d1", "norm", "d2"], 3)
                layer = block(keras, f"model{k}", order, frozen=draw.sample(order, draw.randint(0, 2)),
                              trainable=draw.random() < 0.7)
            elif what < 0.7:
                layer = keras.layers.BatchNormalization(name=f"norm{k}")
            else:
                layer = dense(keras, f"dense{k}", trainable=draw.random() < 0.8)
            callables.append(layer)
            result = layer(tensors[chosen[0]])
        used.update(chosen)
        tensors.append(result)
    loose = [tensor for k, tensor in enumerate(tensors) if k not in used]
    draw.shuffle(loose)
    return keras.Model(inputs, keras.layers.Add(name="all")(loose) if len(loose) > 1 else loose[0])


MODELS = {
    "puzzle_early": lambda keras: puzzle(keras, False),
    "puzzle_late": lambda keras: puzzle(keras, True),
    "nested": nested,
    "same_names": lambda keras: nested(keras, prefix=False),
    "thawed": thawed,
    "ends_nested": ends_nested,
    "sequential": sequential,
    "unnamed": unnamed,
    "built_late": built_late,
    "adapted": adapted,
    "long_list": long_list,
    "operators": operators,
    "slashes": slashes,
    "held_inference": held_inference,
} | {f"random{seed}": lambda keras, seed=seed: random_graph(keras, seed) for seed in range(RANDOM_GRAPHS)}
ONLY_KERAS2 = {"slashes"}
ONLY_KERAS3 = {"operators"}
NO_H5 = {"same_names"}  # Keras itself fails to write two arrays of one name into a group


def names_of(keras_name):
    return [name for name in MODELS if name not in (ONLY_KERAS3 if keras_name == "keras2" else ONLY_KERAS2)]


def import_keras(keras_name):
    if keras_name == "keras2":
        import tf_keras as keras
    else:
        import keras
    return keras


def layers_within(model):
    for layer in model.layers:
        yield from layers_within(layer) if hasattr(layer, "layers") else [layer]


def randomise(keras, model):
    """Every array gets its own values; Normalization keeps what it adapted to."""
    import numpy
    draw = numpy.random.default_rng(3)
    for layer in layers_within(model):
        if not isinstance(layer, keras.layers.Normalization):
            for variable in layer.weights:
                low, high = (0.3, 1.5) if "variance" in variable.name else (-0.9, 0.9)
                variable.assign(draw.uniform(low, high, variable.shape))


def save(keras_name, folder):
    import numpy
    keras = import_keras(keras_name)
    for name in names_of(keras_name):
        keras.backend.clear_session()
        model = MODELS[name](keras)
        randomise(keras, model)
        x = numpy.random.default_rng(1).uniform(-1, 1, (5, *model.input_shape[1:])).astype("float32")
        numpy.save(folder / f"{name}.x.npy", x)
        numpy.save(folder / f"{name}.y.npy", model(x, training=False).numpy())
        if name not in NO_H5:
            model.save(folder / f"{name}.h5")
        model.save(folder / f"{name}.keras")
        (folder / f"{name}.json").write_text(model.to_json())
        model.save_weights(str(folder / f"{name}.weights.h5"))
        if keras_name == "keras2" and name not in NO_H5:
            model.save_weights(str(folder / f"{name}.legacy.h5"))


def predict(keras_name, folder):
    import numpy
    keras = import_keras(keras_name)
    for path in sorted(folder.glob("*.out.h5")):
        keras.backend.clear_session()
        model = keras.models.load_model(path, compile=False)
        x = numpy.load(folder / path.name.replace(".out.h5", ".x.npy"))
        numpy.save(f"{path}.{keras_name}.npy", model(x, training=False).numpy())


if __name__ == "__main__":
    {"save": save, "predict": predict}[sys.argv[1]](sys.argv[2], Path(sys.argv[3]))

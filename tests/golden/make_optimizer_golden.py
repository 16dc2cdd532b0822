"""Writes fixtures/optimizers.json: what Keras 3 does to a few weights in 12 updates, for tests/unit/optim.

python3 tests/golden/make_optimizer_golden.py     (Keras 3 with TensorFlow, and tf_keras for the Keras 2 spelling)

The loss is sum(g * w) + regularisers, whose gradient is g and the regularisers' own, with the same g for all cases.
"""

import json
import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import numpy as np
import tensorflow as tf
import tf_keras

STEPS = 12
SHAPES = {"kernel": (4, 3), "bias": (3,), "filters": (2, 2, 1, 3)}
schedules = keras.optimizers.schedules
optimizers = keras.optimizers


def weights_and_gradients():
    random = np.random.default_rng(20240601)
    weights = {name: random.normal(0, 0.5, shape).astype("float32") for name, shape in SHAPES.items()}
    gradients = [{name: (random.normal(0, 1, shape) * 10.0 ** random.integers(-2, 2)).astype("float32")
                  for name, shape in SHAPES.items()} for _ in range(STEPS)]
    return weights, gradients


def cases():
    """name -> (a new optimizer, the kernel's regulariser and constraint, the filters' constraint)."""
    plain = {
        "sgd": lambda: optimizers.SGD(0.1),
        "sgd_momentum": lambda: optimizers.SGD(0.05, momentum=0.9),
        "sgd_nesterov": lambda: optimizers.SGD(0.05, momentum=0.9, nesterov=True),
        "sgd_weight_decay": lambda: optimizers.SGD(0.05, momentum=0.5, weight_decay=0.1),
        "adam": lambda: optimizers.Adam(),
        "adam_arguments": lambda: optimizers.Adam(0.02, beta_1=0.8, beta_2=0.95, epsilon=1e-3),
        "adam_amsgrad": lambda: optimizers.Adam(0.02, beta_2=0.9, amsgrad=True),
        "adam_weight_decay": lambda: optimizers.Adam(0.02, weight_decay=0.05),
        "adamw": lambda: optimizers.AdamW(0.02),
        "adamw_decay": lambda: optimizers.AdamW(0.02, weight_decay=0.2, amsgrad=True),
        "rmsprop": lambda: optimizers.RMSprop(0.01),
        "rmsprop_momentum": lambda: optimizers.RMSprop(0.01, rho=0.8, momentum=0.9, epsilon=1e-5),
        "rmsprop_centered": lambda: optimizers.RMSprop(0.01, centered=True, epsilon=1e-3),
        "rmsprop_centered_momentum": lambda: optimizers.RMSprop(0.01, centered=True, momentum=0.7, epsilon=1e-3),
        "clipnorm": lambda: optimizers.SGD(0.1, momentum=0.9, clipnorm=0.7),
        "clipvalue": lambda: optimizers.Adam(0.02, clipvalue=0.3),
        "global_clipnorm": lambda: optimizers.SGD(0.1, momentum=0.9, global_clipnorm=1.5),
        "exponential": lambda: optimizers.SGD(schedules.ExponentialDecay(0.1, 3, 0.7)),
        "exponential_staircase": lambda: optimizers.SGD(schedules.ExponentialDecay(0.1, 3, 0.7, staircase=True)),
        "cosine": lambda: optimizers.SGD(schedules.CosineDecay(0.1, 8, alpha=0.1), momentum=0.9),
        "cosine_warmup": lambda: optimizers.Adam(
            schedules.CosineDecay(0.001, 6, warmup_target=0.05, warmup_steps=4)),
        "piecewise": lambda: optimizers.SGD(schedules.PiecewiseConstantDecay([3, 7], [0.1, 0.03, 0.01])),
    }
    result = {name: (make, None, None, None) for name, make in plain.items()}
    sgd = plain["sgd_momentum"]
    result["l2"] = (sgd, keras.regularizers.L2(0.03), None, None)
    result["l1"] = (plain["adam"], keras.regularizers.L1(0.02), None, None)
    result["l1l2_global_clipnorm"] = (plain["global_clipnorm"], keras.regularizers.L1L2(0.01, 0.2), None, None)
    result["l2_clipnorm"] = (plain["clipnorm"], keras.regularizers.L2(0.5), None, None)
    result["max_norm"] = (sgd, None, keras.constraints.MaxNorm(0.8, axis=0), keras.constraints.MaxNorm(1, axis=[0, 1, 2]))
    result["non_neg"] = (sgd, None, keras.constraints.NonNeg(), keras.constraints.UnitNorm(axis=-1))
    result["min_max_norm"] = (sgd, keras.regularizers.L2(0.1), keras.constraints.MinMaxNorm(0.5, 1, 0.6, axis=1),
                              keras.constraints.MinMaxNorm(0.5, 0.7, axis=[1, 3]))
    return result


class Weights(keras.layers.Layer):
    def __init__(self, values, regularizer, kernel_constraint, filters_constraint):
        super().__init__()
        constraints = {"kernel": kernel_constraint, "filters": filters_constraint}
        regularizers = {"kernel": regularizer}
        self.all = [self.add_weight(shape=value.shape, name=name, constraint=constraints.get(name),
                                    regularizer=regularizers.get(name)) for name, value in values.items()]
        for variable, value in zip(self.all, values.values()):
            variable.assign(value)


def numbers(array):
    """Each the shortest text that reads back as the same float32."""
    return [float(str(np.float32(x))) for x in np.asarray(array).ravel()]


def run(make, regularizer, kernel_constraint, filters_constraint):
    weights, gradients = weights_and_gradients()
    layer = Weights(weights, regularizer, kernel_constraint, filters_constraint)
    optimizer = make()
    case = {"optimizer": keras.optimizers.serialize(optimizer), "regularization_loss": [], "learning_rate": [], "weights": []}
    for what, value in (("regularizer", regularizer), ("kernel_constraint", kernel_constraint),
                        ("filters_constraint", filters_constraint)):
        case[what] = None if value is None else keras.saving.serialize_keras_object(value)
    for step in range(STEPS):
        with tf.GradientTape() as tape:
            penalty = regularizer(layer.all[0].value) if regularizer else tf.constant(0.0)
            loss = penalty + sum(tf.reduce_sum(gradients[step][v.name] * v.value) for v in layer.all)
        case["regularization_loss"].append(float(penalty))
        case["learning_rate"].append(numbers(optimizer.learning_rate)[0])
        optimizer.apply(tape.gradient(loss, [v.value for v in layer.all]), layer.all)
        case["weights"].append(sum((numbers(v.value) for v in layer.all), []))
    return case


def keras2_spellings():
    k2 = tf_keras.optimizers
    legacy = k2.legacy
    made = {
        "sgd": k2.SGD(0.1), "adam": k2.Adam(), "adamw": k2.AdamW(0.02),
        "exponential": k2.SGD(k2.schedules.ExponentialDecay(0.1, 3, 0.7)),
        "cosine_warmup": k2.Adam(k2.schedules.CosineDecay(0.001, 6, warmup_target=0.05, warmup_steps=4)),
        "piecewise": legacy.SGD(k2.schedules.PiecewiseConstantDecay([3, 7], [0.1, 0.03, 0.01])),
        "rmsprop": legacy.RMSprop(0.01),
    }
    return {name: tf_keras.optimizers.serialize(optimizer) for name, optimizer in made.items()}


def main():
    weights, gradients = weights_and_gradients()
    flat = lambda values: sum((numbers(value) for value in values.values()), [])
    golden = {
        "keras": keras.__version__,
        "shapes": [[name, list(shape)] for name, shape in SHAPES.items()],
        "weights": flat(weights),
        "gradients": [flat(gradient) for gradient in gradients],
        "cases": {name: run(*case) for name, case in cases().items()},
        "keras2_spellings": keras2_spellings(),
    }
    path = Path(__file__).parent / "fixtures" / "optimizers.json"
    path.write_text(json.dumps(golden, separators=(",", ":"), sort_keys=True) + "\n")
    print(f"{path}: {len(golden['cases'])} cases, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()

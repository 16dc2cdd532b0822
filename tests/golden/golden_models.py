"""The models, data and training cases of the golden tests, said once for Keras and for stoker.

The models are small but have every structure that training must honour: padding, strides, batch normalisation,
residual adds, depthwise and separable convolution, layers that are called twice, nested models with a frozen part.
No bias stands before a BatchNormalization: its gradient is rounding noise, which Adam amplifies.
"""

import re
from dataclasses import dataclass, field

import numpy

SAMPLES, BATCH, STEPS = 37, 16, 20  # batches of 16, 16, 5: the last is ragged


def digits(size=8):
    """SAMPLES handwritten digits as (N, size, size, 1) in 0..1 with a little noise (no ties in pooling), and labels."""
    from sklearn.datasets import load_digits
    bunch = load_digits()
    images = bunch.images[:SAMPLES].astype("float32") / 16
    images = images.repeat(size // 8, axis=1).repeat(size // 8, axis=2)[..., None]
    noise = numpy.random.default_rng(7).uniform(0, 0.1, images.shape)
    return (images + noise).astype("float32"), bunch.target[:SAMPLES].astype("int32")


def mlp(keras, regularised=False, constrained=False, activation="softmax"):
    layers = keras.layers
    l2 = keras.regularizers.L2(0.01) if regularised else None
    l1l2 = keras.regularizers.L1L2(l1=0.002, l2=0.003) if regularised else None
    bound = keras.constraints.MaxNorm(0.9) if constrained else None
    positive = keras.constraints.NonNeg() if constrained else None
    return keras.Sequential([
        layers.Input((8, 8, 1)),
        layers.Flatten(name="flatten"),
        layers.Dense(16, "relu", name="hidden", kernel_regularizer=l2, bias_regularizer=l1l2, kernel_constraint=bound,
                     bias_constraint=positive),
        layers.Dense(10, activation, name="probabilities"),
    ], name="mlp")


def lenet5(keras):
    layers = keras.layers
    return keras.Sequential([
        layers.Input((16, 16, 1)),
        layers.Conv2D(6, 5, padding="same", activation="tanh", name="c1"),
        layers.AveragePooling2D(2, name="s2"),
        layers.Conv2D(16, 5, activation="tanh", name="c3"),
        layers.AveragePooling2D(2, name="s4"),
        layers.Flatten(name="flatten"),
        layers.Dense(120, "tanh", name="c5"),
        layers.Dense(84, "tanh", name="f6"),
        layers.Dense(10, "softmax", name="output"),
    ], name="lenet5")


def cnn_batch_norm(keras):
    layers = keras.layers
    return keras.Sequential([
        layers.Input((8, 8, 1)),
        layers.Conv2D(8, 3, padding="same", use_bias=False, name="conv1"),
        layers.BatchNormalization(name="norm1", momentum=0.9),
        layers.ReLU(name="relu1"),
        layers.MaxPooling2D(2, name="pool"),
        layers.Conv2D(12, 3, strides=2, padding="same", use_bias=False, name="conv2"),
        layers.BatchNormalization(name="norm2", scale=False),
        layers.ReLU(name="relu2"),
        layers.GlobalAveragePooling2D(name="average"),
        layers.Dense(10, name="logits"),
    ], name="cnn_batch_norm")


def residual(keras):
    layers = keras.layers

    def conv_norm(x, filters, kernel, strides, name):
        x = layers.Conv2D(filters, kernel, strides=strides, padding="same", use_bias=False, name=f"{name}_conv")(x)
        return layers.BatchNormalization(name=f"{name}_norm")(x)

    inputs = keras.Input((8, 8, 1), name="image")
    x = layers.ReLU(name="stem_relu")(conv_norm(inputs, 8, 3, 1, "stem"))
    y = layers.ReLU(name="a1_relu")(conv_norm(x, 8, 3, 1, "a1"))
    x = layers.ReLU(name="a_relu")(layers.Add(name="a_add")([conv_norm(y, 8, 3, 1, "a2"), x]))
    y = layers.ReLU(name="b1_relu")(conv_norm(x, 12, 3, 2, "b1"))
    y = conv_norm(y, 12, 3, 1, "b2")
    x = layers.ReLU(name="b_relu")(layers.Add(name="b_add")([y, conv_norm(x, 12, 1, 2, "b_shortcut")]))
    x = layers.GlobalAveragePooling2D(name="average")(x)
    return keras.Model(inputs, layers.Dense(10, "softmax", name="probabilities")(x), name="residual")


def depthwise(keras):
    layers = keras.layers
    inputs = keras.Input((8, 8, 1), name="image")
    x = layers.Conv2D(6, 3, padding="same", use_bias=False, name="expand")(inputs)
    x = layers.BatchNormalization(name="expand_norm")(x)
    x = layers.ReLU(max_value=6, name="expand_relu6")(x)
    x = layers.DepthwiseConv2D(3, strides=2, padding="same", depth_multiplier=2, use_bias=False, name="depth")(x)
    x = layers.BatchNormalization(name="depth_norm")(x)
    x = layers.ReLU(max_value=6, name="depth_relu6")(x)
    x = layers.SeparableConv2D(10, 3, padding="valid", activation="relu", name="separable")(x)
    x = layers.Conv2D(8, 1, groups=2, name="grouped")(x)
    x = layers.Flatten(name="flatten")(x)
    return keras.Model(inputs, layers.Dense(10, "softmax", name="probabilities")(x), name="depthwise")


def shared_layer(keras):
    layers = keras.layers
    inputs = keras.Input((8, 8, 1), name="image")
    stem = layers.Conv2D(4, 3, padding="same", activation="tanh", name="stem")(inputs)
    shared = layers.Conv2D(4, 3, padding="same", activation="tanh", name="shared")
    once = shared(stem)
    twice = shared(once)
    x = layers.Concatenate(name="both")([twice, layers.Average(name="mean")([once, stem])])
    x = layers.GlobalMaxPooling2D(name="max")(x)
    return keras.Model(inputs, layers.Dense(10, "softmax", name="probabilities")(x), name="shared_layer")


def nested(keras):
    """Three levels; the innermost has a frozen Dense between trainable ones. `first` has no bias: where its relu is
    active for the whole batch, that bias would stand before the BatchNormalization.
    """
    layers = keras.layers
    features = keras.Input((16,), name="features")
    frozen = layers.Dense(16, "tanh", name="frozen", trainable=False)
    core = keras.Model(features, layers.Dense(12, "tanh", name="core_out")(frozen(features)), name="core")
    block = keras.Sequential([
        layers.Input((24,)),
        layers.Dense(16, use_bias=False, name="block_in"),
        layers.BatchNormalization(name="block_norm"),
        layers.ReLU(name="block_relu"),
        core,
    ], name="block")
    inputs = keras.Input((8, 8, 1), name="image")
    x = layers.Flatten(name="flatten")(inputs)
    x = layers.Dense(24, "relu", use_bias=False, name="first")(x)
    x = layers.Dropout(0.0, name="no_dropout")(block(x))
    return keras.Model(inputs, layers.Dense(10, "softmax", name="probabilities")(x), name="nested")


def everything(keras):
    """What the exactness tests train: dropout, batch normalisation, L2, a residual add. Not compared with Keras."""
    layers = keras.layers
    l2 = keras.regularizers.L2(0.001)
    inputs = keras.Input((8, 8, 1), name="image")
    x = layers.Rescaling(1 / 16, name="scale")(inputs)
    x = layers.Conv2D(8, 3, padding="same", use_bias=False, kernel_regularizer=l2, name="conv1")(x)
    x = layers.BatchNormalization(name="norm1")(x)
    x = stem = layers.ReLU(name="relu1")(x)
    x = layers.Dropout(0.1, name="drop1")(x)
    x = layers.Conv2D(8, 3, padding="same", use_bias=False, name="conv2")(x)
    x = layers.BatchNormalization(name="norm2")(x)
    x = layers.ReLU(name="relu2")(layers.Add(name="add")([x, stem]))
    x = layers.Flatten(name="flatten")(layers.MaxPooling2D(2, name="pool")(x))
    x = layers.Dropout(0.3, name="drop2")(layers.Dense(32, "relu", kernel_regularizer=l2, name="hidden")(x))
    return keras.Model(inputs, layers.Dense(10, "softmax", name="probabilities")(x), name="everything")


MODELS = {
    "mlp": mlp,
    "mlp_regularised": lambda keras: mlp(keras, regularised=True),
    "mlp_constrained": lambda keras: mlp(keras, constrained=True),
    "mlp_sigmoid": lambda keras: mlp(keras, activation="sigmoid"),
    "lenet5": lenet5,
    "cnn_batch_norm": cnn_batch_norm,
    "residual": residual,
    "depthwise": depthwise,
    "shared_layer": shared_layer,
    "nested": nested,
    "everything": everything,
}

# How each model's file is written, so that all kinds are read.
FILE_KINDS = {"mlp": "h5", "mlp_regularised": "keras", "mlp_constrained": "keras",
              "mlp_sigmoid": "keras", "lenet5": "h5", "cnn_batch_norm": "json", "residual": "keras",
              "depthwise": "h5", "shared_layer": "json", "nested": "keras", "everything": "json"}


@dataclass(frozen=True)
class Case:
    """One training of STEPS steps. Strings are what stoker's options take; make_golden.py gives Keras the same."""

    model: str
    optimizer: str
    learning_rate: float
    loss: str = "sparse_categorical_crossentropy"
    schedule: str = ""
    clip_norm: float = 0
    virtual_ranks: int = 1
    samples: int = SAMPLES
    name: str = field(default="")

    @property
    def label(self):
        return self.name or f"{self.model} {self.optimizer}"

    @property
    def file_name(self):
        """The name of the file with what Keras computed."""
        return re.sub(r"[^A-Za-z0-9.=_-]+", "_", self.label) + ".npz"


OPTIMIZERS = (("sgd", 0.05), ("sgd:momentum=0.9", 0.02), ("sgd:momentum=0.9,nesterov=true", 0.02), ("adam", 0.002),
              ("adamw", 0.002), ("rmsprop", 0.001))

LOGITS = "sparse_categorical_crossentropy:from_logits=true"

CASES = [
    Case(model, optimizer, rate, LOGITS if model == "cnn_batch_norm" else "sparse_categorical_crossentropy")
    for model in ("mlp", "lenet5", "cnn_batch_norm", "residual", "depthwise", "shared_layer", "nested")
    for optimizer, rate in OPTIMIZERS
] + [
    Case("mlp", "sgd:momentum=0.9,weight_decay=0.01", 0.02),
    Case("mlp", "adam:amsgrad=true,beta_1=0.8,beta_2=0.95", 0.002),
    Case("mlp", "adam:weight_decay=0.05,epsilon=0.001", 0.002),
    Case("mlp", "rmsprop:momentum=0.9", 0.001),
    Case("mlp", "rmsprop:centered=true,rho=0.8", 0.001),
    Case("mlp", "sgd:clipnorm=0.05", 0.5),
    Case("mlp", "sgd:clipvalue=0.01", 0.5),
    Case("mlp", "adam:global_clipnorm=0.1", 0.002),
    Case("mlp", "sgd:momentum=0.9", 0.05, clip_norm=0.2, name="mlp --clip-norm"),
    Case("mlp_regularised", "sgd:momentum=0.9", 0.02, name="mlp with L2, L1L2"),
    Case("mlp_regularised", "sgd:global_clipnorm=0.3", 0.1, name="mlp with L2, clipped: clipping sees the regulariser"),
    Case("mlp_constrained", "sgd:momentum=0.9", 0.1, name="mlp with max-norm and non-negative constraints"),
    Case("mlp", "sgd", 0.05, schedule="cosine:decay_steps=15,alpha=0.1", name="mlp cosine"),
    Case("mlp", "sgd", 0.05, schedule="cosine:decay_steps=12,alpha=0.1,warmup_steps=5", name="mlp cosine with warm-up"),
    Case("mlp", "sgd", 0.05, schedule="step:boundaries=4/9,values=0.1/0.05/0.01", name="mlp step"),
    Case("mlp", "adam", 0.01, schedule="exponential:decay_steps=5,decay_rate=0.5", name="mlp exponential"),
    Case("mlp", "sgd:momentum=0.9", 0.05, "categorical_crossentropy:label_smoothing=0.1", name="mlp label smoothing"),
    Case("mlp_sigmoid", "sgd:momentum=0.9", 0.05, "binary_crossentropy", name="mlp binary cross-entropy"),
    Case("mlp", "sgd:momentum=0.9", 0.05, "binary_crossentropy", name="mlp binary cross-entropy behind softmax"),
    Case("mlp", "sgd:momentum=0.9", 0.05, "mean_squared_error", name="mlp mse"),
    Case("mlp", "sgd:momentum=0.9", 0.05, "mean_absolute_error", name="mlp mae"),
    Case("mlp", "sgd:momentum=0.9", 0.05, "huber:delta=0.3", name="mlp huber"),
    Case("cnn_batch_norm", "sgd:momentum=0.9", 0.02, LOGITS, virtual_ranks=3, name="cnn_batch_norm V=3"),
    Case("cnn_batch_norm", "adam", 0.002, LOGITS, virtual_ranks=8, name="cnn_batch_norm V=8, empty leaves"),
    Case("residual", "sgd:momentum=0.9", 0.02, virtual_ranks=4, name="residual V=4"),
    Case("mlp_regularised", "adamw", 0.002, virtual_ranks=8, name="mlp with L2, V=8"),
]


def one_hot_targets(case):
    """Losses that compare arrays of the output's shape."""
    return not case.loss.startswith("sparse")

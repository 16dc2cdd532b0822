#!/usr/bin/env python3
"""`stoker model NAME`: Keras 3 and Keras 2 (tf-keras) open every architecture; those that keras.applications has are
the same layer by layer."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras  # noqa: E402  (the log level is set before)
import numpy  # noqa: E402
import tf_keras  # noqa: E402

from stoker_testing import add_case, main, stoker  # noqa: E402

CLASSES = 7
# Of the smallest images that are taken, and of odd sizes.
SHAPES = {
    "mlp": [(4, 4, 1)], "lenet5": [(12, 12, 1), (28, 28, 1)], "convnet": [(10, 10, 1), (28, 28, 1)],
    "convnet_bn": [(4, 4, 1), (8, 8, 1)], "vgg11": [(32, 32, 3)], "vgg16": [(32, 32, 3)],
    "resnet18": [(9, 9, 1), (32, 32, 3), (64, 65, 3)], "resnet34": [(32, 32, 3)], "resnet50": [(32, 32, 3)],
    "resnet101": [(33, 40, 3)], "mobilenetv2": [(32, 45, 3)],
}
APPLICATIONS = {
    "vgg16": (keras.applications.VGG16, (32, 32, 3)), "resnet50": (keras.applications.ResNet50, (65, 64, 3)),
    "resnet101": (keras.applications.ResNet101, (32, 32, 3)), "mobilenetv2": (keras.applications.MobileNetV2, (45, 64, 3)),
}


def architecture(name, shape, folder):
    path = folder / f"{name}.json"
    stoker("model", name, "-o", path, "--classes", CLASSES, "--input-shape", "x".join(map(str, shape)))
    return path.read_text()


def check_opens(name, shape, folder):
    text = architecture(name, shape, folder)
    images = numpy.zeros((2, *shape), "float32")
    for module in (keras, tf_keras):
        model = module.models.model_from_json(text)
        assert tuple(model.input_shape) == (None, *shape), model.input_shape
        numpy.testing.assert_allclose(numpy.asarray(model(images)).sum(axis=1), [1, 1], rtol=1e-5)


def check_same(name, folder):
    """The same names and, with the same weights, the same predictions."""
    make, shape = APPLICATIONS[name]
    theirs = make(weights=None, input_shape=shape, classes=CLASSES)
    ours = keras.models.model_from_json(architecture(name, shape, folder))
    names = {layer.name for layer in theirs.layers if layer.weights}
    assert {layer.name for layer in ours.layers if layer.weights} == names
    random = numpy.random.default_rng(0)
    for layer in theirs.layers:
        values = [w + random.uniform(0, 0.2, w.shape).astype("float32") if w.ndim == 1 else w
                  for w in layer.get_weights()]
        layer.set_weights(values)
        if values:
            ours.get_layer(layer.name).set_weights(values)
    images = random.uniform(0, 1, (2, *shape)).astype("float32")
    expected = numpy.asarray(theirs(images))
    assert expected.std() > 1e-4, "the comparison sees nothing"
    numpy.testing.assert_allclose(numpy.asarray(ours(images)), expected, rtol=1e-4, atol=1e-6)


for model, shapes in SHAPES.items():
    for size in shapes:
        add_case(f"{model} of {'x'.join(map(str, size))} opens in Keras 3 and Keras 2",
                 lambda folder, m=model, s=size: check_opens(m, s, folder))
for model in APPLICATIONS:
    add_case(f"{model} is that of keras.applications", lambda folder, m=model: check_same(m, folder))

if __name__ == "__main__":
    main()

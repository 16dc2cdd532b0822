"""Keras' side of tests/bench, on TensorFlow: as peer_torch.py, one process.

    peer_keras.py convnet|resnet50 BATCH THREADS 1 STEPS
"""

import json
import os
import resource
import sys
import time

START = time.monotonic()
os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
import numpy  # noqa: E402  (imports are part of the start-up that is measured)
import tensorflow as tf  # noqa: E402
import keras  # noqa: E402
from keras import layers  # noqa: E402


def convnet():
    return keras.Sequential([
        keras.Input((28, 28, 1)), layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(2),
        layers.Conv2D(64, 3, activation="relu"), layers.MaxPooling2D(2), layers.Flatten(),
        layers.Dense(128, activation="relu"), layers.Dense(10, activation="softmax")])


def main():
    name = sys.argv[1]
    batch, threads, _, steps = map(int, sys.argv[2:6])
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    model = convnet() if name == "convnet" else keras.applications.ResNet50(weights=None)
    model.compile(optimizer=keras.optimizers.SGD(0.01, momentum=0.9), loss="sparse_categorical_crossentropy")
    images = numpy.random.rand(4 * batch, *model.input_shape[1:]).astype("float32")
    labels = numpy.random.randint(0, model.output_shape[-1], 4 * batch)
    model.make_train_function()
    step = model.train_function
    batches = [(tf.constant(images[i:i + batch]), tf.constant(labels[i:i + batch])) for i in range(0, 4 * batch, batch)]

    def timed(index):
        start = time.monotonic()
        step(iter([batches[index % 4]]))
        return time.monotonic() - start

    timed(0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"ready": time.monotonic() - START, "peak_mb": peak}), flush=True)
    while sys.stdin.readline():
        print(json.dumps([timed(index) for index in range(steps)]), flush=True)


if __name__ == "__main__":
    main()

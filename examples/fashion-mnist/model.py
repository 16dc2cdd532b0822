"""The model of the quickstart as Keras 3 saves it: python3 model.py > model.json"""

import keras
from keras import layers

model = keras.Sequential([
    keras.Input((28, 28, 1), name="image"),
    layers.Rescaling(1 / 255, name="to_unit"),
    layers.Conv2D(32, 3, activation="relu", name="conv1"),
    layers.MaxPooling2D(2, name="pool1"),
    layers.Conv2D(64, 3, activation="relu", name="conv2"),
    layers.MaxPooling2D(2, name="pool2"),
    layers.Flatten(name="flatten"),
    layers.Dropout(0.3, name="dropout"),
    layers.Dense(128, activation="relu", name="dense"),
    layers.Dense(10, activation="softmax", name="class"),
], name="fashion_convnet")
print(model.to_json(indent=1))
